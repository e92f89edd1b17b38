//! What a response must say (H4), for services whose status alone does not tell whether they accepted an update.

mod condition;
mod dyndns2;
mod suspicion;

use std::net::IpAddr;
use std::time::Duration;

pub(super) use condition::equal;
pub use condition::{Condition, Pointer};
pub use suspicion::suspicious;

use crate::text::json::{Dialect, Node, Value, parse};
use condition::ResponseBody;

/// How many bytes of a body are judged.
pub const MAX_JUDGED_BODY_BYTES: usize = 64 * 1024;

/// The longest pause that counts, whatever the endpoint asks for: some send a time of day instead of seconds.
pub const MAX_PAUSE: Duration = Duration::from_secs(86_400);

/// How to judge whether an update was accepted.
#[derive(Debug, Clone, PartialEq)]
pub enum Expect {
    /// The user's conditions.
    Conditions(Conditions),
    /// The preset for the return codes that most dynamic DNS services share.
    Dyndns2,
}

/// Lists of conditions, tried in this order. A list decides if any of its conditions holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conditions {
    /// A kept value is out of date (H21).
    pub forget: Vec<Condition>,
    /// The service refuses the update permanently (H5).
    pub stop: Vec<Condition>,
    /// The service asks to wait.
    pub wait: Vec<Condition>,
    /// The service has no such entry: for steps (H20).
    pub none: Vec<Condition>,
    /// The update failed and is retried.
    pub reject: Vec<Condition>,
    /// The update is accepted; `None`: every status from 200 to 299 accepts.
    pub accept: Option<Vec<Condition>>,
    /// The JSON that the conditions were read from, for the key of the cache.
    pub written: String,
}

/// What a response means for one domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseVerdict {
    /// The meaning of the response.
    pub verdict: Meaning,
    /// The text of the service: the line that decided, or the whole text.
    pub words: String,
    /// The condition that decided, for the debug log.
    pub because: String,
}

/// What a response means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Accepted.
    Accepted,
    /// Accepted, and the service already had this address.
    Unchanged,
    /// Failed; the update is retried.
    Rejected,
    /// Permanently refused.
    Stopped {
        /// Whether the update is tried again with another address.
        until_address: bool,
        /// Whether all updates of the entry are refused.
        all: bool,
    },
    /// The service asks to wait; `None`: it does not say for how long.
    Wait(Option<Duration>),
    /// A kept value is out of date: the update failed, and the next try asks for the value again.
    Forget,
    /// The service has no such entry.
    Nothing,
}

/// The meaning of a condition that holds.
type MeaningOf = fn(&Condition) -> Meaning;

/// Whether a value of a response agrees with the value that a condition wants, in this order.
pub type Agrees<'a> = &'a dyn Fn(&Value, &Value) -> bool;

impl Expect {
    /// Whether the body is needed to judge a response.
    pub fn needs_body(&self) -> bool {
        match self {
            Self::Dyndns2 => true,
            Self::Conditions(conditions) => conditions.all().any(Condition::needs_body),
        }
    }

    /// Whether a response can stop an update or make it wait, which must be remembered (H6).
    pub fn must_be_remembered(&self) -> bool {
        match self {
            Self::Dyndns2 => true,
            Self::Conditions(conditions) => !conditions.stop.is_empty() || !conditions.wait.is_empty(),
        }
    }

    /// Whether a stop of all updates (H5) includes updates whose own variables differ from those of the refused update.
    /// Not in the preset: there, such variables are usually keys, and those of the others may be right. Users who write
    /// conditions know what they stop.
    pub fn stops_others(&self) -> bool {
        matches!(self, Self::Conditions(_))
    }

    /// Judges a response, for each of `domains` domains or once for all of them. `sent` are the addresses that were
    /// sent. `is_kept`: the request used a kept value.
    pub fn judge(
        &self,
        (status, body): (u16, &[u8]),
        (domains, sent): (usize, &[IpAddr]),
        is_kept: bool,
        agrees: Agrees<'_>,
    ) -> Vec<ResponseVerdict> {
        let text = String::from_utf8_lossy(&body[..body.len().min(MAX_JUDGED_BODY_BYTES)]);
        // Some pages start with a byte order mark, which must not keep `^` from matching.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        match self {
            Self::Dyndns2 => dyndns2::judge(status, text, domains, sent),
            Self::Conditions(conditions) => vec![conditions.judge(status, text, is_kept, agrees)],
        }
    }
}

impl Conditions {
    /// Every condition.
    pub fn all(&self) -> impl Iterator<Item = &Condition> {
        [&self.forget, &self.stop, &self.wait, &self.none, &self.reject].into_iter().chain(&self.accept).flatten()
    }

    pub(super) fn judge<'c>(&'c self, status: u16, text: &str, is_kept: bool, agrees: Agrees<'_>) -> ResponseVerdict {
        let is_success = (200..300).contains(&status);
        let json: Option<Node> =
            self.all().any(Condition::needs_json).then(|| parse(text, Dialect::STRICT).ok()).flatten();
        let body = ResponseBody { text, json: json.as_ref() };
        let found = |name: &str, conditions: &'c [Condition]| {
            // Without a status of its own, a condition of `accept` wants a successful one.
            let counts = |condition: &Condition| name != "accept" || is_success || condition.has_status();
            let holds = |condition: &Condition| counts(condition) && condition.holds(status, &body, agrees);
            let at = conditions.iter().position(holds)?;
            let because = if conditions.len() == 1 { format!("`{name}`") } else { format!("`{name}[{at}]`") };
            Some((&conditions[at], format!("{because} holds")))
        };
        let lists: [(&str, &'c [Condition], MeaningOf); 5] = [
            ("forget", if is_kept { &self.forget } else { &[] }, |_| Meaning::Forget),
            ("stop", &self.stop, |it| Meaning::Stopped { until_address: it.until_address, all: it.all }),
            ("wait", &self.wait, |it| Meaning::Wait(it.wait_for)),
            ("none", &self.none, |_| Meaning::Nothing),
            ("reject", &self.reject, |_| Meaning::Rejected),
        ];
        let decided = lists.into_iter().find_map(|(name, conditions, meaning)| {
            let (condition, because) = found(name, conditions)?;
            Some((meaning(condition), because, Some(condition)))
        });
        let (verdict, because, decided) = decided.unwrap_or_else(|| match &self.accept {
            None if is_success => (Meaning::Accepted, "the status is from 200 to 299".to_owned(), None),
            None => (Meaning::Rejected, "the status is not from 200 to 299".to_owned(), None),
            Some(accept) => match found("accept", accept) {
                Some((condition, because)) => (Meaning::Accepted, because, Some(condition)),
                None => (Meaning::Rejected, "no condition of `expect` matches".to_owned(), None),
            },
        });
        let words = decided.and_then(|condition| condition.line_in(text)).unwrap_or_else(|| text.trim());
        ResponseVerdict { verdict, words: words.to_owned(), because }
    }
}

#[cfg(test)]
mod tests;
