//! Checks the text of a configuration from a browser. Runs no program, reads no file and asks no host that the text names.

use std::rc::Rc;

use serde::Serialize;

use crate::config::Config;
use crate::config::fields::Field;
use crate::config::files::{FileContents, named_in};
use crate::config::lint::{lint, sent_twice};
use crate::config::raw::{self, Document};
use crate::config::validate::{Surroundings, validate};
use crate::object;
use crate::text::diagnostic::{Diagnostic, Place, Severity, without_repeats};
use crate::text::json::{Dialect, Excerpt, Member, Span, Value, parse};
use crate::text::order;

/// One error or warning.
#[derive(Debug, Clone)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The place; `None`: it is about the whole text, or about a setting outside of it.
    pub spot: Option<Spot>,
    /// What is wrong.
    pub message: String,
    /// How to correct it; `None`: the message is enough.
    pub hint: Option<String>,
    /// The field that it is about; `None`: it is about no field.
    pub field: Option<&'static Field>,
}

/// A place in a text, on one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The length in characters, at least 1.
    pub length: usize,
    /// The same place in bytes of the text.
    pub span: Span,
}

impl Finding {
    /// An error in an edit; `field` is the field that it is about.
    pub(super) fn refused(field: Option<&'static Field>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, spot: None, message: message.into(), hint: None, field }
    }

    /// The finding as JSON for the API.
    pub fn json(&self) -> impl Serialize {
        object! {
            severity: self.severity.key(),
            line: self.spot.map(|spot| spot.line),
            column: self.spot.map(|spot| spot.column),
            length: self.spot.map(|spot| spot.length),
            message: &self.message,
            hint: &self.hint,
            field: self.field.map(|field| field.name),
            help: self.field.map(|field| field.help),
        }
    }
}

/// Everything that is wrong with a text, in the order of its lines; and its configuration, if there are no errors. `around`
/// contains the other layers; the files that they name are not read.
pub fn check(name: &str, text: &str, around: &Surroundings) -> (Option<Config>, Vec<Finding>) {
    let (config, diagnostics) = judged(&Document::local(name, text), around);
    let mut fields = Vec::new();
    if let Ok(root) = parse(text, Dialect::CONFIG) {
        collect(root.value.members().unwrap_or_default(), "", &mut fields);
    }
    let mut findings: Vec<Finding> =
        without_repeats(diagnostics).into_iter().map(|diagnostic| finding(diagnostic, text, &fields)).collect();
    order::sort_by_key(&mut findings, |finding| finding.spot.map_or(0, |spot| spot.span.start));
    (config, findings)
}

fn judged(document: &Rc<Document>, around: &Surroundings) -> (Option<Config>, Vec<Diagnostic>) {
    let written = match raw::read(document) {
        Ok(written) => written,
        Err(error) => return (None, vec![error]),
    };
    let mut around = around.parcelled().unpacked();
    around.files = FileContents::stand_ins(named_in(&written).into_iter().chain(around.named_files()));
    match validate(&document.name, Some(written), &around) {
        Ok((config, mut warnings)) => {
            // `validate` consumes what was read: read the text again for `lint`.
            warnings.extend(lint(&config, raw::read(document).ok().as_ref(), &around));
            warnings.extend(sent_twice(&[&config]));
            (Some(config), warnings)
        }
        Err(wrong) => (None, wrong),
    }
}

/// Makes a diagnostic a finding: it is about the innermost field at its place.
fn finding(diagnostic: Diagnostic, text: &str, fields: &[(Span, &'static Field)]) -> Finding {
    let Diagnostic { severity, place, message, hint, .. } = diagnostic;
    let (spot, message) = match place {
        Place::File { excerpt: Some(excerpt), .. } => {
            let Excerpt { line, column, span, .. } = *excerpt;
            let length = text[span.start..span.end].chars().count().max(1);
            (Some(Spot { line, column, length, span }), message)
        }
        Place::File { .. } | Place::Nowhere => (None, message),
        outside => (None, format!("{outside}{message}")),
    };
    let is_at = |span: &Span, at: usize| (span.start..span.end.max(span.start + 1)).contains(&at);
    let here = fields.iter().filter(|(span, _)| spot.is_some_and(|spot| is_at(span, spot.span.start)));
    let field = here.min_by_key(|(span, _)| span.end - span.start).map(|(_, field)| *field);
    Finding { severity, spot, message, hint, field }
}

/// Collects where the fields of a text are: their keys and values.
fn collect(members: &[Member], prefix: &str, places: &mut Vec<(Span, &'static Field)>) {
    for member in members {
        let name = format!("{prefix}{}", member.key);
        if let Some(field) = Field::written(&name) {
            places.push((Span { start: member.key_span.start, end: member.node.span.end }, field));
        }
        match &member.node.value {
            Value::Object(inside) if name == "log" => collect(inside, "log.", places),
            Value::Array(items) if prefix.is_empty() => {
                items.iter().filter_map(|item| item.value.members()).for_each(|entry| collect(entry, "", places));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let (_, findings) = check("config.json", text, &Surroundings::default());
        let spot = |spot: Spot| format!("{}:{}+{} ", spot.line, spot.column, spot.length);
        let one = |finding: &Finding| {
            let field = finding.field.map(|field| format!(" [{}]", field.name)).unwrap_or_default();
            format!("{}{}{field}", finding.spot.map(spot).unwrap_or_default(), finding.message)
        };
        findings.iter().map(one).collect()
    }

    #[test]
    fn i2_what_is_wrong_stands_at_its_place_with_its_field() {
        let cases: [(&str, &[&str]); 6] = [
            (r#"{"dns":"callback","id":"https://h.example/?ip=__IP__","ipv4":"a.example"}"#, &[]),
            ("{\n  \"dns\": \"callback\",\n  \"id\" 1}", &["3:8+1 not valid JSON: a `:` was expected after the key"]),
            (
                "{\"dns\":\"callback\",\"id\":\"https://h.example/__IP__\",\r\n\"ipv4\":\"a.example\",\"ttl\":\"xü\"}",
                &["2:26+4 `ttl` must be a whole number of seconds up to 4294967295, not `xü` [ttl]"],
            ),
            (
                "{\"id\":\"https://h.example/__IP__\",\"log\":{\"level\":\"LOUD\"},\"providers\":[{\"provider\":\"callback\",\n\
                 \"ipv4\":[\"a.example\",\"b b\"]}]}",
                &[
                    "1:49+6 `log.level` must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL, not `LOUD` [log.level]",
                    "2:21+5 `ipv4`: `b b` is not a domain name: it contains a space [ipv4]",
                ],
            ),
            ("", &["1:1+1 not valid JSON: a value is missing: the text ends here"]),
            (
                r#"{"dns":"callback","id":"http://h.example/?k=1&__IP__","ipv4":"a.example"}"#,
                &[
                    "1:24+30 `id` is an unencrypted http address: anyone on the path to h.example can read your keys [id]",
                ],
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    /// No file is read, whichever field names it.
    #[test]
    fn i2_checking_reads_no_file() {
        let text = r#"{"dns":"callback","id":"https://h.example/?k=__K__&ip=__IP__","ipv4":"a.example",
            "extra":{"__K__":{"file":"/etc/shadow"}},"sign":{"file":"/etc/passwd"},"index4":"cmd:reboot"}"#;
        let (config, findings) = check("c", text, &Surroundings::default());
        assert!(config.is_some() && findings.is_empty(), "{findings:?}");
    }

    #[test]
    fn i2_a_finding_for_the_api_has_the_help_of_its_field() {
        let (_, findings) = check("c", "{\"ttl\": \"x\"}", &Surroundings::default());
        let about_ttl = findings.iter().find(|finding| finding.field.is_some()).expect("about ttl");
        let json = crate::text::own_json::indented(&about_ttl.json());
        for part in ["\"line\": 1", "\"column\": 9", "\"length\": 3", "\"field\": \"ttl\"", "The value of"] {
            assert!(json.contains(part), "{json}");
        }
    }
}
