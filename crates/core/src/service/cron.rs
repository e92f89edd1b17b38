//! The table of cron: one run every five minutes. `@reboot ddns watch` would not be restarted after a crash.

use super::{CONFIGURATION, MARKER, ServiceScope, ServiceSpec, Step};
use crate::text::shell;

/// When cron runs the service.
const EVERY: &str = "*/5 * * * *";

/// The table with the line for this service at its end, which replaces an older line.
pub fn with(table: &str, service: &ServiceSpec, scope: ServiceScope) -> String {
    let mut text = without(table);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    // For cron, an unescaped `%` is a line end.
    let command = shell::line(service.words(&["-q"])).replace('%', "\\%");
    // On a host with another service manager, `uninstall` would otherwise use that one.
    let head = service.head(&format!("{} --manager cron", scope.option()), "");
    format!("{text}# {head}\n{EVERY} {command}\n")
}

/// The table without the lines that [`with`] added.
pub fn without(table: &str) -> String {
    let mut lines = table.split_inclusive('\n').peekable();
    let mut text = String::new();
    while let Some(line) = lines.next() {
        if !is_head(line) {
            text += line;
            continue;
        }
        lines.next_if(|line| line.strip_prefix("# ").is_some_and(|rest| rest.starts_with(CONFIGURATION)));
        // The program may have any name, and the user may have changed when it runs.
        lines.next_if(|line| !line.starts_with('#') && line.contains(" -q "));
    }
    text
}

/// Whether the table has a line for a service.
pub fn has_one(table: &str) -> bool {
    table.lines().any(is_head)
}

fn is_head(line: &str) -> bool {
    line.strip_prefix("# ").is_some_and(|rest| rest.starts_with(MARKER))
}

/// Replaces the table of cron; removes it if it is empty.
pub(super) fn replace(table: String) -> Step {
    if table.is_empty() {
        return Step::run(&["crontab", "-r"]);
    }
    let words = ["crontab", "-"].map(str::to_owned).to_vec();
    Step::Run { words, input: Some(table), must_succeed: true }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::odd;
    use super::*;

    #[test]
    fn lines_of_others_stay_as_they_are() {
        let service = ServiceSpec::packaged("/usr/local/bin/ddns");
        for table in ["", "MAILTO=a@b\n0 5 * * * backup\n", "# a comment\n*/5 * * * * /usr/bin/ddns -c x.json\n"] {
            let once = with(table, &service, ServiceScope::System);
            assert!(once.starts_with(table) && has_one(&once), "{once}");
            assert!(once.ends_with("\n*/5 * * * * /usr/local/bin/ddns -q -c /etc/ddns/config.json\n"), "{once}");
            assert_eq!(with(&once, &service, ServiceScope::System), once, "twice is once");
            assert_eq!(without(&once), table);
            assert_eq!(without(&format!("{once}@daily x\n")), format!("{table}@daily x\n"));
        }
        assert_eq!(without(&with("@daily x", &service, ServiceScope::User)), "@daily x\n", "only its end was missing");
        // Another program name, and another schedule.
        let other = with("@daily x\n", &ServiceSpec::packaged("/opt/dynip"), ServiceScope::User).replace("*/5", "*/10");
        assert_eq!(without(&format!("{other}@daily y\n")), "@daily x\n@daily y\n");
    }

    #[test]
    fn a_path_means_to_cron_what_it_is() {
        let text = with("", &odd(), ServiceScope::User);
        assert!(text.contains("'/opt/my tools/100\\%/ddns' -q -c '/etc/ddns/it'\\''s \"$HOME\" "), "{text}");
    }

    proptest! {
        #[test]
        fn no_line_of_others_is_lost(table in "([ -~]{0,20}\n){0,6}") {
            let service = ServiceSpec::packaged("/usr/local/bin/ddns");
            prop_assert_eq!(without(&with(&table, &service, ServiceScope::User)), table);
        }
    }
}
