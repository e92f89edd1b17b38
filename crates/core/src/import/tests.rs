//! Tests importing the files of other clients. The quirks of each client are tested beside its reader.

use super::rules::{page, seconds};
use super::settings::PeerFile;
use super::table::{PeerTable, ServiceRow, is_yes};
use super::{Detected, Import, NotePart, PeerClient, PeerError, PeerSurroundings, detected, rows, variables};
use crate::config::raw::{self, Document};
use crate::config::validate::{Surroundings, validate};
use crate::text::json::{Dialect, Value, parse};

fn nothing(path: &str) -> Result<String, String> {
    if path == "/ca.pem" { Ok(String::new()) } else { Err("does not exist".to_owned()) }
}

pub(super) fn try_read(peer: PeerClient, text: &str) -> Result<Import, PeerError> {
    let variable = |name: &str| (name == "SET").then(|| "from-environment".to_owned());
    Import::read(peer, text, &PeerSurroundings { file: "file", read: &nothing, variable: &variable })
}

pub(super) fn read(peer: PeerClient, text: &str) -> Import {
    try_read(peer, text).unwrap_or_else(|error| panic!("line {}: {}", error.line, error.message))
}

/// Each entry as a valid configuration of its own: the name of its recipe, and its fields.
pub(super) fn written(import: &Import) -> Vec<(String, Value)> {
    let entry = |place: usize| {
        let entry = &import.entries[place];
        let missing: Vec<String> = entry.missing().expect("a form").into_iter().map(|it| it.name).collect();
        assert!(missing.is_empty(), "{missing:?}");
        let text = import.document(&[place], None, "file").expect("a configuration").text;
        let document = raw::read(&Document::local("config.json", &text)).expect("JSON");
        if let Err(wrong) = validate("config.json", Some(document), &Surroundings::default()) {
            panic!("{text}\n{}", wrong[0].shown());
        }
        let value = parse(&text, Dialect::CONFIG).expect("JSON").value;
        (entry.recipe().unwrap_or("-").to_owned(), value)
    };
    (0..import.entries.len()).map(entry).collect()
}

/// The written entries, one line each: `recipe a.example:A x.example:AAAA SOURCES SOURCES`.
pub(super) fn shown(import: &Import) -> Vec<String> {
    let line = |(recipe, value): &(String, Value)| {
        let mut line = recipe.clone();
        for (list, kind) in [("ipv4", "A"), ("ipv6", "AAAA")] {
            for part in [value.member("providers")].into_iter().flatten().chain([value]) {
                let objects: Vec<&Value> = match part {
                    Value::Array(items) => items.iter().map(|item| &item.value).collect(),
                    other => vec![other],
                };
                for names in objects.iter().filter_map(|object| object.member(list)) {
                    let Value::Array(names) = names else { continue };
                    for name in names.iter().map(|name| &name.value) {
                        line += &format!(
                            " {}:{kind}",
                            name.text().or(name.member("name").and_then(Value::text)).unwrap_or("?")
                        );
                    }
                }
            }
        }
        for index in ["index4", "index6"] {
            if let Some(Value::Array(items)) = value.member(index) {
                line +=
                    &format!(" {}", items.iter().filter_map(|item| item.value.text()).collect::<Vec<_>>().join(","));
            }
        }
        line
    };
    written(import).iter().map(line).collect()
}

pub(super) fn extra<'a>(value: &'a Value, name: &str) -> &'a str {
    value.member("extra").and_then(|extra| extra.member(name)).and_then(Value::text).unwrap_or_default()
}

pub(super) fn notes(import: &Import, part: NotePart) -> Vec<String> {
    let notes = import.notes.iter().filter(|note| note.part == part);
    notes.map(|note| format!("{} {}", note.line, note.what)).collect()
}

pub(super) fn written_one(import: &Import) -> Value {
    written(import).remove(0).1
}

#[test]
fn l4_the_format_follows_from_the_contents() {
    let cases = [
        (r#"{"settings": []}"#, PeerClient::DdnsUpdater),
        (r#"{"dns": "alidns"}"#, PeerClient::NewFuture),
        ("{'dns': 'callback', 'id': None}", PeerClient::NewFuture),
        (r#"{"providers": [{"provider": "callback"}, {"provider": "he"}]}"#, PeerClient::NewFuture),
        ("# c\ndnsconf:\n", PeerClient::DdnsGo),
        ("ipv4:\n  enable: true\ndns:\n  name: x\n", PeerClient::DdnsGo),
        ("config service 'x'\n", PeerClient::OpenWrt),
        ("c service\n", PeerClient::OpenWrt),
        ("provider dyndns.org:1 {\n}", PeerClient::Inadyn),
        ("custom x {", PeerClient::Inadyn),
        ("CF_API_TOKEN=x\nIP4_DOMAINS=a.example", PeerClient::CloudflareDdns),
        ("export CONFIG={}", PeerClient::DdnsUpdater),
        ("DDNS_DNS=he\n", PeerClient::NewFuture),
        ("use=web\na.example", PeerClient::Ddclient),
        ("\u{feff}protocol=noip a.example", PeerClient::Ddclient),
    ];
    for (text, peer) in cases {
        assert_eq!(detected(text), Detected::Other(peer), "{text}");
    }
    assert_eq!(detected(r#"{"dns": "callback", "id": "https://h.example/"}"#), Detected::Own);
    assert_eq!(detected(r#"{"providers": [{"provider": "callback"}]}"#), Detected::Own);
    for text in
        ["", "hello", "{", "[1]", "# use=web", "services:\n  x:\n    image: y\n", "dyndns_system default@dyndns.org\n"]
    {
        assert!(matches!(detected(text), Detected::Unknown(_) | Detected::Refused(_)), "{text}");
    }
    let half = detected("{\"dns\": \"he\",\n \"token\" 1}");
    assert!(matches!(&half, Detected::Refused(why) if why.starts_with("line 2: ")), "{half:?}");
    let two = detected("config service 'x'\nDDNS_DNS=he\n");
    assert!(matches!(&two, Detected::Unknown(why) if why.contains("--from")), "{two:?}");
}

#[test]
fn l8_a_service_that_is_told_a_label_gets_that_of_each_name() {
    let label = |import: &Import, name: &str| {
        written(import).iter().map(|(_, value)| extra(value, name).to_owned()).collect::<Vec<_>>()
    };
    let account = r#""provider": "opendns", "username": "ou", "password": "op", "ip_version": "ipv4""#;
    let cases: [(&str, &[&str]); 3] = [
        (r#""domain": "net.example.com", "host": "home,work""#, &["home.net.example.com", "work.net.example.com"]),
        (r#""domain": "a.example.com,b.example.com""#, &["a.example.com", "b.example.com"]),
        (r#""domain": "@.example.org""#, &["example.org"]),
    ];
    for (names, expected) in cases {
        let import = read(PeerClient::DdnsUpdater, &format!("{{\"settings\": [{{{account}, {names}}}]}}"));
        assert_eq!(label(&import, "__NETWORK__"), expected, "{names}");
    }
    let inadyn = |service: &str, names: &str| {
        let text = format!("provider {service} {{ username = u password = p hostname = {{ {names} }} }}");
        read(PeerClient::Inadyn, &text)
    };
    assert_eq!(label(&inadyn("opendns.com", "\"Home\", \"Office\""), "__NETWORK__"), ["Home", "Office"]);
    assert_eq!(label(&inadyn("tunnelbroker.net", "123, 456"), "__TUNNEL__"), ["123", "456"]);
    let records = crate::text::json::pretty(&written(&inadyn("dnsmadeeasy.com", "123, 456"))[0].1);
    assert!(
        records.contains(r#""__RECORD_ID__": "123""#) && records.contains(r#""__RECORD_ID__": "456""#),
        "{records}"
    );
}

#[test]
fn l8_several_entries_stand_in_providers_with_their_secrets_in_folders() {
    let import = read(
        PeerClient::Ddclient,
        "usev4=webv4\nprotocol=easydns, login=u, password=p1 a.example\nprotocol=ovh, login=u, password=p2 b.example\n",
    );
    let filled = import.document(&[0, 1], Some("/f"), "x").expect("a configuration");
    let root = parse(&filled.text, Dialect::CONFIG).expect("JSON").value;
    assert!(matches!(root.member("providers"), Some(Value::Array(items)) if items.len() == 2), "{}", filled.text);
    assert_eq!(
        filled.secrets,
        [("/f/1/password".to_owned(), "p1".to_owned()), ("/f/2/password".to_owned(), "p2".to_owned())]
    );
    assert!(!filled.text.contains("p1"), "{}", filled.text);
}

#[test]
fn l8_both_families_of_a_host_stay_in_one_entry() {
    let text = "usev4=webv4, usev6=ifv6\nprotocol=dyndns2, login=u, password=p\n\
                ifv6=eth0 a.dyndns.org\nifv6=eth1 b.dyndns.org\n";
    let import = read(PeerClient::Ddclient, text);
    let counts: Vec<[usize; 2]> = import.entries.iter().map(|entry| [0, 1].map(|it| entry.domains[it].len())).collect();
    assert_eq!(counts, [[1, 1], [1, 1]]);
}

#[test]
fn l17_a_file_says_nothing_in_the_words_of_the_tables() {
    let text = "config service 'x'\n option enabled '1'\n option service_name 'duckdns.org'\n option domain 'a.duckdns.org'\n \
                option password 't'\n option .most '10'\n option .cache '/etc/passwd'\n";
    assert!(written_one(&read(PeerClient::OpenWrt, text)).member("cache").is_none());
}

#[test]
fn l12_answers_are_missing_wrong_or_given() {
    let mut import = read(PeerClient::Inadyn, "provider no-ip.com { username = u password = p hostname = a.example }");
    let missing = |import: &Import| {
        import.entries[0].missing().expect("a form").into_iter().map(|it| it.name).collect::<Vec<_>>()
    };
    assert_eq!(missing(&import), ["contact"]);
    assert!(import.entries[0].answer("contact", "nobody").is_err());
    import.entries[0].answer("contact", "me@example.org").expect("an answer");
    assert_eq!(missing(&import), Vec::<String>::new());
    let wrong =
        read(PeerClient::NewFuture, r#"{"dns": "alidns", "id": "x", "token": "s3cret", "ipv4": "a.example.org"}"#);
    let missing = wrong.entries[0].missing().expect("a form");
    assert!(missing[0].name == "id" && missing[0].refused.is_some() && !missing[0].secret);
    let left = [Some("why".to_owned())];
    let [taken, _, not_taken] = rows(&wrong, &left);
    assert_eq!((taken.len(), not_taken[0].entry, not_taken[0].part), (0, Some(1), NotePart::LeftOut));
}

#[test]
fn l17_there_are_limits() {
    let hosts = |count: usize| (0..count).map(|number| format!("h{number}.example")).collect::<Vec<_>>().join(",");
    let text = |count| format!("usev4=webv4\nprotocol=he.net, password=p {}\n", hosts(count));
    let import = read(PeerClient::Ddclient, &text(10_000));
    assert_eq!((import.entries.len(), import.entries[0].missing().expect("a form").len()), (1, 0));
    assert!(try_read(PeerClient::Ddclient, &text(10_001)).is_err_and(|error| error.message.contains("10000 at most")));
    let host = |number: usize| format!("protocol=easydns, login=u{number}, password=p h{number}.example");
    let entries = (0..1001).map(host).collect::<Vec<_>>().join("\n");
    assert!(try_read(PeerClient::Ddclient, &format!("usev4=webv4\n{entries}")).is_err());
}

#[test]
fn durations_schedules_pages_and_flags() {
    for (text, expected) in [
        ("300", Some(300)),
        ("5m", Some(300)),
        ("1h30m", Some(5400)),
        ("25d", Some(2_160_000)),
        ("inf", None),
        ("", None),
        ("9999999999999999999d", None),
    ] {
        assert_eq!(seconds(text), expected, "{text}");
    }
    for (text, expected) in
        [("@every 90s", Some("90s")), ("*/5 * * * *", Some("5m")), ("0 * * * *", None), ("@once", None)]
    {
        let text = format!("DDNS_DNS=he\nDDNS_TOKEN=k\nDDNS_IPV4=a.example\nDDNS_CRON={text}\n");
        let settings = read(PeerClient::NewFuture, &text).settings;
        assert_eq!(settings.first().and_then(|(_, every)| every.text()), expected, "{text}");
    }
    assert_eq!(page("https://api.ipify.org/?format=json"), "public");
    assert_eq!(page("http://[::1]:80/x"), "url:http://[::1]:80/x");
    assert_eq!((is_yes(" Yes "), is_yes("0"), is_yes("b")), (true, false, false));
    let table = PeerTable("x ?a~b one\nx two q=v\ny - none\n: s=1|2 why\n");
    assert!(matches!(table.row("X", &|_| Some("aBc".to_owned())), Some(ServiceRow::Recipe("one", _))));
    assert!(matches!(table.row("x", &|_| None), Some(ServiceRow::Recipe("two", answers)) if answers == [("q", "v")]));
    assert_eq!(
        (table.why_not("s", "2"), table.why_not("s", "3"), table.why_not("t", "3")),
        (Some(""), Some("why"), None)
    );
}

#[test]
fn l17_thousands_of_settings_are_refused() {
    let many = |form: &dyn Fn(usize) -> String| (0..20_000).map(form).collect::<String>();
    let hosts = many(&|number| format!("h{number},"));
    let cases = [
        (PeerClient::Ddclient, many(&|number| format!("o{number}=1\n")) + &hosts),
        (PeerClient::Inadyn, many(&|number| format!("o{number}=1\n"))),
        (PeerClient::NewFuture, format!("{{\"dns\": \"he\"{}}}", many(&|number| format!(",\n\"o{number}\": 1")))),
        (PeerClient::CloudflareDdns, many(&|number| format!("O{number}=1\n"))),
    ];
    for (client, text) in cases {
        let why = try_read(client, &text).expect_err("too many").message;
        assert!(why.contains("at most") || why.contains("300 settings"), "{client:?}: {why}");
    }
}

/// To compare each with all others would take minutes.
#[test]
fn l17_thousands_of_notes_take_no_time() {
    let text = "*\n".repeat(100_000) + "provider easydns.com { username = u password = p hostname = h.example }";
    assert_eq!(read(PeerClient::Inadyn, &text).notes.len(), 100_000);
    let text = "A=${B}\n".repeat(100_000) + "CF_API_TOKEN=t\nDOMAINS=h.example.org\n";
    assert!(read(PeerClient::CloudflareDdns, &text).notes.len() > 100_000);
}

#[test]
fn l14_every_value_that_is_not_taken_over_is_named() {
    let easydns = "protocol=easydns, login=u, password=p h.example";
    let custom =
        |more: &str| format!("custom x {{ username = u password = p hostname = h.example ddns-server = {more} }}");
    let variables = |more: &str| format!("CF_API_TOKEN=t\nDOMAINS=h.example.org\n{more}\n");
    let openwrt = |more: &str| {
        format!(
            "config ddns 'global'\n option upd_privateip '1'\nconfig service 'x'\n option enabled '1'\n \
                 option service_name 'duckdns.org'\n option domain 'a.duckdns.org'\n option password 't'\n {more}\n"
        )
    };
    let cases: [(PeerClient, String, &[&str]); 18] = [
        // No duration, and one that ddns does not take.
        (PeerClient::Ddclient, format!("usev4=webv4, timeout=soon\n{easydns}"), &["1 timeout"]),
        (PeerClient::Ddclient, format!("usev4=webv4, timeout=2h, daemon=never\n{easydns}"), &["1 daemon", "1 timeout"]),
        (PeerClient::Ddclient, format!("usev4=webv4, max-interval=inf\n{easydns}"), &["1 max-interval"]),
        // It is on the other host.
        (PeerClient::Ddclient, format!("usev4=webv4, ssl_ca_file=/gone.pem\n{easydns}"), &["1 ssl_ca_file"]),
        // The recipe knows its server, and needs nothing else.
        (PeerClient::Ddclient, format!("usev4=webv4, server=own.example\n{easydns}"), &["1 server"]),
        (PeerClient::Ddclient, format!("usev4=webv4, script=/x, dynurl=https://h.example/?q=k\n{easydns}"), &["1 dynurl", "1 script"]),
        // Neither yes nor no.
        (PeerClient::Inadyn, "secure-ssl = perhaps ".to_owned() + &custom("own.example"), &["1 secure-ssl"]),
        (PeerClient::Inadyn, custom("dynv6.com ddns-path = \"/nic/update?hostname=%h&myip=%i\" ddns-response = x"), &["1 ddns-response", "1 password"]),
        (PeerClient::Inadyn, "period = often ".to_owned() + &custom("own.example"), &["1 period"]),
        (PeerClient::CloudflareDdns, variables("HEALTHCHECKS=nowhere"), &["3 HEALTHCHECKS"]),
        (PeerClient::CloudflareDdns, variables("UPDATE_TIMEOUT=x\nUNKNOWN=y"), &["3 UPDATE_TIMEOUT", "4 UNKNOWN"]),
        // Neither is set, whatever the table says.
        (PeerClient::NewFuture, r#"{"dns": "he", "token": "k", "ipv4": "h.example", "proxy": null, "odd": "", "none": null}"#.to_owned(), &[]),
        (PeerClient::OpenWrt, openwrt("option cacert '/etc/certs'"), &["2 upd_privateip", "8 cacert"]),
        // What a new file of that client contains.
        (
            PeerClient::OpenWrt,
            openwrt("option cacert '/etc/ssl/certs'\n option retry_max_count '0'\n option ddns_dateformat '%F %R'\n option ddns_loglines '250'\n option use_curl '1'"),
            &["2 upd_privateip"],
        ),
        (PeerClient::OpenWrt, openwrt("option .most '10'"), &["2 upd_privateip", "8 .most"]),
        (PeerClient::OpenWrt, openwrt("option force_interval '0'"), &["2 upd_privateip"]),
        (
            PeerClient::NewFuture,
            r#"{"dns": "he", "token": "k", "ipv4": "h.example", "odd": [{"a": 1}]}"#.to_owned(),
            &["1 odd"],
        ),
        (
            PeerClient::DdnsUpdater,
            r#"{"settings": [{"provider": "duckdns", "domain": "a.duckdns.org", "token": "t", "ip_version": "ipv4 or ipv6", "odd": 1}]}"#
                .to_owned(),
            &["1 odd"],
        ),
    ];
    for (client, text, expected) in cases {
        let import = read(client, &text);
        let mut named = notes(&import, NotePart::Dropped);
        named.sort();
        assert_eq!(named, expected, "{text}: {:?}", import.notes);
        assert_eq!(shown(&import).len(), 1, "{text}");
    }
}

#[test]
fn l7_names_outside_ascii_become_those_that_services_know() {
    let cases = [
        (
            PeerClient::CloudflareDdns,
            "CF_API_TOKEN=t\nIP4_DOMAINS=bücher.example.com,*.Bücher.example",
            vec!["cloudflare xn--bcher-kva.example.com:A public", "cloudflare *.xn--bcher-kva.example:A public"],
        ),
        (
            PeerClient::Ddclient,
            "usev4=webv4\nprotocol=noip, login=u@example.org, password=p bücher.ddns.net",
            vec!["no-ip xn--bcher-kva.ddns.net:A public"],
        ),
        (
            PeerClient::OpenWrt,
            "config service x\n option enabled 1\n option service_name namecheap.com\n option domain bücher.example\n option username www\n option password p",
            vec!["namecheap www.xn--bcher-kva.example:A default"],
        ),
        // An entry without a recipe sends what it was told.
        (
            PeerClient::Ddclient,
            "usev4=webv4\nserver=own.example, script=/u, login=u, password=p bücher.example",
            vec!["- bücher.example:A public"],
        ),
    ];
    for (client, text, expected) in cases {
        let import = read(client, text);
        assert_eq!(shown(&import), expected, "{text}");
        let mut changed = import.notes.iter().filter(|note| note.part == NotePart::Changed);
        let is_named = changed.any(|note| note.text.contains("xn--"));
        assert_eq!(is_named, !expected[0].starts_with('-'), "{text}");
    }
}

#[test]
fn l4_variables_are_quoted_as_in_a_shell() {
    let cases = [
        (r#""to#k\$en""#, "to#k$en"),
        (r#""a\"b\\c\`d\e""#, "a\"b\\c`d\\e"),
        (r"'a\$b'", r"a\$b"),
        ("'it's'", "it's"),
        ("\"open", "\"open"),
        ("\"two\n lines\"", "two\n lines"),
        ("  'spaced '  ", "spaced "),
    ];
    for (value, expected) in cases {
        let text = format!("A=1\r\nexport B={value}\r\n\n# c\nC=2\r\n");
        let mut file = PeerFile::default();
        let variables = variables::parse(&text, &mut file).expect(value);
        let all = ["A", "B", "C"].map(|name| variables.find(name).map(|setting| setting.value.as_str()));
        assert_eq!((all, file.notes.len()), ([Some("1"), Some(expected), Some("2")], 0), "{value}");
    }
    let json = r#"{"settings": [{"provider": "easydns", "domain": "a.example", "username": "u", "token": "t", "ip_version": "ipv4"}]}"#;
    for text in [
        format!("export CONFIG=\"{}\"\nPERIOD=90s\n", json.replace('"', "\\\"")),
        format!("CONFIG='{}'\nPERIOD=90s\n", json.replace(": ", ":\n")),
    ] {
        let import = read(PeerClient::DdnsUpdater, &text);
        assert_eq!(
            (shown(&import), import.settings.len()),
            (vec!["easydns a.example:A public".to_owned()], 1),
            "{text}"
        );
    }
    for (text, line) in [("A=1\nB\n", 2), ("A='x\ny'\nC D=1\n", 3)] {
        assert_eq!(try_read(PeerClient::CloudflareDdns, text).expect_err(text).line, line, "{text}");
    }
}

#[test]
fn l7_comments_and_variables_behind_a_value_are_named() {
    let token = |value: &str| {
        let import = read(PeerClient::CloudflareDdns, &format!("DOMAINS=h.example.org\nCF_API_TOKEN={value}\n"));
        let named = notes(&import, NotePart::Changed);
        (extra(&written(&import)[0].1, "__TOKEN__").to_owned(), named.contains(&"2 CF_API_TOKEN".to_owned()))
    };
    let cases = [
        ("abc", "abc", false),
        ("abc # mine", "abc", true),
        ("abc#d", "abc#d", false),
        ("'abc # d'", "abc # d", false),
        ("\"abc\" # mine", "abc", true),
        ("x${TOKEN}", "x${TOKEN}", true),
        ("'x${TOKEN}'", "x${TOKEN}", false),
    ];
    for (value, expected, named) in cases {
        assert_eq!(token(value), (expected.to_owned(), named), "{value}");
    }
}

/// The seeds of fuzzing, cut off and changed.
#[test]
fn l17_no_text_makes_it_panic() {
    let seeds = [
        include_str!("../../../../fuzz/corpus/import/seed-ddclient"),
        include_str!("../../../../fuzz/corpus/import/seed-inadyn"),
        include_str!("../../../../fuzz/corpus/import/seed-ddns-go"),
        include_str!("../../../../fuzz/corpus/import/seed-ddns-updater"),
        include_str!("../../../../fuzz/corpus/import/seed-cloudflare-ddns"),
        include_str!("../../../../fuzz/corpus/import/seed-newfuture"),
        include_str!("../../../../fuzz/corpus/import/seed-openwrt"),
    ];
    for (client, seed) in PeerClient::ALL.into_iter().zip(seeds) {
        let letters: Vec<char> = seed.chars().skip(1).collect();
        assert!(!read(client, &letters.iter().collect::<String>()).entries.is_empty(), "{client:?}");
        for place in (0..letters.len()).step_by(11) {
            let cut: String = letters[..place].iter().collect();
            let strange = ['\'', '"', '{', '}', '\\', '\n', '=', '#', 'é', '\0'][place % 10];
            let bent: String =
                letters.iter().enumerate().map(|(at, letter)| if at == place { strange } else { *letter }).collect();
            for text in [cut, bent] {
                let _ = detected(&text);
                let Ok(import) = try_read(client, &text) else { continue };
                let all: Vec<usize> = (0..import.entries.len()).collect();
                let _ = import.document(&all, Some("/f"), "x");
            }
        }
    }
}
