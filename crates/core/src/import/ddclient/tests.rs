//! Tests importing files of ddclient.

use crate::import::settings::scalar;
use crate::import::tests::{extra, notes, read, shown, try_read, written};
use crate::import::{Import, NotePart, PeerClient};
use crate::text::json::Value;

#[test]
fn l7_ddclient_reads_passwords_before_anything_else() {
    let password = |line: &str| {
        let import = read(PeerClient::Ddclient, &format!("usev4=webv4\nserver=s.example.org, login=u\n{line}\n"));
        extra(&written(&import)[0].1, "__PASSWORD__").to_owned()
    };
    let cases = [
        ("password='a #,\\b' h.example", "a #,\\b"),
        ("password=a#b, h.example", "a#b,"),
        ("password=\"a\" h.example", "\"a\""),
        ("password='it's' h.example", "it's"),
        ("password = spaced h.example", "spaced"),
        ("login=u,password=meant h.example", "meant"),
        ("h.example u2 old-way", "old-way"),
        ("password_env=SET h.example", "from-environment"),
    ];
    for (line, expected) in cases {
        assert_eq!(password(line), expected, "{line}");
    }
    for (line, odd) in
        [("password=a,", true), ("password='a',", false), ("password='a,'", false), ("password=a ,", false)]
    {
        let import = read(PeerClient::Ddclient, &format!("usev4=webv4\nprotocol=easydns, login=u\n{line} h.example\n"));
        let named = notes(&import, NotePart::Changed);
        assert_eq!(named == ["3 password"], odd, "{line} {named:?}");
    }
}

#[test]
fn l12_ddclient_a_variable_that_is_not_set_inherits_nothing() {
    let host = |line: &str| {
        let global = "usev4=webv4\nlogin=u@example.org, password=p\nserver=members.dyndns.org one.dyndns.org\n";
        read(PeerClient::Ddclient, &format!("{global}{line} h.dedyn.io\n"))
    };
    let desec = host("server=update.dedyn.io password_env=UNSET");
    let missing = desec.entries[1].missing().expect("a form");
    assert_eq!(missing.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["token"]);
    assert_eq!(notes(&desec, NotePart::Changed), ["4 password_env"]);
    for (line, left) in [
        ("server=own.example script=/u password_env=UNSET", "4 own.example (h.dedyn.io)"),
        ("server_env=UNSET", "4 server_env (h.dedyn.io)"),
        ("server_env=UNSET script=/u", "4 server_env (h.dedyn.io)"),
        ("protocol_env=UNSET", "4 protocol_env (h.dedyn.io)"),
    ] {
        let import = host(line);
        assert_eq!((import.entries.len(), notes(&import, NotePart::LeftOut)), (1, vec![left.to_owned()]), "{line}");
        let why = import.notes.iter().find(|note| note.part == NotePart::LeftOut).map(|note| note.text.as_str());
        assert!(why.is_some_and(|why| why.contains("not set")), "{why:?}");
    }
}

/// A page has a name there, which is no host.
#[test]
fn l10_ddclient_knows_its_pages_by_their_names() {
    let names = "dyndns dynu freedns googledomains he he.net ip4only.me ip6only.me ipify-ipv4 ipify-ipv6 loopia myonlineportal \
                 noip-ipv4 noip-ipv6 desec-ipv4 desec-ipv6 joker-ipv4 joker-ipv6 nsupdate.info-ipv4 nsupdate.info-ipv6 \
                 updatedip zoneedit";
    for name in names.split_whitespace() {
        for settings in ["use=web, web=", "usev4=webv4, webv4=", "usev6=webv6, webv6="] {
            let text = format!("{settings}{name}\nprotocol=easydns, login=u, password=p h.example\n");
            let import = read(PeerClient::Ddclient, &text);
            assert!(shown(&import)[0].ends_with(" public"), "{text}");
            assert_eq!(notes(&import, NotePart::Dropped), [""; 0], "{text}");
        }
    }
}

/// `LegacyProtocol` of ddclient.
#[test]
fn l9_ddclient_protocols_that_are_sent_one_address() {
    let host = |protocol: &str, sources: &str| {
        let account = "login=u.example, password=p, dynurl=https://s.example/?q=k";
        read(PeerClient::Ddclient, &format!("{sources}\nprotocol={protocol}, {account} h.u.example\n"))
    };
    let families = |import: &Import| [0, 1].map(|family: usize| import.entries[0].domains[family].len());
    for protocol in ["changeip", "cloudns", "dnsmadeeasy", "dondominio", "namecheap", "ovh", "zoneedit1", "keysystems"]
    {
        let import = host(protocol, "usev4=webv4, usev6=ifv6");
        assert_eq!(families(&import), [1, 0], "{protocol}");
        assert_eq!(notes(&import, NotePart::LeftOut), [""; 0], "{protocol}");
        assert!(notes(&import, NotePart::Dropped).contains(&format!("2 protocol={protocol}")), "{:?}", import.notes);
    }
    assert_eq!(families(&host("ovh", "usev6=ifv6")), [0, 1]);
    assert_eq!(families(&host("easydns", "usev4=webv4, usev6=ifv6")), [1, 1]);
}

#[test]
fn l11_ddclient_raises_short_times() {
    let cases = [
        ("daemon=10, timeout=20", ["1m", "120"], "1 timeout 1 daemon"),
        ("daemon=0, timeout=1m", ["1m", "120"], "1 timeout 1 daemon"),
        ("daemon=59s, timeout=119s", ["1m", "120"], "1 timeout 1 daemon"),
        ("daemon=60, timeout=120", ["1m", "120"], ""),
        ("daemon=5m, timeout=2m", ["5m", "120"], ""),
        ("daemon=1h, timeout=300", ["60m", "300"], ""),
    ];
    for (times, expected, changed) in cases {
        let text = format!("{times}, usev4=webv4\nprotocol=easydns, login=u, password=p h.example\n");
        let import = read(PeerClient::Ddclient, &text);
        let entry = &written(&import)[0].1;
        let all = ["interval", "timeout"].map(|name| entry.member(name).map(scalar).unwrap_or_default());
        assert_eq!(
            (all, notes(&import, NotePart::Changed).join(" ")),
            (expected.map(str::to_owned), changed.to_owned())
        );
    }
}

#[test]
fn l7_ddclient_globals_hosts_and_continuations() {
    let import = read(
        PeerClient::Ddclient,
        "use=if, if=eth1\nprotocol=easydns, login=u, password=p # no\n\
         a.example,b.example\nlogin=other, c.example \\  \r\n\npassword=late\na.example x y\n",
    );
    let all = shown(&import);
    assert_eq!(all, ["easydns a.example:A b.example:A interface:eth1", "easydns c.example:A interface:eth1"]);
    let all = written(&import);
    let accounts = [0, 1].map(|place: usize| (extra(&all[place].1, "__USER__"), extra(&all[place].1, "__PASSWORD__")));
    assert_eq!(accounts, [("u", "p"), ("other", "p")], "the first line of a host stays");
    let later = read(PeerClient::Ddclient, "usev6=ifv6\nprotocol=easydns\na.example\nlogin=u\npassword=later\n");
    assert_eq!(shown(&later), ["easydns a.example:AAAA default"]);
    assert_eq!(extra(&written(&later)[0].1, "__PASSWORD__"), "later");
}

#[test]
fn l7_ddclient_what_a_later_line_of_a_host_says_in_vain_is_named() {
    let two = |first: &str, second: &str| read(PeerClient::Ddclient, &format!("usev4=webv4\n{first}\n{second}\n"));
    let zones = two(
        "protocol=namecheap, login=foo.example, password=p1 @,www",
        "protocol=namecheap, login=bar.example, password=p2 @,www",
    );
    assert_eq!(shown(&zones), ["namecheap foo.example:A www.foo.example:A public"]);
    assert_eq!(notes(&zones, NotePart::Dropped), ["3 login", "3 password", "3 login", "3 password"]);
    let line = |more: &str| format!("protocol=easydns, login=u, {more} h.example");
    let cases: [(&str, &[&str]); 4] = [
        ("password=p", &[]),
        ("password=other", &["3 password"]),
        ("password=p usev4=disabled", &["3 usev4"]),
        ("password=p mx=m.example", &["3 mx"]),
    ];
    for (more, dropped) in cases {
        let same = two(&line("password=p"), &line(more));
        assert_eq!(shown(&same), ["easydns h.example:A public"], "{more}");
        assert_eq!(notes(&same, NotePart::Dropped), dropped, "{more}");
        assert!(same.notes.iter().all(|note| !note.text.contains("does not know")), "{:?}", same.notes);
    }
    let added = two("protocol=easydns, login=u, password=p h.example", "usev6=ifv6 h.example");
    assert_eq!(shown(&added), ["easydns h.example:A h.example:AAAA public default"]);
    let replaced = read(
        PeerClient::Ddclient,
        "usev4=disabled, mail=m\nusev4=webv4, protocol=easydns, login=u, password=p h.example\nh.example\n",
    );
    assert_eq!(notes(&replaced, NotePart::Dropped), ["1 usev4", "1 mail"]);
    assert!(replaced.notes[0].text.contains("more specific") || replaced.notes[0].text.contains("line 2 comes first"));
}

#[test]
fn l10_ddclient_addresses_become_sources() {
    let cases = [
        ("use=web", "A public"),
        ("use=web, web=dyndns", "A public"),
        ("use=web, web=ipify-ipv4", "A public"),
        ("usev4=webv4, webv4=ip.example.org/x", "A url:https://ip.example.org/x"),
        ("usev4=webv4, webv4=ip.example.org/x, ssl=no", "A url:http://ip.example.org/x"),
        ("usev4=web", "A public"),
        ("usev6=webv6, webv6=https://1.1.1.1/cdn-cgi/trace", "AAAA public"),
        ("use=if", "A interface:ppp0"),
        ("use=web, usev6=disabled", "A public"),
        ("use=web, usev6=ifv6, ifv6=eth0", "A h.example:AAAA public interface:eth0"),
        ("use=no, usev4=webv4, usev6=disabled", "A public"),
        ("use=disabled, usev6=webv6", "AAAA public"),
        ("usev6=if, ifv6=eth0", "AAAA interface:eth0"),
        ("use=cmd, cmd='my script -4'", "A shell:my script -4"),
        ("use=fw, fw=192.168.1.1/s, fw-login=a, fw-password=b/c", "A url:http://a:b%2Fc@192.168.1.1/s"),
        ("use=netgear-rt3xx", "A public"),
        ("use=ip, ip=192.0.2.7", "A shell:echo 192.0.2.7"),
        // One address for both families: it is sent by the one that it has.
        ("use=ip, ip=2001:db8::5", "AAAA shell:echo 2001:db8::5"),
        ("use=web, web=ipify-ipv6", "AAAA public"),
        ("use=web, web=ip6only.me", "AAAA public"),
        ("usev4=ifv4, use=web, web=noip-ipv6", "A h.example:AAAA default public"),
        // Names of pages, not hosts.
        ("usev4=webv4, webv4=he.net", "A public"),
        ("use=web, web=ip4only.me", "A public"),
        ("use=web, web=https://ip.example/get-ipv6", "A url:https://ip.example/get-ipv6"),
        ("use=ip, ip=192.0.2.7;id", "A shell:echo '192.0.2.7;id'"),
    ];
    for (settings, expected) in cases {
        let import =
            read(PeerClient::Ddclient, &format!("{settings}\nprotocol=easydns, login=u, password=p h.example\n"));
        assert_eq!(shown(&import), [format!("easydns h.example:{expected}")], "{settings}");
    }
    let none = read(PeerClient::Ddclient, "protocol=easydns, login=u, password=p h.example\n");
    assert!(none.entries.is_empty());
    assert_eq!(notes(&none, NotePart::LeftOut), ["1 h.example"]);
}

#[test]
fn l14_ddclient_a_host_that_is_left_out_needs_no_notes_about_its_settings() {
    let import = read(PeerClient::Ddclient, "protocol=dyndns2\nserver=s.example.org\nlogin=u\npassword=p\nh.example\n");
    assert_eq!(notes(&import, NotePart::LeftOut), ["5 h.example"]);
    assert_eq!(notes(&import, NotePart::Dropped), [""; 0]);
}

#[test]
fn l8_ddclient_servers_and_protocols_become_recipes() {
    let cases = [
        ("server=svc.joker.com, login=u, password=p", "joker"),
        ("protocol=cloudflare, zone=example, login=token, password=p", "cloudflare"),
        ("protocol=namecheap, login=h.example, password=p", "namecheap"),
        ("protocol=he.net, password=p", "he-net"),
        ("protocol=porkbun, apikey=a, secretapikey=b, root-domain=h.example", "porkbun"),
        ("protocol=cloudns, dynurl=https://ipv4.cloudns.net/api/dynamicURL/?q=abc", "cloudns"),
        ("server=dns.loopia.se, script=/XDynDNSServer/XDynDNS.php, login=u, password=p", "loopia"),
        ("server=own.example, login=u, password=p", "dyndns2"),
        ("server=own.example, script=/x, login=u, password=p", "-"),
        ("server=own.example, ssl=no, login=u, password=p", "-"),
        ("server=members.dyndns.org, ssl=no, login=u@example.org, password=p", "dyn"),
    ];
    for (settings, recipe) in cases {
        let import = read(PeerClient::Ddclient, &format!("usev4=webv4\n{settings} h.example\n"));
        assert_eq!(shown(&import), [format!("{recipe} h.example:A public")], "{settings}");
    }
    let ns1 = read(PeerClient::Ddclient, "usev4=webv4\nprotocol=ns1, login=k a.b.example\n");
    assert_eq!(
        (shown(&ns1), extra(&written(&ns1)[0].1, "__KEY__")),
        (vec!["ns1 a.b.example:A public".to_owned()], "k")
    );
    let keyless = read(PeerClient::Ddclient, "usev4=webv4\nprotocol=freedns, login=u, password=p h.example\n");
    assert_eq!(keyless.entries[0].missing().expect("a form")[0].name, "key.A.h.example", "a password is no key");
    let duck = read(PeerClient::Ddclient, "usev4=webv4\nprotocol=duckdns, password=t short\n");
    assert_eq!(shown(&duck), ["duckdns short.duckdns.org:A public"]);
    let global = read(
        PeerClient::Ddclient,
        "usev4=webv4\nprotocol=cloudflare, zone=example, login=a@b.example, password=p h.example\n",
    );
    assert!(global.entries.is_empty());
    assert_eq!(notes(&global, NotePart::LeftOut), ["2 cloudflare (h.example)"]);
}

#[test]
fn l18_ddclient_google_domains_is_left_out_by_its_server_too() {
    let text = "usev4=webv4\nprotocol=dyndns2, server=domains.google.com, login=u, password=p h.example\n";
    let import = read(PeerClient::Ddclient, text);
    assert!(import.entries.is_empty());
    assert_eq!(notes(&import, NotePart::LeftOut), ["2 domains.google.com (h.example)"]);
}

#[test]
fn l11_ddclient_settings_that_mean_the_same() {
    let import = read(
        PeerClient::Ddclient,
        "daemon=10m, proxy=p.example:3128, timeout=200, min-interval=2m, max-interval=25d, ssl_ca_file=/ca.pem, usev4=webv4\n\
         mx=m.example, wildcard=no, postscript=/x\nprotocol=easydns, login=u, password=p h.example\n",
    );
    let entry = &written(&import)[0].1;
    let text = |name: &str| entry.member(name).map(scalar).unwrap_or_default();
    let all = ["interval", "proxy", "timeout", "min_interval", "cache_max_age", "ssl"].map(text);
    assert_eq!(all, ["10m", "http://p.example:3128", "200", "2m", "2160000", "/ca.pem"]);
    assert_eq!(notes(&import, NotePart::Dropped), ["2 mx", "2 postscript"], "what has its default is not mentioned");
}

#[test]
fn l7_ddclient_servers_with_a_scheme_words_for_yes_and_broken_quotes() {
    let read = |text: &str| read(PeerClient::Ddclient, &format!("usev4=webv4\n{text}"));
    let own = "ssl=no\nprotocol=dyndns2, server=https://own.example, login=u, password=p, script=/u h.example";
    let id = written(&read(own))[0].1.member("id").and_then(Value::text).map(str::to_owned);
    assert!(id.is_some_and(|id| id.starts_with("https://__USER__:__PASSWORD__@own.example/u?")));
    let porkbun = "protocol=porkbun, apikey=a, secretapikey=b, on-root-domain=1 example.co.uk";
    let all = written(&read(porkbun));
    assert_eq!(all[0].1.member("zone").and_then(Value::text), Some("example.co.uk"));
    let broken = "usev4=webv4\nprotocol=dyndns2, login=me, password=\"half secret\" h.example";
    let why = try_read(PeerClient::Ddclient, broken).expect_err("a blank in it");
    assert!(why.line == 2 && !why.message.contains("secret"), "{}", why.message);
}
