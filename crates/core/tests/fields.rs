//! Every row of the table of fields, objects inside of fields included: what a column says is what the program does.
//!
//! A new row needs two values here, in [`samples`]; everything else follows from its columns.

use std::rc::Rc;

use ddns_core::config::Config;
use ddns_core::config::fields::{
    EditRight, FIELDS, Field, FieldScope, FieldUse, Key, Kind, RequestPart, SubField, SubKind, Visibility,
};
use ddns_core::config::files::{named_in, secret_in};
use ddns_core::config::listing::listing;
use ddns_core::config::raw::{self, Document, FileLayers};
use ddns_core::config::validate::{Surroundings, validate};
use ddns_core::net::family::Family;
use ddns_core::recipe::Recipe;
use ddns_core::text::diagnostic::Diagnostic;
use ddns_core::web::addition::{appended, checked};
use ddns_core::web::controls::controls;
use serde_json::{Value, json};

/// What is looked for in what may be seen.
const SENTINEL: &str = "quxzikwov";

const WHSEC: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// A row: the field, and the parts on the way to it.
struct Row {
    field: &'static Field,
    parts: Vec<&'static SubField>,
}

impl Row {
    /// `web/listen`, `expect/stop/body`
    fn path(&self) -> String {
        std::iter::once(self.field.name).chain(self.parts.iter().map(|part| part.name)).collect::<Vec<_>>().join("/")
    }

    fn shown(&self) -> Visibility {
        self.parts.last().map_or(self.field.shown, |part| part.shown)
    }

    fn is_for(&self, what: FieldUse) -> bool {
        self.parts.last().map_or(self.field.is_for(what), |part| part.is_for(what))
    }

    /// An object, the field of a configuration, in which the row has this value.
    fn set_to(&self, mut value: Value) -> Value {
        for (at, part) in self.parts.iter().enumerate().rev() {
            let mut object = json!({part.name: value});
            let beside = match (self.field.key, part.name) {
                (Key::Ipv4 | Key::Ipv6, _) if at == 0 => json!({"name": "a.example"}),
                (Key::Notify, _) => json!({"id": "https://n.example/__MESSAGE__"}),
                (Key::Before, "where" | "not" | "total" | "next") if at == 0 => json!({"in": ""}),
                (Key::Before, "at") => json!({"as": "page"}),
                (Key::Before, "as") => json!({"at": "/next"}),
                (Key::Combine, "missing") => json!({"families": true}),
                (Key::Expect, "for" | "until" | "all") => json!({"body": "x"}),
                (Key::Sign, name) if name != "file" => beside_in_sign(name),
                (Key::Group, "password_file") => json!({"user": "u"}),
                (Key::Group | Key::Web, "user") | (Key::Web, "from" | "max_age") => json!({"password_file": "/one"}),
                (Key::Group | Key::Web, "certificate") => json!({"key": "/one"}),
                (Key::Group | Key::Web, "key") => json!({"certificate": "/one"}),
                _ => json!({}),
            };
            let of_group =
                if self.field.key == Key::Group { json!({"store": "etcds://s", "name": "g"}) } else { json!({}) };
            for (name, value) in [beside, of_group].iter().flat_map(|object| object.as_object().expect("an object")) {
                object.as_object_mut().expect("an object").entry(name).or_insert_with(|| value.clone());
            }
            let is_value = part.name == "file" && self.field.kind != Kind::Secrets;
            let is_named = at > 0 && self.parts[at - 1].kind == SubKind::Named;
            value = match () {
                () if is_value => json!({"__A__": object}),
                () if is_named => json!({"router": object}),
                () => object,
            };
        }
        match self.field.name.split_once('.') {
            Some((object, name)) => json!({object: {name: value}}),
            None => json!({self.field.name: value}),
        }
    }

    /// A configuration in which the row has this value, and what must be there besides.
    fn configuration(&self, value: Value) -> Value {
        let mut config = json!({"dns": "callback", "id": "https://h.example/", "ipv4": "a.example"});
        merge(&mut config, samples(&self.path()).2);
        merge(&mut config, self.set_to(value));
        config
    }
}

/// What a part of `sign` needs beside it.
fn beside_in_sign(part: &str) -> Value {
    let scheme = match part {
        "region" | "service" => json!({"scheme": "aws4", "id": "A", "secret": "s", "region": "r", "service": "v"}),
        "consumer" => json!({"scheme": "ovh", "id": "A", "secret": "s", "consumer": "c"}),
        "key" | "header" => json!({"scheme": "rsa-sha512", "key": "k"}),
        "audience" => json!({"scheme": "google", "key": "k"}),
        _ => json!({"scheme": "acs3", "id": "A", "secret": "s"}),
    };
    let members = scheme.as_object().expect("an object").clone();
    members.into_iter().filter(|(name, _)| name != part).collect()
}

fn merge(config: &mut Value, more: Value) {
    let Value::Object(more) = more else { panic!("an object") };
    config.as_object_mut().expect("an object").extend(more);
}

fn rows() -> Vec<Row> {
    fn add(row: Row, parts: &'static [SubField], rows: &mut Vec<Row>) {
        for part in parts {
            let inner = Row { field: row.field, parts: row.parts.iter().copied().chain([part]).collect() };
            add(inner, part.parts, rows);
        }
        rows.push(row);
    }
    let mut rows = Vec::new();
    for field in &FIELDS {
        add(Row { field, parts: Vec::new() }, field.parts, &mut rows);
    }
    rows
}

/// Two values that mean something else, and what must stand beside them.
fn samples(path: &str) -> (Value, Value, Value) {
    let beside = match path {
        "endpoint" => json!({"id": "x"}),
        "format" => json!({"token": "{\"a\": \"1\"}"}),
        "absent" => json!({"before": {"in": ""}}),
        _ => json!({}),
    };
    let (one, other) = match path {
        "dns" => (json!("callback"), json!("Callback")),
        "id" | "endpoint" => (json!("https://h.example/"), json!("https://i.example/")),
        "token" => (json!({"a": "1"}), json!({"a": "2"})),
        "method" => (json!("PUT"), json!("PATCH")),
        "headers" => (json!({"X-A": "1"}), json!({"X-A": "2"})),
        "format" => (json!("form"), json!("text")),
        "ipv4" | "ipv6" | "ipv4/name" | "ipv6/name" => (json!("a.example"), json!("b.example")),
        "extra" | "ipv4/extra" | "ipv6/extra" => (json!({"__A__": "1"}), json!({"__A__": "2"})),
        "ipv6/interface_id" | "ipv4/interface_id" => (json!("::1"), json!("::2")),
        "index4" | "index6" => (json!("public"), json!("interface:eth0")),
        "zone" => (json!("example"), json!("a.example")),
        "sign" => (json!(WHSEC), json!(WHSEC.replace('A', "B"))),
        "proxy" => (json!("http://p.example:1"), json!("http://q.example:1")),
        "ssl" | "debug" | "cache" | "web/allow_edit" | "combine/families" | "verify" | "ipv4/verify"
        | "ipv6/verify" => (json!(true), json!(false)),
        "expect" => (json!("dyndns2"), json!({"accept": "good"})),
        "combine" => (json!({"families": true}), json!({"domains": 2})),
        "interval" => (json!("5m"), json!("6m")),
        "log.level" => (json!("WARNING"), json!("ERROR")),
        "log.format" => (json!("%(message)s"), json!("json")),
        "notify/on" => (json!("failed"), json!("changed")),
        "web" | "web/listen" => (json!("127.0.0.1:1"), json!("127.0.0.1:2")),
        "web/push" => (json!({"a": {"password_file": "/one"}}), json!({"b": {"password_file": "/one"}})),
        "web/push/max_age" => (json!("1h"), json!("2h")),
        "web/proxies" | "web/push/from" => (json!("10.0.0.1"), json!("10.0.0.2")),
        "group" => (json!({"store": "etcd://a", "name": "a"}), json!({"store": "etcd://b", "name": "a"})),
        "group/store" => (json!("etcds://a"), json!("etcds://b")),
        "group/lease" => (json!("10s"), json!("20s")),
        "notify" => (json!({"id": "https://n.example/"}), json!({"id": "https://o.example/"})),
        "providers" => (json!([{"provider": "callback"}]), json!([{"provider": "callback", "ttl": 5}])),
        "ttl" | "cache_max_age" | "timeout" | "concurrency" | "min_interval" | "combine/domains" | "group/prefer"
        | "notify/after" => (json!(7), json!(8)),
        "line" | "recipe" | "$schema" | "log.file" | "log.datefmt" | "combine/missing" | "web/hosts" | "group/name"
        | "group/member" | "group/user" | "web/push/user" => (json!("a"), json!("b")),
        _ => match path.split('/').collect::<Vec<_>>()[..] {
            ["before" | "absent" | "after"] => (json!({"id": "/a"}), json!({"id": "/b"})),
            ["before", "where" | "not" | "same"] => (json!({"/a": "1"}), json!({"/a": "2"})),
            ["before", "take" | "secret"] => (json!({"/a": "__A__"}), json!({"/b": "__A__"})),
            ["before", "in" | "total"] | ["before", "next", "at"] => (json!("/a"), json!("/b")),
            ["before", "next", "as"] => (json!("a"), json!("b")),
            ["before", "next"] => (json!({"at": "/a", "as": "b"}), json!({"at": "/b", "as": "b"})),
            ["before", "keep"] => (json!("10m"), json!("20m")),
            ["sign", "scheme"] => (json!("acs3"), json!("huawei")),
            ["sign", name] if name != "file" => (json!("a"), json!("b")),
            ["verify", part] | [_, "verify", part] => match part {
                "ask" => (json!("zone"), json!("resolver")),
                "server" | "resolver" => (json!("10.0.0.1"), json!(["10.0.0.2", "[fd00::1]:5353"])),
                "within" | "every" => (json!("20m"), json!(30)),
                _ => (json!(true), json!(false)),
            },
            ["expect", _, "status"] => (json!(200), json!("201-299")),
            ["expect", _, "json"] => (json!({"/a": 1}), json!({"/a": 2})),
            ["expect", _, "for"] => (json!("5m"), json!("6m")),
            ["expect", _, "until"] => (json!("address"), json!({})),
            ["expect", _, "all"] => (json!(true), json!(false)),
            ["expect", _] | ["expect", _, "body"] => (json!("good"), json!("bad")),
            ["web" | "group", .., "ca" | "certificate" | "key" | "password_file" | "token_file"] | [.., "file"] => {
                (json!("/one"), json!("/two"))
            }
            _ => panic!("{path} has no values here"),
        },
    };
    (one, other, beside)
}

fn read(config: &Value) -> FileLayers {
    let document = Document { name: "c.json".to_owned(), text: config.to_string(), fetched: false };
    raw::read(&Rc::new(document)).expect("JSON")
}

fn around() -> Surroundings {
    let mut around = Surroundings::default();
    for path in ["/one", "/two"] {
        around.files.add(path.to_owned(), Ok(WHSEC.to_owned()));
    }
    around
}

fn valid(config: &Value) -> Result<(Config, Vec<Diagnostic>), String> {
    let wrong = |wrong: Vec<Diagnostic>| wrong.iter().map(Diagnostic::shown).collect::<String>();
    validate("c.json", Some(read(config)), &around()).map_err(wrong)
}

/// The keys of the cache.
fn keys(config: &Config) -> Vec<String> {
    let entries = config.entries.iter();
    let of_entry = |entry: &ddns_core::config::Entry| -> Vec<String> {
        let callback = entry.callback.fingerprint(b"salt");
        let domains =
            Family::ALL.into_iter().flat_map(|family| entry.domains_of(family).iter().map(move |it| (it, family)));
        domains
            .map(|(domain, family)| format!("{:?}", entry.callback.fingerprint_of(callback, domain, family)))
            .collect()
    };
    entries.flat_map(of_entry).collect()
}

/// Parts of `expect` that one of its lists alone has, and what only IPv6 has.
fn has_no_meaning(row: &Row) -> bool {
    matches!(
        row.path().split('/').collect::<Vec<_>>()[..],
        ["expect", "stop" | "reject" | "accept" | "forget", "for"]
            | ["expect", "wait" | "reject" | "accept" | "forget", "until" | "all"]
            | ["expect", "none", ..]
            | ["ipv4", "interface_id"]
    )
}

/// A row has a meaning, and the key of the cache changes with it where its column says so.
#[test]
fn e3_each_row_has_a_meaning_and_its_part_in_the_cache_key() {
    for row in rows() {
        let (path, (one, other, _)) = (row.path(), samples(&row.path()));
        let [one, other] = [one, other].map(|value| valid(&row.configuration(value)).map(|(config, _)| config));
        if has_no_meaning(&row) || path == "expect/stop/until" {
            assert!(one.is_err() || other.is_err(), "{path}");
            continue;
        }
        let [one, other] = [one, other].map(|config| config.unwrap_or_else(|why| panic!("{path}: {why}")));
        assert_eq!(one != other, !["dns", "recipe", "$schema"].contains(&path.as_str()), "{path} has no effect");
        assert_eq!(keys(&one) != keys(&other), row.is_for(FieldUse::CacheKey) || path == "providers", "{path}");
    }
    let until = rows().into_iter().find(|row| row.path() == "expect/stop/until").expect("a row");
    let [with, without] = [
        until.configuration(json!("address")),
        json!({"dns": "callback", "id": "https://h.example/",
        "ipv4": "a.example", "expect": {"stop": {"body": "x"}}}),
    ];
    assert_ne!(keys(&valid(&with).expect("valid").0), keys(&valid(&without).expect("valid").0));
}

/// Values with the sentinel in them, each with whether that may be seen.
fn seen(row: &Row) -> Vec<(Value, bool)> {
    let s = SENTINEL;
    match row.shown() {
        Visibility::Plain | Visibility::Deep | Visibility::PlainOrParts => vec![(json!(s), true)],
        Visibility::Domains => vec![(json!(s), true), (json!({"name": "a", "x": s}), false)],
        Visibility::Url | Visibility::BaseUrl => {
            vec![(json!(format!("https://{s}.example/")), true), (json!(format!("https://u:{s}@h/?k={s}")), false)]
        }
        Visibility::Body | Visibility::Headers => vec![(json!({"A": s}), false), (json!({s: "a"}), true)],
        Visibility::Never if row.field.kind == Kind::Secrets && !row.parts.is_empty() => vec![(json!(s), false)],
        Visibility::Never if row.field.kind == Kind::Secrets => {
            vec![(json!(s), false), (json!({"file": format!("/{s}")}), true), (json!({"file": s}), false)]
        }
        Visibility::Never => vec![(json!({"__A__": s}), false), (json!({"__A__": {"file": s}}), false)],
        Visibility::Proxies => {
            vec![(json!(format!("http://u:{s}@h:1")), false), (json!(format!("http://{s}:1")), true)]
        }
        Visibility::Sources => vec![
            (json!(format!("url:https://h/?k={s}")), false),
            (json!(format!("shell:{s}")), false),
            (json!(format!("interface:{s}")), true),
        ],
        Visibility::Path => vec![(json!(s), false), (json!(format!("/{s}")), true)],
        Visibility::WithoutUser => vec![(json!(s), true), (json!(format!("u:{s}@h")), false)],
        Visibility::Parts => vec![(json!(s), false), (json!({"password": s}), false)],
        Visibility::Fields if row.field.kind == Kind::Entries => vec![(json!([{"token": {"a": s}}]), false)],
        Visibility::Fields => vec![(json!({"token": {"a": s}}), false), (json!({"x": s}), false)],
    }
}

/// Everything that the page shows of a configuration.
fn on_page(text: &str) -> String {
    let forms = controls(text, &Surroundings::default(), None);
    assert!(!forms.is_empty(), "{text}");
    let all = forms.iter().flat_map(|form| &form.controls);
    let shown: Vec<String> = all.map(|control| format!("{:?} {:?}", control.content, control.elsewhere)).collect();
    shown.join("\n")
}

/// What may be seen, in `ddns check` and on the page.
#[test]
fn g2_i2_each_row_is_shown_or_masked() {
    for row in rows() {
        for (value, is_shown) in seen(&row) {
            let config = row.configuration(value);
            let page = on_page(&config.to_string());
            let sections = listing(Some(&read(&config)), &Surroundings::default(), false);
            let check: Vec<&str> = sections.iter().flat_map(|it| &it.rows).map(|it| it.value.as_str()).collect();
            let check = check.join("\n");
            assert!(!page.contains(SENTINEL) || is_shown, "{}: {page}", row.path());
            // Of what a domain has for itself, a listing has the names alone.
            let is_listed = is_shown && (row.field.kind != Kind::Domains || row.parts.is_empty());
            assert!(!check.contains(SENTINEL) || is_shown, "{}: {check}", row.path());
            for (seen, is_there) in [(&check, true), (&page, !row.field.label.is_empty())] {
                let is_seen = seen.to_lowercase().contains(&SENTINEL.to_lowercase());
                assert!(is_seen || !is_listed || !is_there, "{}: {seen}", row.path());
            }
            // A message about a value that may be a key does not have it, nor its line.
            let wrong = match validate("c.json", Some(read(&config)), &around()) {
                Ok((_, wrong)) | Err(wrong) => wrong.iter().map(Diagnostic::shown).collect::<String>(),
            };
            assert!(!wrong.contains(SENTINEL) || is_shown, "{}: {wrong}", row.path());
        }
    }
}

/// Which files are read, and which of them are for their owner alone (H13).
#[test]
fn h13_each_row_that_names_a_file_is_known() {
    for row in rows() {
        let written = read(&row.configuration(json!("/path/of.it")));
        let kind = row.parts.last().map(|part| part.kind);
        let is_named = |paths: Vec<String>| paths.contains(&"/path/of.it".to_owned());
        let is_path = matches!(kind, Some(SubKind::Path | SubKind::SecretPath));
        assert_eq!(is_named(named_in(&written)), is_path, "{}", row.path());
        assert_eq!(is_named(secret_in(&written)), kind == Some(SubKind::SecretPath), "{}", row.path());
    }
}

/// What a notification has of its own, what it inherits, and what has no effect there.
#[test]
fn i5_each_row_is_taken_inherited_or_refused_by_notifications() {
    for row in rows().iter().filter(|row| row.parts.is_empty()) {
        let field = row.field;
        let (one, other, _) = samples(&row.path());
        let notification = |mut more: Value| {
            let mut notify = json!({"id": "https://n.example/"});
            if field.key == Key::Endpoint {
                notify["id"] = json!("x");
            }
            notify.as_object_mut().expect("an object").append(more.as_object_mut().expect("an object"));
            json!({"dns": "callback", "id": "https://h.example/", "ipv4": "a.example", "notify": notify})
        };
        if field.inside() == Some(FieldUse::Step) {
            assert!(valid(&notification(json!({field.name: one.clone()}))).is_err(), "{}", field.name);
            continue;
        }
        let (config, warnings) = valid(&notification(json!({field.name: one.clone()}))).expect(field.name);
        let has_no_effect = warnings.iter().any(|it| it.message.contains("has no effect in a notification"));
        assert_eq!(has_no_effect, !row.is_for(FieldUse::Notify), "{}", field.name);
        if field.key != Key::Format {
            let (changed, _) = valid(&notification(json!({field.name: other.clone()}))).expect(field.name);
            assert_eq!(config.notify != changed.notify, row.is_for(FieldUse::Notify), "{}", field.name);
        }
        if field.key != Key::Notify {
            let [one, other] = [one, other].map(|value| {
                let mut config = row.configuration(value);
                merge(&mut config, json!({"notify": {"id": "https://n.example/"}}));
                valid(&config).expect(field.name).0.notify
            });
            assert_eq!(one != other, field.request == RequestPart::Transport, "{}", field.name);
        }
    }
}

/// What a recipe may fill, in an entry, a domain and a notification.
#[test]
fn h12_each_row_is_filled_by_recipes_or_refused() {
    let is_refused = |filled: Value| {
        let mut recipe =
            json!({"title": "T", "kind": "api", "about": "A.", "documentation": "d", "certainty": "official"});
        merge(&mut recipe, filled);
        Recipe::read("my.json", &recipe.to_string()).is_err()
    };
    for row in rows() {
        let value = samples(&row.path()).0;
        let filled = match (row.field.kind, row.parts.as_slice()) {
            (Kind::Domains, [part]) => json!({"config": {"id": "https://h.example/"}, "domain": {part.name: value}}),
            (Kind::Callbacks, [part]) if row.field.key == Key::Notify => json!({"notify": {part.name: value}}),
            _ => json!({"config": row.set_to(value.clone())}),
        };
        assert_eq!(is_refused(filled), !row.is_for(FieldUse::Recipe), "{}", row.path());
        // `after` of a notification is something else.
        if row.parts.is_empty() && row.field.key != Key::After {
            let both = row.is_for(FieldUse::Recipe) && row.is_for(FieldUse::Notify);
            assert_eq!(
                is_refused(json!({"notify": {row.field.name: samples(&row.path()).0}})),
                !both,
                "{}",
                row.path()
            );
        }
    }
}

/// What a form of the page may set, and what an entry that it adds must have of its own.
#[test]
fn i2_each_row_is_set_on_the_page_or_refused() {
    for row in rows().iter().filter(|row| !has_no_meaning(row)) {
        let (field, one) = (row.field, samples(&row.path()).0);
        let is_refused = |value: Value| checked(&row.configuration(value).to_string()).is_err();
        let kind = row.parts.last().map(|part| part.kind);
        let is_path = field.key == Key::LogFile || matches!(kind, Some(SubKind::Path | SubKind::SecretPath));
        assert_eq!(is_refused(one.clone()), field.edit == EditRight::Host || is_path, "{}", row.path());
        if !row.parts.is_empty() {
            continue;
        }
        let of_host = match field.edit {
            EditRight::Free => None,
            EditRight::NoProgram => Some("cmd:/bin/id"),
            EditRight::NoPath | EditRight::Host => Some("/etc/cron.d/x"),
        };
        assert!(of_host.is_none_or(|value| is_refused(json!(value))), "{}", field.name);
        if field.key == Key::Providers {
            continue;
        }
        let mut old = json!({"providers": [{"provider": "callback", "id": "https://h.example/", "ipv4": "a.example"}]});
        merge(&mut old, row.set_to(one));
        let new = r#"{"dns": "callback"}"#;
        let is_inherited = appended(&old.to_string(), new, &Surroundings::default()).is_ok();
        assert_eq!(is_inherited, field.request != RequestPart::Content, "{}", field.name);
    }
}

/// Where it may stand, and which words it takes.
#[test]
fn b_each_row_stands_where_its_scope_says_and_takes_its_words() {
    for row in rows().iter().filter(|row| row.parts.is_empty() && row.field.kind != Kind::Entries) {
        let field = row.field;
        let mut config = json!({"id": "https://h.example/", "ipv4": "a.example"});
        let mut entry = row.configuration(samples(&row.path()).0);
        let dns = entry.as_object_mut().expect("an object").remove("dns").expect("it has one");
        entry["provider"] = dns;
        config["providers"] = json!([entry]);
        let warned = valid(&config).map(|(_, warnings)| !warnings.is_empty());
        match field.scope {
            FieldScope::File => assert!(warned.is_err() || warned == Ok(true), "{}", field.name),
            FieldScope::Entry | FieldScope::FileOrEntry => assert!(warned.is_ok(), "{}: {warned:?}", field.name),
        }
        for word in field.words {
            let mut config = row.configuration(json!(word));
            merge(&mut config, if *word == "GET" { json!({"token": {}}) } else { json!({}) });
            assert!(valid(&config).is_ok(), "{}: {word}", field.name);
        }
    }
}
