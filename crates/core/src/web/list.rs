//! How a list on the page is filtered and sorted: this is part of the URL of its view.

use crate::journal::{RecordKind, UpdateState};
use crate::net::url::push_form;
use crate::text::vocabulary::vocabulary;

/// Which items are wanted, in which order, and which page of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// Text that the domain, address, source or endpoint must contain.
    pub search: String,
    /// Only updates in this state; `None`: all of them.
    pub state: Option<UpdateState>,
    /// Only records of this kind.
    pub outcome: RecordKind,
    /// How updates are sorted.
    pub sort: Sort,
    /// Whether the order is reversed.
    pub is_reverse: bool,
    /// The page, from 1.
    pub page: usize,
}

vocabulary! {
    /// How updates are sorted.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum Sort {
        /// In the order of the configuration.
        #[default]
        Written = "",
        /// By name.
        Name = "name",
        /// The worst first.
        State = "state",
        /// By address.
        Address = "address",
        /// The latest first.
        Accepted = "accepted",
    }
}

impl ListQuery {
    /// Reads the query of a URL; an invalid value counts as not given.
    pub fn read(value: impl Fn(&str) -> Option<String>) -> Self {
        let sort = value("sort").unwrap_or_default();
        let (key, is_reverse) = sort.strip_prefix('-').map_or((sort.as_str(), false), |key| (key, true));
        Self {
            search: value("q").unwrap_or_default().trim().to_owned(),
            state: value("state").and_then(|key| UpdateState::parse(&key)),
            outcome: value("outcome").and_then(|key| RecordKind::parse(&key)).unwrap_or_default(),
            sort: Sort::parse(key).unwrap_or_default(),
            is_reverse,
            page: value("page").and_then(|page| page.parse().ok()).unwrap_or(1).max(1),
        }
    }

    /// The URL of a view with this query.
    pub fn link(&self, path: &str) -> String {
        let sign = if self.is_reverse && self.sort != Sort::Written { "-" } else { "" };
        let pairs = [
            ("q", self.search.clone()),
            ("state", self.state.map_or("", UpdateState::key).to_owned()),
            ("outcome", if self.outcome == RecordKind::All { "" } else { self.outcome.key() }.to_owned()),
            ("sort", format!("{sign}{}", self.sort.key())),
            ("page", if self.page > 1 { self.page.to_string() } else { String::new() }),
        ];
        link(path, pairs.into_iter().filter(|(_, value)| !value.is_empty()))
    }

    /// The same query on another page.
    #[must_use]
    pub fn on_page(&self, page: usize) -> Self {
        Self { page, ..self.clone() }
    }

    /// The same query; on the last page of this many items if it asks for a later one.
    #[must_use]
    pub fn within(&self, per_page: usize, total: usize) -> Self {
        self.on_page(self.page.min(total.div_ceil(per_page)).max(1))
    }

    /// The same query for one state; `None`: for all.
    #[must_use]
    pub fn in_state(&self, state: Option<UpdateState>) -> Self {
        Self { state, page: 1, ..self.clone() }
    }

    /// The same query in another order; reversed if it already has this order.
    #[must_use]
    pub fn sorted(&self, sort: Sort) -> Self {
        Self { sort, is_reverse: self.sort == sort && !self.is_reverse, page: 1, ..self.clone() }
    }
}

/// The URL of a view with these values.
pub fn link<'a>(path: &str, pairs: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let mut text = path.to_owned();
    for (at, (name, value)) in pairs.into_iter().enumerate() {
        text += if at == 0 { "?" } else { "&" };
        text += name;
        text.push('=');
        push_form(&mut text, &value);
    }
    text
}
