//! Finds and reads the configurations of other clients.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use ddns_core::import::{Detected, PeerClient, detected};

use crate::environment::{Environment, all_variables};
use crate::load::{cannot, default_places, text_of};
use crate::open_file::open_any;
use crate::output::refuse;

/// The size limit of another client's file, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Variables that reveal a client without a file.
const REVEALING_VARIABLES: [&str; 3] = ["CLOUDFLARE_API_TOKEN", "CF_API_TOKEN", "CONFIG"];

/// Prefixes of the variables that such a client reads.
const OTHER_CLIENT_PREFIXES: &str = "CLOUDFLARE_ CF_ DOMAINS IP4_ IP6_ UPDATE_ CONFIG PERIOD HTTP_TIMEOUT PUBLICIP HEALTH SHOUTRRR RESOLVER_ \
    LISTENING_ADDRESS ROOT_URL BACKUP_ PROXIED TTL RECORD_COMMENT DELETE_ON_STOP WAF_ MANAGED_ CACHE_EXPIRATION \
    DETECTION_TIMEOUT UPTIMEKUMA";

const ENVIRONMENT: &str = "the environment";

/// A configuration to import.
pub(super) struct PeerText {
    pub(super) name: String,
    pub(super) text: String,
    /// Whether everybody can write to it.
    pub(super) is_open: bool,
}

/// The configuration that the user named, or the only one that was found: of several, that of the client `from` (L5).
pub(super) fn source(named: Option<&str>, from: Option<PeerClient>, environment: &Environment) -> Result<PeerText, u8> {
    if let Some(name) = named {
        return read(name, environment);
    }
    let own = environment.get("DDNS_CONFIG_FILE_PATH").map(str::to_owned);
    let home = environment.home().map(|home| home.join(".ddns_go_config.yaml").display().to_string());
    let usual = PeerClient::ALL.into_iter().flat_map(PeerClient::places).map(str::to_owned);
    let usual: Vec<String> = usual.chain(own).chain(home).collect();
    let mut found: Vec<String> = usual.iter().filter(|place| is_file(place)).cloned().collect();
    found.dedup();
    for place in default_places(environment).filter(|place| is_file(place)) {
        let is_other = |text: &PeerText| matches!(detected(&text.text), Detected::Other(_));
        if read_quietly(&place).is_ok_and(|text| is_other(&text)) {
            found.push(place);
        }
    }
    let variables = all_variables();
    if variables.iter().any(|(name, _)| REVEALING_VARIABLES.contains(&name.as_str())) {
        found.push(ENVIRONMENT.to_owned());
    }
    if found.is_empty() {
        // To other users, /root is always closed: that says nothing.
        let is_roots = environment.home().is_some_and(|home| home.starts_with("/root"));
        let mut closed = usual.into_iter().filter(|place| is_roots || !place.starts_with("/root/"));
        found.extend(closed.find(|place| is_forbidden(place)));
    }
    let is_of = |peer: PeerClient, place: &str| {
        let text = if place == ENVIRONMENT { Ok(of_variables(&variables)) } else { read_quietly(place) };
        text.is_ok_and(|text| detected(&text.text) == Detected::Other(peer))
    };
    let chosen = found.iter().filter(|place| from.is_some_and(|peer| is_of(peer, place)));
    let chosen: Vec<String> = chosen.cloned().collect();
    let found = if chosen.is_empty() { found } else { chosen };
    match found.as_slice() {
        [] => Err(refuse(
            "no configuration of another client was found in the usual places",
            "name it: `ddns import FILE`; `ddns import --help` lists the clients",
        )),
        [only] if only == ENVIRONMENT => Ok(of_variables(&variables)),
        [only] => read(only, environment),
        several => {
            let list = several.join("\n    ");
            let hint = "name one, `ddns import FILE`, or its client, e.g. `ddns import --from ddclient`";
            Err(refuse(format!("there are several configurations:\n    {list}"), hint))
        }
    }
}

/// The variables of other clients, as a file of that client contains them.
fn of_variables(variables: &[(String, String)]) -> PeerText {
    let is_known = |name: &str| OTHER_CLIENT_PREFIXES.split(' ').any(|start| name.starts_with(start));
    let quoted = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$");
    let known = variables.iter().filter(|(name, _)| is_known(name));
    let lines = known.map(|(name, value)| format!("{name}=\"{}\"", quoted(value)));
    PeerText { name: ENVIRONMENT.to_owned(), text: lines.collect::<Vec<_>>().join("\n"), is_open: false }
}

fn is_file(place: &str) -> bool {
    fs::metadata(place).is_ok_and(|metadata| metadata.is_file())
}

fn is_forbidden(place: &str) -> bool {
    fs::metadata(place).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

fn read(name: &str, environment: &Environment) -> Result<PeerText, u8> {
    let path = if name == "-" { name.to_owned() } else { environment.path(name).display().to_string() };
    let name = if name == "-" { "standard input" } else { name };
    let hints = [
        ("by this user", "run it as root: `sudo ddns import`"),
        ("does not exist", "without FILE, `ddns import` looks in the usual places"),
        ("", "name another file"),
    ];
    read_quietly(&path).map(|text| PeerText { name: name.to_owned(), ..text }).map_err(|why| {
        let hint = hints.iter().find(|(part, _)| why.contains(part)).map_or("", |(_, hint)| hint);
        refuse(format!("{name} {why}"), hint)
    })
}

/// The text of a file. The error is a phrase that follows the file's name.
fn read_quietly(path: &str) -> Result<PeerText, String> {
    let name = path.to_owned();
    if path == "-" {
        return Ok(PeerText { name, text: text_of(io::stdin().lock(), 0, MAX_FILE_BYTES)?, is_open: false });
    }
    let file = open_any(Path::new(path)).map_err(cannot)?;
    let is_open = file.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o002 != 0);
    Ok(PeerText { name, text: text_of(file, 0, MAX_FILE_BYTES)?, is_open })
}

/// The text of another file that a configuration names, relative to its folder.
pub(super) fn near(file: &str, path: &str) -> Result<String, String> {
    let path = Environment::read().path(path);
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    read_quietly(&folder.join(path).display().to_string()).map(|text| text.text)
}

/// Whether the client is running, as far as `/proc` shows.
pub(super) fn is_running(peer: PeerClient) -> bool {
    let Some(name) = peer.process() else { return false };
    let names = |entry: io::Result<fs::DirEntry>| {
        let line = fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        let words = line.split(|byte| *byte == 0).take(2);
        Some(words.map(|word| String::from_utf8_lossy(word).into_owned()).collect::<Vec<_>>())
    };
    let is_it = |words: Vec<String>| words.iter().any(|word| word.split([' ', '/']).any(|part| part == name));
    fs::read_dir("/proc").is_ok_and(|entries| entries.filter_map(names).any(is_it))
}
