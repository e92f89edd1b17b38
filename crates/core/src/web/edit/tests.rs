use proptest::prelude::*;

use super::*;
use crate::config::fields::Key;
use crate::config::raw::{Origin, Raw};
use crate::text::json::{Node, Value};
use crate::update::domain::Domain;

/// What becomes of an edit: the text, or the errors with their places.
fn judged_around(old: &str, edited: &str, around: &Surroundings) -> Result<String, Vec<String>> {
    let Judged { result, findings } = judge(&Edit { name: "config.json", old, edited, around });
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).map(|finding| {
        let spot = finding.spot.map(|spot| format!("{}:{}+{} ", spot.line, spot.column, spot.length));
        format!("{}{}", spot.unwrap_or_default(), finding.message)
    });
    let errors: Vec<String> = errors.collect();
    match result {
        Some((text, _)) if errors.is_empty() => Ok(text),
        _ => Err(errors),
    }
}

fn judged(old: &str, edited: &str) -> Result<String, Vec<String>> {
    judged_around(old, edited, &Surroundings::default())
}

/// What a change of the masked text does to the text. `change` is applied to what a browser sees.
fn edited(old: &str, change: &[(&str, &str)]) -> Result<String, Vec<String>> {
    let mut text = mask(old);
    for (from, to) in change {
        assert!(text.contains(from), "{from} is not in\n{text}");
        text = text.replacen(from, to, 1);
    }
    judged(old, &text)
}

const TWO: &str = r#"{
  // both
  "ttl": 300,
  "providers": [
    {"provider": "callback", "id": "https://a.example/?key=s3cret-a&ip=__IP__", "ipv4": ["a.example"]},
    {"provider": "callback", "id": "https://a.example/?key=s3cret-b&ip=__IP__", "ipv4": ["b.example"], # the second
     "token": {"pin": 471123, "list": ["s3cret-c", "__IP__"]}},
  ],
}
"#;

#[test]
fn i2_secrets_are_masked_and_the_rest_stays_as_it_is() {
    let cases = [
        (
            r#"{"id": "https://u:s3cret@h/a?k=s3cret#x", "ttl": 5 }"#,
            r#"{"id": "https://***@h/a?k=***#***", "ttl": 5 }"#,
        ),
        (r#"{"endpoint": "https://h/?k=__IP__"}"#, r#"{"endpoint": "https://h/?k=***"}"#),
        (
            r#"{"token": {"a": "s3cret __IP__", "b": 12, "c": [true, "x"]}}"#,
            r#"{"token": {"a": "***__IP__", "b": "***", "c": [true, "***"]}}"#,
        ),
        (
            r#"{"token": "{\"a\": \"s3c\\\"ret\", \"b\": __TTL__, \"c\": 5}"}"#,
            r#"{"token": "{\"a\": \"***\", \"b\": __TTL__, \"c\": ***}"}"#,
        ),
        (r#"{"format": "form", "token": "a=s3cret&ip=__IP__"}"#, r#"{"format": "form", "token": "a=***&ip=__IP__"}"#),
        (r#"{"format": "text", "token": "a=s3cret&ip=__IP__"}"#, r#"{"format": "text", "token": "***__IP__"}"#),
        (
            r#"{"headers": {"Authorization": "Bearer s3cret", "Accept": "text/plain"}}"#,
            r#"{"headers": {"Authorization": "Bearer ***", "Accept": "text/plain"}}"#,
        ),
        (
            r#"{"extra": {"__A__": "s3cret", "__B__": {"file": "/run/secret"}, "__C__": {"file": "s3cret"}}}"#,
            r#"{"extra": {"__A__": "***", "__B__": {"file": "/run/secret"}, "__C__": {"file": "***"}}}"#,
        ),
        (
            r#"{"notify": {"on": ["failed"], "after": 5, "id": "https://h/?k=s3cret&m=__MESSAGE__", "x": "s3cret"}}"#,
            r#"{"notify": {"on": ["failed"], "after": 5, "id": "https://h/?k=***&m=__MESSAGE__", "x": "***"}}"#,
        ),
        (
            r#"{"notify": [{"format": "text", "token": "s3cret __IP__"}, {"extra": {"__A__": "s3cret"}}]}"#,
            r#"{"notify": [{"format": "text", "token": "***__IP__"}, {"extra": {"__A__": "***"}}]}"#,
        ),
        (r#"{"notify": "{\"id\": \"s3cret\"}"}"#, r#"{"notify": "***"}"#),
        (r#"{"sign": ["whsec_x", {"file": "./key"}]}"#, r#"{"sign": ["***", {"file": "./key"}]}"#),
        (
            r#"{"proxy": ["http://u:s3cret@p:1", "DIRECT", "s3cret@@"]}"#,
            r#"{"proxy": ["http://***@p:1", "DIRECT", "***"]}"#,
        ),
        (
            r#"{"proxy": "u:s3cret@p:1", "index4": "default, public"}"#,
            r#"{"proxy": "***@p:1", "index4": "default, public"}"#,
        ),
        (
            r#"{"index4": ["url:https://h/?k=s3cret", "cmd:prog s3cret", "shell:s3cret", 0, "nonsense s3cret"]}"#,
            r#"{"index4": ["url:https://h/?k=***", "cmd:prog ***", "shell:***", 0, "***"]}"#,
        ),
        (
            r#"{"ipv4": ["a.example", {"name": "b.example", "extra": {"__ID__": "17"}}]}"#,
            r#"{"ipv4": ["a.example", {"name": "b.example", "extra": {"__ID__": "***"}}]}"#,
        ),
        (
            r#"{"tokne": "s3cret", "log": {"level": "INFO", "pasword": "s3cret"}, "ttl": {"x": "s3cret"}}"#,
            r#"{"tokne": "***", "log": {"level": "INFO", "pasword": "***"}, "ttl": {"x": "***"}}"#,
        ),
        (
            r#"{"expect": {"accept": {"json": {"/ok": true}, "body": "good"}}}"#,
            r#"{"expect": {"accept": {"json": {"/ok": true}, "body": "good"}}}"#,
        ),
        (
            r#"{"web": {"listen": "127.0.0.1:1", "password_file": "/p", "hosts": ["h"], "password": "s3cret"}}"#,
            r#"{"web": {"listen": "127.0.0.1:1", "password_file": "/p", "hosts": ["h"], "password": "***"}}"#,
        ),
        (
            r#"{"web": {"password_file": "s3cret", "key": "k.pem"}}"#,
            r#"{"web": {"password_file": "***", "key": "k.pem"}}"#,
        ),
        (r#"{"token": "s\u00fc3cr\/et"}"#, r#"{"token": "***"}"#),
        // Known elsewhere, in a comment that looks like a field, and what looks like a key.
        ("{ // was s3cret-key\n\"token\": {\"a\": \"s3cret-key\"}}", "{ // was ***\n\"token\": {\"a\": \"***\"}}"),
        (
            "{} // \"token\": {\"a\": \"s3cret\", \"n\": 5},\r\n# \"ttl\": 5, see https://h/a?k=s3cret",
            "{} // \"token\": {\"a\": \"***\", \"n\": ***},\r\n# \"ttl\": 5, see https://h/a?k=***",
        ),
        ("{} /* key 550e8400-e29b-41d4-a716-446655440000 */", "{} /* key *** */"),
        ("{} // \"sign\": [\n// \"s3cret\"\n// ]", "{} // \"sign\": [\n// \"***\"\n// ]"),
        // What is not JSON shows nothing.
        ("{\"token\": s3cret, \"ttl\" 5 // s3cret", "{\"token\": \"***\", \"***\" \"***\" \"***\""),
    ];
    for (text, expected) in cases {
        assert_eq!(mask(text), expected, "{text}");
    }
}

/// In one value or comment there may be many secrets: the time grows with their number, not with its square.
#[test]
fn i2_many_secrets_in_one_place_are_masked_in_time() {
    const COUNT: usize = 50_000;
    for (one, shown) in [("a=s3cret&", "a=***&"), ("s3cret__IP__", "***__IP__")] {
        let text = |each: &str| format!(r#"{{"id": "http://h.example/?{}"}}"#, each.repeat(COUNT));
        assert!(mask(&text(one)) == text(shown), "{one}");
    }
}

#[test]
fn i2_an_edit_keeps_what_is_behind_the_stars() {
    assert_eq!(edited(TWO, &[]).as_deref(), Ok(TWO));
    assert_eq!(edited(TWO, &[("300", "600")]), Ok(TWO.replace("300", "600")));
    assert_eq!(
        edited(TWO, &[("a.example\"]", "a.example\", \"x.example\"]")]),
        Ok(TWO.replace("a.example\"]", "a.example\", \"x.example\"]"))
    );
    // Parameters in another order, and one more.
    let text = edited(TWO, &[("?key=***&ip=__IP__", "?z=1&ip=__IP__&key=***")]).expect("saved");
    assert!(text.contains("?z=1&ip=__IP__&key=s3cret-a\""), "{text}");
    // The secret typed anew.
    let text = edited(TWO, &[("?key=***", "?key=n3w")]).expect("saved");
    assert!(text.contains("key=n3w&") && text.contains("key=s3cret-b&"), "{text}");
}

#[test]
fn i2_secrets_move_with_their_entries() {
    let lines: Vec<String> = mask(TWO).lines().map(str::to_owned).collect();
    let text = |order: &[usize]| order.iter().flat_map(|line| [lines[*line].as_str(), "\n"]).collect::<String>();
    let swapped = judged(TWO, &text(&[0, 1, 2, 3, 5, 6, 4, 7, 8])).expect("saved");
    let expected: Vec<&str> = TWO.lines().collect();
    assert_eq!(swapped, [0, 1, 2, 3, 5, 6, 4, 7, 8].map(|line| format!("{}\n", expected[line])).concat());
    let removed = judged(TWO, &text(&[0, 1, 2, 3, 5, 6, 7, 8])).expect("saved");
    assert!(removed.contains("s3cret-b") && removed.contains("471123") && !removed.contains("s3cret-a"), "{removed}");
    // Moved and changed at once.
    let both = text(&[0, 1, 2, 3, 5, 6, 4, 7, 8]).replacen("b.example\"", "b.example\", \"c.example\"", 1);
    assert!(judged(TWO, &both).is_ok_and(|text| text.find("s3cret-b") < text.find("s3cret-a")));
    // Which of the two it was cannot be known.
    let unknown = text(&[0, 1, 2, 3, 4, 7, 8]).replacen("a.example\"]", "c.example\"]", 1);
    assert_eq!(
        judged(TWO, &unknown),
        Err(vec!["5:60+3 it is not clear which secret this `***` stands for".to_owned()])
    );
    // A copy to the same endpoint is a new entry, whose secret is known only where it is clear.
    let doubled = text(&[0, 1, 2, 3, 4, 4, 7, 8]);
    assert!(judged(TWO, &doubled).is_ok_and(|text| text.matches("s3cret-a").count() == 2));
}

#[test]
fn i2_a_secret_goes_to_nobody_else() {
    let again = |text: &str| format!("what is behind this `***` was for https://a.example, {text}");
    let cases: [(&[(&str, &str)], &str); 6] = [
        (&[("https://a.example", "https://evil.example")], "not for https://evil.example"),
        (&[("https://a.example", "http://a.example")], "not for http://a.example"),
        (&[("https://a.example", "https://a.example:8443")], "not for https://a.example:8443"),
        (&[("https://a.example", "https://u@a.example")], ""),
        (&[("https://a.example", "https://__DOMAIN__")], "not for https://__DOMAIN__"),
        (&[("https://a.example", "https://a.example.evil.example")], "not for https://a.example.evil.example"),
    ];
    for (change, expected) in cases {
        let result = edited(TWO, change);
        match expected {
            "" => assert!(result.is_ok(), "{result:?}"),
            _ => assert_eq!(
                result.expect_err("refused").first().map(|line| line[line.find(' ').unwrap_or(0) + 1..].to_owned()),
                Some(again(expected)),
                "{change:?}"
            ),
        }
    }
    // Typed again, it may go where the user wants it.
    assert!(edited(TWO, &[("https://a.example/?key=***", "https://other.example/?key=mine")]).is_ok());
    let other = "would reach somebody else";
    for change in [
        ("\"ttl\": 300", "\"proxy\": [\"http://evil.example:1\"]"),
        ("\"ttl\": 300", "\"ssl\": false"),
        ("\"ipv4\": [\"a.example\"]", "\"ipv4\": \"a.example\", \"ssl\": \"no\""),
    ] {
        assert!(edited(TWO, &[change]).is_err_and(|errors| errors[0].contains(other)), "{change:?}");
    }
    assert!(edited(TWO, &[("\"ttl\": 300", "\"ssl\": true")]).is_ok());
}

#[test]
fn i2_inherited_secrets_go_to_no_new_entry() {
    let old = r#"{"token": {"key": "s3cret"}, "extra": {"__K__": "s3cret2"}, "providers": [
        {"provider": "callback", "endpoint": "https://a.example/", "ipv4": "a.example"}]}"#;
    let more = r#"}, {"provider": "callback", "id": "https://evil.example/__IP____K__", "ipv4": "e.example"}]}"#;
    let errors = edited(old, &[("}]}", more)]).expect_err("refused");
    assert_eq!(errors.len(), 2, "{errors:?}");
    let own = r#"}, {"provider": "callback", "id": "https://b.example/__IP__", "ipv4": "e.example", "token": {"a": "b"}, "extra": {"__X__": "1"}}]}"#;
    assert!(edited(old, &[("}]}", own)]).is_ok());
}

#[test]
fn i2_stars_without_a_secret_are_refused() {
    let nothing = "nothing is behind this `***`: it stands for a secret only where one stood before";
    let cases: [(&str, &str); 6] = [
        ("\"ttl\": 300", "\"headers\": {\"X\": \"***\"}"),
        ("\"ttl\": 300", "\"token\": \"***\""),
        ("\"ttl\": 300", "\"line\": \"***\""),
        ("&ip=__IP__", "&other=***&ip=__IP__"),
        ("\"list\"", "\"other\""),
        ("[\"***\", \"__IP__\"]", "{\"x\": \"***\"}"),
    ];
    for (from, to) in cases {
        let errors = edited(TWO, &[(from, to)]).expect_err(to);
        assert!(errors[0].ends_with(nothing), "{to}: {errors:?}");
    }
}

/// What is wrong with a text is told without what the browser did not have.
#[test]
fn i2_no_error_shows_a_secret() {
    let old = r#"{"dns": "callback", "id": "https://h.example/?key=s3cret-a&ip=__IP__", "token": "{\"a\": \"s3cret-b\"}", "ipv4": "a.example"}"#;
    for change in
        [("example/?", ""), ("/?key=", ":"), ("https://h.example/?key", "https://h.example@"), ("\\\"a\\\": ", "")]
    {
        let errors = edited(old, &[change]).expect_err(change.1);
        assert!(errors.iter().all(|error| !error.contains("s3cret")), "{errors:?}");
    }
}

/// A secret that is moved to where it would be shown is not put back.
#[test]
fn i2_no_secret_is_moved_into_the_open() {
    let old = r#"{"dns": "callback", "format": "text", "id": "https://h.example/?k=k3y&ip=__IP__", "token": "s3cret", "ipv4": "a.example"}"#;
    for change in [("?k=***", "***/?"), ("\"format\": \"text\"", "\"format\": \"form\"")] {
        let change: &[(&str, &str)] = if change.0.starts_with('?') {
            &[change]
        } else {
            &[change, ("\"token\": \"***\"", "\"token\": \"***=1\"")]
        };
        let errors = edited(old, change).expect_err("refused");
        assert!(errors.iter().any(|error| error.contains("here everybody could see")), "{errors:?}");
    }
}

#[test]
fn i2_a_browser_adds_nothing_of_the_host() {
    let old = r#"{"dns": "callback", "id": "https://h.example/?ip=__IP__", "ipv4": ["a.example"], "index4": ["cmd:prog --key s3cret", "public"],
        "cache": "/var/cache/a", "log": {"file": "/var/log/a"}, "ssl": "/etc/ca.pem", "extra": {"__A__": {"file": "/run/a"}}, "web": {"listen": "[::]:1", "password_file": "/p"}, "ttl": 1}"#;
    assert_eq!(edited(old, &[]).as_deref(), Ok(old));
    let programs = "`cmd:` or `shell:` cannot be added in a browser";
    let path = "the path of a file cannot be added in a browser";
    let web = "`web` cannot be changed in a browser";
    let cases = [
        ("\"public\"", "\"cmd:reboot\"", programs),
        ("\"public\"", "\" SHELL:reboot\"", programs),
        ("\"public\"", "\"quorum:1(default, shell:reboot)\"", programs),
        ("\"cmd:prog ***\"", "\"cmd:prog --key x\"", programs),
        ("[\"cmd:prog ***\", \"public\"]", "\"default; cmd:reboot\"", programs),
        ("\"ttl\": 1", "\"index6\": \"[\\\"shell:reboot\\\"]\"", programs),
        ("/var/cache/a", "/var/cache/b", path),
        ("/var/log/a", "a", path),
        ("/etc/ca.pem", "other.pem", path),
        ("/run/a", "/run/b", path),
        ("\"ttl\": 1", "\"sign\": {\"file\": \"/etc/shadow\"}", path),
        ("[\"a.example\"]", "{\"name\": \"a.example\", \"extra\": {\"__B__\": {\"file\": \"/etc/shadow\"}}}", path),
        ("{\"__A__\": {\"file\": \"/run/a\"}}", "\"{\\\"__A__\\\": {\\\"file\\\": \\\"/etc/shadow\\\"}}\"", path),
        ("\"listen\": ", "\"allow_edit\": true, \"listen\": ", web),
        (", \"web\": {", ", \"web\": {}, \"web\": {", web),
        ("\"web\": ", "\"wep\": ", web),
        // A file that is named for something else is not for everything.
        ("/run/a", "/p", path),
    ];
    for (from, to, expected) in cases {
        let errors = edited(old, &[(from, to)]).expect_err(to);
        assert!(errors.iter().any(|error| error.contains(expected)), "{to}: {errors:?}");
    }
    // They may go, and be switched.
    for (from, to) in [
        ("\"cmd:prog ***\", ", ""),
        ("\"/var/cache/a\"", "true"),
        ("\"file\": \"/var/log/a\"", ""),
        ("\"/etc/ca.pem\"", "true"),
        ("\"ttl\": 1", "\"index6\": \"default\""),
    ] {
        assert!(edited(old, &[(from, to)]).is_ok(), "{from}: {:?}", edited(old, &[(from, to)]));
    }
}

#[test]
fn i2_files_and_the_environment_send_no_secret_elsewhere() {
    let old = r#"{"dns": "callback", "id": "https://h.example/?k=__A__&ip=__IP__", "ipv4": "a.example", "extra": {"__A__": {"file": "/run/a"}}}"#;
    let errors = edited(old, &[("https://h.example", "https://evil.example")]).expect_err("refused");
    assert!(
        errors[0].contains("what is in a file was for https://h.example, not for https://evil.example"),
        "{errors:?}"
    );
    let mut environment = Raw::default();
    let node = Node::synthetic(Value::string(r#"{"key": "s3cret"}"#));
    environment.set(Key::Token, node, Origin::Environment("DDNS_TOKEN".to_owned()));
    let around = Surroundings { environment, ..Surroundings::default() };
    let old = r#"{"dns": "callback", "id": "https://h.example/", "ipv4": "a.example"}"#;
    assert_eq!(
        judged_around(old, &old.replace("a.example", "b.example"), &around),
        Ok(old.replace("a.example", "b.example"))
    );
    let errors = judged_around(old, &old.replace("https://h", "https://evil"), &around).expect_err("refused");
    assert_eq!(
        errors,
        ["1:27+23 `token` comes from DDNS_TOKEN: it was for https://h.example, not for https://evil.example"]
    );
    assert!(judged_around(old, &old.replace("\"ipv4\"", "\"ssl\": false, \"ipv4\""), &around).is_err());
    assert!(
        judged_around(
            old,
            &old.replace("\"ipv4\"", "\"token\": {\"my\": \"own\"}, \"ipv4\"").replace("https://h", "https://other"),
            &around
        )
        .is_ok()
    );
}

/// Where the host is a value, whatever it may come from decides who gets the secrets.
#[test]
fn i2_a_host_that_is_a_value_is_an_origin_too() {
    let old = r#"{"dns": "callback", "id": "https://__H__/?k=s3cret&ip=__IP__", "ipv4": "a.example", "extra": {"__H__": "h.example"}}"#;
    assert!(edited(old, &[]).is_ok());
    let errors = edited(old, &[("\"__H__\": \"***\"", "\"__H__\": \"evil.example\"")]).expect_err("refused");
    assert!(errors[0].contains("would reach somebody else") && !errors[0].contains("h.example"), "{errors:?}");
    let old = r#"{"dns": "callback", "id": "https://__DOMAIN__/?k=s3cret&ip=__IP__", "ipv4": "a.example"}"#;
    assert!(edited(old, &[("\"a.example\"", "[\"a.example\", \"evil.example\"]")]).is_err());
}

#[test]
fn i2_secrets_of_proxies_and_pages_stay_with_them() {
    let old = r#"{"dns": "callback", "id": "https://h.example/?ip=__IP__", "ipv4": "a.example",
        "proxy": ["http://u:s3cret@p.example:1", "DIRECT"], "index4": ["url:https://i.example/?k=s3cret2"]}"#;
    assert!(edited(old, &[("https://h.example", "https://other.example")]).is_ok());
    assert!(edited(old, &[("i.example/?", "i.example/new?a=1&")]).is_ok());
    for change in [("@p.example", "@evil.example"), ("i.example", "evil.example"), ("url:https://i", "url:http://i")] {
        assert!(edited(old, &[change]).is_err_and(|errors| errors[0].contains("somebody else")), "{change:?}");
    }
}

#[test]
fn i2_comments_are_kept_with_their_secrets() {
    let old = "{ \"dns\": \"callback\", \"ipv4\": \"a.example\", // *** mind ***\n  \"id\": \"https://h.example/?k=s3cret&ip=__IP__\",\n  // \"token\": {\"key\": \"0ld-s3cret\"},\n  \"ttl\": 5 }\n";
    assert_eq!(edited(old, &[]).as_deref(), Ok(old));
    assert_eq!(edited(old, &[("5 }", "6 } // *** new ***")]), Ok(old.replace("5 }", "6 } // *** new ***")));
    // The rest of the line changed.
    assert_eq!(edited(old, &[("\"***\"},", "\"***\"}, // soon")]), Ok(old.replace("ret\"},", "ret\"}, // soon")));
    // Commented out, a secret is not lost; it must be typed again when it comes back.
    let with_header = old.replace("\"ttl\": 5", "\"headers\": {\n\"X-Key\": \"k3y-k3y\"\n}");
    let out = edited(&with_header, &[("\"X-Key\": \"***\"", "// \"X-Key\": \"***\"")]).expect("saved");
    assert!(out.contains("// \"X-Key\": \"k3y-k3y\""), "{out}");
    assert!(edited(&out, &[("// \"X-Key\"", "\"X-Key\"")]).is_err());
}

#[test]
fn i2_line_ends_and_marks_stay_as_they_were() {
    assert_eq!(from_form("{\r\n}", "{\r\n}"), "{\r\n}");
    assert_eq!(from_form("{\r\n}", "{\n1}"), "{\r\n1}");
    assert_eq!(from_form("{\n}", "{\r\n1\r}"), "{\n1\n}");
    assert_eq!(from_form("\u{feff}{\n}", "{\r\n}"), "\u{feff}{\n}");
}

#[test]
fn i2_errors_stand_where_the_browser_has_them() {
    let old = r#"{"dns": "callback", "id": "https://h.example/?k=a-long-s3cret-that-is-hidden&ip=__IP__", "ttl": 5, "ipv4": "a.example"}"#;
    assert_eq!(
        edited(old, &[("5,", "\"x\",")]),
        Err(vec!["1:72+3 `ttl` must be a whole number of seconds, not `x`".to_owned()])
    );
    assert_eq!(edited(old, &[("5,", "5")]).map_err(|errors| errors.len()), Err(1));
    assert!(
        judged("{\"dns\"", "{}")
            .is_err_and(|errors| errors[0].contains("mend it") || errors[0].contains("not a JSON object"))
    );
}

#[test]
fn i2_every_example_comes_back_as_it_was() {
    let examples = [
        include_str!("../../../../../examples/bare-values.json"),
        include_str!("../../../../../examples/get.json"),
        include_str!("../../../../../examples/post.json"),
        include_str!("../../../../../examples/providers.json"),
        include_str!("../../../../../examples/put-with-headers.json"),
        &crate::config::starter::text(&Raw::default()),
    ];
    for example in examples {
        assert!(mask(example).contains(MASK), "{example}");
        assert_eq!(edited(example, &[]).as_deref(), Ok(example));
    }
}

/// Every recipe: nothing is lost, and no answer is seen.
#[test]
fn i2_every_recipe_comes_back_as_it_was() {
    let mut count = 0;
    for recipe in crate::recipe::built_in().filter(crate::recipe::Recipe::has_entry) {
        let domain = |name: &str| Domain::parse(name).expect("a domain");
        let domains = [crate::net::family::Family::V4, crate::net::family::Family::V6]
            .map(|family| if recipe.takes(family) { vec![domain("home.example.com")] } else { Vec::new() });
        let Ok(mut form) = crate::recipe::Form::new(&recipe, domains) else { continue };
        let mut secrets = Vec::new();
        for (number, slot) in form.unanswered().into_iter().enumerate() {
            let question = form.question(&slot).expect("a question");
            let suggested = form.suggested(&slot);
            let typed = [
                format!("s3cret{number}"),
                format!("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS{number}"),
                "https://h.example".to_owned(),
                "123456".to_owned(),
                "me@example.com".to_owned(),
                "abcdef0123456789abcdef0123456789".to_owned(),
            ];
            let answers = suggested.into_iter().chain(typed);
            let answer = answers.into_iter().find(|answer| form.answer(&slot, answer).is_ok());
            if let Some(answer) = answer.filter(|_| question.secret) {
                secrets.push(answer);
            }
        }
        let text = form.configuration(&[], None).text;
        let masked = mask(&text);
        for secret in &secrets {
            assert!(!masked.contains(secret.as_str()), "{}: {secret}\n{masked}", recipe.name);
        }
        let edit = Edit { name: "c", old: &text, edited: &masked, around: &Surroundings::default() };
        let root = parse(&masked, Dialect::CONFIG).unwrap_or_else(|_| panic!("{masked}"));
        let restored = restore::restore(&edit, &root);
        assert_eq!(restored.text, text, "{}", recipe.name);
        assert!(restored.findings.is_empty() && power::added(&edit, &restored, None).is_empty(), "{}", recipe.name);
        assert!(reach::widened(&edit, &restored).is_empty(), "{}", recipe.name);
        count += 1;
    }
    assert!(count >= 60, "{count}");
}

/// What makes a comment a comment is never hidden, whatever stands beside it.
#[test]
fn i2_a_masked_comment_is_still_one() {
    let key = "a1b2c3d4e5f6a7b8c9d0";
    for comment in [
        "/* \"\":\" */".to_owned(),
        format!("/*{key}*/"),
        format!("/**{key}**/"),
        format!("/*\"token\":\"{key}*/"),
        format!("//{key}\n"),
        format!("#{key}\n"),
        format!("# \"token\": \"{key}\r\n"),
        "/**/".to_owned(),
        "/***/".to_owned(),
        "//".to_owned() + "\n",
    ] {
        let text = format!("{{\"dns\": \"callback\", {comment} \"ipv4\": \"a.example\"}}");
        let masked = mask(&text);
        assert!(!masked.contains(key), "{masked}");
        let edit = Edit { name: "c", old: &text, edited: &masked, around: &Surroundings::default() };
        let root = parse(&masked, Dialect::CONFIG).unwrap_or_else(|error| panic!("{masked}: {}", error.message));
        assert_eq!(restore::restore(&edit, &root).text, text, "{masked}");
    }
}

proptest! {
    /// Whatever is typed: what a browser gets holds none of it, and gives it back.
    #[test]
    fn i2_mask_and_back(
        secret in "[a-z]{3}[0-9][\\PC\"\\\\]{4,12}",
        key in "[a-zA-Z_]{1,8}",
        comment in "[ -~]{0,20}",
        stars in "\\**",
        ends in prop::sample::select(vec!["\n", "\r\n", " "]),
    ) {
        let mut quoted = String::new();
        crate::text::json::push_string(&mut quoted, &secret);
        let mut name = String::new();
        crate::text::json::push_string(&mut name, &key);
        let text = [
            "{\"dns\": \"callback\",", &format!(" /* {} {stars} */", comment.replace("*/", "")), "\"ipv4\": \"a.example\",",
            "\"id\": \"https://h.example/__IP__\",",
            &format!("\"token\": {{{name}: {quoted}, \"x\": [{quoted}, 5]}},"),
            &format!("\"headers\": {{\"X-A\": {quoted}}}, \"extra\": {{\"__A__\": {quoted}}}, \"other\": {{{name}: {quoted}}}"),
            "}",
        ].join(ends);
        let masked = mask(&text);
        // A placeholder in it is none.
        prop_assume!(!secret.contains("__"));
        prop_assert!(!masked.contains(&quoted[1..quoted.len() - 1]), "{}", masked);
        let edit = Edit { name: "c", old: &text, edited: &masked, around: &Surroundings::default() };
        let root = parse(&masked, Dialect::CONFIG).expect("JSON");
        let restored = restore::restore(&edit, &root);
        prop_assert_eq!(&restored.text, &text);
        prop_assert!(restored.findings.is_empty(), "{:?} {}", restored.findings, masked);
    }

    /// Nothing that comes from a browser is a reason to panic, nor shows a secret.
    #[test]
    fn i2_any_edit_is_judged(edited in "[\\PC\\s\"{}:,*/#]{0,60}", at in 0..500usize, cut in 0..20usize) {
        let _ = judged(TWO, &edited);
        let mut masked = mask(TWO);
        let floor = |text: &str, at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let (start, end) = (floor(&masked, at), floor(&masked, at + cut));
        masked.replace_range(start..end, &edited);
        if let Err(errors) = judged(TWO, &masked) {
            prop_assert!(errors.iter().all(|error| !error.contains("s3cret")), "{:?}", errors);
        }
    }
}

/// I5: what is behind a notification's `***` goes where it went before, whoever edits the way there.
#[test]
fn i2_a_notification_stays_as_it_is() {
    let old = r#"{"dns": "callback", "id": "https://h.example/__IP__", "ipv4": "a.example", "ttl": 5,
 "notify": {"id": "https://n.example/?k=s3cret&m=__MESSAGE__"}}"#;
    assert_eq!(edited(old, &[("\"ttl\": 5", "\"ttl\": 6")]), Ok(old.replace("\"ttl\": 5", "\"ttl\": 6")));
    let refused = |change: &[(&str, &str)]| edited(old, change).expect_err("a change that is refused");
    let locked = "`notify` cannot be changed in a browser";
    assert!(refused(&[("n.example", "m.example")]).iter().any(|why| why.contains(locked)));
    assert!(refused(&[("k=***&m=__MESSAGE__", "k=another")]).iter().any(|why| why.contains(locked)));
    for way in ["\"proxy\": \"http://p.example:1\"", "\"ssl\": false"] {
        let why = refused(&[("\"ttl\": 5", way)]);
        assert!(why.iter().any(|why| why.contains("would reach somebody else")), "{why:?}");
    }
}
