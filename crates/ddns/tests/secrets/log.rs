//! Section G, logs: where they go, what they look like, how much they say. Secrets stand in `secrets/log_secrets.rs`.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::support::given::{home, with};
use crate::support::{Receiver, Response, Run, Sandbox};

/// The sentence of one accepted update, as people read it.
const ACCEPTED: &str = "home.example.com A 203.0.113.7: accepted (204";

fn accepting() -> Receiver {
    Receiver::responding(|_| Response::status(204))
}

/// One accepted update with these fields.
#[track_caller]
fn logged(more: &Value) -> Run {
    let receiver = accepting();
    let run = Sandbox::new().sync(&with(&home(&receiver.url("/hook?ip=__IP__")), more)).expect(0);
    receiver.only();
    run
}

/// The year now, near enough for a log that is seconds old (and checked against both neighbours on New Year's Eve).
fn years() -> [String; 2] {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970").as_secs();
    let year = |at: u64| {
        let days = at / 86400;
        let mut year = 1970;
        let mut left = days;
        loop {
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = if leap { 366 } else { 365 };
            if left < length {
                return year.to_string();
            }
            (left, year) = (left - length, year + 1);
        }
    };
    [year(seconds - 86400), year(seconds + 86400)]
}

#[test]
fn g1_debug_shows_request_line_headers_body_status_and_time() {
    let receiver = Receiver::responding(|_| Response::with_body(202, "queued-for-later"));
    let more = json!({"debug": true, "token": {"address": "__IP__", "name": "__DOMAIN__"}});
    let run = Sandbox::new().sync(&with(&home(&receiver.url("/hook?d=__DOMAIN__")), &more)).expect(0);
    let printed = run.stderr.to_lowercase();
    for part in [
        "post /hook?d=home.example.com",
        "user-agent",
        "content-type",
        "application/json",
        r#""address":"203.0.113.7""#,
        r#""name":"home.example.com""#,
        "202",
        "queued-for-later",
        " ms",
    ] {
        assert!(printed.contains(part), "the debug log lacks {part:?}:\n{}", run.stderr);
    }
}

#[test]
fn g1_debug_shows_a_get_and_a_failure_too() {
    let receiver = Receiver::responding(|_| Response::with_body(418, "short-and-stout"));
    let more = json!({"debug": true});
    let run = Sandbox::new().sync(&with(&home(&receiver.url("/hook?ip=__IP__")), &more)).expect(1);
    run.prints("GET /hook?ip=203.0.113.7").prints("418").prints("short-and-stout");
}

#[test]
fn g1_without_debug_the_log_is_short() {
    let run = logged(&json!({})).prints(ACCEPTED).prints(" ms").prints("1 accepted");
    let printed = run.stderr.to_lowercase();
    assert!(!printed.contains("user-agent") && !printed.contains("/hook"), "{}", run.stderr);
    assert!(run.stderr.lines().count() <= 3, "{}", run.stderr);
}

/// The body of a response can be long: it is shown cut.
#[test]
fn g1_d4_a_long_response_is_logged_cut() {
    let receiver = Receiver::responding(|_| Response::with_body(200, &"long-response ".repeat(100_000)));
    let run = Sandbox::new().sync(&with(&home(&receiver.url("/")), &json!({"debug": true}))).expect(0);
    let shown = run.stderr.matches("long-response").count();
    assert!((1..7000).contains(&shown), "shown {shown} of 100000 times");
}

#[test]
fn g3_logs_go_to_standard_error_and_standard_output_is_empty() {
    for more in [json!({}), json!({"debug": true}), json!({"log": {"level": "DEBUG", "format": "json"}})] {
        let run = logged(&more).prints(ACCEPTED);
        assert_eq!(run.stdout, "", "with {more}");
    }
    let failed = Sandbox::new().sync(&with(&home("http://127.0.93.8:9/"), &json!({"debug": true}))).expect(1);
    assert_eq!(failed.stdout, "");
    let wrong = Sandbox::new().sync_text("{").expect(2);
    assert_eq!(wrong.stdout, "");
}

/// In a folder that others may write to, somebody may have made it lead anywhere.
#[test]
fn g3_a_log_is_written_through_no_link_that_another_user_may_have_made() {
    let (sandbox, receiver) = (Sandbox::new(), accepting());
    let config = with(&home(&receiver.url("/hook?ip=__IP__")), &json!({"log": {"file": "logs/log"}, "cache": false}));
    fs::create_dir(sandbox.path("logs")).expect("the folder is made");
    sandbox.write("victim", "precious");
    for target in ["victim", "nowhere"] {
        let _ = fs::remove_file(sandbox.path("logs/log"));
        symlink(sandbox.path(target), sandbox.path("logs/log")).expect("a link");
        fs::set_permissions(sandbox.path("logs"), Permissions::from_mode(0o1777)).expect("all may write");
        sandbox.sync(&config).expect(0).prints("a link in a folder that other users can write to").prints(ACCEPTED);
    }
    assert_eq!(sandbox.read("victim"), "precious");
    assert!(!sandbox.path("nowhere").exists(), "a link that leads nowhere makes no file");
    // In a folder of the user alone, the user made it.
    fs::set_permissions(sandbox.path("logs"), Permissions::from_mode(0o755)).expect("only the owner may write");
    sandbox.sync(&config).expect(0);
    assert!(sandbox.read("nowhere").contains(ACCEPTED));
}

#[test]
fn g3_a_log_file_is_made_with_its_folder_and_grows() {
    let receiver = accepting();
    let more = json!({"log": {"file": "logs/deep/ddns.log"}, "cache": false});
    let (sandbox, config) = (Sandbox::new(), with(&home(&receiver.url("/")), &more));
    for count in 1..=2 {
        let run = sandbox.sync(&config).expect(0).never_prints(ACCEPTED);
        assert_eq!(run.stdout, "");
        let text = sandbox.read("logs/deep/ddns.log");
        assert_eq!(text.matches(ACCEPTED).count(), count, "run {count}:\n{text}");
    }
}

#[test]
fn g3_the_level_decides_what_is_logged() {
    let receiver =
        Receiver::responding(|request| Response::status(if request.target() == "/bad.example" { 500 } else { 204 }));
    let names = json!({"ipv4": ["good.example", "bad.example", "known.example"]});
    let config = with(&home(&receiver.url("/__DOMAIN__")), &names);
    for (level, accepted, known) in
        [("DEBUG", true, true), ("INFO", true, false), ("WARNING", false, false), ("ERROR", false, false)]
    {
        let sandbox = Sandbox::new();
        sandbox.sync(&with(&config, &json!({"ipv4": ["known.example"]}))).expect(0);
        let run = sandbox.sync(&with(&config, &json!({"log": {"level": level}}))).expect(1);
        assert_eq!(run.stderr.contains("good.example A 203.0.113.7: accepted"), accepted, "{level}:\n{}", run.stderr);
        assert_eq!(
            run.stderr.contains("1 failed, 1 accepted, 1 already up to date"),
            accepted,
            "{level}:\n{}",
            run.stderr
        );
        assert_eq!(run.stderr.contains("known.example"), known, "{level}:\n{}", run.stderr);
        assert!(run.stderr.contains("bad.example A 203.0.113.7: failed"), "{level}:\n{}", run.stderr);
    }
}

#[test]
fn g3_a_format_in_the_percent_style_is_understood() {
    let run = logged(&json!({"log": {"format": "%(levelname)s|%(name)s|%(message)s"}}));
    let mut updates = 0;
    for line in run.stderr.lines() {
        let parts: Vec<_> = line.splitn(3, '|').collect();
        assert_eq!(parts.len(), 3, "{line:?} is not in the format");
        assert!(["DEBUG", "INFO", "WARNING", "ERROR"].contains(&parts[0]), "{line:?} has no level");
        assert!(!parts[1].is_empty(), "{line:?} has no name");
        updates += usize::from(parts[0] == "INFO" && parts[2].starts_with(ACCEPTED));
    }
    assert_eq!(updates, 1, "{}", run.stderr);
}

#[test]
fn g3_the_level_names_are_those_of_the_format() {
    let log = json!({"log": {"format": "<%(levelname)s> %(message)s"}});
    let failed = Sandbox::new().sync(&with(&home("http://127.0.93.8:9/"), &log)).expect(1);
    failed.prints("<ERROR> home.example.com A 203.0.113.7: failed");
    logged(&with(&log, &json!({"no_such_field": 1}))).prints("<WARNING> ").prints("<INFO> home.example.com");
}

#[test]
fn g3_datefmt_shapes_the_time() {
    let run = logged(&json!({"log": {"format": "%(asctime)s;%(message)s", "datefmt": "%Y"}}));
    let line = run.stderr.lines().find(|line| line.contains(ACCEPTED)).expect("the update is reported");
    let year = line.split(';').next().expect("a time before the message");
    assert!(years().iter().any(|known| known == year), "{line:?} does not begin with the year");

    let run = logged(&json!({"log": {"format": "%(asctime)s;%(message)s", "datefmt": "at %H:%M:%S on %d.%m.%Y"}}));
    let line = run.stderr.lines().find(|line| line.contains(ACCEPTED)).expect("the update is reported");
    let time: String = line.split(';').next().unwrap_or_default().replace(|sign: char| sign.is_ascii_digit(), "9");
    assert_eq!(time, "at 99:99:99 on 99.99.9999", "{line:?}");
}

#[test]
fn g3_format_json_makes_each_line_an_object() {
    let run = logged(&json!({"log": {"format": "json", "level": "DEBUG"}, "debug": true}));
    let mut messages = Vec::new();
    for line in run.stderr.lines() {
        let object: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line:?} is not JSON"));
        for field in ["time", "level", "message"] {
            assert!(object.get(field).is_some(), "{line} lacks {field}");
        }
        messages.push((object["level"].as_str().unwrap_or_default().to_owned(), object["message"].clone()));
    }
    let update = |(level, message): &&(String, Value)| {
        level == "INFO" && message.as_str().is_some_and(|text| text.starts_with(ACCEPTED))
    };
    assert_eq!(messages.iter().filter(update).count(), 1, "{messages:?}");
}

/// Neither our colours nor what an endpoint sends may reach a file or a pipe as an escape code.
#[test]
fn g3_no_escape_codes_where_there_is_no_terminal() {
    let receiver = Receiver::responding(|_| Response::with_body(500, "\u{1b}[31mred\u{1b}]0;title\u{7}\u{9b}2J"));
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "xterm-256color")] {
        for more in [json!({"debug": true}), json!({"log": {"level": "DEBUG", "file": "log.txt"}})] {
            let sandbox = Sandbox::new().env(name, value);
            let run = sandbox.sync(&with(&home(&receiver.url("/")), &more)).expect(1);
            let file = fs::read_to_string(sandbox.path("log.txt")).unwrap_or_default();
            for text in [run.stdout, run.stderr, file] {
                let odd = text.chars().find(|sign| sign.is_control() && !"\n\t".contains(*sign));
                assert_eq!(odd, None, "{name}={value} with {more}: a control character in\n{text:?}");
            }
        }
    }
}

/// A reader that went away (`ddns 2>&1 | head -1`) is no reason to lose an update.
#[test]
fn g3_a_closed_pipe_is_no_panic_and_the_update_counts() {
    let receiver = accepting();
    let config = with(&home(&receiver.url("/")), &json!({"debug": true}));
    let sandbox = Sandbox::new().configure(&config);
    let mut command = sandbox.command(&["-c", "config.json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    drop((child.stdout.take(), child.stderr.take()));
    assert_eq!(child.wait().expect("the program ends").code(), Some(0));
    receiver.only();
    sandbox.sync(&config).expect(0);
    receiver.only();
}

#[test]
fn g3_closed_outputs_are_no_panic() {
    let receiver = accepting();
    let sandbox = Sandbox::new().configure(&home(&receiver.url("/hook")));
    let program = sandbox.command(&[]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec \"$0\" -c config.json <&- >&- 2>&-"]).arg(program.get_program());
    shell.current_dir(sandbox.path("")).env_clear().env("HOME", sandbox.path("")).env("PATH", "/usr/bin:/bin");
    assert_eq!(shell.status().expect("a shell").code(), Some(0));
    assert_eq!(receiver.only().line, "GET /hook HTTP/1.1");
}

#[test]
fn g3_help_into_a_closed_pipe_is_no_panic() {
    for option in ["--help", "--version"] {
        let sandbox = Sandbox::new();
        let mut command = sandbox.command(&[option]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        drop((child.stdout.take(), child.stderr.take()));
        let code = child.wait().expect("the program ends").code();
        assert!(code.is_some_and(|code| code != 101), "{option}: {code:?}");
    }
}
