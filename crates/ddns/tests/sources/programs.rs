//! Programs as sources (F6): what they leave behind, and what they say too much.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::given::{home, with, without};
use crate::support::lookup::look_up;
use crate::support::{Receiver, Sandbox};

/// Keys and passwords in our environment are not for the programs that a source runs (G2).
#[test]
fn f6_programs_get_no_secrets_of_ours() {
    let receiver = Receiver::new();
    let sandbox = Sandbox::new()
        .env("DDNS_TOKEN", r#"{"key": "secret-token"}"#)
        .env("DDNS_ID", receiver.url("/hook?key=secret-id"))
        .env("http_proxy", "http://user:secret-proxy@127.0.0.1:9")
        .env("NO_PROXY", "127.0.0.1")
        .env("TZ", "UTC");
    let config = without(with(&home(""), &json!({"index4": "shell:env > seen; echo 203.0.113.7"})), "id");
    sandbox.sync(&config).expect(0);
    let seen = sandbox.read("seen");
    assert!(!seen.contains("secret") && !seen.contains("DDNS_"), "{seen}");
    assert!(seen.contains("PATH=") && seen.contains("HOME=") && seen.contains("TZ=UTC"), "{seen}");
}

#[test]
fn f6_long_output_is_listened_to_as_far_as_the_limit() {
    let cases = [
        ("shell:echo 203.0.113.7; yes | head -c 200000", Some("203.0.113.7")),
        // Cut in two at the limit, the address would be another.
        ("shell:head -c 65524 /dev/zero | tr '\\0' x; printf ' 203.0.113.77\\n'; sleep 1", None),
        ("cmd:yes", None),
    ];
    for (source, expected) in cases {
        let begun = Instant::now();
        let looked_up = look_up(4, &json!(source));
        assert_eq!(looked_up.sent.as_deref(), expected, "{source}: {}", looked_up.run.stderr);
        assert!(begun.elapsed() < Duration::from_secs(10), "{source}");
    }
}

#[test]
fn f6_what_a_program_leaves_in_the_background_is_not_waited_for() {
    for source in ["shell:sleep 20 & echo 203.0.113.7", "shell:echo 203.0.113.7; yes xxxx & exit 0"] {
        let begun = Instant::now();
        let looked_up = look_up(4, &json!(source));
        assert_eq!(looked_up.sent.as_deref(), Some("203.0.113.7"), "{source}: {}", looked_up.run.stderr);
        assert!(begun.elapsed() < Duration::from_secs(10), "{source}: {:?}", begun.elapsed());
    }
}
