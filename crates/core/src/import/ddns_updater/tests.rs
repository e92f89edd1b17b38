//! Tests importing files of qdm12/ddns-updater.

use crate::import::tests::{notes, read, shown, written};
use crate::import::{NotePart, PeerClient};
use crate::text::json::Value;

#[test]
fn l8_ddns_updater_settings_become_entries() {
    let one = |setting: &str| format!("{{\"settings\": [{{{setting}, \"ip_version\": \"ipv4\"}}]}}");
    let cases = [
        (
            r#""provider": "namecheap", "domain": "example.com", "host": "@,www", "password": "p""#,
            "namecheap example.com:A www.example.com:A public",
        ),
        (
            r#""provider": "namecheap", "domain": "example.com", "host": "old", "owner": "www", "password": "p""#,
            "namecheap www.example.com:A public",
        ),
        (
            r#""provider": "route53", "domain": "a.example.com", "access_key": "AKIA0123456789012", "secret_key": "s", "zone_id": "Z123", "ttl": 300"#,
            "route53 a.example.com:A public",
        ),
        (
            r#""provider": "ovh", "mode": "api", "domain": "a.example.com", "app_key": "k", "app_secret": "s", "consumer_key": "c""#,
            "ovh-api a.example.com:A public",
        ),
        (
            r#""provider": "ovh", "domain": "a.example.com", "username": "u", "password": "s""#,
            "ovh a.example.com:A public",
        ),
        (r#""provider": "strato", "domain": "a.example.com", "password": "s""#, "strato a.example.com:A public"),
        (
            r#""provider": "he", "domain": "a.example.com,b.example.com", "password": "s""#,
            "he-net a.example.com:A b.example.com:A public",
        ),
        (
            r#""provider": "custom", "domain": "a.example.com", "url": "https://h.example/u?k=1", "ipv4key": "ip""#,
            "- a.example.com:A public",
        ),
    ];
    for (setting, expected) in cases {
        assert_eq!(shown(&read(PeerClient::DdnsUpdater, &one(setting))), [expected], "{setting}");
    }
    let team = r#""provider": "vercel", "domain": "a.example.com", "token": "t", "team_id": "team_1""#;
    let team = read(PeerClient::DdnsUpdater, &one(team));
    assert_eq!((team.entries.len(), notes(&team, NotePart::LeftOut)), (0, vec!["1 vercel (a.example.com)".to_owned()]));
    let fragment =
        r#""provider": "custom", "domain": "a.example.com", "url": "https://h.example/u?k=1#top", "ipv4key": "ip""#;
    let id = written(&read(PeerClient::DdnsUpdater, &one(fragment)))[0]
        .1
        .member("id")
        .and_then(Value::text)
        .map(str::to_owned);
    assert_eq!(id.as_deref(), Some("https://h.example/u?k=1&ip=__IP__"));
    let suffix = read(
        PeerClient::DdnsUpdater,
        r#"{"settings": [{"provider": "desec", "domain": "a.dedyn.io", "token": "t", "ip_version": "IPv6", "ipv6_suffix": "2001:db8::72ad:8fbb:a54e:bedd/64"}]}"#,
    );
    let text = crate::text::json::pretty(&written(&suffix)[0].1);
    assert!(text.contains("\"interface_id\": \"::72ad:8fbb:a54e:bedd/64\""), "{text}");
    let either = read(
        PeerClient::DdnsUpdater,
        r#"{"settings": [{"provider": "dynv6", "domain": "a.dynv6.net", "token": "t"}]}"#,
    );
    assert_eq!(shown(&either), ["dynv6 a.dynv6.net:A public"], "no family is added");
    assert_eq!(notes(&either, NotePart::Changed), ["1 ip_version of a.dynv6.net"]);
    let old = read(
        PeerClient::DdnsUpdater,
        &one(r#""provider": "cloudflare", "domain": "a.example.com", "key": "k", "email": "e""#),
    );
    assert_eq!(notes(&old, NotePart::LeftOut), ["1 cloudflare (a.example.com)"]);
    let variables = "PERIOD=90s\nUPDATE_COOLDOWN_PERIOD=10m\nPUBLICIPV4_HTTP_PROVIDERS=url:https://ip.example/x,ipify\n\
        HEALTH_HEALTHCHECKSIO_UUID=01234567-0123-0123-0123-0123456789ab\n\
        CONFIG='{\"settings\": [{\"provider\": \"dynv6\", \"domain\": \"a.dynv6.net\", \"token\": \"t\", \"ip_version\": \"ipv4\"}]}'\n";
    let import = read(PeerClient::DdnsUpdater, variables);
    assert_eq!(shown(&import), ["dynv6 a.dynv6.net:A url:https://ip.example/x,public"]);
    let entry = &written(&import)[0].1;
    let text = |name: &str| entry.member(name).and_then(Value::text).unwrap_or_default();
    assert_eq!((text("interval"), text("min_interval"), entry.member("notify").is_some()), ("90s", "10m", true));
    assert_eq!(notes(&import, NotePart::Dropped), Vec::<String>::new());
}
