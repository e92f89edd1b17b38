//! What a list on the page is narrowed down to.

use crate::web::overview::link;

/// Words to search for, and which page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// What a domain must contain.
    pub search: String,
    /// The only outcome that is wanted; empty where any is.
    pub outcome: String,
    /// From 1.
    pub page: usize,
}

impl ListFilter {
    /// Reads the values of an address.
    pub fn read(value: impl Fn(&str) -> Option<String>) -> Self {
        Self {
            search: value("q").unwrap_or_default().trim().to_owned(),
            outcome: value("outcome").unwrap_or_default(),
            page: value("page").and_then(|page| page.parse().ok()).unwrap_or(1).max(1),
        }
    }

    /// The same on another page.
    #[must_use]
    pub fn on_page(&self, page: usize) -> Self {
        Self { page, ..self.clone() }
    }

    /// The address of a view with this filter.
    pub fn link(&self, path: &str) -> String {
        let page = if self.page > 1 { self.page.to_string() } else { String::new() };
        let pairs = [("q", self.search.clone()), ("outcome", self.outcome.clone()), ("page", page)];
        link(path, pairs.into_iter().filter(|(_, value)| !value.is_empty()))
    }

    /// Whether a domain has the words.
    pub fn includes(&self, domain: &str) -> bool {
        domain.to_lowercase().contains(&self.search.to_lowercase())
    }
}
