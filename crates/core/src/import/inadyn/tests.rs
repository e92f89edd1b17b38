//! Tests importing files of inadyn.

use crate::import::tests::{extra, notes, read, shown, try_read, written};
use crate::import::{Import, NotePart, PeerClient, PeerSurroundings};
use crate::text::json::Value;

#[test]
fn l7_inadyn_words_lists_quotes_and_comments() {
    let import = read(
        PeerClient::Inadyn,
        "/* a\n b */ period = 60 // c\niface = eth9\nprovider default@easydns.com {\n username = \"a\\\"b\\x41\\101${SET}\"\n\
         password = 'x\\'y${SET}\\z'\n hostname = { a.example, \"b.example\" }\n hostname += c.example # d\n}\n",
    );
    let all = written(&import);
    assert_eq!(extra(&all[0].1, "__USER__"), "a\"bAAfrom-environment");
    assert_eq!(extra(&all[0].1, "__PASSWORD__"), "x'y${SET}\\z");
    let literal = "provider easydns.com { username = u password = \"a\\${SET}\\$b$\" hostname = h.example }";
    assert_eq!(extra(&written(&read(PeerClient::Inadyn, literal))[0].1, "__PASSWORD__"), "a${SET}$b$");
    assert_eq!(shown(&import), ["easydns a.example:A b.example:A c.example:A interface:eth9"]);
    assert_eq!(all[0].1.member("interval").and_then(Value::text), Some("1m"));
    let default =
        read(PeerClient::Inadyn, "provider easydns.com { username = ${NO:-u;} password = p hostname = *.a.example }");
    assert!(default.entries.is_empty(), "a bare * is dropped, and `.a.example` is no name");
    assert_eq!(notes(&default, NotePart::Changed), ["1 `*`"]);
    let odd = |more: &str| {
        let text = format!("provider easydns.com {{\n username = u\n password = p\n hostname = h.example\n {more}\n}}");
        notes(&read(PeerClient::Inadyn, &text), NotePart::Changed)
    };
    for (more, expected) in [
        ("username = tok;", vec!["5 `;`"]),
        ("username = \"tok;\" # a; *", vec![]),
        ("hostname += { \"*.b.example\" }", vec![]),
    ] {
        assert_eq!(odd(more), expected, "{more}");
    }
    for (text, line) in
        [("provider x {\n a = ", 2), ("a = \"b\nc", 1), ("provider x {\n a = b\n", 3), ("= 1", 1), ("a = {b", 1)]
    {
        assert_eq!(try_read(PeerClient::Inadyn, text).expect_err(text).line, line, "{text}");
    }
}

#[test]
fn l7_inadyn_of_two_sections_of_one_title_the_later_counts() {
    let section =
        |host: &str| format!("provider easydns.com {{\n username = u\n password = p\n hostname = {host}\n}}\n");
    let import = read(PeerClient::Inadyn, &(section("a.example") + &section("b.example")));
    assert_eq!(shown(&import), ["easydns b.example:A public"]);
    assert_eq!(notes(&import, NotePart::Dropped), ["1 easydns.com"]);
}

#[test]
fn l6_inadyn_includes_are_read_and_bounded() {
    let with = |text: &str, file: &str| {
        let (file, variable) = (file.to_owned(), |_: &str| None);
        let read = move |path: &str| if path == "x" { Ok(file.clone()) } else { Err("does not exist".to_owned()) };
        Import::read(PeerClient::Inadyn, text, &PeerSurroundings { file: "f", read: &read, variable: &variable })
    };
    let import =
        with("provider easydns.com {\n hostname = a.example\n include(\"x\")\n}\n", "username = u\npassword = p");
    assert_eq!(extra(&written(&import.expect("valid"))[0].1, "__USER__"), "u");
    let endless = with("include(\"x\")", "include(\"x\")").expect_err("endless");
    assert!(endless.message.contains("10 deep"), "{}", endless.message);
    let many = with("include(\"x\")", &"include(\"y\")".repeat(200)).expect_err("too many");
    assert!(many.message.contains("more than 100 files"), "{}", many.message);
    let missing = with("include(\"y\")\nprovider easydns.com { hostname = a.example username = u password = p }", "")
        .expect("valid");
    assert_eq!(notes(&missing, NotePart::Dropped), ["1 include y"]);
}

#[test]
fn l8_inadyn_record_ids_are_no_names_and_paths_keep_their_signs() {
    let id = "0123456789abcdef0123456789abcdef";
    let provider =
        |host: &str| format!("provider cloudflare.com {{ username = example.org password = t hostname = {host} }}");
    let import = read(PeerClient::Inadyn, &provider(id));
    assert!(import.entries.is_empty());
    assert_eq!(notes(&import, NotePart::LeftOut), [format!("1 cloudflare.com ({id})")]);
    let custom = "custom x { ddns-server = s.example ddns-path = \"/u?a=1+2#3&h=%h&i=%i\" username = u password = p hostname = h.example }";
    let id = written(&read(PeerClient::Inadyn, custom))[0].1.member("id").and_then(Value::text).map(str::to_owned);
    assert!(id.as_deref().is_some_and(|id| id.ends_with("s.example/u?a=1%2b2%233&h=__DOMAIN__&i=__IP__")), "{id:?}");
}

#[test]
fn l9_inadyn_families_and_sources() {
    let cases = [
        (
            "provider ipv6@cloudflare.com { username = example password = t hostname = h.example }",
            "cloudflare h.example:AAAA public",
        ),
        ("provider default@dynv6.com { username = t hostname = h.example }", "dynv6 h.example:AAAA public"),
        ("provider DYNV6.com:2 { username = t hostname = h.example }", "dynv6 h.example:A public"),
        ("provider default@ipv4.dynv6.com { username = t hostname = h.example }", "dynv6 h.example:A public"),
        ("provider ovh { username = u password = p hostname = h.example }", "ovh h.example:A public"),
        // The name of Tunnelbroker in inadyn: an IPv4 address, and the number of a tunnel.
        ("provider ipv6@he.net { username = u password = p hostname = 123456 }", "tunnelbroker 123456:A public"),
        (
            "allow-ipv6 = true provider easydns.com { username = u password = p hostname = h.example checkip-server = api6.ipify.org }",
            "easydns h.example:AAAA public",
        ),
        (
            "allow-ipv6 = yes provider dyndns { username = a@b.example password = p hostname = h.example checkip-command = 'ip -6 a' }",
            "dyn h.example:AAAA shell:ip -6 a",
        ),
        (
            "allow-ipv6 = yes provider dyndns { username = a@b.example password = p hostname = h.example checkip-command = \"ip a | grep 'inet6'\" }",
            "dyn h.example:AAAA shell:ip a | grep 'inet6'",
        ),
        (
            "provider easydns.com { username = u password = p hostname = h.example checkip-server = ip.example checkip-path = /x checkip-ssl = false }",
            "easydns h.example:A url:http://ip.example/x",
        ),
        (
            "provider easydns.com { username = u password = p hostname = h.example checkip-server = default iface = eth0 }",
            "easydns h.example:A interface:eth0",
        ),
        (
            "provider namecheap.com { username = example.org password = p hostname = { '@', www } }",
            "namecheap example.org:A www.example.org:A public",
        ),
        (
            "custom x { ddns-server = dynamicdns.park-your-domain.com username = example.org password = p hostname = www }",
            "namecheap www.example.org:A public",
        ),
        (
            "custom x { ddns-server = dynamicdns.park-your-domain.com ddns-path = '/update?domain=%u&password=%p&host=%h' username = example.org password = p hostname = { '@', www } }",
            "namecheap example.org:A www.example.org:A public",
        ),
        // The path says what is sent, independent of the server.
        (
            "custom x { ddns-server = www.duckdns.org ddns-path = '/update?domains=%h&token=%p&ip=%i' username = x password = p hostname = h }",
            "- h:A public",
        ),
        (
            "custom x { ddns-server = own.example ddns-path = '/u/' username = u password = p hostname = h.example }",
            "- h.example:A public",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(shown(&read(PeerClient::Inadyn, text)), [expected], "{text}");
    }
}

#[test]
fn l9_inadyn_custom_sections() {
    let custom = read(
        PeerClient::Inadyn,
        "custom x { ddns-server = own.example ssl = no ddns-path = '/u/?a=%u&i=%i&n=%h' ddns-response = { 'a.b', 'c' } username = u password = p hostname = h.example append-myip = no }",
    );
    let entry = &written(&custom)[0].1;
    assert_eq!(
        entry.member("id").and_then(Value::text),
        Some("http://__USER__:__PASSWORD__@own.example/u/?a=__USER__&i=__IP__&n=__DOMAIN__")
    );
    assert_eq!(entry.member("expect").and_then(|it| it.member("accept")).and_then(Value::text), Some(r"(?i)a\.b|c"));
    let percent = "custom x { ddns-server = own.example ddns-path = '/%%2Fu%%h/%h' ddns-response = { 'a, b', c } username = u password = p hostname = h.example }";
    let entry = &written(&read(PeerClient::Inadyn, percent))[0].1;
    assert_eq!(
        entry.member("id").and_then(Value::text),
        Some("https://__USER__:__PASSWORD__@own.example/%2Fu%h/__DOMAIN__")
    );
    assert_eq!(entry.member("expect").and_then(|it| it.member("accept")).and_then(Value::text), Some("(?i)a, b|c"));
    let anything =
        "custom x { ddns-server = own.example ddns-response = '' username = u password = p hostname = h.example }";
    assert!(written(&read(PeerClient::Inadyn, anything))[0].1.member("expect").is_none(), "any response is right");
    // A path without its slash must not become part of the host, which gets the password.
    let section = |more: &str| format!("custom x {{ username = u password = p hostname = h.example {more} }}");
    for (more, expected) in [
        ("ddns-server = own.example ddns-path = 'u?h=%h'", "own.example/u?h=__DOMAIN__"),
        ("ddns-server = own.example ddns-path = '%h'", "own.example/__DOMAIN__"),
        ("ddns-server = own.example ddns-path = 'u?h=' append-myip = true", "own.example/u?h=__IP__"),
        ("ddns-server = own.example ddns-path = 'u?h='", "own.example/u?h=__DOMAIN__"),
        ("ddns-server = 'https://own.example/' ddns-path = '/u?h=%h'", "own.example/u?h=__DOMAIN__"),
        ("ddns-server = 'https://own.example/base' ddns-path = '/u?h=%h'", "own.example/u?h=__DOMAIN__"),
    ] {
        let import = read(PeerClient::Inadyn, &section(more));
        let id = format!("https://__USER__:__PASSWORD__@{expected}");
        assert_eq!(written(&import)[0].1.member("id").and_then(Value::text), Some(id.as_str()), "{more}");
        let expected: &[&str] = if more.contains("base") { &["1 ddns-server"] } else { &[] };
        assert_eq!(notes(&import, NotePart::Dropped), expected, "{more}");
    }
    let agent = read(PeerClient::Inadyn, &section("ddns-server = own.example ddns-path = '/%h' user-agent = me"));
    let headers = written(&agent)[0].1.member("headers").cloned();
    assert_eq!(headers.as_ref().and_then(|headers| headers.member("User-Agent")).and_then(Value::text), Some("me"));
    assert!(notes(&agent, NotePart::Dropped).is_empty(), "{:?}", agent.notes);
    let iface = read(
        PeerClient::Inadyn,
        "iface = eth0 provider easydns.com { username = u password = p hostname = h.example checkip-server = ip.example }",
    );
    assert_eq!(shown(&iface), ["easydns h.example:A interface:eth0"]);
    assert!(iface.notes[0].text.contains("`iface` comes first"), "{:?}", iface.notes);
    let text = "allow-ipv6 = yes ca-trust-file = /gone.pem provider easydns.com { username = u password = p hostname = h.example }";
    let copied = read(PeerClient::Inadyn, text);
    assert_eq!(shown(&copied), ["easydns h.example:A public"]);
    assert!(written(&copied)[0].1.member("ssl").is_none(), "a file that is not here is not named");
    let named: Vec<&str> = copied.notes.iter().map(|note| note.what.as_str()).collect();
    assert!(named.contains(&"ca-trust-file") && named.contains(&"allow-ipv6"), "{:?}", copied.notes);
}
