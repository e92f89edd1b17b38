//! H3: what a body is sent as.

use serde_json::{Value, json};

use crate::support::given::{basic, sent, with};
use crate::support::{Receiver, Sandbox};

#[test]
fn h3_a_form_of_an_object() {
    let token = json!({"key": "a b&c=d+%ü~", "ip": "__IP__", "line": "<__LINE__>", "n": 1.10, "on": true, "ke y": "", "__IP__": "x"});
    let one = sent("/hook", &json!({"format": "form", "token": token, "line": "x&y=1 2"}));
    assert_eq!(one.header("content-type"), Some("application/x-www-form-urlencoded"));
    let expected = "key=a+b%26c%3Dd%2B%25%C3%BC%7E&ip=203.0.113.7&line=%3Cx%26y%3D1+2%3E&n=1.1&on=true&ke+y=&__IP__=x";
    let mut pairs: Vec<&str> = one.text().split('&').collect();
    let mut expected: Vec<&str> = expected.split('&').collect();
    pairs.sort_unstable();
    expected.sort_unstable();
    assert_eq!(pairs, expected);
    assert_eq!(one.line, "POST /hook HTTP/1.1");
}

#[test]
fn h3_a_form_of_a_text_keeps_it() {
    let token = "a=1&ip=__IP__&v6=[x]+%20 y&&=&l=__LINE__&bare";
    let one = sent("/hook", &json!({"format": "FORM", "token": token, "line": "x&y=1 2:3"}));
    assert_eq!(one.text(), "a=1&ip=203.0.113.7&v6=[x]+%20 y&&=&l=x%26y%3D1+2%3A3&bare");
    // An option can hold nothing but a text: an object in it is meant as one.
    let one = sent("/hook", &json!({"format": "form", "token": r#"{"a": "b c", "t": __TTL__}"#, "ttl": 60}));
    assert_eq!(one.text(), "a=b+c&t=60");
}

#[test]
fn h3_a_text_is_sent_as_it_is() {
    let token = "server x\r\nupdate add __DOMAIN__. __TTL__ __RECORDTYPE__ __IP__\n\"ü\" {\"a\": __LINE__}\n";
    let one = sent("/hook", &json!({"format": "text", "token": token, "ttl": 60, "line": "\"&<"}));
    assert_eq!(one.header("content-type"), Some("text/plain; charset=utf-8"));
    let expected = "server x\r\nupdate add home.example.com. 60 A 203.0.113.7\n\"ü\" {\"a\": \"&<}\n";
    assert_eq!(one.text(), expected);
    assert_eq!(one.header("content-length"), Some(expected.len().to_string().as_str()));
}

#[test]
fn h3_what_is_empty_is_a_get_and_json_is_the_default() {
    for format in ["form", "text"] {
        for token in [Value::Null, json!(""), json!("  "), json!({})] {
            let one = sent("/hook", &json!({"format": format, "token": token}));
            assert_eq!((one.method(), one.header("content-type")), ("GET", None), "{format} {token}");
        }
    }
    let one = sent("/hook", &json!({"format": "Json", "token": {"a": 1}}));
    assert_eq!((one.text(), one.header("content-type")), (r#"{"a":1}"#, Some("application/json")));
}

#[test]
fn h3_what_does_not_fit_is_an_error() {
    let receiver = Receiver::new();
    for (format, token, why) in [
        (json!("xml"), json!("s3cret"), "`format` must be `json`, `form` or `text`, not `xml`"),
        (json!(5), json!("s3cret"), "`format` must be `json`, `form` or `text`, not a number"),
        (json!("form"), json!(["s3cret"]), "`token` must be an object, or a string such as `a=1&ip=__IP__`"),
        (
            json!("form"),
            json!({"a": {"b": "s3cret"}}),
            "a value in a form must be a string, a number or a boolean, not an object",
        ),
        (json!("form"), json!({"a": ["s3cret"]}), "not a list"),
        (json!("form"), json!({"a": null}), "not null"),
        (json!("form"), json!("{\"a\": [\"s3cret\"]}"), "not a list"),
        (json!("text"), json!({"a": "s3cret"}), "`token` must be a string if `format` is `text`, not an object"),
        (json!("text"), json!(5), "not a number"),
    ] {
        let run = Sandbox::new().sync(&with(&basic(&receiver), &json!({"format": format, "token": token})));
        run.expect(2).prints(why).prints("config.json:1:").never_prints("s3cret");
    }
    assert!(receiver.callbacks().is_empty());
}

#[test]
fn h3_literals_are_secrets_in_every_format() {
    for (format, token, shown) in [
        ("form", json!("key=s3cret+x&ip=__IP__"), "key=***&ip=203.0.113.7"),
        ("form", json!({"key": "s3cret x"}), "key=***"),
        ("text", json!("key s3cret x __IP__"), "***203.0.113.7"),
    ] {
        let receiver = Receiver::new();
        let config = with(&basic(&receiver), &json!({"format": format, "token": token, "debug": true}));
        Sandbox::new().sync(&config).expect(0).never_prints("s3cret").prints(&format!("> {shown}"));
        let sandbox = Sandbox::new().configure(&config);
        sandbox.run(&["check", "-c", "config.json"]).expect(0).never_prints("s3cret");
    }
}

#[test]
fn h3_options_and_variables_set_it() {
    let receiver = Receiver::new();
    let sandbox = Sandbox::new().env("DDNS_FORMAT", "text").env("DDNS_TOKEN", "ip __IP__");
    sandbox.write("config.json", with(&basic(&receiver), &json!({"cache": false})).to_string());
    sandbox.run(&["-c", "config.json"]).expect(0);
    assert_eq!(receiver.take()[0].text(), "ip 203.0.113.7");
    sandbox.run(&["-c", "config.json", "--format", "form", "--token", r#"{"ip": "__IP__"}"#]).expect(0);
    assert_eq!(receiver.take()[0].text(), "ip=203.0.113.7");
}
