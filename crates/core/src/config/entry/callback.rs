//! The callback of an entry: `id`, `endpoint`, `token`, and the values of placeholders.

use super::super::fields::{Field, Key};
use super::super::value::document;
use super::Maker;
use crate::callback::{Body, Callback, Target, TargetError, Variables};
use crate::text::diagnostic::Severity;
use crate::text::json::{Node, Value, is_placeholder_name};
use crate::text::number::grouped;

impl Maker<'_, '_> {
    /// None where there is no address: that is among the errors then.
    pub(super) fn callback(&mut self) -> Option<Callback> {
        let variables = self.variables();
        let mut unknown = Vec::new();
        let target = self.target(&variables, &mut unknown);
        let body = self.body(&variables, &mut unknown);
        self.warn_unknown(&unknown, &variables);
        Some(Callback { target: target?, body, variables })
    }

    fn variables(&mut self) -> Variables {
        let ttl = self.reader.number(Key::Ttl, |_: &u32| true);
        let line = match self.reader.setting(Key::Line).map(|setting| &setting.node.value) {
            Some(Value::Number(number)) => Some(number.clone()),
            _ => self.reader.text(Key::Line),
        };
        let mut variables = Variables::new(ttl, line);
        let members = match self.reader.object(Key::Extra).map(|node| node.value) {
            Some(Value::Object(members)) => members,
            _ => Vec::new(),
        };
        if members.len() > Variables::MOST {
            let most = grouped(Variables::MOST);
            let message = format!("`extra` has {} members; {most} are possible", grouped(members.len()));
            self.reader.wrong_whole(Key::Extra, message, None);
            return variables;
        }
        for member in members {
            let node = Node { span: member.node.span, value: Value::Null };
            if !is_placeholder_name(&member.key) {
                let message = format!("`extra`: `{}` is not of the form `__NAME__`: it has no effect", member.key);
                self.reader.warn_whole(Key::Extra, message, "use capital letters between double underscores");
            } else if let Err(why) = variables.add(&member.key, member.node.value) {
                self.reader.wrong(Key::Extra, &node, format!("`extra`: `{}` {why}", member.key), None);
            }
        }
        variables
    }

    fn target(&mut self, variables: &Variables, unknown: &mut Vec<String>) -> Option<Target> {
        let before = self.errors();
        let endpoint = self.reader.text(Key::Endpoint).unwrap_or_default();
        let id = self.reader.text(Key::Id).unwrap_or_default();
        if self.errors() > before {
            return None;
        }
        let error = match Target::new(&endpoint, &id, variables, unknown) {
            Ok(target) => {
                self.warn_target(&target, &endpoint, variables);
                return Some(target);
            }
            Err(error) => error,
        };
        match error {
            TargetError::Empty => {
                let hint = "set `id` to the address to call, e.g. https://example.com/update?ip=__IP__&name=__DOMAIN__";
                self.missing("`id` and `endpoint` are both empty: there is no address to call", hint);
            }
            TargetError::Relative(likely) => {
                let message = "`id` is a relative address, and there is no `endpoint` to append it to";
                let hint = match likely {
                    Some(likely) => format!("did you mean {likely} ?"),
                    None => "write the whole address: https://HOST/PATH, or https://USER:PASSWORD@HOST/PATH".to_owned(),
                };
                self.reader.wrong_whole(Key::Id, message, Some(hint));
            }
            TargetError::Endpoint(why) => {
                self.reader.wrong_whole(Key::Endpoint, format!("`endpoint` {why}"), None);
            }
            TargetError::Id(why) => self.reader.wrong_whole(Key::Id, format!("`id` {why}"), None),
        }
        None
    }

    fn warn_target(&mut self, target: &Target, endpoint: &str, variables: &Variables) {
        if target.has_fragment() {
            self.reader.warn_whole(
                Key::Id,
                "`id` has a `#`: what follows it is never sent",
                "write %23 for a `#` that is part of the address",
            );
        }
        if let Some(name) = variables.names().find(|name| endpoint.contains(name)) {
            let message = format!("`endpoint` contains {name}, but placeholders are not filled in there");
            self.reader.warn_whole(Key::Endpoint, message, "put it into `id` or `token`");
        }
    }

    fn warn_unknown(&mut self, unknown: &[String], variables: &Variables) {
        for name in unknown {
            let hint = || nearest_placeholder(name, variables).map(|near| format!("did you mean {near}?"));
            self.note(Severity::Warning, &format!("{name} is not a placeholder: it is sent as it is"), &hint);
        }
    }

    /// `token`: none where it is empty (B7).
    fn body(&mut self, variables: &Variables, unknown: &mut Vec<String>) -> Option<Body> {
        let setting = self.reader.setting(Key::Token)?;
        let text = setting.node.value.text().unwrap_or_default();
        let document = match document(&setting.node) {
            Ok(document) => document?,
            Err(error) => {
                let (at, all) = (text[..error.span.start].chars().count() + 1, text.chars().count());
                let place = if at > all { "at its end".to_owned() } else { format!("at character {at} of {all}") };
                let message = format!("`token` is not JSON: {place}, {}", error.message);
                let hint = "a token is a JSON object, or a string that holds one, e.g. {\"ip\": \"__IP__\"}";
                self.reader.wrong_whole(Key::Token, message, Some(hint.to_owned()));
                return None;
            }
        };
        match Body::new(&document, variables, unknown) {
            Ok(Some(body)) => return Some(body),
            Ok(None) => {
                let kind = document.value.kind();
                let message = format!("`token` must be {}, not {kind}", Field::of(Key::Token).allowed());
                self.reader.wrong_whole(Key::Token, message, None);
            }
            Err(node) => {
                let message = match &node.value {
                    Value::Placeholder(name) if !text.is_empty() => {
                        let at = text.get(..node.span.start).unwrap_or_default().chars().count() + 1;
                        format!("`token` is not JSON: at character {at}, {name} has no value")
                    }
                    _ => "`token` contains a placeholder without a value".to_owned(),
                };
                let hint = "put it in double quotes to send it as it is";
                self.reader.wrong_whole(Key::Token, message, Some(hint.to_owned()));
            }
        }
        None
    }
}

fn nearest_placeholder<'a>(name: &str, variables: &'a Variables) -> Option<&'a str> {
    let name = name.to_ascii_uppercase();
    let likeness = |known: &&str| strsim::levenshtein(known, &name);
    variables.names().filter(|known| likeness(known) <= 3).min_by_key(likeness)
}
