//! `web.push`: who may push an address (F10).

use std::time::Duration;

use super::{SecretFile, secret_file};
use crate::address::source::is_push_name;
use crate::config::fields::{Field, Key, part};
use crate::config::files::FileContents;
use crate::config::parts::PartReader;
use crate::config::read::SettingReader;
use crate::config::value::digits;
use crate::net::network::Network;
use crate::text::duration;
use crate::text::json::{Member, Node};

/// The shortest and the longest `max_age`: a minute and a year.
const MAX_AGES: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(365 * 86_400)];

/// One host that may push its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushRule {
    /// The name of the source: `push:NAME`.
    pub name: String,
    /// `user`, by default the name.
    pub user: String,
    /// `password_file`: a password, or a hash made by `ddns password`.
    pub password: SecretFile,
    /// `from`: who may push; empty: anybody.
    pub from: Vec<Network>,
    /// `max_age`: older addresses do not count; `None`: an address counts until the next push.
    pub max_age: Option<Duration>,
}

pub(super) fn pushes(of: &mut PartReader<'_, '_, '_>, files: &FileContents) -> Vec<PushRule> {
    let must = "an object of names, each with a `password_file`";
    let hint = r#"e.g. "push": {"router": {"password_file": "push.password"}}"#;
    let mut rules: Vec<PushRule> = Vec::new();
    for member in of.part("push", |node| node.value.members(), [must, hint]).unwrap_or_default() {
        let Some(rule) = push(of.reader, member, files) else { continue };
        if rules.iter().any(|known| known.user == rule.user || known.name == rule.name) {
            let name = &rule.name;
            let message = format!("`web.push`: `{name}` has the same user as another name: give each its own `user`");
            of.reader.wrong(Key::Web, member.key_span, message, "give each its own `user`");
        }
        rules.push(rule);
    }
    rules
}

fn push(
    reader: &mut SettingReader<'_>,
    Member { key, key_span, node, .. }: &Member,
    files: &FileContents,
) -> Option<PushRule> {
    if !is_push_name(key) {
        let message = "`web.push`: a name must have letters, digits, `-`, `_` and `.` alone, and at most 64 of them";
        reader.wrong(Key::Web, *key_span, message, "");
        return None;
    }
    let name = format!("web.push.{key}");
    let must = || format!("`{name}` must be an object with a `password_file`");
    let members = reader.valid(Key::Web, node.span, node.value.members().ok_or_else(must), "")?;
    let parts = part(Field::of(Key::Web).parts, "push").map(|part| part.parts).unwrap_or_default();
    let mut of = PartReader { reader, key: Key::Web, name, members, parts };
    let in_file = "put the password into a file and name it in `password_file`";
    of.refuse_unknown(|other| (other == "password").then_some(in_file));
    let is_user = |user: &&str| !user.is_empty() && !user.contains(':') && !user.contains(char::is_control);
    let user = of.part("user", |node| node.value.text().filter(is_user), ["a name without a colon", ""]);
    let password = secret_file(&mut of, "password_file", files);
    let from = of.list("from", "an address or a network", Network::parse);
    // An empty list would let anybody push.
    if let Some(node) = of.get("from").filter(|_| from.is_empty()) {
        let message = format!("`{}.from` must name an address or a network", of.name);
        of.reader.wrong(Key::Web, node.span, message, "leave it out to allow any");
    }
    let age = |node: &Node| {
        digits(&node.value).and_then(duration::parse).filter(|age| (MAX_AGES[0]..=MAX_AGES[1]).contains(age))
    };
    let must = ["minutes as a whole number, or a string such as `12h`; at most a year", ""];
    let max_age = of.part("max_age", age, must);
    if of.get("password_file").is_none() {
        let hint = r#"a file with 16 characters or more: "password_file": "push.password""#;
        let message = format!("`{}` needs a `password_file`", of.name);
        of.reader.wrong(Key::Web, *key_span, message, hint);
    }
    Some(PushRule { name: key.clone(), user: user.unwrap_or(key).to_owned(), password: password?, from, max_age })
}

#[cfg(test)]
mod tests {
    use crate::config::validate::validate_text;
    use crate::text::diagnostic::Diagnostic;

    #[test]
    fn f10a_mistakes_are_named() {
        for (push, expected) in [
            (r#"{"r": {}}"#, "`web.push.r` needs a `password_file`"),
            (r#"{"r": {"password": "s3cret"}}"#, "name it in `password_file`"),
            (r#"{"r": {"password_file": "/p", "form": "x"}}"#, "did you mean `from`?"),
            (r#"{"r": {"password_file": "/p", "from": "nas"}}"#, "`web.push.r.from` must be an address or a network"),
            (r#"{"r": {"password_file": "/p", "from": "[2001:db8::]/64"}}"#, "`web.push.r.from` must be an address"),
            (r#"{"r": {"password_file": "/p", "from": []}}"#, "`web.push.r.from` must name an address"),
            (r#"{"r": {"password_file": null}}"#, "`web.push.r.password_file` must be the path of a file"),
            (r#"{"r": {"password_file": "/p", "max_age": "0s"}}"#, "`web.push.r.max_age` must be"),
            (r#"{"r": {"password_file": "/p", "user": "a:b"}}"#, "a name without a colon"),
            (r#"{"a b": {"password_file": "/p"}}"#, "a name must have letters"),
            (
                r#"{"r": {"password_file": "/p", "user": "u"}, "s": {"password_file": "/q", "user": "u"}}"#,
                "its own `user`",
            ),
            (r#"{"r": "/p"}"#, "`web.push.r` must be an object"),
            ("true", "`web.push` must be an object of names"),
        ] {
            let text = format!(
                r#"{{"dns": "callback", "id": "https://h.example/", "ipv4": "a.example", "web": {{"push": {push}}}}}"#
            );
            let wrong = validate_text("c.json", &text).expect_err(push);
            let wrong: String = wrong.iter().map(Diagnostic::shown).collect();
            assert!(wrong.contains(expected) && !wrong.contains("s3cret"), "{push}: {wrong}");
        }
    }
}
