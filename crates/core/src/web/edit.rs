//! What an edit from a browser may do (I2): the text of a configuration without its secrets, and the way back.
//!
//! [`mask`] hides what must not be seen ([`hide`], [`comments`]); [`judge`] takes the text that comes back: secrets are put
//! back by their places ([`restore`]) unless somebody else would get them ([`reach`]), nothing is added that reads, writes or
//! runs something on the host ([`power`]), and the result is checked as any configuration is.

mod append;
mod comments;
mod hide;
mod power;
mod reach;
mod restore;
#[cfg(test)]
mod tests;

use super::check::{self, Finding, Places, Spot, has_errors};
use crate::config::Config;
use crate::config::validate::Surroundings;
use crate::text::diagnostic::Severity;
use crate::text::json::{Dialect, Span, parse};
use crate::text::secrets::{MASK, Secrets};

pub use append::appended;
use restore::Restored;

/// A configuration's text as a browser may see it: every secret is `***`; everything else is as it was, byte for byte.
pub fn mask(text: &str) -> String {
    Masked::of(text).text
}

/// Whether a text can be edited in a browser: one that is not JSON has no places to which secrets could be put back.
pub fn can_be_edited(text: &str) -> bool {
    parse(text, Dialect::CONFIG).is_ok_and(|root| root.value.members().is_some())
}

/// A text as it came out of a form, with the line ends and the byte order mark of the one before.
pub fn from_form(old: &str, edited: &str) -> String {
    const MARK: char = '\u{feff}';
    let plain = edited.replace("\r\n", "\n").replace('\r', "\n");
    let plain = plain.trim_start_matches(MARK);
    let has_returns = old.contains("\r\n");
    let text = if has_returns { plain.replace('\n', "\r\n") } else { plain.to_owned() };
    if old.starts_with(MARK) { format!("{MARK}{text}") } else { text }
}

/// What an edit is about.
#[derive(Clone, Copy)]
pub struct Edit<'a> {
    /// The file.
    pub name: &'a str,
    /// Its text, secrets included.
    pub old: &'a str,
    /// The text from the browser, with `***` for secrets.
    pub edited: &'a str,
    /// What the file is layered with.
    pub around: &'a Surroundings,
}

/// What becomes of an edit.
pub struct Judged {
    /// The text to save and what it means; none where something is wrong.
    pub result: Option<(String, Config)>,
    /// Errors and warnings, with places in the text from the browser.
    pub findings: Vec<Finding>,
}

impl std::fmt::Debug for Judged {
    /// The text holds secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.findings.fmt(f)
    }
}

/// Everything that is wrong with an edit, or the text to save.
pub fn judge(edit: &Edit<'_>) -> Judged {
    let mut findings = Vec::new();
    if !can_be_edited(edit.old) {
        let message = "the file on the host is not a JSON object: it cannot be edited here";
        findings.push(whole(message, "mend it on the host first: `ddns check` shows what is wrong"));
        return Judged { result: None, findings };
    }
    let places = Places::of(edit.edited);
    let Ok(root) = parse(edit.edited, Dialect::CONFIG) else {
        let (_, findings) = check::check(edit.name, edit.edited, edit.around);
        return Judged { result: None, findings };
    };
    let restored = restore::restore(edit, &root);
    findings.extend(restored.findings.iter().cloned());
    findings.extend(reach::widened(edit, &restored));
    let (config, checked) = check::check(edit.name, &restored.text, edit.around);
    findings.extend(power::added(edit, &restored, config.as_ref()));
    findings.extend(shown(checked, &restored, edit.edited, &findings));
    for finding in &mut findings {
        finding.field = finding.spot.and_then(|spot| places.at(spot.span.start));
    }
    findings.sort_by_key(|finding| finding.spot.map_or(0, |spot| spot.span.start));
    let result = config.filter(|_| !has_errors(&findings)).map(|config| (restored.text, config));
    Judged { result, findings }
}

/// What is wrong with the restored text, as the browser may see it: a host that is none may be a part of a secret. What is wrong
/// with a value whose secret is refused anyway says more than it should.
fn shown(checked: Vec<Finding>, restored: &Restored, edited: &str, refused: &[Finding]) -> Vec<Finding> {
    let secrets = restored.puts.iter().map(|put| restored.text[put.restored.clone()].to_owned());
    let secrets = Secrets::new(secrets, &[]);
    let masked = |mut finding: Finding| {
        finding.message = secrets.mask(&finding.message).into_owned();
        finding.hint = finding.hint.map(|hint| secrets.mask(&hint).into_owned());
        restored.moved(finding, edited)
    };
    let is_refused = |finding: &Finding| {
        let Some(Spot { span, .. }) = finding.spot else { return false };
        refused.iter().filter_map(|other| other.spot).any(|other| (span.start..span.end).contains(&other.span.start))
    };
    checked.into_iter().map(masked).filter(|finding| !is_refused(finding)).collect()
}

/// An error at a place of a text.
fn error(text: &str, span: Span, message: impl Into<String>, hint: &str) -> Finding {
    Finding { spot: Some(Spot::of(text, span)), ..whole(message, hint) }
}

/// An error about the text as a whole.
fn whole(message: impl Into<String>, hint: &str) -> Finding {
    Finding { severity: Severity::Error, spot: None, message: message.into(), hint: Some(hint.to_owned()), field: None }
}

/// A text with its secrets hidden, and what each `***` stands for.
struct Masked {
    text: String,
    /// In order.
    marks: Vec<Mark>,
}

/// One `***`.
struct Mark {
    /// Where it begins in the masked text.
    at: usize,
    /// How long it is there: with quotes, where it stands for a number.
    length: usize,
    /// What it stands for, as it was written.
    source: String,
}

impl Masked {
    fn of(text: &str) -> Self {
        let mut masked = Self { text: String::with_capacity(text.len()), marks: Vec::new() };
        let mut at = 0;
        for hidden in hide::hidden(text) {
            masked.text += &text[at..hidden.range.start];
            let begin = masked.text.len();
            let quote = if hidden.is_bare { "\"" } else { "" };
            masked.text += &format!("{quote}{MASK}{quote}");
            let source = text[hidden.range.clone()].to_owned();
            masked.marks.push(Mark { at: begin, length: masked.text.len() - begin, source });
            at = hidden.range.end;
        }
        masked.text += &text[at..];
        masked
    }

    /// The numbers of the marks inside of a stretch of the masked text.
    fn marks_in(&self, span: Span) -> std::ops::Range<usize> {
        let first = self.marks.partition_point(|mark| mark.at < span.start);
        first..self.marks.partition_point(|mark| mark.at < span.end)
    }
}
