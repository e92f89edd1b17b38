//! What a response must say (H4), for services whose status alone does not tell whether an update was accepted.

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

/// As much of a body is looked at.
pub const BODY_LIMIT: usize = 64 * 1024;

/// However long a pause an endpoint asks for, it counts as no more: some send a time of day in the place of seconds.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(86_400);

/// When an update counts as accepted.
#[derive(Debug, Clone, PartialEq)]
pub enum Expect {
    /// The conditions of the user.
    Conditions(Conditions),
    /// The return codes that most dynamic DNS services share.
    Dyndns2,
}

/// Looked at in this order; of each list any may hold.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conditions {
    /// What was kept is old (H21).
    pub forget: Vec<Condition>,
    /// Refused for good (H5).
    pub stop: Vec<Condition>,
    /// Not now.
    pub wait: Vec<Condition>,
    /// The service has nothing of that kind: for a step (H20).
    pub none: Vec<Condition>,
    /// A failure like any other.
    pub reject: Vec<Condition>,
    /// Accepted; `None`: every status from 200 to 299.
    pub accept: Option<Vec<Condition>>,
    /// The JSON that it was read from, for the key of the cache.
    pub written: String,
}

/// What a response means for one domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// What follows.
    pub verdict: Meaning,
    /// The words of the service: the line that decided, or all of them.
    pub words: String,
    /// Which condition decided, for the debug log.
    pub because: String,
}

/// What a response means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Accepted.
    Accepted,
    /// Accepted, and the service had this address already.
    Unchanged,
    /// A failure like any other.
    Rejected,
    /// Refused for good.
    Stopped {
        /// Whether another address is tried again.
        until_address: bool,
        /// Whether every update of the entry is.
        all: bool,
    },
    /// Not now; `None` if the service does not say for how long.
    Wait(Option<Duration>),
    /// What was kept is old: a failure, and it is asked for again.
    Forget,
    /// The service has nothing of that kind.
    Nothing,
}

/// What follows where a condition holds.
type MeaningOf = fn(&Condition) -> Meaning;

/// Whether what a response has at a place is what is wanted there.
pub type Agrees<'a> = &'a dyn Fn(&Value, &Value) -> bool;

impl Expect {
    /// Whether a body is needed to judge.
    pub fn needs_body(&self) -> bool {
        match self {
            Self::Dyndns2 => true,
            Self::Conditions(conditions) => conditions.all().any(Condition::needs_body),
        }
    }

    /// Whether it can stop an update or make it wait: that must be remembered (H6).
    pub fn must_be_remembered(&self) -> bool {
        match self {
            Self::Dyndns2 => true,
            Self::Conditions(conditions) => !conditions.stop.is_empty() || !conditions.wait.is_empty(),
        }
    }

    /// Whether a stop of all updates (H5) reaches an update that has variables of its own, unlike the refused one. In the preset
    /// they are hardly anything but keys, which may be right; conditions are written by who knows.
    pub fn stops_others(&self) -> bool {
        matches!(self, Self::Conditions(_))
    }

    /// What a response means for each of `domains` domains, or once for all of them. `sent` are the addresses that were sent; `is_kept`:
    /// something was used that was kept.
    pub fn judge(
        &self,
        (status, body): (u16, &[u8]),
        (domains, sent): (usize, &[IpAddr]),
        is_kept: bool,
        agrees: Agrees<'_>,
    ) -> Vec<Judgement> {
        let text = String::from_utf8_lossy(&body[..body.len().min(BODY_LIMIT)]);
        // Some pages are saved with a byte order mark: `^` is after it.
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

    pub(super) fn judge<'c>(&'c self, status: u16, text: &str, is_kept: bool, agrees: Agrees<'_>) -> Judgement {
        let is_success = (200..300).contains(&status);
        let json: Option<Node> =
            self.all().any(Condition::needs_json).then(|| parse(text, Dialect::STRICT).ok()).flatten();
        let body = ResponseBody { text, json: json.as_ref() };
        let found = |name: &str, conditions: &'c [Condition]| {
            let at = conditions.iter().position(|condition| condition.holds(status, &body, agrees))?;
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
                Some((condition, because)) if is_success || condition.has_status() => {
                    (Meaning::Accepted, because, Some(condition))
                }
                _ => (Meaning::Rejected, "no condition of `expect` matches".to_owned(), None),
            },
        });
        let words = decided.and_then(|condition| condition.line_in(text)).unwrap_or_else(|| text.trim());
        Judgement { verdict, words: words.to_owned(), because }
    }
}

#[cfg(test)]
mod tests;
