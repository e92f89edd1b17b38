//! Collects what is wrong with one configuration: each finding once, the first ones in full, the rest as a number. A
//! finding that is not shown takes a short, fixed time, whatever the file contains.

use std::collections::HashSet;

use super::diagnostic::{Diagnostic, Place, Severity, hashed};
use super::json::Span;
use super::number::grouped;

/// How many errors, and how many warnings, are shown: nobody fixes more at once.
const MAX_SHOWN: usize = 20;

/// How many errors, and how many warnings, are told apart; beyond that, ddns only says that there are more.
const MAX_COUNTED: usize = 100_000;

/// Errors and warnings in the order in which they were found.
#[derive(Debug, Clone, Default)]
pub struct Diagnostics {
    shown: Vec<Diagnostic>,
    errors: Count,
    warnings: Count,
}

#[derive(Debug, Clone, Default)]
struct Count {
    /// Repeats included.
    reported: usize,
    known: HashSet<u64>,
}

impl Diagnostics {
    /// Adds a finding. `make` is called only if it is shown. Message and `span` identify it, so that an error in a
    /// setting that several entries share counts once.
    pub fn add(
        &mut self,
        severity: Severity,
        span: Span,
        message: &str,
        make: &mut dyn FnMut() -> (Place, Option<String>),
    ) {
        let count = self.count(severity);
        count.reported += 1;
        let is_new = count.known.len() < MAX_COUNTED && count.known.insert(hashed(severity, span, message));
        if is_new && count.known.len() <= MAX_SHOWN {
            let (place, hint) = make();
            self.shown.push(Diagnostic::new(severity, place, message).hint_if_any(hint));
        }
    }

    /// How often an error was added, repeats included.
    pub fn errors(&self) -> usize {
        self.errors.reported
    }

    /// The findings to show. The last ones say, for `place`, how many others are not shown.
    pub fn into_vec(mut self, place: &Place) -> Vec<Diagnostic> {
        for severity in Severity::ALL {
            let known = self.count(severity).known.len();
            let count = known.saturating_sub(MAX_SHOWN);
            if count > 0 {
                let than = if known >= MAX_COUNTED { "more than " } else { "" };
                let (number, name) = (grouped(count), severity.key());
                let plural = if count == 1 { " is" } else { "s are" };
                let message = format!("{than}{number} more {name}{plural} not shown");
                self.shown.push(Diagnostic { severity, place: place.clone(), message, hint: None, count });
            }
        }
        self.shown
    }

    fn count(&mut self, severity: Severity) -> &mut Count {
        match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(numbers: impl Iterator<Item = usize>) -> Vec<Diagnostic> {
        let mut all = Diagnostics::default();
        let mut nowhere = || (Place::Nowhere, None);
        all.add(Severity::Warning, Span::default(), "a warning", &mut nowhere);
        for number in numbers {
            all.add(Severity::Error, Span::default(), &number.to_string(), &mut nowhere);
        }
        all.into_vec(&Place::file("c.json"))
    }

    #[test]
    fn each_is_shown_once_and_many_become_a_number() {
        let lines = |all: Vec<Diagnostic>| all.iter().map(Diagnostic::one_line).collect::<Vec<_>>();
        assert_eq!(lines(collected([1, 2, 1, 2, 1].into_iter())), ["a warning", "1", "2"]);
        assert_eq!(lines(collected(0..20)).len(), 21);
        assert_eq!(lines(collected(0..21)).last().expect("one"), "c.json: 1 more error is not shown");
        let many = collected((0..1234).chain(0..1234));
        assert_eq!(many.iter().map(|it| it.count).sum::<usize>(), 1235);
        assert_eq!(lines(many).last().expect("one"), "c.json: 1,214 more errors are not shown");
        let very_many = lines(collected(0..1_000_000));
        assert_eq!(very_many.last().expect("one"), "c.json: more than 99,980 more errors are not shown");
    }

    /// An error is shown even after many warnings.
    #[test]
    fn warnings_do_not_hide_errors() {
        let mut all = Diagnostics::default();
        for number in 0..=MAX_COUNTED {
            let span = Span { start: number, end: number };
            all.add(Severity::Warning, span, "a warning", &mut || (Place::Nowhere, None));
        }
        all.add(Severity::Error, Span::default(), "an error", &mut || (Place::Nowhere, None));
        assert!(all.into_vec(&Place::Nowhere).iter().any(|it| it.message == "an error"));
    }
}
