//! Tests importing files of ddns-go.

use crate::import::tests::{notes, read, shown, written};
use crate::import::{Import, NotePart, PeerClient, rows};
use crate::text::json::Value;

#[test]
fn l8_ddns_go_elements_become_entries() {
    let element = |name: &str, domains: &str, more: &str| {
        format!(
            "dnsconf:\n  - ipv4:\n      enable: true\n      gettype: url\n      url: https://4.ipw.cn, https://ip.example/\n      domains:\n{domains}\
             \n    dns:\n      name: {name}\n      id: AKIDxxxxxxxxxx\n      secret: s\n{more}"
        )
    };
    let two = read(
        PeerClient::DdnsGo,
        &element("alidns", "        - www.a.example.co.uk\n        - x:b.example\n        - ''\n", "    ttl: \"60\"\n"),
    );
    let expected = [
        "alidns www.a.example.co.uk:A public,url:https://ip.example/",
        "alidns x.b.example:A public,url:https://ip.example/",
    ];
    assert_eq!(shown(&two), expected);
    assert_eq!(written(&two)[0].1.member("zone").and_then(Value::text), Some("example.co.uk"));
    assert_eq!((two.entries[0].guess.is_some(), two.entries[1].guess.is_some()), (true, false));
    assert_eq!(notes(&two, NotePart::Dropped), ["15 ttl"]);
    let off = read(
        PeerClient::DdnsGo,
        &element("cloudflare", "        - a.example.com\n", "    ipv6:\n      enable: false\n      domains: [ ]\n")
            .replace("[ ]", "[]"),
    );
    assert_eq!(shown(&off), ["cloudflare a.example.com:A public,url:https://ip.example/"]);
    let old = read(
        PeerClient::DdnsGo,
        "ipv4:\n  enable: yes\n  gettype: cmd\n  cmd: get ip\n  domains:\n  - a.example.com\ndns:\n  name: dynadot\n  secret: s\n",
    );
    assert_eq!(shown(&old), ["dynadot a.example.com:A shell:get ip"]);
    let lines = "        - www.example.com?Line=tele%20com&RecordId=1\n        - b.example.com\n";
    let lines = read(PeerClient::DdnsGo, &element("alidns", lines, ""));
    let line = |at: usize| written(&lines)[at].1.member("line").and_then(Value::text).map(str::to_owned);
    assert_eq!((line(0).as_deref(), line(1).as_deref()), (Some("tele com"), Some("default")));
    assert_eq!(notes(&lines, NotePart::Dropped), ["2 www.example.com?RecordId"]);
    let below = read(PeerClient::DdnsGo, &element("dynv6", "        - a.b.dynv6.net\n        - z.dynv6.net\n", ""));
    assert_eq!(shown(&below), ["dynv6 z.dynv6.net:A public,url:https://ip.example/"]);
    assert_eq!(notes(&below, NotePart::LeftOut), ["2 dynv6 (a.b.dynv6.net)"]);
}

/// An element with both families, and the fields of `dns` from its name on.
fn both(dns: &str) -> Import {
    let family = |version: u8| {
        format!("  ipv{version}:\n    enable: true\n    gettype: cmd\n    cmd: x\n    domains:\n    - a.example.com\n")
    };
    let text = format!("dnsconf:\n- name: x\n{}{}  dns:\n    secret: s\n    name: {dns}\n", family(4), family(6));
    read(PeerClient::DdnsGo, &text)
}

#[test]
fn l9_ddns_go_sends_namecheap_no_ipv6() {
    let import = both("namecheap");
    assert_eq!(shown(&import), ["namecheap a.example.com:A shell:x"]);
    assert_eq!(notes(&import, NotePart::LeftOut), [""; 0]);
    assert_eq!(notes(&import, NotePart::Dropped), ["10 ipv6.enable"]);
}

#[test]
fn l16_a_team_of_vercel_is_left_out() {
    assert_eq!(both("vercel").entries.len(), 1);
    let import = both("vercel\n    extparam: team_1");
    assert!(import.entries.is_empty());
    assert_eq!(notes(&import, NotePart::LeftOut), ["2 vercel (a.example.com)"]);
}

#[test]
fn l8_a_callback_of_ddns_go_keeps_its_request() {
    let hook = |id: &str, secret: &str| {
        format!(
            "dnsconf:\n- ipv4:\n    enable: true\n    gettype: netInterface\n    netinterface: eth0\n    domains:\n    - a.example?zone-id=7%2B8\n  dns:\n    name: callback\n    id: {id}\n    secret: '{secret}'\n"
        )
    };
    let json = read(
        PeerClient::DdnsGo,
        &hook("https://h.example/?i=#{ip}&z=#{zone-id}", r##"{"t": #{ttl}, "r": "#{recordType}"}"##),
    );
    let entry = &written(&json)[0].1;
    assert_eq!(entry.member("id").and_then(Value::text), Some("https://h.example/?i=__IP__&z=__P_ZONE_ID__"));
    assert_eq!(entry.member("token").and_then(Value::text), Some(r#"{"t": __TTL__, "r": "__RECORDTYPE__"}"#));
    assert_eq!(entry.member("ttl"), Some(&Value::Number("600".to_owned())));
    let Some(Value::Array(domains)) = entry.member("ipv4") else { panic!("{entry:?}") };
    let own = domains[0].value.member("extra").and_then(|own| own.member("__P_ZONE_ID__"));
    assert_eq!(own.and_then(Value::text), Some("7+8"));
    // Both families, and two records of one name: each keeps its own values.
    let families = "\n  ipv6:\n    enable: true\n    gettype: netInterface\n    netinterface: eth0\n    domains:\n    - a.example?zone-id=9\n  dns:";
    let same = "- a.example?zone-id=7%2B8\n    - a.example?zone-id=8\n";
    let text = hook("https://h.example/?i=#{ip}&z=#{zone-id}", "");
    let text = text.replace("\n  dns:", families).replace("- a.example?zone-id=7%2B8\n", same);
    let each = written(&read(PeerClient::DdnsGo, &text));
    let values: Vec<String> = each.iter().map(|(_, entry)| crate::text::json::pretty(entry)).collect();
    assert_eq!(values.len(), 3, "{values:?}");
    for (text, (value, list)) in values.iter().zip([("7+8", "ipv4"), ("8", "ipv4"), ("9", "ipv6")]) {
        assert!(text.contains(&format!("\"__P_ZONE_ID__\": \"{value}\"")) && text.contains(list), "{text}");
    }
    let form = read(PeerClient::DdnsGo, &hook("https://h.example/", "ip=#{ip}&d=#{domain}"));
    assert_eq!(written(&form)[0].1.member("format").and_then(Value::text), Some("form"));
    // A body with a parameter outside quotes is JSON, too.
    let bare = read(PeerClient::DdnsGo, &hook("https://h.example/", r#"{"z": #{zone-id}}"#));
    assert_eq!(written(&bare)[0].1.member("token").and_then(Value::text), Some(r#"{"z": __P_ZONE_ID__}"#));
    // Of two domains, one has no value: it is left out, and the other is not.
    let two = hook("https://h.example/?d=#{domain}&z=#{zone-id}", "").replace("    - a.", "    - b.example\n    - a.");
    let two = read(PeerClient::DdnsGo, &two);
    assert_eq!(shown(&two), ["- a.example:A interface:eth0"]);
    assert_eq!(notes(&two, NotePart::LeftOut), ["2 callback: b.example"]);
    assert!(two.notes.iter().any(|note| note.text.contains("`#{zone-id}`")), "{:?}", two.notes);
    for secret in [r##"{"i": "#{ip}", "x": "#{foo}"}"##, r##"{"x": "#{", "y": "s3cret"}"##] {
        let unknown = read(PeerClient::DdnsGo, &hook("https://h.example/", secret));
        assert!(unknown.entries.is_empty(), "{secret}");
        assert!(unknown.notes.iter().all(|note| !note.text.contains("s3cret")), "{:?}", unknown.notes);
    }
    let padded = hook("https://h.example/?t=#{ttl}", "") + "  ttl: \"0123\"\n";
    let padded = written(&read(PeerClient::DdnsGo, &padded)).remove(0).1;
    assert_eq!(padded.member("ttl"), Some(&Value::Number("123".to_owned())));
    let key = read(PeerClient::DdnsGo, &hook("https://h.example/", r##"{"#{domain}" : "#{ip}"}"##));
    assert!(key.entries.is_empty());
    assert_eq!(notes(&key, NotePart::LeftOut), ["2 callback"]);
    let [taken, ..] = rows(&key, &[]);
    assert!(taken.is_empty(), "nothing is written, and nothing taken over: {taken:?}");
    let more = hook("https://h.example/?i=#{ip}", "") + "  ttl: '120'\n  httpinterface: ''\n";
    let more = read(PeerClient::DdnsGo, &more);
    let ttl = more.notes.iter().find(|note| note.what == "ttl").expect("the TTL");
    assert!(ttl.text.contains("contains no TTL"), "{}", ttl.text);
    let none = read(PeerClient::DdnsGo, &hook("https://h.example/?t=#{timestamp}", ""));
    assert!(none.entries.is_empty());
    assert_eq!(notes(&none, NotePart::LeftOut), ["2 callback"]);
}
