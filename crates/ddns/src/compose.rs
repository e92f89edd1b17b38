//! Sets up the engine: a plan of the configurations, and where each entry is remembered.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::rc::Rc;

use ddns_core::config::Entry;
use ddns_core::config::validate::Valid;
use ddns_core::engine::plan::{ConfigIdentity, Plan, StorePlace};
use ddns_core::engine::{Effect, Engine, Event, Mode, Now, Out, Stored};
use ddns_core::text::diagnostic::{Diagnostic, Place, nearest};
use ddns_core::update::domain::Domain;
use ddns_core::update::state::State;

use crate::clock::{steady_time, unix_time};
use crate::environment::Environment;
use crate::load::{OUTSIDE, full_name};
use crate::lookup::LookupPair;
use crate::output::say;
use crate::store::{edit, peek, unfit};

pub(crate) fn plan(configs: &Rc<Vec<Valid>>, environment: &Environment) -> Rc<Plan> {
    let identities = configs.iter().map(|(config, _)| identity(&config.name)).collect();
    Rc::new(Plan::new(Rc::clone(configs), identities, |config, entry| match cache_path(entry, environment) {
        None => StorePlace::Memory,
        Some(path) => config.group.as_ref().map_or(StorePlace::File(path), |it| StorePlace::Group(it.name.clone())),
    }))
}

/// This host is in a group: others may send the same updates, so that what its cache files say must not count when it leaves.
pub(crate) fn doubt_caches(plan: &Plan, environment: &Environment) {
    let mut files: BTreeMap<PathBuf, Vec<usize>> = BTreeMap::new();
    for at in (0..plan.entry_count()).filter(|at| plan.places()[plan.store_of(*at)].is_of_group()) {
        files.entry(cache_path(plan.entry(at), environment).unwrap_or_default()).or_default().push(at);
    }
    for (path, entries) in files {
        edit(&path, |state| plan.doubt(&entries, state));
    }
}

/// The domains that an option or a word names. Each must be in the configuration.
pub(crate) fn named(plan: &Plan, place: &str, names: &[String]) -> Result<HashSet<Domain>, Vec<Diagnostic>> {
    let known = || (0..plan.entry_count()).flat_map(|at| plan.updates_of(at)).map(|id| plan.about(id).1);
    let (mut all, mut wrong) = (HashSet::new(), Vec::new());
    for name in names {
        let is_named = |own: &&Domain| own.as_str().eq_ignore_ascii_case(name.trim().trim_end_matches('.'));
        let domain = known().find(is_named).cloned();
        if domain.is_none() {
            let near = nearest(name, known().map(Domain::as_str)).map(|near| format!("did you mean {near}?"));
            let message = format!("`{name}` is not a domain of the configuration");
            let hint = near.unwrap_or_else(|| "`ddns check` lists the domains".to_owned());
            wrong.push(Diagnostic::error(Place::Option(place.to_owned()), message).hint(hint));
        }
        all.extend(domain);
    }
    if wrong.is_empty() { Ok(all) } else { Err(wrong) }
}

pub(crate) fn engine(plan: Rc<Plan>, mode: Mode) -> Box<Engine> {
    let seed = getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id()));
    Box::new(Engine::new(plan, mode, seed, now()))
}

/// A read-only engine, with these lookups (a pair for each entry) and the current caches.
pub(crate) fn look(plan: &Rc<Plan>, lookups: &[LookupPair]) -> Box<Engine> {
    let (mut engine, mut out) = (engine(Rc::clone(plan), Mode::Look), Out::default());
    engine.on(Event::Begin, now(), &mut out);
    while let Some(effect) = out.effects.pop_front() {
        let event = match effect {
            Effect::LookUp { lookup, entry, family } => {
                let found = lookups.get(entry).and_then(|pair| pair[family.index()].clone());
                Event::LookedUp { lookup, found: found.unwrap_or_default() }
            }
            Effect::Read { store } => {
                let state = Box::new(peeked(&plan.places()[store]));
                Event::Read { store, stored: Stored::Known { state, unwritable: None } }
            }
            _ => continue,
        };
        engine.on(event, now(), &mut out);
    }
    engine
}

/// The content of a cache; an empty state if the cache cannot be used.
fn peeked(place: &StorePlace) -> State {
    let known = match place {
        StorePlace::File(path) => peek(path).unwrap_or_else(|why| {
            say(&format!("warning: {}: the cache {why}: a run would send every address again\n", path.display()));
            None
        }),
        StorePlace::Memory | StorePlace::Group(_) => None,
    };
    known.unwrap_or_else(|| State::new(Vec::new()))
}

/// The cache file of an entry; `None` if its cache is off.
fn cache_path(entry: &Entry, environment: &Environment) -> Option<PathBuf> {
    environment.cache_of(&entry.cache)
}

/// The same, but also `None` if no other file can be beside it, for example because it is `/dev/null`.
pub(crate) fn cache_with_files(entry: &Entry, environment: &Environment) -> Option<PathBuf> {
    cache_path(entry, environment).filter(|path| unfit(path).is_none())
}

pub(crate) fn now() -> Now {
    Now { steady: steady_time(), day: unix_time() }
}

/// Identifies a configuration by its real path, however the user named it, unless it was fetched or is no file.
fn identity(file: &str) -> ConfigIdentity {
    ConfigIdentity { name: full_name(file), is_file: file != OUTSIDE }
}
