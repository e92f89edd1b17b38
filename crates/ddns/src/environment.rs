//! What the process was started with, read once: variables, and the folders that follow from them.

use std::env;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

use ddns_core::config::Cache;
use ddns_core::net::proxy::{self, System};
use ddns_core::text::order;
use rustix::process::{Resource, getrlimit};

/// If the limit of open files is below this, ddns tests whether enough are left.
const ENOUGH_OPEN_FILES: usize = 256;

/// The limit of open files in this process. ddns does not raise it: the programs of `cmd:` and `shell:` would inherit
/// that.
pub(crate) fn max_open_files() -> usize {
    static MAX_FILES: OnceLock<usize> = OnceLock::new();
    *MAX_FILES.get_or_init(|| {
        let most = getrlimit(Resource::Nofile).current.and_then(|most| usize::try_from(most).ok());
        most.unwrap_or(usize::MAX)
    })
}

/// How many files each kind of use may take: clients of the page, clients of the control socket, name lookups. The rest
/// is for the service and its requests, which continue however many clients there are.
pub(crate) fn max_files_per_kind() -> usize {
    /// How many files a service has open at rest.
    const RESERVED_FILES: usize = 24;
    (max_open_files().saturating_sub(RESERVED_FILES) / 2).max(2)
}

/// Fails if fewer files can be opened than any run needs: tokio would panic, and other callers would report misleading
/// errors.
pub(crate) fn spare_files() -> io::Result<()> {
    if max_open_files() < ENOUGH_OPEN_FILES {
        let _sixteen: Vec<_> = (0..8).map(|_| UnixStream::pair()).collect::<io::Result<_>>()?;
    }
    Ok(())
}

/// Any variable, for the import of other clients.
pub(crate) fn any_variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// All variables that are Unicode text, by name.
pub(crate) fn all_variables() -> Vec<(String, String)> {
    let texts = env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut all: Vec<(String, String)> = texts.filter(|(_, value)| !value.is_empty()).collect();
    order::sort(&mut all);
    all
}

/// The variables that ddns reads.
#[derive(Clone)]
pub(crate) struct Environment {
    variables: Vec<(String, String)>,
    /// Names of these variables whose value is not Unicode text: each is an error.
    pub(crate) unreadable: Vec<String>,
    /// Names of `DDNS_…` variables that are set in two spellings, to different values: each is an error.
    pub(crate) ambiguous: Vec<String>,
    /// When the environment was read: before any file.
    pub(crate) read_at: SystemTime,
}

/// The prefix of ddns's own variables.
const VARIABLE_PREFIX: &str = "DDNS_";

/// Whether ddns reads a variable that is not called `DDNS_…`.
fn is_known(name: &str) -> bool {
    let is_named = matches!(
        name,
        "HOME"
            | "SUDO_USER"
            | "XDG_CONFIG_HOME"
            | "STATE_DIRECTORY"
            | "XDG_STATE_HOME"
            | "RUNTIME_DIRECTORY"
            | "XDG_RUNTIME_DIR"
            | "TMPDIR"
            | "NO_COLOR"
            | "TERM"
            | "NOTIFY_SOCKET"
            | "WATCHDOG_USEC"
            | "WATCHDOG_PID"
            | "JOURNAL_STREAM"
            | "PYTHONHTTPSVERIFY"
    );
    is_named || proxy::is_variable(name)
}

impl Environment {
    pub(crate) fn read() -> Self {
        let mut environment =
            Self { variables: Vec::new(), unreadable: Vec::new(), ambiguous: Vec::new(), read_at: SystemTime::now() };
        for (name, value) in env::vars_os() {
            let Ok(mut name) = name.into_string() else { continue };
            let is_ours =
                name.get(..VARIABLE_PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(VARIABLE_PREFIX));
            if value.is_empty() || !(is_ours || is_known(&name)) {
                continue;
            }
            if is_ours {
                name = plain(name);
            }
            match value.into_string() {
                Ok(value) => match environment.get(&name).filter(|_| is_ours) {
                    None => environment.variables.push((name, value)),
                    Some(known) if known == value => {}
                    Some(_) => environment.ambiguous.push(name),
                },
                Err(_) => environment.unreadable.push(name),
            }
        }
        environment
    }

    /// A variable that is set and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Every `DDNS_…` variable that is set and not empty.
    pub(crate) fn ours(&self) -> impl Iterator<Item = (&str, &str)> {
        let ours = self.variables.iter().filter(|(name, _)| name.starts_with(VARIABLE_PREFIX));
        ours.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// What a service sees of the environment: none of the `DDNS_…` variables and proxies that a shell sets.
    pub(crate) fn of_service(&self) -> Self {
        let is_seen = |(name, _): &&(String, String)| !is_for_us(name);
        let variables = self.variables.iter().filter(is_seen).cloned().collect();
        Self { variables, unreadable: Vec::new(), ambiguous: Vec::new(), read_at: self.read_at }
    }

    /// The names of the variables that [`Environment::of_service`] leaves out.
    pub(crate) fn not_passed_to_services(&self) -> Vec<&str> {
        self.variables.iter().map(|(name, _)| name.as_str()).filter(|name| is_for_us(name)).collect()
    }

    /// The proxies that the environment names.
    pub(crate) fn proxies(&self) -> System {
        System::new(|name| self.get(name))
    }

    /// Whether the environment allows colors.
    pub(crate) fn allows_colour(&self) -> bool {
        self.get("NO_COLOR").is_none() && self.get("TERM") != Some("dumb")
    }

    /// Whether standard error goes to systemd's journal, which adds the time to each line.
    pub(crate) fn has_journal(&self) -> bool {
        let named = self.get("JOURNAL_STREAM").and_then(|text| text.split_once(':'));
        let (Some((device, inode)), Ok(stderr)) = (named, rustix::fs::fstat(std::io::stderr())) else { return false };
        (device.parse(), inode.parse()) == (Ok(stderr.st_dev), Ok(stderr.st_ino))
    }

    /// Whether the terminal can overwrite a line.
    pub(crate) fn allows_progress(&self) -> bool {
        self.get("TERM") != Some("dumb")
    }

    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.get("HOME").map(PathBuf::from)
    }

    /// A path that the user wrote, with `~/` resolved.
    pub(crate) fn path(&self, written: &str) -> PathBuf {
        match (written.strip_prefix("~/"), self.home()) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(written),
        }
    }

    /// Where `cache: true` keeps its file (E5).
    pub(crate) fn standard_cache(&self) -> PathBuf {
        // systemd may name several folders, separated by colons.
        let state = self.get("STATE_DIRECTORY").and_then(|folders| folders.split(':').next());
        let state = state.map(|folder| Path::new(folder).join("cache.json"));
        let xdg = || {
            let absolute = self.get("XDG_STATE_HOME").map(Path::new).filter(|path| path.is_absolute());
            absolute.map(|path| path.join("ddns/cache.json"))
        };
        let home = || self.get("HOME").map(|home| Path::new(home).join(".local/state/ddns/cache.json"));
        state.or_else(xdg).or_else(home).unwrap_or_else(|| self.temporary().join("cache.json"))
    }

    /// The file of a cache; `None` if it is off.
    pub(crate) fn cache_of(&self, cache: &Cache) -> Option<PathBuf> {
        match cache {
            Cache::Off => None,
            Cache::Standard => Some(self.standard_cache()),
            Cache::File(path) => Some(self.path(path)),
        }
    }

    /// A folder for this user alone: the temporary folder is shared.
    fn temporary(&self) -> PathBuf {
        let folder = format!("ddns-{}", rustix::process::getuid().as_raw());
        PathBuf::from(self.get("TMPDIR").unwrap_or("/tmp")).join(folder)
    }

    /// Where the socket of a service may be, the best folder first. If systemd, an image or a test names one, the
    /// folder of the host is left out.
    pub(crate) fn runtime_folders(&self) -> Vec<PathBuf> {
        let named = self.get("RUNTIME_DIRECTORY").and_then(|folders| folders.split(':').next()).map(PathBuf::from);
        let xdg = self.get("XDG_RUNTIME_DIR").map(Path::new).filter(|path| path.is_absolute());
        let xdg = xdg.map(|path| path.join("ddns"));
        // OpenWrt has no /run.
        let host = if Path::new("/run").is_dir() { "/run/ddns" } else { "/var/run/ddns" };
        let host = named.is_none().then(|| PathBuf::from(host));
        named.into_iter().chain(xdg).chain(host).chain([self.temporary()]).collect()
    }
}

/// Whether a program can be started by its name alone.
pub(crate) fn has_program(name: &str) -> bool {
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).any(|folder| folder.join(name).is_file())
}

/// Whether a variable configures ddns: a field, or a proxy.
fn is_for_us(name: &str) -> bool {
    name.starts_with(VARIABLE_PREFIX) || proxy::is_variable(name)
}

/// The usual spelling of a `DDNS_…` name, which may be in any case, with dots in place of underscores.
fn plain(mut name: String) -> String {
    name.make_ascii_uppercase();
    if name.contains('.') { name.replace('.', "_") } else { name }
}
