//! Turns the configuration of another client into one for ddns (L1). Each client has its own reader, and a table from its services
//! and settings to recipes. The result becomes entries in the same way as for `ddns init --recipe`. Nothing here reads or writes
//! files, or sends anything.

mod cloudflare_ddns;
mod cursor;
mod ddclient;
mod ddns_go;
mod ddns_updater;
mod entries;
mod inadyn;
mod newfuture;
mod openwrt;
mod report;
mod rules;
mod settings;
mod table;
mod variables;
mod yaml;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::rc::Rc;

use regex_lite::Regex;

pub use self::entries::{ImportedEntry, MissingAnswer};
pub use self::report::{exposed, rows, why_left_out};
pub use self::settings::{ImportNote, NotePart, PeerError, PeerSurroundings};
use self::settings::{MAX_SETTINGS, PeerFile, PeerInput, PeerSetting, PeerSettings};
use self::table::PeerTable;
use crate::recipe::{self, Filled, Form};
use crate::text::json::{Dialect, Value, parse};
use crate::text::order;
use crate::text::vocabulary::vocabulary;

vocabulary! {
    /// A client whose configuration can be imported.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum PeerClient {
        /// `/etc/ddclient.conf`
        Ddclient = "ddclient",
        /// `/etc/inadyn.conf`
        Inadyn = "inadyn",
        /// `~/.ddns_go_config.yaml`
        DdnsGo = "ddns-go",
        /// `data/config.json`
        DdnsUpdater = "ddns-updater" "qdm12/ddns-updater",
        /// Variables of the environment.
        CloudflareDdns = "cloudflare-ddns" "favonia/cloudflare-ddns",
        /// `config.json`
        NewFuture = "newfuture" "NewFuture/DDNS",
        /// `/etc/config/ddns`
        OpenWrt = "openwrt" "OpenWrt ddns-scripts",
    }
}

/// The reader of a client.
type PeerReader = fn(&PeerInput<'_>, &mut PeerFile) -> Result<(), PeerError>;

impl PeerClient {
    fn parts(self) -> (&'static str, PeerReader) {
        match self {
            Self::Ddclient => (include_str!("import/tables/ddclient.txt"), ddclient::read),
            Self::Inadyn => (include_str!("import/tables/inadyn.txt"), inadyn::read),
            Self::DdnsGo => (include_str!("import/tables/ddns-go.txt"), ddns_go::read),
            Self::DdnsUpdater => (include_str!("import/tables/ddns-updater.txt"), ddns_updater::read),
            Self::CloudflareDdns => (include_str!("import/tables/cloudflare-ddns.txt"), cloudflare_ddns::read),
            Self::NewFuture => (include_str!("import/tables/newfuture.txt"), newfuture::read),
            Self::OpenWrt => (include_str!("import/tables/openwrt.txt"), openwrt::read),
        }
    }

    fn table(self) -> PeerTable {
        PeerTable(self.parts().0)
    }

    /// The commands that stop the client, as a service or as a container `NAME`.
    pub fn stop(self) -> impl Iterator<Item = &'static str> {
        self.table().lines("! ")
    }

    /// Where the client's configuration usually is.
    pub fn places(self) -> impl Iterator<Item = &'static str> {
        self.table().lines("@ ")
    }

    /// The name of the client's process; `None` if the name is too common, or the client runs in a container.
    pub fn process(self) -> Option<&'static str> {
        self.table().lines("& ").next()
    }
}

/// Patterns of configurations that the import refuses, and why.
const REFUSED: [(&[&str], &str); 2] = [
    (
        &[r"^services:\s*$", r"^\s+image:"],
        "it is a Compose file, which the import does not read: put what is under `environment` into a file, `NAME=value` on each \
         line, and import that",
    ),
    (
        &[r"^\s*(dyndns_system|alias|--?dyndns_system)\s"],
        "it is a configuration of inadyn 1, which is not supported: convert it for inadyn 2 first",
    ),
];

/// Which client a configuration belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detected {
    /// To this client.
    Other(PeerClient),
    /// To ddns itself.
    Own,
    /// Unknown, and why: a sentence.
    Unknown(String),
    /// Not to be read as it is, whichever client it is for, and why: a sentence.
    Refused(String),
}

/// Detects which client a configuration belongs to, by its contents (L4).
pub fn detected(text: &str) -> Detected {
    let text = text.trim_start_matches('\u{feff}');
    let json = parse(text, Dialect::CONFIG).ok().filter(|root| root.value.members().is_some());
    if json.as_ref().is_some_and(|root| root.value.member("settings").is_some()) {
        return Detected::Other(PeerClient::DdnsUpdater);
    }
    if let Some(root) = text.trim_start().starts_with(['{', '#', '/']).then(|| newfuture::object(text)).flatten() {
        let is_own = |value: Option<&Value>| value.and_then(Value::text) == Some("callback");
        let entries = match root.value.member("providers") {
            Some(Value::Array(items)) => items.iter().all(|item| is_own(item.value.member("provider"))),
            _ => is_own(root.value.member("dns")),
        };
        return if entries && json.is_some() { Detected::Own } else { Detected::Other(PeerClient::NewFuture) };
    }
    if let Some(PeerError { line, message }) = newfuture::broken(text) {
        return Detected::Refused(format!("line {line}: {message}"));
    }
    let has = |pattern: &str| Regex::new(&format!("(?m){pattern}")).is_ok_and(|pattern| pattern.is_match(text));
    if let Some((_, why)) = REFUSED.iter().find(|(patterns, _)| patterns.iter().all(|pattern| has(pattern))) {
        return Detected::Refused((*why).to_owned());
    }
    let is_of = |peer: &PeerClient| peer.table().lines("~ ").any(|row| row.split(" && ").all(has));
    let found: Vec<PeerClient> = PeerClient::ALL.into_iter().filter(is_of).collect();
    match found.as_slice() {
        [] => Detected::Unknown(
            "it is not a configuration that the import knows: it looked for `settings`, `dns`, `providers` or `dnsconf`, for \
             `config service`, for `provider NAME {`, for variables of a client, and for `protocol=` or `use=`"
                .to_owned(),
        ),
        // The patterns of ddclient also match files of other clients.
        [peer] | [PeerClient::Ddclient, peer] => Detected::Other(*peer),
        [PeerClient::Ddclient, one, other, ..] | [one, other, ..] => Detected::Unknown(format!(
            "it could be of {} or of {}: choose with --from {} or --from {}",
            one.word(),
            other.word(),
            one.key(),
            other.key()
        )),
    }
}

/// The result of reading a configuration of another client.
#[derive(Debug)]
pub struct Import {
    /// The client.
    pub peer: PeerClient,
    /// The entries to write, in the order of the file.
    pub entries: Vec<ImportedEntry>,
    /// What the report says about everything else.
    pub notes: Vec<ImportNote>,
    /// The fields for the whole file, except `notify`.
    pub settings: Vec<(String, Value)>,
    /// The recipes of notifications, and the answers to their questions.
    notify: BTreeMap<String, BTreeMap<String, String>>,
}

impl Import {
    /// Reads the configuration of a client.
    pub fn read(peer: PeerClient, text: &str, around: &PeerSurroundings<'_>) -> Result<Self, PeerError> {
        let text = text.trim_start_matches('\u{feff}');
        let (table, read) = (peer.table(), peer.parts().1);
        let mut file = PeerFile::default();
        read(&PeerInput { text, around, table }, &mut file)?;
        let places = || file.sections.iter().map(|section| &section.fields).chain([&file.globals]);
        if places().any(PeerSettings::is_full) {
            return Err(PeerError::new(0, format!("it has more than {MAX_SETTINGS} settings in one place")));
        }
        let mut all: Vec<Rc<PeerSetting>> = places().flat_map(|settings| settings.0.values()).cloned().collect();
        let entries = entries::entries(&mut file, table, around).map_err(|why| PeerError::new(0, why))?;
        order::sort_by_key(&mut all, |setting| setting.line);
        for setting in all {
            // Sections share settings.
            if setting.is_used.replace(true) {
                continue;
            }
            match table.why_not(&setting.name, &setting.value) {
                Some("") => {}
                None if setting.text().is_none() => {}
                why => {
                    let of_other = if table.reads(&setting.name) {
                        "the service does not need it"
                    } else {
                        "ddns does not know this setting"
                    };
                    file.note(NotePart::Dropped, setting.line, &setting.name, why.unwrap_or(of_other));
                }
            }
        }
        let mut settings = std::mem::take(&mut file.settings);
        let every = file.interval.map(|seconds| rules::span(seconds.clamp(10, 86_400 * 30)));
        settings.extend(every.map(|every| ("interval".to_owned(), every)));
        let mut notify = std::mem::take(&mut file.notify);
        notify.retain(|name, answers| {
            let is_valid = notification(name, answers, None).is_ok();
            if !is_valid {
                let why = format!("its address is not understood; `ddns init --notify-recipe {name}` makes it anew");
                file.note(NotePart::Dropped, 0, name, why);
            }
            is_valid
        });
        let mut notes = file.notes;
        order::sort_by_key(&mut notes, |note| note.line);
        Ok(Self { peer, entries, notes, settings, notify })
    }

    /// The configuration with the chosen entries, numbered from 0. Secrets go to files in `folder`; `None`: they stay in the text.
    pub fn document(&self, chosen: &[usize], folder: Option<&str>, from: &str) -> Result<Filled, String> {
        let entries: Vec<_> = chosen.iter().filter_map(|place| Some((place + 1, self.entries.get(*place)?))).collect();
        let heading = format!("// Imported from {} ({}).\n", self.peer.word(), from.replace(char::is_control, "?"));
        let (mut settings, mut notifications, mut secrets) = (self.settings.clone(), Vec::new(), Vec::new());
        for (name, answers) in &self.notify {
            let (value, files) = notification(name, answers, folder)?;
            secrets.extend(files);
            match value {
                Value::Array(all) => notifications.extend(all.into_iter().map(|node| node.value)),
                one => notifications.push(one),
            }
        }
        if !notifications.is_empty() {
            settings.push(("notify".to_owned(), Value::list(notifications)));
        }
        let mut filled = entries::document(&entries, &settings, folder, &heading)?;
        filled.secrets.extend(secrets);
        Ok(filled)
    }
}

/// The value of `notify` for a recipe and its answers, and the files for its secrets in `folder`, if there is one.
fn notification(
    name: &str,
    answers: &BTreeMap<String, String>,
    folder: Option<&str>,
) -> Result<(Value, Vec<(String, String)>), String> {
    let recipe = recipe::named(name).map_err(|_| format!("there is no recipe `{name}`"))?;
    let mut form = Form::new(&recipe, Default::default())?;
    answers.iter().try_for_each(|(question, answer)| form.set(question, answer))?;
    Ok(form.notification(folder))
}
