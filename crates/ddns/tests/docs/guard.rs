//! The table of `benches/guard`: what it lets pass, and how it is changed. The measuring is tested by every run of CI.

#[allow(dead_code, reason = "shared with the bench")]
#[path = "../../benches/guard/table.rs"]
mod table;

use table::{changed, read, row};

const TEXT: &str = "\
# Words

Made with a compiler.

| measure | value | limit | reason of the last change |
|---|---:|---:|---|
| instructions | 1,000,000 | 2 % | as it began |
| size | 6,000 | 5 % | as it began |
| wake-ups | 0 | 2 % | as it began |
| gone | 7 | 2 % | as it began |
";

#[test]
fn table_lets_values_pass_up_to_their_limit() {
    let table = read(TEXT);
    for (measure, value, passes) in [
        ("instructions", 1_020_000, true),
        ("instructions", 1_020_001, false),
        ("instructions", 1, true),
        ("size", 6_300, true),
        ("size", 6_301, false),
        ("wake-ups", 0, true),
        ("wake-ups", 1, false),
    ] {
        let row = row(&table, measure).expect("a row");
        assert_eq!(row.allows(value), passes, "{measure} {value}");
    }
}

#[test]
fn table_is_changed_with_a_reason_where_values_differ() {
    let measured = [("instructions", Some(1_030_000)), ("new", Some(12)), ("size", Some(6_010)), ("wake-ups", None)];
    let expected = "\
# Words

Made with another compiler.

| measure | value | limit | reason of the last change |
|---|---:|---:|---|
| instructions | 1,030,000 | 2 % | signatures |
| new | 12 | 2 % | signatures |
| size | 6,000 | 5 % | as it began |
| wake-ups | 0 | 2 % | as it began |
";
    assert_eq!(changed(TEXT, &measured, "another compiler", "signatures"), expected);
}

#[test]
fn every_line_of_the_table_in_the_tree_is_read() {
    let text = include_str!("../../benches/guard/table.md");
    let lines = text.lines().skip_while(|line| !line.starts_with("|---")).skip(1).count();
    assert_eq!(read(text).len(), lines, "{text}");
    assert!(lines > 0 && changed(text, &[], "nothing", "none").contains("\nMade with nothing.\n"));
}
