//! What the process was started with, read once: variables, and the folders that follow from them.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

/// The variables of the environment. What is no Unicode is left out: no setting of ours can be.
pub(crate) struct Environment {
    variables: BTreeMap<String, String>,
}

impl Environment {
    pub(crate) fn read() -> Self {
        let variables =
            env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self { variables: variables.collect() }
    }

    /// A variable that is set to something.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Every variable whose name begins with `DDNS_` and that is set to something.
    pub(crate) fn ours(&self) -> impl Iterator<Item = (&str, &str)> {
        let ours = self.variables.iter().filter(|(name, value)| name.starts_with("DDNS_") && !value.is_empty());
        ours.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The first variable that names a proxy for everything we call.
    pub(crate) fn proxy_variable(&self) -> Option<&'static str> {
        const NAMES: [&str; 6] = ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
        let none = ["no_proxy", "NO_PROXY"].into_iter().any(|name| self.get(name) == Some("*"));
        NAMES.into_iter().find(|name| !none && self.get(name).is_some())
    }

    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.get("HOME").map(PathBuf::from)
    }

    /// A path as the user wrote it; `~/` is the home.
    pub(crate) fn path(&self, written: &str) -> PathBuf {
        match (written.strip_prefix("~/"), self.home()) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(written),
        }
    }

    /// Where `cache: true` keeps its file (E5).
    pub(crate) fn standard_cache(&self) -> PathBuf {
        // systemd may name several folders, separated by colons.
        let state = self.get("STATE_DIRECTORY").and_then(|folders| folders.split(':').next()).map(PathBuf::from);
        let xdg = || {
            self.get("XDG_STATE_HOME").map(Path::new).filter(|path| path.is_absolute()).map(|path| path.join("ddns"))
        };
        let home = || self.home().map(|home| home.join(".local/state/ddns"));
        // A name of one's own: in a folder that all share, another user's must not be in the way.
        let temporary = || env::temp_dir().join(format!("ddns-{}", rustix::process::getuid().as_raw()));
        state.or_else(xdg).or_else(home).unwrap_or_else(temporary).join("cache.json")
    }
}
