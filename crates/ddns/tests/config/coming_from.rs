//! What users of NewFuture/DDNS have in their scripts, variables and files means the same here, or a hint says what takes its
//! place (B11).

use crate::support::given::basic;
use crate::support::{Receiver, Sandbox};

#[test]
fn b11_the_version_has_both_letters() {
    let version = |option: &str| Sandbox::new().run(&[option]).expect(0).stdout;
    assert!(version("-v").starts_with("ddns "), "{}", version("-v"));
    assert_eq!(version("-v"), version("--version"));
}

#[test]
fn b11_variables_count_in_any_case_and_with_dots() {
    let receiver = Receiver::new();
    let sandbox = Sandbox::new()
        .env("ddns_dns", "callback")
        .env("Ddns_Id", receiver.url("/__DOMAIN__/__TTL__"))
        .env("ddns_ipv4", "a.example")
        .env("DDNS_index4", "cmd:echo 203.0.113.7")
        .env("DDNS_TTL", "300")
        .env("ddns_log.level", "ERROR");
    let run = sandbox.run(&[]).expect(0);
    assert_eq!(run.stderr, "", "the level of the log counts");
    assert_eq!(receiver.only().target(), "/a.example/300");
}

#[test]
fn b11_a_variable_in_two_spellings_must_have_one_value() {
    let receiver = Receiver::new();
    let sandbox = Sandbox::new().env("ddns_ttl", "300").env("DDNS_TTL", "600");
    let run = sandbox.sync(&basic(&receiver)).expect(2);
    run.prints("DDNS_TTL (environment): error: it is set twice, to different values").prints("unset one of the two");
    assert!(receiver.callbacks().is_empty());
    let sandbox = Sandbox::new().env("ddns_ttl", "300").env("DDNS_TTL", "300");
    sandbox.sync(&basic(&receiver)).expect(0).never_prints("twice");
}

#[test]
fn b11_a_schedule_for_cron_is_a_hint_at_interval() {
    let receiver = Receiver::new();
    let run = Sandbox::new().env("DDNS_CRON", "*/10 * * * *").sync(&basic(&receiver)).expect(0);
    run.prints("DDNS_CRON (environment): it has no effect").prints("`interval`");
}

#[test]
fn b11_task_is_a_hint_at_the_service_and_at_the_old_timer() {
    for arguments in [&["task"][..], &["task", "--install", "5"], &["task", "--status"]] {
        let run = Sandbox::new().run(arguments).expect(2);
        run.prints("there is no command `task`")
            .prints("docs/running-as-a-service.md")
            .prints("systemctl disable --now ddns.timer");
    }
}
