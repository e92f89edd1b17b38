//! Recipes: what a service asks for and how its updates are sent, as data (H12).
//!
//! A [`Recipe`] is read from JSON ([`read`]); a [`Form`] takes the answers to its questions ([`form`]), and becomes the text of
//! an ordinary configuration ([`write`]). Nothing of it is used when updates are sent. Asking is the program's.

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

/// The kinds of services, and the headings of their lists.
pub const KINDS: [(&str, &str); 5] = [
    ("dyndns", "Dynamic DNS services"),
    ("api", "Registrars and clouds"),
    ("server", "Your own servers and devices"),
    ("automation", "Automations"),
    ("notification", "Notifications"),
];

/// How sure the facts of a recipe are, and what that means.
pub const CERTAINTIES: [(&str, &str); 3] = [
    ("official", "from the service's own documentation"),
    ("other clients", "from what other clients send, or from reports of their users"),
    ("unchecked", "from common knowledge"),
];

/// One service. Its texts are as they stand in the file.
#[derive(Debug, Clone)]
pub struct Recipe {
    /// What `ddns init --recipe` calls it.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// What else people type when they look for it.
    pub aliases: Vec<String>,
    /// What a name without a dot ends in, where the zone does not say it.
    suffix: Option<String>,
    /// Whether its names are not in DNS, or lead to a proxy.
    is_not_in_dns: bool,
    /// Whether a name has one address there, of either family.
    pub has_one_address: bool,
    /// One of [`KINDS`].
    pub kind: &'static str,
    /// What it is, in a sentence.
    pub about: String,
    /// Where the service explains itself.
    pub documentation: String,
    /// Where the facts come from.
    pub sources: Vec<String>,
    /// One of [`CERTAINTIES`].
    pub certainty: &'static str,
    /// When they were compared with what it sends: a date; empty where nobody did.
    pub checked: String,
    /// Counts its changes, from 1.
    pub version: u32,
    /// Versions whose configurations are wrong, and why.
    wrong: Vec<(u32, String)>,
    /// What the service wants its users to know.
    pub rules: Vec<String>,
    /// What must be asked.
    pub questions: Vec<Question>,
    /// Which families the service takes: by [`Family::index`].
    families: [bool; 2],
    /// Names of texts that depend on the family, and the texts.
    values: Vec<(String, [String; 2])>,
    /// The fields of the configuration.
    config: Vec<Member>,
    /// Fields over them for the updates of one family: by [`Family::index`].
    own: [Vec<Member>; 2],
    /// Fields over them for domains of both families, which are then one entry.
    both: Option<Vec<Member>>,
    /// What each domain gets beside its name.
    domain: Vec<Member>,
    /// The notifications that it makes (I5).
    notify: Vec<Vec<Member>>,
}

/// Something that is asked.
#[derive(Debug, Clone)]
pub struct Question {
    /// `${name}`
    pub name: String,
    /// A few words.
    pub ask: String,
    /// Where to find it; empty where that is plain.
    pub help: String,
    /// Whether the answer must not be seen.
    pub secret: bool,
    /// Whether it goes into `id` as it was typed: it is a part of an address, encoded already.
    is_typed: bool,
    /// Whether the answer is the path of a file that stays where it is: a key that `sign` reads.
    pub is_file: bool,
    /// What a right answer looks like: an anchored regular expression.
    check: Option<String>,
    /// What an empty answer means.
    pub default: Option<String>,
    /// How often it is asked.
    pub each: Each,
}

/// How often something is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Each {
    /// Once.
    Once,
    /// For every domain.
    Domain,
    /// For every domain and record type.
    Record,
}

impl Recipe {
    /// Whether the service takes addresses of a family.
    pub fn takes(&self, family: Family) -> bool {
        self.families[family.index()]
    }

    /// Whether its service can receive updates.
    pub fn has_entry(&self) -> bool {
        !self.config.is_empty()
    }

    /// Whether the world can be asked about its names (K1).
    pub fn can_be_verified(&self) -> bool {
        matches!(self.kind, "api" | "dyndns") && !self.is_not_in_dns
    }

    /// Whether its service can receive notifications.
    pub fn has_notification(&self) -> bool {
        !self.notify.is_empty()
    }

    /// Whether it asks for a file of the host.
    pub fn needs_file(&self) -> bool {
        self.questions.iter().any(|question| question.is_file)
    }

    /// Whether an answer is the path of a file.
    fn is_file(&self, name: &str) -> bool {
        self.questions.iter().any(|question| question.is_file && question.name == name)
    }

    /// Whether an answer goes into `id` as it was typed.
    pub(crate) fn is_typed(&self, name: &str) -> bool {
        self.questions.iter().any(|question| question.is_typed && question.name == name)
    }
}
