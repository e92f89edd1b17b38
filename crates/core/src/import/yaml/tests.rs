//! Which YAML can be read, and which cannot.

use super::parse;

#[test]
fn l7_yaml_as_ddns_go_writes_it_and_nothing_else() {
    let value = parse(
        "a: 0123\nb:\n- x\n- 'it''s # y' # c\nc:\n    - k: \"q\\\"\\u00e9\"\n      l: |-\n        one\n          two\n    -\n      k: z # no\nd: []\n",
    );
    let text = crate::text::json::pretty(&value.expect("YAML").value).replace(['\n', ' '], "");
    assert_eq!(
        text,
        r#"{"a":"0123","b":["x","it's#y"],"c":[{"k":"q\"é","l":"one\ntwo"},{"k":"z"}],"d":null}"#.replace(' ', "")
    );
    let value =
        parse("a:  # mine\n- www.example.com # a: comment\n- x: y # b: c\nk: \"v # w: x\"\n\"q\": # c\n  z: 1\n");
    let text = crate::text::json::pretty(&value.expect("YAML").value).replace(['\n', ' '], "");
    assert_eq!(text, r#"{"a":["www.example.com",{"x":"y"}],"k":"v#w:x","q":{"z":"1"}}"#);
    for (text, line) in [
        ("a: 1\n  b: 2\n", 2),
        ("a: [x, y]\n", 1),
        ("a: &x y\n", 1),
        ("a\n", 1),
        ("a: \"x\n", 1),
        ("- a\nb: c\n", 2),
        ("a: *b", 1),
    ] {
        assert_eq!(parse(text).expect_err(text).line, line, "{text:?}");
    }
    let deep = (0..60).map(|depth| " ".repeat(depth) + "a:").collect::<Vec<_>>().join("\n");
    assert!(parse(&deep).is_err());
}
