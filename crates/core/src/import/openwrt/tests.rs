//! Tests importing files of `OpenWrt`'s ddns-scripts.

use crate::import::tests::{extra, notes, read, shown, try_read, written_one};
use crate::import::{Import, NotePart, PeerClient, PeerSurroundings};
use crate::text::json::Value;

#[test]
fn l7_uci_words_join_and_end_as_they_do_there() {
    let password = |written: &str| {
        let text = format!(
            "config service x\n option enabled 1\n option service_name easydns.com\n option domain a.example\n option username u\n option password {written}\n"
        );
        extra(&written_one(&read(PeerClient::OpenWrt, &text)), "__PASSWORD__").to_owned()
    };
    let cases = [
        ("'it'\\''s'", "it's"),
        ("a#b", "a"),
        ("'a#b'", "a#b"),
        ("\"a\\\"b\"c\\ d", "a\"bc d"),
        ("x; option password y", "y"),
        ("p\n option password q", "q"),
    ];
    for (text, expected) in cases {
        assert_eq!(password(text), expected, "{text}");
    }
    for (text, line) in [("config service x\n option a 'b\n", 2), ("option a b\n", 1), ("hello x y\n", 1)] {
        assert_eq!(try_read(PeerClient::OpenWrt, text).expect_err(text).line, line, "{text}");
    }
}

#[test]
fn l8_openwrt_services_become_entries() {
    let service = |options: &str| {
        let options = options.split(", ").map(|option| format!("\toption {option}")).collect::<Vec<_>>().join("\n");
        read(PeerClient::OpenWrt, &format!("config service 's'\n\toption enabled '1'\n{options}"))
    };
    let cases = [
        (
            "service_name cloudflare.com-v4, domain www@example.org, username Bearer, password t, use_ipv6 1",
            "cloudflare www.example.org:AAAA default",
        ),
        (
            "service_name cloudflare.com-v4, domain @example.org, username Bearer, password t, ip_source web",
            "cloudflare example.org:A public",
        ),
        (
            "service_name namecheap.com, domain example.org, username www, password t, ip_source interface",
            "namecheap www.example.org:A interface:eth1",
        ),
        (
            "service_name duckdns.org, domain short, lookup_host short.duckdns.org, password t, ip_source script, ip_script /x",
            "duckdns short.duckdns.org:A shell:/x",
        ),
        (
            "service_name route53-v1, domain Z123, lookup_host a.example.org, username AKIA0123456789012, password t",
            "route53 a.example.org:A default",
        ),
        (
            "service_name netcup.com, domain a.b.example.org, username 1, password p, param_enc k, param_opt example.org",
            "netcup a.b.example.org:A default",
        ),
        (
            "service_name pdns, domain example.org, username h, password k, param_opt http://pdns.example:8081",
            "powerdns h.example.org:A default",
        ),
        (
            "update_url http://h.example/[DOMAIN]?i=[IP]&k=[PARAMENC]&[PARAMOPT], domain a.example.org, param_enc e, param_opt o=1, use_https 1",
            "- a.example.org:A default",
        ),
        (
            "service_name easydns.com, domain a.example.org, username u, password p, ip_network lan",
            "easydns a.example.org:A default",
        ),
    ];
    for (options, expected) in cases {
        assert_eq!(shown(&service(options)), [expected], "{options}");
    }
    let merged = read(
        PeerClient::OpenWrt,
        "config service a\n option enabled 1\n option service_name easydns.com\n option domain a.example\n option username u\n option password p\n\
         config service b\n option enabled 1\n option use_ipv6 1\n option service_name easydns.com\n option domain a.example\n option username u\n option password p\n option check_interval 1\n\
         config service off\n option service_name easydns.com\nconfig service c\n option enabled 1\n option update_script /x\n option domain s.example\n",
    );
    assert_eq!(shown(&merged), ["easydns a.example:A a.example:AAAA default default"], "both families of one account");
    assert_eq!(merged.settings, [("interval".to_owned(), Value::string("5m"))]);
    assert_eq!(notes(&merged, NotePart::LeftOut), ["17 update_script (s.example)"]);
    assert_eq!(notes(&merged, NotePart::Dropped), ["15 off"]);
}

/// Some services need the zone in `domain`, and the host in another option.
#[test]
fn l8_openwrt_hosts_and_zones_that_stand_apart() {
    let cases = [
        ("transip.nl", "domain example.org\n option param_enc www", "www.example.org", "key"),
        ("spaceship.com-v1", "domain example.org\n option param_opt www", "www.example.org", ""),
        ("spaceship.com-v1", "domain example.org", "example.org", ""),
        ("ns1.com", "domain a.b.example.org", "a.b.example.org", "zone"),
        ("huaweicloud.com", "domain a.b.example.org", "a.b.example.org", "id"),
        (
            "cloud.google.com-v1",
            "domain a.example.org\n option param_enc project=p-1&zone=z-1\n option password /etc/k.json",
            "a.example.org",
            "",
        ),
    ];
    for (service, options, domain, missing) in cases {
        let text = format!(
            "config service x\n option enabled 1\n option service_name {service}\n option username u\n option password p\n option {options}\n"
        );
        let import = read(PeerClient::OpenWrt, &text);
        let entry = &import.entries[0];
        assert_eq!(entry.domains[0][0].as_str(), domain, "{service}");
        let names: Vec<String> = entry.missing().expect("a form").into_iter().map(|it| it.name).collect();
        assert_eq!(names.join(","), missing, "{service}");
    }
}

#[test]
fn l14_an_openwrt_section_without_a_name_is_called_by_its_domain() {
    let section = |start: &str| {
        let text =
            format!("{start}\n option enabled 1\n option domain a.example\n option update_url http://h.example/[IP]\n");
        read(PeerClient::OpenWrt, &text).entries.remove(0).service
    };
    assert_eq!(section("config service"), "the URL of `a.example`");
    assert_eq!(section("config service mine"), "the URL of `mine`");
}

#[test]
fn l6_openwrt_reads_networks_and_the_lists_of_services() {
    let files = |path: &str| match path {
        "/etc/config/network" => Ok("config interface 'wanb'\n option proto 'pppoe'\n option device eth7\n".to_owned()),
        "/usr/share/ddns/default/odd.example.json" => {
            Ok(r#"{"ipv4": {"url": "http://odd.example/?u=[USERNAME]&ip=[IP]", "answer": "^OK"}}"#.to_owned())
        }
        _ => Err("does not exist".to_owned()),
    };
    let around = PeerSurroundings { file: "/etc/config/ddns", read: &files, variable: &|_| None };
    let text = "config service x\n option enabled 1\n option service_name odd.example\n option domain a.example\n option username u\n option ip_network wanb\n";
    let import = Import::read(PeerClient::OpenWrt, text, &around).expect("valid");
    assert_eq!(shown(&import), ["- a.example:A interface:pppoe-wanb"]);
    assert_eq!(
        written_one(&import).member("expect").and_then(|it| it.member("accept")).and_then(Value::text),
        Some("^OK")
    );
}

#[test]
fn l6_openwrt_reads_the_networks_beside_a_copied_file() {
    let text = "config service x\n option enabled 1\n option service_name easydns.com\n option domain a.example\n option username u\n option password p\n option ip_network wanb\n";
    let network = |device: &str| format!("config interface 'wanb'\n option device {device}\n");
    let seen = |beside: Option<String>, own: Option<String>| {
        let read = |path: &str| {
            let text = match path {
                "network" => &beside,
                "/etc/config/network" => &own,
                _ => &None,
            };
            text.clone().ok_or_else(|| "does not exist".to_owned())
        };
        let around = PeerSurroundings { file: "copy/ddns", read: &read, variable: &|_| None };
        let import = Import::read(PeerClient::OpenWrt, text, &around).expect("valid");
        (shown(&import).remove(0), import.notes[0].text.clone())
    };
    let (copied, _) = seen(Some(network("eth1")), Some(network("eth2")));
    assert_eq!(copied, "easydns a.example:A interface:eth1");
    assert_eq!(seen(None, Some(network("eth2"))).0, "easydns a.example:A interface:eth2");
    let (source, why) = seen(None, None);
    assert!(source.ends_with(" default") && why.contains("was not found"), "{source} {why}");
    let (source, why) = seen(Some("config interface 'lan'\n".to_owned()), None);
    assert!(source.ends_with(" default") && why.contains("the file network does not say"), "{source} {why}");
}
