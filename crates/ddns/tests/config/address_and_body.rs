//! Section B, the rules about address and body: B1 to B7 and B14. The fields one by one are in `config/fields.rs`, layers and
//! places in `config/layers.rs`, bad input in `config/errors.rs`.

use serde_json::{Value, json};

use crate::support::given::{basic, ends, sent_by, with, without};
use crate::support::{Received, Receiver, Sandbox};

#[test]
fn b1_endpoint_and_id_must_not_both_be_empty() {
    let receiver = Receiver::new();
    let empty = [json!({}), json!({"id": ""}), json!({"endpoint": ""}), json!({"id": "", "endpoint": ""})];
    let blank = [json!({"id": "  "}), json!({"id": " ", "endpoint": "\t"})];
    for addresses in empty.iter().chain(&blank) {
        let config = json!({"dns": "callback", "ipv4": "home.example.com", "index4": receiver.index4()});
        let run = Sandbox::new().sync(&with(&config, addresses));
        ends(&run, 2, &addresses.to_string());
        assert!(run.stderr.contains("endpoint") && run.stderr.contains("id"), "{addresses}: {}", run.stderr);
        assert_eq!(receiver.lookups(), 0, "{addresses}: something was asked for although nothing can be sent");
    }
}

#[test]
fn b2_only_endpoint_and_a_token_posts_to_endpoint() {
    let receiver = Receiver::new();
    let only = with(&without(basic(&receiver), "id"), &json!({"endpoint": receiver.url("/api/update?k=v")}));
    for (id, case) in [(None, "no id"), (Some(""), "an empty id")] {
        let mut config = with(&only, &json!({"token": {"ip": "__IP__"}}));
        if let Some(id) = id {
            config["id"] = id.into();
        }
        let request = sent_by(&receiver, &config, case);
        assert_eq!(request.line, "POST /api/update?k=v HTTP/1.1", "{case}");
        assert_eq!(request.text(), r#"{"ip":"203.0.113.7"}"#, "{case}");
    }
}

#[test]
fn b2_only_endpoint_and_no_token_gets_endpoint() {
    let receiver = Receiver::new();
    let config = with(&without(basic(&receiver), "id"), &json!({"endpoint": receiver.url("/api/update")}));
    assert_eq!(sent_by(&receiver, &config, "no token").line, "GET /api/update HTTP/1.1");
}

#[test]
fn b3_an_absolute_id_is_the_address_even_where_endpoint_is_set() {
    let (receiver, other) = (Receiver::new(), Receiver::new());
    let plain = receiver.url("/hook");
    for id in [plain.clone(), plain.replace("http://", "HTTP://")] {
        let config = with(&basic(&receiver), &json!({"id": id, "endpoint": other.url("/api")}));
        assert_eq!(sent_by(&receiver, &config, &id).target(), "/hook", "{id}");
    }
    assert!(other.callbacks().is_empty(), "nothing goes to the endpoint: {:?}", other.callbacks());
}

#[test]
fn b4_endpoint_and_a_path_are_merged_for_get_and_post() {
    let receiver = Receiver::new();
    let config = with(&basic(&receiver), &json!({"endpoint": receiver.url(""), "id": "/hook/__DOMAIN__"}));
    assert_eq!(sent_by(&receiver, &config, "GET").line, "GET /hook/home.example.com HTTP/1.1");
    let config = with(&config, &json!({"token": {"ip": "__IP__"}}));
    assert_eq!(sent_by(&receiver, &config, "POST").line, "POST /hook/home.example.com HTTP/1.1");
}

#[test]
fn b5_the_merge_appends_and_keeps_the_base_path_of_endpoint() {
    let receiver = Receiver::new();
    let cases = [
        ("", "hook", "/hook"),
        ("", "/hook", "/hook"),
        ("/", "hook", "/hook"),
        ("/", "/hook", "/hook"),
        ("/api", "hook", "/api/hook"),
        ("/api", "/hook", "/api/hook"),
        ("/api/", "hook", "/api/hook"),
        ("/api/", "/hook", "/api/hook"),
        ("/v1/api", "a/b/", "/v1/api/a/b/"),
        ("/api", "../hook", "/api/../hook"),
        ("/api", "hook?d=__DOMAIN__", "/api/hook?d=home.example.com"),
        ("", "?d=x", "/?d=x"),
        ("/api", "?d=x", "/api?d=x"),
        ("/api/", "?d=x", "/api/?d=x"),
        ("/api?k=v", "?d=x", "/api?k=v&d=x"),
        ("/api?k=v", "hook", "/api/hook?k=v"),
        ("/api?k=v", "/hook", "/api/hook?k=v"),
        ("/api/?k=v&l=w", "/hook?d=x&e=y", "/api/hook?k=v&l=w&d=x&e=y"),
        // An address inside the query does not make an id absolute.
        ("/api", "hook?to=http://other.example/", "/api/hook?to=http://other.example/"),
        // The endpoint is never substituted, the id beside it is.
        ("/__DOMAIN__?k=__IP__", "hook/__IP__", "/__DOMAIN__/hook/203.0.113.7?k=__IP__"),
    ];
    for (endpoint, id, target) in cases {
        let config = with(&basic(&receiver), &json!({"endpoint": receiver.url(endpoint), "id": id}));
        let case = format!("{endpoint:?} + {id:?}");
        assert_eq!(sent_by(&receiver, &config, &case).target(), target, "{case}");
    }
}

#[test]
fn b5_a_fragment_of_either_part_is_named() {
    let receiver = Receiver::new();
    for (endpoint, id, field) in [("/a", "b#c", "id"), ("/a#c", "b", "endpoint")] {
        let config = with(&basic(&receiver), &json!({"endpoint": receiver.url(endpoint), "id": id}));
        let run = Sandbox::new().sync(&config).expect(0);
        run.prints(&format!("`{field}` has a `#`: what follows it is never sent"));
        assert_eq!(receiver.take()[0].target(), "/a/b");
    }
}

#[test]
fn b5_a_relative_id_without_endpoint_shows_the_likely_address() {
    let receiver = Receiver::new();
    let config = with(&basic(&receiver), &json!({"id": "dns.example.net/hook?d=__DOMAIN__"}));
    let run = Sandbox::new().sync(&with(&config, &json!({"index4": receiver.index4()}))).expect(2);
    run.prints("`id`").prints("did you mean https://dns.example.net/hook");
    let config = with(&config, &json!({"id": "//dns.example.net/hook"}));
    Sandbox::new().sync(&config).expect(2).prints("did you mean https://dns.example.net/hook ?");
    // A bare path has no host to guess: what is missing is the endpoint.
    Sandbox::new().sync(&with(&basic(&receiver), &json!({"id": "/hook"}))).expect(2).prints("`id`").prints("endpoint");
    assert_eq!((receiver.callbacks().len(), receiver.lookups()), (0, 0));
}

#[test]
fn b6_object_and_string_tokens_send_the_same_body() {
    let receiver = Receiver::new();
    let token = r#"{"name":"__DOMAIN__","to":{"list":["__IP__",7,true,null]}}"#;
    let object: Value = serde_json::from_str(token).expect("the token is JSON");
    let sent = json!({"name": "home.example.com", "to": {"list": ["203.0.113.7", 7, true, null]}});
    for form in [object, Value::from(token), format!("\n {token} \n").into()] {
        let case = form.to_string();
        let request = sent_by(&receiver, &with(&basic(&receiver), &json!({"token": form})), &case);
        assert_eq!((request.method(), request.json()), ("POST", sent.clone()), "{case}");
    }
}

#[test]
fn b7_a_token_may_be_an_array_in_both_forms() {
    let receiver = Receiver::new();
    for token in [json!(["__DOMAIN__", {"ip": "__IP__"}]), json!(r#"["__DOMAIN__", {"ip": "__IP__"}]"#)] {
        let request = sent_by(&receiver, &with(&basic(&receiver), &json!({"token": token})), &token.to_string());
        assert_eq!((request.method(), request.text()), ("POST", r#"["home.example.com",{"ip":"203.0.113.7"}]"#));
    }
}

#[test]
fn b7_empty_tokens_select_get() {
    let receiver = Receiver::new();
    for token in [json!(null), json!(""), json!("  \t\n"), json!({}), json!([])] {
        let request = sent_by(&receiver, &with(&basic(&receiver), &json!({"token": token})), &token.to_string());
        assert_eq!(request.line, "GET /hook?d=home.example.com&ip=203.0.113.7 HTTP/1.1", "{token}");
        assert!(request.body.is_empty(), "{token}: a GET has no body: {:?}", request.text());
    }
    assert_eq!(sent_by(&receiver, &basic(&receiver), "no token at all").method(), "GET");
}

#[test]
fn b7_an_empty_object_or_array_in_a_string_is_a_body() {
    let receiver = Receiver::new();
    let is_post = |request: &Received, body: &str, case: &str| {
        assert_eq!((request.method(), request.text()), ("POST", body), "{case}");
        assert_eq!(request.header("Content-Type"), Some("application/json"), "{case}");
    };
    for (token, body) in [("{}", "{}"), (" { } ", "{}"), ("[]", "[]")] {
        is_post(&sent_by(&receiver, &with(&basic(&receiver), &json!({"token": token})), token), body, token);
    }
    let sandbox = Sandbox::new().configure(&basic(&receiver));
    sandbox.run(&["--token", "{}"]).expect(0);
    is_post(&receiver.take().remove(0), "{}", "--token");
}

#[test]
fn b7_a_string_token_that_is_no_object_or_array_is_an_error_at_its_position() {
    let receiver = Receiver::new();
    let cases = [
        "s3cr3t-key-0123456789",
        "\"s3cr3t-key-0123456789\"",
        "'{\"key\": \"s3cr3t-key-0123456789\"}'",
        "0123456789",
        "true",
        "{\"key\": \"s3cr3t-key-0123456789\"",
        "{'key': 's3cr3t-key-0123456789'}",
        "{\"key\": s3cr3t-key-0123456789}",
        "{\"key\": \"s3cr3t-key-0123456789\"} and more",
        "{\"key\": \"s3cr3t-key-0123456789\n",
        "[\"s3cr3t-key-0123456789\"",
    ];
    for token in cases {
        let fields = with(&basic(&receiver), &json!({"index4": receiver.index4(), "token": token}));
        // Once on one line, where every message about that line risks to show the token, once over several.
        for text in [fields.to_string(), format!("{fields:#}")] {
            let run = Sandbox::new().sync_text(&text);
            ends(&run, 2, token);
            let line = 1 + text[..text.find("\"token\"").expect("a token")].matches('\n').count();
            assert!(run.stderr.contains(&format!("config.json:{line}:")), "{token}: no position: {}", run.stderr);
            assert!(run.stderr.contains("`token`"), "{token}: the field is not named: {}", run.stderr);
            let is_hinted = run.stderr.contains("leave out the quotation marks around it");
            assert_eq!(is_hinted, token.starts_with(['"', '\'']), "{token}: {}", run.stderr);
            for secret in ["s3cr3t", "0123456789"] {
                assert!(!run.stderr.contains(secret), "{token}: the token is shown: {}", run.stderr);
            }
        }
    }
    assert_eq!((receiver.callbacks().len(), receiver.lookups()), (0, 0));
}

#[test]
fn b14_keys_and_events_are_the_users_own_and_nothing_is_added() {
    let receiver = Receiver::new();
    let id = receiver.url("/hook?key=k-1&event=address.changed&Authorization=Bearer+x&ttl=9&token=t");
    let get = sent_by(&receiver, &with(&basic(&receiver), &json!({"id": id})), "GET");
    assert_eq!(get.target(), "/hook?key=k-1&event=address.changed&Authorization=Bearer+x&ttl=9&token=t");

    // Names that mean something in a configuration or to an endpoint mean nothing inside the body.
    let token = r#"{"Authorization":"Bearer x","event":"created","dns":"other","ttl":5,"method":"PUT","ipv4":[]}"#;
    let post = sent_by(&receiver, &with(&basic(&receiver), &json!({"token": token, "ttl": 600})), "POST");
    assert_eq!((post.method(), post.text()), ("POST", token));

    let allowed = ["host", "user-agent", "accept", "content-type", "content-length", "connection"];
    for request in [get, post] {
        for (name, value) in &request.headers {
            let name = name.to_lowercase();
            assert!(allowed.contains(&name.as_str()), "a header nobody asked for: {name}: {value}");
        }
    }
}
