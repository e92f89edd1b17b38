//! Reading caches without changing them, for commands that only look: each file is read once.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use ddns_core::config::{Cache, Entry};
use ddns_core::net::family::Family;
use ddns_core::update::domain::Domain;
use ddns_core::update::state::{Fingerprint, Memory, State};

use super::peek;
use crate::environment::Environment;

/// The caches that were read.
#[derive(Default)]
pub(crate) struct Caches {
    read: Vec<(PathBuf, Rc<State>)>,
    /// What is wrong with them, for people.
    pub(crate) warnings: Vec<String>,
}

/// What is remembered of one entry.
#[derive(Clone)]
pub(crate) struct Remembered {
    state: Rc<State>,
    callback: Fingerprint,
}

impl Remembered {
    /// What is remembered of a domain of the entry.
    pub(crate) fn memory(&self, entry: &Entry, domain: &Domain, family: Family) -> Memory<'_> {
        self.state.of(entry.callback.fingerprint_of(self.callback, domain, family))
    }

    /// The key of the entry's callback.
    pub(crate) fn callback(&self) -> Fingerprint {
        self.callback
    }
}

impl Caches {
    /// None where the cache of the entry is off.
    pub(crate) fn of(&mut self, entry: &Entry, environment: &Environment) -> Option<Remembered> {
        let path = cache_path(entry, environment)?;
        let at = self.read.iter().position(|(known, _)| *known == path).unwrap_or_else(|| {
            let state = Rc::new(self.peek(&path));
            self.read.push((path, state));
            self.read.len() - 1
        });
        let state = self.read[at].1.clone();
        let callback = entry.callback.fingerprint(state.salt());
        Some(Remembered { state, callback })
    }

    fn peek(&mut self, path: &Path) -> State {
        let state = peek(path).unwrap_or_else(|why| {
            self.warnings.push(format!("{}: the cache {why}: a run would send every address again", path.display()));
            None
        });
        state.unwrap_or_else(|| State::new(Vec::new()))
    }
}

/// The file in which an entry's successes are remembered; none where its cache is off.
pub(crate) fn cache_path(entry: &Entry, environment: &Environment) -> Option<PathBuf> {
    match &entry.cache {
        Cache::Off => None,
        Cache::Standard => Some(environment.standard_cache()),
        Cache::File(path) => Some(environment.path(path)),
    }
}
