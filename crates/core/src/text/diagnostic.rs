//! What is wrong with a configuration, where, and how to fix it.
//!
//! A diagnostic must not contain a secret: the code that makes it decides whether the value at its place may be shown.

use std::collections::HashSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::text::json::{Excerpt, Span, excerpt};
use crate::text::screen;
use crate::text::vocabulary::vocabulary;

/// Where a setting comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A line of a configuration file (or fetched document).
    File {
        /// The file, as the user named it.
        name: String,
        /// The line to print; `None` if the file as a whole is meant.
        excerpt: Option<Box<Excerpt>>,
    },
    /// An environment variable.
    Environment(String),
    /// An option of the command line, with its dashes.
    Option(String),
    /// No place, because something is missing.
    Nowhere,
}

impl Place {
    /// A place in the text of a file. See [`excerpt`] for `reveal`.
    pub fn in_file(name: &str, text: &str, span: Span, reveal: bool) -> Self {
        Self::File { name: name.to_owned(), excerpt: Some(Box::new(excerpt(text, span, reveal))) }
    }

    /// A file as a whole.
    pub fn file(name: &str) -> Self {
        Self::File { name: name.to_owned(), excerpt: None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { name, excerpt: Some(at) } => write!(f, "{name}:{}:{}: ", at.line, at.column),
            Self::Environment(name) => write!(f, "{name} (environment): "),
            Self::File { name, excerpt: None } | Self::Option(name) => write!(f, "{name}: "),
            Self::Nowhere => Ok(()),
        }
    }
}

vocabulary! {
    /// How bad it is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Severity {
        /// ddns does not run.
        Error = "error",
        /// ddns runs anyway.
        Warning = "warning",
    }
}

/// One error or warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Where to look: a line of a file, a variable, an option.
    pub place: Place,
    /// What is wrong; names the field.
    pub message: String,
    /// How to fix it; `None` if the message is enough.
    pub hint: Option<String>,
    /// How many findings it stands for; more than one if it says how many others are not shown.
    pub count: usize,
}

impl Diagnostic {
    /// An error, and where it is.
    pub fn error(place: Place, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, place, message)
    }

    /// A warning, and where it is.
    pub fn warning(place: Place, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, place, message)
    }

    /// An error or a warning, and where it is.
    pub fn new(severity: Severity, place: Place, message: impl Into<String>) -> Self {
        Self { severity, place, message: readable(message.into()), hint: None, count: 1 }
    }

    /// Adds how to fix it.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        self.hint_if_any(Some(hint.into()))
    }

    /// Adds how to fix it, if a way is known.
    #[must_use]
    pub fn hint_if_any(mut self, hint: Option<String>) -> Self {
        self.hint = hint.map(readable);
        self
    }

    /// All of it on one line, for a log.
    pub fn one_line(&self) -> String {
        let hint = self.hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        let text = format!("{}{}{hint}", self.place, self.message);
        text.split('\n').map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// All of it for a terminal: place, sentence, the line with a caret, the hint.
    pub fn shown(&self) -> String {
        let severity = self.severity.key();
        let place = self.place.to_string();
        let mut text = format!("{}{severity}: {}", screen::line(&place), screen::lines(&self.message));
        if let Place::File { excerpt: Some(at), .. } = &self.place {
            let number = at.line.to_string();
            let margin = " ".repeat(number.len());
            let (blank, caret) = (" ".repeat(at.before), "^".repeat(at.width));
            text += &format!("\n  {number} | {}\n  {margin} | {blank}{caret}", screen::line(&at.shown));
        }
        if let Some(hint) = &self.hint {
            text += "\n  hint: ";
            text += &screen::lines(hint);
        }
        text
    }
}

/// Longer messages are cut, because a message may quote a value of any length.
const MAX_MESSAGE_CHARS: usize = 1000;

/// Shortens a very long message in its middle, where the quoted value is.
fn readable(message: String) -> String {
    const KEPT: usize = MAX_MESSAGE_CHARS / 2 - 1;
    if message.chars().count() <= MAX_MESSAGE_CHARS {
        return message;
    }
    let start = message.chars().take(KEPT);
    let end: Vec<char> = message.chars().rev().take(KEPT).collect();
    start.chain(['…']).chain(end.into_iter().rev()).collect()
}

/// Whether any of them is an error.
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
}

/// Removes repeats, so that an error in a setting that several entries or files share is reported once.
pub fn without_repeats(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut known = HashSet::new();
    diagnostics.retain(|diagnostic| known.insert(hashed(diagnostic.severity, Span::default(), &diagnostic.shown())));
    diagnostics
}

/// A number that identifies a finding.
pub(super) fn hashed(severity: Severity, span: Span, message: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (severity.key(), span.start, span.end, message).hash(&mut hasher);
    hasher.finish()
}

/// Longer names resemble no known one.
const MAX_NAME_BYTES: usize = 64;

/// The known name nearest to a mistyped one; `None` if no name is near enough to be meant.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if typed.len() > MAX_NAME_BYTES {
        return None;
    }
    let typed = typed.to_lowercase();
    let start = typed.replace(['_', '.'], "-");
    let is_start = |name: &str| start.trim_start_matches('-').len() > 2 && name.starts_with(&start);
    // An abbreviation is meant as such. Two swapped letters are one typing mistake, even in a short word.
    let likeness = |name: &str| {
        let is_one_mistake = typed.len() > 2 && strsim::osa_distance(&typed, name) <= 1;
        ((is_start(name), is_one_mistake), strsim::jaro_winkler(&typed, name))
    };
    known
        .into_iter()
        .map(|name| (likeness(&name.to_lowercase()), name))
        .filter(|((likely, likeness), _)| *likely != (false, false) || *likeness > 0.8)
        // Of several equally near names, the first: `ipv4` for `ipv`.
        .min_by(|((one, a), _), ((other, b), _)| other.cmp(one).then(b.total_cmp(a)))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_under_the_place() {
        let text = "{\n  \"token\": \"s3cret\", \"ttl\": []\n}";
        let start = text.find("[]").expect("the place");
        let place = Place::in_file("c.json", text, Span { start, end: start + 2 }, true);
        let shown = Diagnostic::error(place, "`ttl` is wrong").hint("write 300").shown();
        let lines = [
            "c.json:2:29: error: `ttl` is wrong",
            "  2 |   \"token\": ***, \"ttl\": []",
            "    |                        ^^",
            "  hint: write 300",
        ];
        assert_eq!(shown, lines.join("\n"));
    }

    /// With quadratic cost, this would take minutes.
    #[test]
    fn b8_repeats_are_left_out_in_time() {
        let numbers = (0..100_000).chain(0..100_000);
        let all = numbers.map(|number| Diagnostic::error(Place::Nowhere, number.to_string())).collect();
        assert_eq!(without_repeats(all).len(), 100_000);
    }

    #[test]
    fn b8_a_very_long_message_keeps_its_start_and_its_end() {
        let message = Diagnostic::error(Place::Nowhere, format!("`{}` is wrong", "ü".repeat(100_000))).message;
        assert!(message.starts_with("`ü") && message.contains('…') && message.ends_with("ü` is wrong"), "{message}");
        assert_eq!(message.chars().count(), 999);
        assert_eq!(nearest(&"token".repeat(100_000), ["token"]), None);
    }

    #[test]
    fn b8_the_nearest_name_is_found_and_nonsense_has_none() {
        let known = ["token", "ttl", "timeout", "index4"];
        assert_eq!(nearest("tokne", known), Some("token"));
        assert_eq!(nearest("Token", known), Some("token"));
        assert_eq!(nearest("indx4", known), Some("index4"));
        assert_eq!(nearest("zzz", known), None);
        assert_eq!(nearest("tlt", known), Some("ttl"));
        assert_eq!(nearest("ipv", ["ipv4", "ipv6"]), Some("ipv4"));
        assert_eq!(nearest("fsh", ["zsh", "fish"]), Some("fish"));
    }
}
