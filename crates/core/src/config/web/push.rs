//! `web.push`: who may push an address (F10).

use std::time::Duration;

use super::{SecretFile, WebReader};
use crate::address::source::is_push_name;
use crate::config::fields::{Field, Key, names, part};
use crate::config::read::did_you_mean;
use crate::net::network::Network;
use crate::text::diagnostic::nearest;
use crate::text::duration;
use crate::text::json::{Member, Node, Value};

/// The limits of `max_age`: a minute, and a year.
const MAX_AGES: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(365 * 86_400)];

/// One host that may push its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushRule {
    /// The name of the source: `push:NAME`.
    pub name: String,
    /// `user`, or the name.
    pub user: String,
    /// `password_file`: a password, or a hash made by `ddns password`.
    pub password: SecretFile,
    /// `from`: who may push; everybody where it is empty.
    pub from: Vec<Network>,
    /// `max_age`: what is older does not count.
    pub max_age: Option<Duration>,
}

impl WebReader<'_, '_> {
    pub(super) fn pushes(&mut self, node: &Node) -> Vec<PushRule> {
        let members = self.reader.part(
            Key::Web,
            "push",
            node.span,
            node.value.members(),
            [
                "an object of names, each with a `password_file`",
                r#"e.g. "push": {"router": {"password_file": "push.password"}}"#,
            ],
        );
        let mut rules: Vec<PushRule> = Vec::new();
        for member in members.unwrap_or_default() {
            let Some(rule) = self.push(member) else { continue };
            if rules.iter().any(|known| known.user == rule.user || known.name == rule.name) {
                let message = format!(
                    "`web.push`: the user of `{}` is another's: its password would not tell them apart",
                    rule.name
                );
                self.reader.wrong(Key::Web, member.key_span, message, "give each its own `user`");
            }
            rules.push(rule);
        }
        rules
    }

    fn push(&mut self, Member { key: name, key_span, node, .. }: &Member) -> Option<PushRule> {
        if !is_push_name(name) {
            let message =
                "`web.push`: a name must have letters, digits, `-`, `_` and `.` alone, and at most 64 of them";
            self.reader.wrong(Key::Web, *key_span, message, "");
            return None;
        }
        let must = ["an object with a `password_file`", ""];
        let members = self.reader.part(Key::Web, &format!("push.{name}"), node.span, node.value.members(), must)?;
        let (mut user, mut password, mut from, mut max_age) = (None, None, Vec::new(), None);
        for member in members.iter().filter(|member| member.node.value != Value::Null) {
            let (node, field) = (&member.node, format!("push.{name}.{}", member.key));
            match member.key.as_str() {
                "user" => {
                    let is_user =
                        |user: &&str| !user.is_empty() && !user.contains([':']) && !user.contains(char::is_control);
                    let text = node.value.text().filter(is_user);
                    user = self.reader.part(Key::Web, &field, node.span, text, ["a name without a colon", ""]);
                }
                "password_file" => password = self.file(node, &field),
                "from" => from = self.list(node, &field, "an address or a network", Network::parse),
                "max_age" => {
                    let age = match &node.value {
                        Value::String(text) | Value::Number(text) => duration::parse(text),
                        _ => None,
                    };
                    let age = age.filter(|age| (MAX_AGES[0]..=MAX_AGES[1]).contains(age));
                    let must = ["minutes as a whole number, or a string such as `12h`; at most a year", ""];
                    max_age = self.reader.part(Key::Web, &field, node.span, age, must);
                }
                other => {
                    let parts = part(Field::of(Key::Web).parts, "push").map(|part| part.parts).unwrap_or_default();
                    let hint = match other {
                        "password" => "put the password into a file and name it in `password_file`".to_owned(),
                        _ => did_you_mean(nearest(other, names(parts))),
                    };
                    let message = format!("`web.push.{name}` has no field `{other}`");
                    self.reader.wrong(Key::Web, member.key_span, message, &hint);
                }
            }
        }
        let is_named = members.iter().any(|member| member.key == "password_file");
        if !is_named {
            let hint = r#"a file with 16 characters or more: "password_file": "push.password""#;
            self.reader.wrong(Key::Web, *key_span, format!("`web.push.{name}` needs a `password_file`"), hint);
        }
        let user = user.unwrap_or(name).to_owned();
        Some(PushRule { name: name.clone(), user, password: password?, from, max_age })
    }
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
