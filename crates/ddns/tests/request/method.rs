//! H1: the method of a request.

use serde_json::{Value, json};

use crate::support::given::{basic, home, sent, with};
use crate::support::{Receiver, Response, Sandbox};

#[test]
fn h1_each_method_is_sent_in_any_case_with_and_without_a_body() {
    for (word, line) in [("PUT", "PUT"), ("patch", "PATCH"), ("Delete", "DELETE"), (" post ", "POST"), ("get", "GET")] {
        let bare = sent("/hook", &json!({"method": word}));
        assert_eq!((bare.line.as_str(), bare.text()), (format!("{line} /hook HTTP/1.1").as_str(), ""), "{word}");
        assert_eq!(bare.header("content-type"), None, "{word}");
        // A server that waits for a body is told that there is none.
        let length = matches!(line, "POST" | "PUT" | "PATCH").then_some("0");
        assert_eq!(bare.header("content-length"), length, "{word}");
        if line == "GET" {
            continue;
        }
        let full = sent("/hook", &json!({"method": word, "token": {"ip": "__IP__"}}));
        assert_eq!(full.line, format!("{line} /hook HTTP/1.1"));
        assert_eq!((full.text(), full.header("content-type")), (r#"{"ip":"203.0.113.7"}"#, Some("application/json")));
        assert_eq!(full.header("content-length"), Some("20"), "{word}");
    }
}

#[test]
fn h1_get_with_a_token_is_an_error() {
    let receiver = Receiver::new();
    let config = with(&basic(&receiver), &json!({"method": "get", "token": {"ip": "__IP__"}}));
    Sandbox::new().sync(&config).expect(2).prints("`method` is GET, but `token` is not empty").prints("hint: ");
    Sandbox::new().sync(&with(&config, &json!({"token": {}}))).expect(0);
    assert_eq!(receiver.only().method(), "GET");
}

#[test]
fn h1_what_is_no_method_is_an_error() {
    let receiver = Receiver::new();
    for (method, why) in [
        (json!("HEAD"), "`method` must be one of GET, POST, PUT, PATCH, DELETE, not `HEAD`"),
        (json!("PUT /x"), "not `PUT /x`"),
        (json!("GET\r\nX: y"), "`method` must be one of"),
        (json!(5), "not a number"),
        (json!(["PUT"]), "not a list"),
    ] {
        let run = Sandbox::new().sync(&with(&basic(&receiver), &json!({"method": method})));
        run.expect(2).prints(why).prints("config.json:1:");
    }
    for blank in [Value::Null, json!(""), json!(" ")] {
        Sandbox::new().sync(&with(&basic(&receiver), &json!({"method": blank}))).expect(0);
    }
    assert!(receiver.callbacks().iter().all(|request| request.method() == "GET"));
}

#[test]
fn h1_option_wins_over_file_and_file_over_environment() {
    let receiver = Receiver::new();
    let sandbox = Sandbox::new().env("DDNS_METHOD", "delete");
    let in_file = with(&basic(&receiver), &json!({"method": "PATCH"}));
    for (config, option, expected) in
        [(basic(&receiver), None, "DELETE"), (in_file.clone(), None, "PATCH"), (in_file, Some("--method=put"), "PUT")]
    {
        sandbox.write("config.json", with(&config, &json!({"cache": false})).to_string());
        let args: Vec<&str> = ["-c", "config.json"].into_iter().chain(option).collect();
        sandbox.run(&args).expect(0);
        assert_eq!(receiver.take()[0].method(), expected);
    }
}

/// A method that is lost on the way is a lost update (D3).
#[test]
fn h1_a_redirection_keeps_the_method_but_for_303() {
    for (status, expected) in [(301, "PUT"), (302, "PUT"), (307, "PUT"), (308, "PUT"), (303, "GET")] {
        let receiver = Receiver::responding(move |request| match request.target() {
            "/hook" => Response::status(status).header("Location", "/end"),
            _ => Response::status(200),
        });
        let config = with(&home(&receiver.url("/hook")), &json!({"method": "put", "token": {"a": 1}}));
        Sandbox::new().sync(&config).expect(0);
        let seen = receiver.callbacks();
        assert_eq!((seen[1].method(), seen[1].target()), (expected, "/end"), "{status}");
        assert_eq!(seen[1].text(), if expected == "PUT" { r#"{"a":1}"# } else { "" }, "{status}");
    }
}

/// What was accepted stays so: only another request is sent again (E3).
#[test]
fn h1_another_method_is_another_callback() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    for (method, count) in
        [(Value::Null, 1), (json!("GET"), 1), (json!("PUT"), 2), (json!("put"), 2), (json!("GET"), 2)]
    {
        sandbox.sync(&with(&basic(&receiver), &json!({"method": method}))).expect(0);
        assert_eq!(receiver.callbacks().len(), count, "{method}");
    }
}
