//! A cache file of an older version of the program: an upgrade costs one round of requests, and frightens nobody (E3, E4).

use serde_json::json;

use crate::support::given::{files, home, with};
use crate::support::{Receiver, Sandbox};

/// As the first version wrote it: two callbacks, whose keys nobody can make any more.
const OLD: &str = r#"{"version":1,"salt":"00112233445566778899aabbccddeeff","callbacks":{
"0b1f4a7c9d2e35688f90a1b2c3d4e5f6":{
 "home.example.com A":["203.0.113.7",1763170000],
 "other.example.com A":["203.0.113.7",1763170000]},
"f6e5d4c3b2a1908f68352e9d7c4a1f0b":{
 "home.example.com AAAA":["2001:db8::7",1763170000]}}}
"#;

#[test]
fn e4_after_an_upgrade_everything_is_sent_once_and_nothing_is_wrong() {
    let receiver = Receiver::new();
    let names = json!({"ipv4": ["home.example.com", "other.example.com"], "cache": "state/cache.json"});
    let config = with(&home(&receiver.url("/__DOMAIN__")), &names);
    let sandbox = Sandbox::new();
    sandbox.write("state/cache.json", OLD);
    sandbox.write("config.json", config.to_string());
    let preview = sandbox.run(&["preview"]).expect(0);
    assert!(!preview.stderr.contains("warning"), "{}", preview.stderr);
    assert_eq!(sandbox.read("state/cache.json"), OLD, "a preview changes nothing");

    for (sent, case) in [(2, "after the upgrade"), (0, "then")] {
        let run = sandbox.sync(&config).expect(0);
        assert_eq!(receiver.take().len(), sent, "{case}");
        let lower = run.stderr.to_lowercase();
        assert!(!lower.contains("warning") && !lower.contains("damaged"), "{case}: {}", run.stderr);
    }
    let names = files(&sandbox.path("state"));
    assert_eq!(names.len(), 2, "the cache and its history; no file is set aside: {names:?}");
    assert!(!sandbox.read("state/cache.json").contains("0b1f4a7c"), "what nobody can look up any more is gone");
}
