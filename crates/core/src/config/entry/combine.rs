//! `combine`: several updates in one request (H7).

use super::super::fields::Key;
use super::super::parts::PartReader;
use super::super::read::SettingReader;
use super::super::value::whole;
use super::EntryBuilder;
use crate::callback::{Callback, Combine};
use crate::text::json::{Node, Value};

/// How many domains one request may combine; services refuse more.
const MAX_DOMAINS: usize = 1000;

impl EntryBuilder<'_, '_> {
    /// Refuses placeholders that have no single meaning in a combined request.
    pub(super) fn check_combine(&mut self, callback: &Callback) {
        if let Some(name) = callback.ambiguous() {
            let message = format!("{name} is ambiguous if `combine` puts several updates in one request");
            let hint = "use __IPV4__, __IPV6__ or __IPS__ for families, __DOMAINS__ for domains";
            self.reader.wrong_whole(Key::Combine, message, hint);
        }
    }
}

/// `combine`; `None` if it is not set, or changes nothing.
pub(crate) fn combine(reader: &mut SettingReader<'_>) -> Option<Combine> {
    let node = reader.object(Key::Combine)?;
    let mut of = PartReader::new(reader, Key::Combine, node.value.members()?);
    of.refuse_unknown(|_| None);
    let families = of.flag("families").unwrap_or_default();
    let missing = of.part("missing", |node| node.value.text(), ["a string", ""]).map(str::to_owned);
    let number = |node: &Node| match &node.value {
        Value::Number(text) => whole(text).parse().ok().filter(|number| (1..=MAX_DOMAINS).contains(number)),
        _ => None,
    };
    let domains = of.part("domains", number, ["a whole number from 1 to 1000", ""]);
    // With 1, too, __DOMAINS__ has a value.
    (families || domains.is_some()).then_some(Combine { families, domains: domains.unwrap_or(1), missing })
}
