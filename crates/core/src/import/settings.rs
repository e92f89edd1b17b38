//! What a configuration of another client says, before it becomes entries: its settings with their lines, what it updates, and
//! what the import has to say about it.

use std::cell::Cell;
use std::rc::Rc;

use crate::text::json::{Node, Value};

/// One setting. Whoever uses it marks it: what nobody used is reported.
#[derive(Debug)]
pub(super) struct PeerSetting {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) line: usize,
    pub(super) is_used: Cell<bool>,
}

/// The settings of one section. Sections may share some: those that count for all of them.
#[derive(Debug, Clone, Default)]
pub(super) struct PeerSettings(pub(super) Vec<Rc<PeerSetting>>);

impl PeerSettings {
    /// Sets a value, in place of an earlier one.
    pub(super) fn set(&mut self, name: &str, value: impl Into<String>, line: usize) {
        let is_used = Cell::new(false);
        self.put(&Rc::new(PeerSetting { name: name.to_owned(), value: value.into(), line, is_used }));
    }

    /// Adds what others say and this does not.
    pub(super) fn add_unset(&mut self, others: &Self) {
        for other in &others.0 {
            if self.find(&other.name).is_none() {
                self.0.push(Rc::clone(other));
            }
        }
    }

    /// The same with a setting that others have, too.
    pub(super) fn put(&mut self, setting: &Rc<PeerSetting>) {
        self.0.retain(|known| known.name != setting.name);
        self.0.push(Rc::clone(setting));
    }

    fn find(&self, name: &str) -> Option<&Rc<PeerSetting>> {
        self.0.iter().find(|setting| setting.name == name)
    }

    /// The value of a setting that is not empty; it counts as used.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let setting = self.find(name)?;
        setting.is_used.set(true);
        Some(setting.value.trim()).filter(|value| !value.is_empty())
    }

    /// The same as yes or no.
    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name)?.to_ascii_lowercase().as_str() {
            "1" | "yes" | "true" | "on" | "t" | "y" => Some(true),
            "0" | "no" | "false" | "off" | "f" | "n" => Some(false),
            _ => None,
        }
    }

    /// The same as a span of time in seconds.
    pub(super) fn seconds(&self, name: &str) -> Option<u64> {
        seconds(self.get(name)?)
    }

    /// Where it stands; 0 where it is not set.
    pub(super) fn line(&self, name: &str) -> usize {
        self.find(name).map_or(0, |setting| setting.line)
    }

    /// Scalars of an object, those inside of objects as `outer.inner`.
    pub(super) fn of_object(object: &Node, text: &str) -> Self {
        let mut settings = Self::default();
        settings.add_object("", object, text);
        settings
    }

    fn add_object(&mut self, prefix: &str, object: &Node, text: &str) {
        for member in object.value.members().unwrap_or_default() {
            let name = format!("{prefix}{}", member.key);
            match &member.node.value {
                Value::Object(_) => self.add_object(&format!("{name}."), &member.node, text),
                value => self.set(&name, scalar(value), line_at(text, member.key_span.start)),
            }
        }
    }
}

/// A value as a text; a list with commas.
pub(super) fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) | Value::Number(text) => text.clone(),
        Value::Bool(flag) => flag.to_string(),
        Value::Array(items) => items.iter().map(|item| scalar(&item.value)).collect::<Vec<_>>().join(","),
        _ => String::new(),
    }
}

/// The line of a byte, from 1.
pub(super) fn line_at(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].split(|byte| *byte == b'\n').count()
}

/// A span of time: numbers with units, `300`, `5m`, `1h30m`; without a unit they are seconds.
pub(super) fn seconds(text: &str) -> Option<u64> {
    let (mut sum, mut rest) = (0_u64, text.trim());
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        let number: u64 = rest[..digits].parse().ok()?;
        let unit = rest[digits..].trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        let factor = match &rest[digits..rest.len() - unit.len()] {
            "" | "s" | "second" | "seconds" => 1,
            "m" | "minute" | "minutes" => 60,
            "h" | "hour" | "hours" => 3600,
            "d" | "day" | "days" => 86_400,
            "w" | "week" | "weeks" => 604_800,
            _ => return None,
        };
        sum = sum.checked_add(number.checked_mul(factor)?)?;
        rest = unit.trim_start();
    }
    Some(sum).filter(|_| !text.trim().is_empty())
}

/// A name that is updated, as the other client has it.
#[derive(Debug, Clone, Default)]
pub(super) struct PeerName {
    pub(super) name: String,
    /// Its zone, where the file says so.
    pub(super) zone: Option<String>,
    /// What the domain gets beside its name: `interface_id`, `extra`.
    pub(super) rest: Vec<(&'static str, Value)>,
}

impl PeerName {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.trim().to_owned(), ..Self::default() }
    }
}

/// What one section updates.
#[derive(Debug, Default)]
pub(super) struct PeerSection {
    pub(super) line: usize,
    /// What the file calls the service; the most precise name first.
    pub(super) services: Vec<String>,
    pub(super) fields: PeerSettings,
    /// By family.
    pub(super) names: [Vec<PeerName>; 2],
    pub(super) sources: [Vec<String>; 2],
    /// Fields of an entry that mean the same here.
    pub(super) settings: Vec<(&'static str, Value)>,
    /// The request of a service that has no recipe.
    pub(super) request: Option<Vec<(&'static str, Value)>>,
}

/// What is around a file: the other files of the host, and variables.
pub struct PeerSurroundings<'a> {
    /// The path of the file, as the user named it.
    pub file: &'a str,
    /// Another file of the host; relative to the file.
    pub read: &'a dyn Fn(&str) -> Result<String, String>,
    /// A variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// Why a file cannot be read. Holds nothing of its text: that may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerError {
    /// Of the file; 0 where it is about the whole of it.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

impl PeerError {
    pub(super) fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

/// In which part of the report something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotePart {
    /// Taken over in another way.
    Changed,
    /// Not taken over, and nothing that is sent depends on it.
    Dropped,
    /// Not taken over, and updates are missing for that reason.
    LeftOut,
}

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportNote {
    /// Of the file; 0 where it has none.
    pub line: usize,
    /// The setting or the service.
    pub what: String,
    /// What became of it, or why it was not taken over.
    pub text: String,
    /// Where it stands.
    pub part: NotePart,
}

/// Everything that a file says.
#[derive(Debug, Default)]
pub(super) struct PeerFile {
    pub(super) sections: Vec<PeerSection>,
    /// Settings that belong to no section.
    pub(super) globals: PeerSettings,
    /// The shortest interval, in seconds.
    pub(super) interval: Option<u64>,
    /// Fields of the whole file.
    pub(super) settings: Vec<(String, Value)>,
    /// Recipes of notifications, and their answers.
    pub(super) notify: Vec<(&'static str, Vec<(&'static str, String)>)>,
    pub(super) notes: Vec<ImportNote>,
}

impl PeerFile {
    pub(super) fn note(&mut self, part: NotePart, line: usize, what: &str, text: impl Into<String>) {
        let note = ImportNote { line, what: what.to_owned(), text: text.into(), part };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    pub(super) fn changed(&mut self, line: usize, what: &str, became: impl Into<String>) {
        self.note(NotePart::Changed, line, what, became);
    }

    pub(super) fn left_out(&mut self, line: usize, what: &str, why: impl Into<String>) {
        self.note(NotePart::LeftOut, line, what, why);
    }

    /// Of several intervals the shortest counts (L11).
    pub(super) fn every(&mut self, seconds: Option<u64>) {
        self.interval = [self.interval, seconds].into_iter().flatten().min();
    }
}

/// Pages that clients have built in: what they say, `public` finds out as well.
const PAGES: &str = "checkip.dyndns.org checkip.dyndns.com freedns.afraid.org domains.google.com checkip.dns.he.net \
    api.ipify.org api4.ipify.org api6.ipify.org api64.ipify.org myonlineportal.net ip1.dynupdate.no-ip.com \
    ip1.dynupdate6.no-ip.com ipv4.nsupdate.info ipv6.nsupdate.info dynamic.zoneedit.com freemyip.com myip.ipip.net \
    ddns.oray.com ip.3322.net 4.ipw.cn 6.ipw.cn v4.yinghualuo.cn v6.yinghualuo.cn speed.neu6.edu.cn v6.ident.me \
    v4.ident.me checkipv6.dynu.com checkip.zerigo.com checkip.two-dns.de dns.loopia.se ifconfig.me ipv4.icanhazip.com \
    ipv6.icanhazip.com icanhazip.com";

/// The source that a page becomes (L10).
pub(super) fn page(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.split(':').next().unwrap_or_default();
    // The page of 1.1.1.1 names that address before the caller's.
    let is_public = path.starts_with("cdn-cgi/trace") || PAGES.split(' ').any(|known| known == host);
    if is_public { "public".to_owned() } else { format!("url:{url}") }
}

/// A span of time as a configuration has it.
pub(super) fn span(seconds: u64) -> Value {
    Value::String(if seconds.is_multiple_of(60) { format!("{}m", seconds / 60) } else { format!("{seconds}s") })
}

/// What is there for one family alone.
pub(super) fn of_family<T>(is_v6: bool, values: Vec<T>) -> [Vec<T>; 2] {
    if is_v6 { [Vec::new(), values] } else { [values, Vec::new()] }
}

/// `extra` for an address that begins with `__USER__:__PASSWORD__@`.
pub(super) fn credentials(fields: &PeerSettings, user: &str, password: &str) -> Value {
    let value = |field| Value::string(fields.get(field).unwrap_or_default());
    Value::object([("__USER__", value(user)), ("__PASSWORD__", value(password))])
}

/// A whole number.
pub(super) fn number(number: u64) -> Value {
    Value::Number(number.to_string())
}

/// A text as it may stand before the host of a URL, or in its query.
pub(super) fn percent_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let encoded = |byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encoded).collect()
}

/// The interval of a line of a crontab, in seconds; `None` if it has no fixed one.
pub(super) fn cron(text: &str) -> Option<u64> {
    if let Some(every) = text.trim().strip_prefix("@every ") {
        return seconds(every);
    }
    let mut fields = text.split_whitespace();
    let minutes = fields.next()?.strip_prefix("*/")?.parse::<u64>().ok()?;
    fields.all(|field| field == "*").then_some(minutes * 60)
}

/// `proxy`, `ssl` and the like, as far as they are set.
pub(super) fn way(
    proxy: Option<String>,
    ssl: Option<Value>,
    timeout: Option<u64>,
    least: Option<u64>,
    most: Option<u64>,
) -> Vec<(&'static str, Value)> {
    let all = [
        ("proxy", proxy.map(|proxy| Value::list([Value::String(proxy)]))),
        ("ssl", ssl),
        ("timeout", timeout.filter(|timeout| (1..=3600).contains(timeout)).map(number)),
        ("min_interval", least.filter(|least| *least > 0).map(span)),
        ("cache_max_age", most.filter(|most| *most > 0).map(number)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}
