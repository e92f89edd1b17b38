//! One condition on a response; all of its parts must hold.

use std::ops::RangeInclusive;
use std::time::Duration;

use regex_lite::{Regex, RegexBuilder};

use super::Agrees;
use crate::text::json::{Node, Value};

/// Limits the compiled size of a pattern, in bytes: larger ones could take long to search.
const MAX_COMPILED_PATTERN_BYTES: usize = 64 * 1024;

/// A condition; it holds if all of its parts hold.
#[derive(Debug, Clone, Default)]
pub struct Condition {
    /// The allowed ranges of the status; empty: any status.
    pub status: Vec<RangeInclusive<u16>>,
    pub(super) body: Option<Regex>,
    /// Places in a JSON body, and the values wanted there.
    pub json: Vec<(Pointer, Value)>,
    /// How long to wait, for a condition of `wait`; `None`: the condition does not say.
    pub wait_for: Option<Duration>,
    /// For a condition of `stop`: whether the stop ends when the address changes.
    pub until_address: bool,
    /// For a condition of `stop`: whether all updates of the entry stop.
    pub all: bool,
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        let pattern = |condition: &Self| condition.body.as_ref().map(|body| body.as_str().to_owned());
        (&self.status, &self.json, self.wait_for, self.until_address, self.all)
            == (&other.status, &other.json, other.wait_for, other.until_address, other.all)
            && pattern(self) == pattern(other)
    }
}

/// The body of a response as conditions see it.
pub(super) struct ResponseBody<'a> {
    pub(super) text: &'a str,
    /// `None`: the body is not JSON.
    pub(super) json: Option<&'a Node>,
}

impl Condition {
    /// Adds a pattern to search in the body. Lines end with LF or CRLF. The error says what is wrong with the pattern.
    #[must_use = "the condition is a new one"]
    pub fn with_pattern(self, pattern: &str) -> Result<Self, String> {
        let regex = RegexBuilder::new(pattern)
            .multi_line(true)
            .crlf(true)
            .size_limit(MAX_COMPILED_PATTERN_BYTES)
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self { body: Some(regex), ..self })
    }

    /// Whether the condition has no parts, so that it would always hold.
    pub fn is_empty(&self) -> bool {
        !self.has_status() && !self.needs_body()
    }

    pub(super) fn needs_body(&self) -> bool {
        self.body.is_some() || self.needs_json()
    }

    pub(super) fn needs_json(&self) -> bool {
        !self.json.is_empty()
    }

    pub(super) fn has_status(&self) -> bool {
        !self.status.is_empty()
    }

    pub(super) fn holds(&self, status: u16, body: &ResponseBody<'_>, agrees: Agrees<'_>) -> bool {
        let is_equal = |(pointer, wanted): &(Pointer, Value)| {
            body.json.and_then(|json| pointer.find(json)).is_some_and(|found| agrees(&found.value, wanted))
        };
        (self.status.is_empty() || self.status.iter().any(|range| range.contains(&status)))
            && self.body.as_ref().is_none_or(|pattern| is_in(pattern, body.text, agrees))
            && self.json.iter().all(is_equal)
    }

    /// The line that contains the match.
    pub(super) fn line_in<'a>(&self, text: &'a str) -> Option<&'a str> {
        let found = self.body.as_ref()?.find(text)?;
        let start = text[..found.start()].rfind('\n').map_or(0, |at| at + 1);
        text[start..].lines().next().map(str::trim).filter(|line| !line.is_empty())
    }
}

/// Whether a text contains the pattern. If the pattern has a group `ip`, the group must match an address that was sent.
fn is_in(pattern: &Regex, text: &str, agrees: Agrees<'_>) -> bool {
    if pattern.capture_names().flatten().all(|name| name != "ip") {
        return pattern.is_match(text);
    }
    let is_sent = |found: &str| {
        let found = Value::string(found);
        ["__IP__", "__IPV4__", "__IPV6__"].iter().any(|sent| agrees(&found, &Value::string(*sent)))
    };
    pattern.captures_iter(text).any(|found| found.name("ip").is_some_and(|found| is_sent(found.as_str())))
}

/// A JSON pointer (RFC 6901): a place in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer(Vec<String>);

impl Pointer {
    /// What a hint says about pointers.
    pub const FORM: &str = "a pointer begins with `/`, e.g. \"/result/id\"; a `~` in a name is `~0`, a `/` is `~1`";

    /// `None`: the text is not a pointer, which is empty or begins with `/`, and has `~` in `~0` and `~1` alone.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self(Vec::new()));
        }
        let unescaped = |step: &str| step.replace("~1", "/").replace("~0", "~");
        let is_right = text.split('~').skip(1).all(|behind| behind.starts_with(['0', '1']));
        text.strip_prefix('/').filter(|_| is_right).map(|steps| Self(steps.split('/').map(unescaped).collect()))
    }

    /// The member names and indexes on the way to the place.
    pub fn steps(&self) -> &[String] {
        &self.0
    }

    /// The last of these steps.
    pub fn last(&self) -> Option<&str> {
        self.0.last().map(String::as_str)
    }

    /// The value at this place; `None`: there is none.
    pub fn find<'a>(&self, document: &'a Node) -> Option<&'a Node> {
        self.0.iter().try_fold(document, |node, step| match &node.value {
            Value::Object(members) => members.iter().find(|member| member.key == *step).map(|member| &member.node),
            Value::Array(nodes) => {
                let is_number =
                    step == "0" || (!step.starts_with('0') && step.bytes().all(|byte| byte.is_ascii_digit()));
                nodes.get(step.parse::<usize>().ok().filter(|_| is_number)?)
            }
            _ => None,
        })
    }
}

impl std::fmt::Display for Pointer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|step| write!(f, "/{}", step.replace('~', "~0").replace('/', "~1")))
    }
}

/// Equal by type and value: `1` equals `1.0`, but not `"1"`.
pub(in crate::callback) fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => match (one.parse::<i128>(), other.parse::<i128>()) {
            // As floats, a large id would be equal to its neighbours.
            (Ok(one), Ok(other)) => one == other,
            _ => one == other || one.parse::<f64>().is_ok_and(|one| other.parse::<f64>() == Ok(one)),
        },
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(&one.value, &other.value))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has = |member: &crate::text::json::Member| {
                other.iter().any(|its| its.key == member.key && equal(&its.node.value, &member.node.value))
            };
            one.len() == other.len() && one.iter().all(has)
        }
        _ => one == other,
    }
}
