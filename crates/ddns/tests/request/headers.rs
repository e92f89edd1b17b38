//! H2: the headers of a request.

use serde_json::{Value, json};

use crate::support::given::{basic, home, sent, with};
use crate::support::secret_forms::base64;
use crate::support::{Receiver, Response, Sandbox};

#[test]
fn h2_headers_are_sent_with_values_put_in() {
    let headers = json!({"X-API-Key": "s3cret", "x-domain": "d=__DOMAIN__;ip=__IP__ (__RECORDTYPE__)", "X-Own": "Bearer __KEY__",
        "X-Empty": "", "X-Utf8": "ü", "X-Blank": "  a b\t", "X-None": "__NOPE__"});
    let one = sent("/hook", &json!({"headers": headers, "extra": {"__KEY__": "k&k=1"}}));
    for (name, value) in [
        ("X-Api-Key", "s3cret"),
        ("X-Domain", "d=home.example.com;ip=203.0.113.7 (A)"),
        ("X-Own", "Bearer k&k=1"),
        ("X-Empty", ""),
        ("X-Utf8", "ü"),
        ("X-Blank", "a b"),
        ("X-None", "__NOPE__"),
    ] {
        assert!(one.headers.contains(&(name.to_owned(), value.to_owned())), "{name}: {:?}", one.headers);
    }
    assert_eq!(one.header("accept"), Some("*/*"));
}

#[test]
fn h2_they_replace_ours() {
    let headers = json!({"user-agent": "me/1", "ACCEPT": "text/plain", "Content-type": "application/vnd.x+json",
        "authorization": "Bearer k"});
    let receiver = Receiver::new();
    let id = receiver.url("/hook").replace("http://", "http://user:pw@");
    Sandbox::new().sync(&with(&home(&id), &json!({"headers": headers, "token": {"a": 1}}))).expect(0);
    let one = receiver.only();
    for (name, value) in [
        ("User-Agent", "me/1"),
        ("Accept", "text/plain"),
        ("Content-Type", "application/vnd.x+json"),
        ("Authorization", "Bearer k"),
    ] {
        let values: Vec<_> = one.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value).collect();
        assert_eq!(values, [value], "{name}: {:?}", one.headers);
    }
    assert_eq!(one.headers.len(), 6, "{:?}", one.headers);
}

#[test]
fn h2_what_cannot_be_a_header_is_an_error() {
    let receiver = Receiver::new();
    for (headers, why) in [
        (json!({"Host": "s3cret"}), "`headers` must not set `Host`"),
        (json!({"content-length": "s3cret"}), "`headers` must not set `Content-Length`"),
        (json!({"transfer-encoding": "s3cret"}), "`headers` must not set `Transfer-Encoding`"),
        (json!({"CONNECTION": "s3cret"}), "`headers` must not set `Connection`"),
        (json!({"Accept-Encoding": "s3cret"}), "ddns never asks for compressed responses"),
        (json!({"X Key": "s3cret"}), "`headers` contains an invalid header name"),
        (json!({"Bearer s3cret": "x"}), "`headers` contains an invalid header name"),
        (json!({"": "s3cret"}), "`headers` contains an invalid header name"),
        (json!({"X\r\nY": "s3cret"}), "`headers` contains an invalid header name"),
        (json!({"X": "s3cret\r\nY: z"}), "line break or another control character in the value of `X`"),
        (json!({"X": "s3cret\u{0}"}), "line break or another control character in the value of `X`"),
        (json!({"X": 5}), "`headers`: a value must be a string, not a number"),
        (json!({"X": {"a": "s3cret"}}), "`headers`: a value must be a string, not an object"),
        (json!({"X-A": "s3cret", "x-a": "s3cret"}), "`headers`: `X-A` is set twice"),
        (json!(["X: s3cret"]), "`headers` must be an object of strings, not a list"),
        (json!("s3cret"), "`headers` has no colon in line 1"),
        (json!("{\"s3cret"), "`headers` is not JSON"),
    ] {
        let run = Sandbox::new().sync(&with(&basic(&receiver), &json!({"headers": headers})));
        run.expect(2).prints(why).prints("config.json:1:").never_prints("s3cret");
    }
    assert!(receiver.callbacks().is_empty());
}

/// Only the update whose value it is fails, and nothing of it is sent.
#[test]
fn h2_a_line_end_in_a_value_fails_that_update_unsent() {
    let receiver = Receiver::new();
    for bad in ["a\r\nX-Injected: 1", "a\nb", "a\u{0}", "\u{7f}"] {
        let more = json!({"headers": {"X-Line": "__LINE__"}, "line": bad});
        let run = Sandbox::new().sync(&with(&basic(&receiver), &more));
        run.expect(1).prints("control character into the header `X-Line`");
        assert!(receiver.take().is_empty(), "{bad:?}");
        let preview = Sandbox::new().configure(&with(&basic(&receiver), &more));
        preview.run(&["preview", "-c", "config.json"]).expect(1).shows("cannot be sent: a value would put");
    }
    let fine = json!({"headers": {"X-Line": "__LINE__"}, "line": "a\tb ü"});
    Sandbox::new().sync(&with(&basic(&receiver), &fine)).expect(0);
    assert_eq!(receiver.only().header("x-line"), Some("a\tb ü"));
}

#[test]
fn h2_values_are_secrets() {
    let receiver = Receiver::responding(|_| Response::with_body(500, "s3cret-one c2VjcmV0OnR3bw== secret:two"));
    let headers = json!({"Authorization": "Bearer s3cret-one", "X-Pair": format!("Basic {}", base64(b"secret:two")),
        "X-Mix": "s3cret-one/__IP__", "User-Agent": "seen/1"});
    let config = with(&basic(&receiver), &json!({"headers": headers, "debug": true}));
    let run = Sandbox::new().sync(&config).expect(1);
    for shown in ["Authorization: Bearer ***", "X-Pair: Basic ***", "X-Mix: ***203.0.113.7", "User-Agent: seen/1"] {
        assert!(run.stderr.contains(shown), "{shown}:\n{}", run.stderr);
    }
    let run = run.never_prints("s3cret-one").never_prints("secret:two");
    run.never_prints(&base64(b"secret:two"));
    let sandbox = Sandbox::new().configure(&config);
    for args in [&["check"][..], &["preview"], &["preview", "--curl"], &["preview", "--json"], &["check", "--json"]] {
        let run = sandbox.run(&[args, &["-c", "config.json"]].concat());
        run.expect(0).never_prints("s3cret-one").never_prints(&base64(b"secret:two"));
    }
}

#[test]
fn h2_another_origin_gets_none_that_may_hold_a_key() {
    let other = Receiver::new();
    let to = other.url("/end");
    let first = Receiver::responding(move |_| Response::status(307).header("Location", &to));
    let headers = json!({"Authorization": "Bearer k", "X-Key": "k", "User-Agent": "me/1", "Accept": "a/b"});
    Sandbox::new().sync(&with(&home(&first.url("/hook")), &json!({"headers": headers, "token": {"a": 1}}))).expect(0);
    let one = other.only();
    assert_eq!((one.header("authorization"), one.header("x-key")), (None, None));
    assert_eq!((one.header("user-agent"), one.header("accept")), (Some("me/1"), Some("a/b")));
    assert_eq!(first.only().header("x-key"), Some("k"));
}

#[test]
fn h2_same_origin_keeps_them() {
    let receiver = Receiver::responding(|request| match request.target() {
        "/hook" => Response::status(302).header("Location", "/end"),
        _ => Response::status(200),
    });
    Sandbox::new().sync(&with(&home(&receiver.url("/hook")), &json!({"headers": {"X-Key": "k"}}))).expect(0);
    assert_eq!(receiver.callbacks()[1].header("x-key"), Some("k"));
}

#[test]
fn h2_options_and_variables_set_them() {
    let receiver = Receiver::new();
    let config = with(&basic(&receiver), &json!({"cache": false}));
    let in_file = with(&config, &json!({"headers": {"X-File": "f"}}));
    let lines = Sandbox::new().env("DDNS_HEADERS", "X-A: 1\nX-B: b:c\n");
    let json = Sandbox::new().env("DDNS_HEADERS", r#"{"X-A": "1", "X-B": "b:c"}"#);
    let both = ["--header", "X-A: 1", "--header=X-B:b:c"];
    let whole = ["--header", r#"{"X-A": "1", "X-B": "b:c"}"#];
    for (sandbox, config, args) in [
        (&lines, &config, &[][..]),
        (&json, &config, &[]),
        (&Sandbox::new(), &config, &both),
        (&Sandbox::new(), &config, &whole),
        (&lines, &in_file, &["--header", "X-A: 1", "--headers", "X-B: b:c"]),
    ] {
        sandbox.write("config.json", config.to_string());
        sandbox.run(&[&["-c", "config.json"], args].concat()).expect(0);
        let one = receiver.take().remove(0);
        assert_eq!((one.header("x-a"), one.header("x-b"), one.header("x-file")), (Some("1"), Some("b:c"), None));
    }
    lines.write("config.json", in_file.to_string());
    lines.run(&["-c", "config.json"]).expect(0);
    assert_eq!((receiver.only().header("x-a"), receiver.only().header("x-file")), (None, Some("f")));
    for args in [
        &["--header", "s3cret"][..],
        &["--header"],
        &["--header", "X: y", "--header", "s3cret"],
        &["--header", "a b: s3cret"],
    ] {
        Sandbox::new().run(&[&["--id", "http://h/"], args].concat()).expect(2).prints("header").never_prints("s3cret");
    }
}

#[test]
fn h2_an_entry_replaces_them_as_a_whole() {
    let receiver = Receiver::new();
    let entry = |path: &str, more: Value| with(&json!({"provider": "callback", "id": receiver.url(path)}), &more);
    let providers = [entry("/a", json!({})), entry("/b", json!({"headers": {"X-Own": "o"}}))];
    let config = json!({"headers": {"X-All": "a"}, "ipv4": "a.example", "index4": "shell:echo 203.0.113.7", "providers": providers});
    Sandbox::new().sync(&config).expect(0);
    for one in receiver.callbacks() {
        let expected = if one.target() == "/a" { (Some("a"), None) } else { (None, Some("o")) };
        assert_eq!((one.header("x-all"), one.header("x-own")), expected);
    }
}
