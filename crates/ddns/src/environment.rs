//! What the process was started with, read once: variables, and the folders that follow from them.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The variables that mean something to us. What is no Unicode is left out: no setting of ours can be.
pub(crate) struct Environment {
    variables: Vec<(String, String)>,
}

/// Those that are not called `DDNS_…`.
const OTHERS: [&str; 4] = ["HOME", "STATE_DIRECTORY", "XDG_STATE_HOME", "NO_COLOR"];

/// Those that name a proxy for everything we call.
const PROXIES: [&str; 6] = ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];

/// Those that name hosts to call without one.
const NO_PROXY: [&str; 2] = ["no_proxy", "NO_PROXY"];

impl Environment {
    pub(crate) fn read() -> Self {
        let unicode = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        let is_ours = |(name, value): &(String, String)| {
            let is_known = |known: &[&str]| known.contains(&name.as_str());
            !value.is_empty()
                && (name.starts_with("DDNS_") || is_known(&OTHERS) || is_known(&PROXIES) || is_known(&NO_PROXY))
        };
        Self { variables: env::vars_os().filter_map(unicode).filter(is_ours).collect() }
    }

    /// A variable that is set to something.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Every variable whose name begins with `DDNS_` and that is set to something.
    pub(crate) fn ours(&self) -> impl Iterator<Item = (&str, &str)> {
        let ours = self.variables.iter().filter(|(name, _)| name.starts_with("DDNS_"));
        ours.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The variable that names a proxy, where one does.
    pub(crate) fn proxy_variable(&self) -> Option<&'static str> {
        let is_off = NO_PROXY.into_iter().any(|name| self.get(name) == Some("*"));
        PROXIES.into_iter().find(|name| !is_off && self.get(name).is_some())
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
            let absolute = self.get("XDG_STATE_HOME").map(Path::new).filter(|path| path.is_absolute());
            absolute.map(|path| path.join("ddns"))
        };
        let home = || self.home().map(|home| home.join(".local/state/ddns"));
        // A name of one's own: in a folder that all share, another user's must not be in the way.
        let temporary = || env::temp_dir().join(format!("ddns-{}", rustix::process::getuid().as_raw()));
        state.or_else(xdg).or_else(home).unwrap_or_else(temporary).join("cache.json")
    }
}
