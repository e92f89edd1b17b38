//! Recipes: what a service needs to know and how its updates are sent, as data (H12).
//!
//! [`read`] reads a [`Recipe`] from JSON. A [`Form`] takes the answers to its questions ([`form`]), and [`write`] turns the form
//! into an ordinary configuration. Recipes are not used when updates are sent. The program asks the questions.

mod built_in;
mod check;
mod form;
mod page;
mod public;
mod read;
mod schema;
mod search;
mod template;
mod trial;
mod version;
mod write;

pub use built_in::{built_in, named, names};
pub use form::{AnswerSlot, Form};
pub(crate) use form::{DomainRest, IN_FILE, likely_zone};
pub use page::{page, template};
pub use schema::schema;
pub use search::{is_exactly, search};
pub use trial::Trial;
pub use version::doubts;
pub use write::Filled;
pub(crate) use write::{domain, heading};

use crate::net::family::Family;
use crate::text::json::Member;

/// The kinds of services, each with the heading of its list.
pub const KINDS: [(&str, &str); 5] = [
    ("dyndns", "Dynamic DNS services"),
    ("api", "Registrars and clouds"),
    ("server", "Your own servers and devices"),
    ("automation", "Automations"),
    ("notification", "Notifications"),
];

/// How certain the facts of a recipe are, and what that means.
pub const CERTAINTIES: [(&str, &str); 3] = [
    ("official", "from the service's own documentation"),
    ("other clients", "from what other clients send, or from reports of their users"),
    ("unchecked", "from common knowledge"),
];

/// A recipe for one service. Its texts are those of the file.
#[derive(Debug, Clone)]
pub struct Recipe {
    /// The name for `ddns init --recipe`.
    pub name: String,
    /// The name of the service, for people.
    pub title: String,
    /// Other words that people type to find the service.
    pub aliases: Vec<String>,
    /// What ddns appends to a name without a dot; `None`: the zone, if that is always the same.
    suffix: Option<String>,
    /// Whether the names are not in DNS, or point to a proxy.
    is_not_in_dns: bool,
    /// Whether a name can have only one address, either IPv4 or IPv6.
    pub has_one_address: bool,
    /// One of [`KINDS`].
    pub kind: &'static str,
    /// What the service is, in a sentence.
    pub about: String,
    /// The URL of the service's documentation.
    pub documentation: String,
    /// Where the facts come from.
    pub sources: Vec<String>,
    /// One of [`CERTAINTIES`].
    pub certainty: &'static str,
    /// The date on which the facts were compared with the requests of the recipe; empty: never.
    pub checked: String,
    /// The version of the recipe, from 1.
    pub version: u32,
    /// The versions that wrote wrong configurations, and what is wrong with them.
    wrong: Vec<(u32, String)>,
    /// What users must know about the service.
    pub rules: Vec<String>,
    /// The questions to ask.
    pub questions: Vec<Question>,
    /// Whether the service takes addresses of a family, by [`Family::index`].
    families: [bool; 2],
    /// Names whose values depend on the family, and these values, by [`Family::index`].
    values: Vec<(String, [String; 2])>,
    /// The fields of the configuration, before answers are filled in.
    config: Vec<Member>,
    /// Fields over `config` for one family, by [`Family::index`].
    own: [Vec<Member>; 2],
    /// Fields over `config` for domains of both families, which then share one entry; `None`: they share none.
    both: Option<Vec<Member>>,
    /// What each domain has besides its name.
    domain: Vec<Member>,
    /// The notifications of the recipe (I5).
    notify: Vec<Vec<Member>>,
}

/// A question of a recipe.
#[derive(Debug, Clone)]
pub struct Question {
    /// The name for `${name}` and `--set`.
    pub name: String,
    /// The label, in a few words.
    pub ask: String,
    /// Where to find the answer; empty if that is obvious.
    pub help: String,
    /// Whether the answer is a secret.
    pub secret: bool,
    /// Whether the answer goes into `id` unchanged: it is part of a URL and already encoded.
    is_typed: bool,
    /// Whether the answer is the path of a key file, which `sign` reads and ddns does not copy.
    pub is_file: bool,
    /// A regular expression, with anchors, that a valid answer matches.
    check: Option<String>,
    /// The answer if the user enters nothing.
    pub default: Option<String>,
    /// How often to ask.
    pub each: Each,
}

/// How often to ask a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Each {
    /// Once.
    Once,
    /// Once for each domain.
    Domain,
    /// Once for each domain and record type.
    Record,
}

impl Recipe {
    /// Whether the service takes addresses of a family.
    pub fn takes(&self, family: Family) -> bool {
        self.families[family.index()]
    }

    /// Whether the service can receive updates.
    pub fn has_entry(&self) -> bool {
        !self.config.is_empty()
    }

    /// Whether DNS can be asked about names of this service (K1).
    pub fn can_be_verified(&self) -> bool {
        matches!(self.kind, "api" | "dyndns") && !self.is_not_in_dns
    }

    /// Whether the service can receive notifications.
    pub fn has_notification(&self) -> bool {
        !self.notify.is_empty()
    }

    /// Whether the recipe asks for a file on the host.
    pub fn needs_file(&self) -> bool {
        self.questions.iter().any(|question| question.is_file)
    }

    /// Whether the answer to the question `name` is the path of a file.
    fn is_file(&self, name: &str) -> bool {
        self.questions.iter().any(|question| question.is_file && question.name == name)
    }

    /// Whether the answer to the question `name` goes into `id` unchanged.
    pub(crate) fn is_typed(&self, name: &str) -> bool {
        self.questions.iter().any(|question| question.is_typed && question.name == name)
    }
}
