//! Puts together what the engine works on: a plan of the configurations, and where each of them remembers.

use std::borrow::Cow;
use std::path;
use std::rc::Rc;

use ddns_core::config::validate::Valid;
use ddns_core::engine::plan::{ConfigIdentity, Plan, StorePlace};
use ddns_core::engine::{Engine, Mode, Now};

use crate::clock::{steady_time, unix_time};
use crate::environment::Environment;
use crate::load::OUTSIDE;
use crate::store::cache_path;

/// The plan of these configurations.
pub(crate) fn plan(configs: &Rc<Vec<Valid>>, environment: &Environment) -> Rc<Plan> {
    let identities = configs.iter().map(|(config, _)| identity(&config.name)).collect();
    Rc::new(Plan::new(Rc::clone(configs), identities, |config, entry| match cache_path(entry, environment) {
        None => StorePlace::Memory,
        Some(_) if config.group.is_some() => StorePlace::Group,
        Some(path) => StorePlace::File(path),
    }))
}

/// An engine for a plan.
pub(crate) fn engine(plan: Rc<Plan>, mode: Mode) -> Box<Engine> {
    let seed = getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id()));
    Box::new(Engine::new(plan, mode, seed, now()))
}

pub(crate) fn now() -> Now {
    Now { steady: steady_time(), day: unix_time() }
}

/// A configuration, however it is named: by its path, unless it was fetched or is no file.
fn identity(file: &str) -> ConfigIdentity {
    let is_file = file != OUTSIDE;
    let name = match path::absolute(file) {
        Ok(path) if is_file && !file.contains("://") => Cow::Owned(path.to_string_lossy().into_owned()),
        _ => Cow::Borrowed(file),
    };
    ConfigIdentity { name: name.into_owned(), is_file }
}
