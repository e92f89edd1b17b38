//! Section F, `quorum:N(…)`: an address counts only where N of the sources agree; they are asked at the same time.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::lookup::{character, look_up, lookup_config, refused};
use crate::support::{Receiver, Response, Sandbox};

#[test]
fn f_quorum_sends_what_enough_sources_agree_on() {
    let page = Receiver::new();
    let by_page = format!("quorum:2(shell:echo 198.51.100.1, {}, cmd:echo 203.0.113.7)", page.index4());
    for (family, source, expected) in [
        (4, "quorum:2(shell:echo 203.0.113.7, shell:echo 203.0.113.7, shell:echo 198.51.100.1)", Some("203.0.113.7")),
        (4, "quorum:2(shell:echo 198.51.100.1, shell:echo 203.0.113.7, shell:echo 203.0.113.7)", Some("203.0.113.7")),
        (4, by_page.as_str(), Some("203.0.113.7")),
        (4, "quorum:1(shell:echo 203.0.113.7)", Some("203.0.113.7")),
        (4, "quorum:1(cmd:/nonexistent/program, shell:echo 203.0.113.7)", Some("203.0.113.7")),
        (4, "quorum:2(cmd:false, shell:echo 203.0.113.7, shell:echo 203.0.113.7)", Some("203.0.113.7")),
        (4, r"quorum:2(regex:127\.0\.0\.1, shell:echo 127.0.0.1)", Some("127.0.0.1")),
        (4, "quorum:2( shell:echo 203.0.113.7 ,shell:echo 203.0.113.7 )", Some("203.0.113.7")),
        // A semicolon separates nothing, and a shell has its own parentheses.
        (4, "quorum:2(shell:true; echo 203.0.113.7, shell:echo a; echo 203.0.113.7)", Some("203.0.113.7")),
        (4, "quorum:2(shell:echo $(echo 203.0.113.7), shell:(echo 203.0.113.7))", Some("203.0.113.7")),
        // It is the address that must agree, not its spelling.
        (6, "quorum:2(shell:echo 2001:DB8::7, shell:echo at 2001:db8:0:0::7)", Some("2001:db8::7")),
        (6, "quorum:2(shell:echo 2001:db8::7, shell:echo 203.0.113.7)", None),
        (4, "quorum:2(shell:echo 203.0.113.7, shell:echo 203.0.113.8)", None),
        (4, "quorum:3(shell:echo 203.0.113.7, shell:echo 203.0.113.7, shell:echo 203.0.113.8)", None),
        (4, "quorum:2(shell:echo 203.0.113.7, cmd:false)", None),
        (4, "quorum:2(shell:echo 0.0.0.0, shell:echo 0.0.0.0)", None),
        (4, "quorum:1(cmd:false)", None),
    ] {
        for sources in [json!([source]), json!(source)] {
            let looked_up = look_up(family, &sources);
            assert_eq!(looked_up.sent.as_deref(), expected, "IPv{family}, {sources}:\n{}", looked_up.run.stderr);
        }
    }
}

#[test]
fn f_quorum_without_agreement_reports_what_each_source_found() {
    let (one, two) = (Receiver::new(), Receiver::responding(|_| Response::with_body(200, "198.51.100.2")));
    let source =
        |first: &str| format!("quorum:2({first}, url:{}, cmd:false, cmd:echo 192.0.2.3)", two.url("/two?key=s3cr3t"));
    let looked_up = look_up(4, &json!([source(&one.index4())]));
    assert_eq!(looked_up.sent, None);
    let printed = &looked_up.run.stderr;
    for part in [
        "203.0.113.7",
        "198.51.100.2",
        "192.0.2.3",
        &format!("127.0.0.1:{}", one.port()),
        &format!("127.0.0.1:{}", two.port()),
        "cmd:echo",
        "cmd:false",
    ] {
        assert!(printed.contains(part), "no word of {part}:\n{printed}");
    }
    looked_up.run.never_prints("s3cr3t");
    look_up(4, &json!([source("shell:echo s3cr3t 203.0.113.7")])).run.expect(1).never_prints("s3cr3t");
}

#[test]
fn f_quorum_without_agreement_gives_way_to_the_next_source() {
    let sources = json!(["quorum:2(shell:echo 203.0.113.7, shell:echo 198.51.100.1)", "shell:echo 192.0.2.9"]);
    let looked_up = look_up(4, &sources);
    assert_eq!(looked_up.sent.as_deref(), Some("192.0.2.9"), "{}", looked_up.run.stderr);
    assert!(looked_up.run.stderr.contains("quorum"), "the failing source is not named:\n{}", looked_up.run.stderr);
}

#[test]
fn f_quorum_asks_its_sources_at_the_same_time() {
    let slow = "shell:sleep 0.5; echo 203.0.113.7";
    let begun = Instant::now();
    let looked_up = look_up(4, &json!([format!("quorum:3({slow}, {slow}, {slow})")]));
    let took = begun.elapsed();
    assert_eq!(looked_up.sent.as_deref(), Some("203.0.113.7"), "{}", looked_up.run.stderr);
    assert!(took >= Duration::from_millis(500), "took only {took:?}");
    assert!(took < Duration::from_millis(1400), "three sources of 0.5 s took {took:?}");
}

/// Once enough agree, the others have half a second left: what they found is named, and nobody waits for the rest.
#[test]
fn f_quorum_waits_a_moment_for_the_others_once_enough_agree() {
    let agreed = "quorum:2(shell:echo 203.0.113.7, shell:echo 203.0.113.7";
    let begun = Instant::now();
    let looked_up = look_up(4, &json!([format!("{agreed}, shell:sleep 9; echo 198.51.100.1)")]));
    let took = begun.elapsed();
    assert_eq!(looked_up.sent.as_deref(), Some("203.0.113.7"), "{}", looked_up.run.stderr);
    assert!(took > Duration::from_millis(450), "took only {took:?}");
    assert!(took < Duration::from_secs(4), "the slow source was waited for: {took:?}");

    let receiver = Receiver::new();
    let source = json!([format!("{agreed}, shell:sleep 0.1; echo 198.51.100.1)")]);
    let mut config = lookup_config(4, &source, &receiver.url("/__IP__"));
    config["debug"] = json!(true);
    Sandbox::new().sync(&config).expect(0).prints("2 of 3 sources agree").prints("198.51.100.1");
}

#[test]
fn f_quorum_that_is_written_wrongly_is_an_error_that_points_at_the_character() {
    for source in [
        "quorum:0(default)",
        "quorum:2(default)",
        "quorum:4(default, 0, 1)",
        "quorum:-1(default)",
        "quorum:two(default)",
        "quorum:1.5(default)",
        "quorum:(default)",
        "quorum:99999999999999999999(default)",
        "quorum:2(default, 0",
        "quorum:2 default, 0",
        "quorum:2 default, 0)",
        "quorum:2",
        "quorum:2()",
        "quorum:2( )",
        "quorum:1(default) x",
        "quorum:1(default, )",
        "quorum:1(, default)",
        "quorum:1(default, quorum:1(default))",
    ] {
        let run = refused(4, &json!([source]));
        character(&run, source);
        refused(6, &json!([0, source]));
    }
}

#[test]
fn f_quorum_with_a_wrong_source_in_it_is_an_error() {
    for source in
        ["quorum:1(nonsense)", "quorum:1(default, regex:()", "quorum:1(url:ftp://h.example/)", "quorum:1(false)"]
    {
        refused(4, &json!([source]));
    }
}

/// A fetched configuration may not run programs, however well they are wrapped.
#[test]
fn f_quorum_b12_a_fetched_configuration_may_not_run_a_program_in_it() {
    for source in ["quorum:1(shell:touch ran; echo 203.0.113.7)", "quorum:1(default, cmd:touch ran)"] {
        let callback = Receiver::new();
        let config = lookup_config(4, &json!([source]), &callback.url("/")).to_string();
        let server = Receiver::responding(move |_| Response::with_body(200, &config));
        let sandbox = Sandbox::new();
        let run = sandbox.run(&["-c", &server.url("/config.json")]);
        assert_eq!(run.code, 2, "{source}:\n{}", run.stderr);
        assert!(!sandbox.path("ran").exists(), "{source}: the program was run");
        assert_eq!(callback.callbacks().len(), 0, "{source}: something was sent");
    }
}
