use proptest::prelude::*;

use super::mask;
use crate::config::raw::Raw;
use crate::text::json::{Dialect, parse};
use crate::text::secrets::MASK;
use crate::update::domain::Domain;

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
        // What a comment says is not shown.
        ("{ // was s3cret-key\r\n\"ttl\": 5}", "{ // ***\r\n\"ttl\": 5}"),
        ("{} #s3cret\n//\n/* s3cret\n and more */ /**/", "{} #***\n//\n/* *** */ /**/"),
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
fn i2_every_example_has_something_to_hide() {
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
    }
}

/// Every recipe: no answer is seen, and what is shown is JSON.
#[test]
fn i2_no_answer_to_a_recipe_is_seen() {
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
        parse(&masked, Dialect::CONFIG).unwrap_or_else(|_| panic!("{masked}"));
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
        parse(&masked, Dialect::CONFIG).unwrap_or_else(|error| panic!("{masked}: {}", error.message));
    }
}

proptest! {
    /// Whatever is typed: what a browser gets holds none of it.
    #[test]
    fn i2_nothing_that_was_typed_is_seen(
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
        prop_assert!(parse(&masked, Dialect::CONFIG).is_ok(), "{}", masked);
    }

    /// Nothing that stands in a file is a reason to panic.
    #[test]
    fn i2_any_text_is_masked(text in "[\\PC\\s\"{}:,*/#]{0,60}") {
        let _ = mask(&text);
    }
}
