//! `group`: several hosts, one name (J1, J6). `crates/group` decides how the members work together.

use std::fmt;
use std::net::Ipv6Addr;
use std::time::Duration;

use super::fields::Key;
use super::files::FileContents;
use super::parts::PartReader;
use super::read::SettingReader;
use super::value::digits;
use crate::net::url::{bracketed, read_port, shown_scheme, split_host, split_scheme};
use crate::text::duration;
use crate::text::json::Node;
use crate::text::secrets::MASK;

/// The default port of etcd.
const PORT: u16 = 2379;

const MAX_SERVERS: usize = 16;

/// The longest name of a group or a member.
const MAX_NAME_BYTES: usize = 64;

const DEFAULT_LEASE: Duration = Duration::from_secs(15);
const MIN_LEASE: Duration = Duration::from_secs(5);
const MAX_LEASE: Duration = Duration::from_secs(600);
const MAX_PREFER: u8 = 100;

/// A group of hosts, one of which sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// `store`
    pub store: StoreLocation,
    /// `name`: only letters, digits, `.`, `_` and `-`.
    pub name: String,
    /// `lease`
    pub lease: Duration,
    /// `member`; `None`: ddns makes one from the host name and a random part.
    pub member: Option<String>,
    /// `prefer`: the member with the highest value holds the lease as long as it can.
    pub prefer: u8,
    /// `ca`: PEM certificates to trust for the store; `None`: those of the system.
    pub ca: Option<FileText>,
    /// `certificate` and `key`: PEM, with which this host identifies itself to the store.
    pub identity: Option<(FileText, FileText)>,
    /// `user`, and the password in `password_file`.
    pub login: Option<(String, Password)>,
}

impl Group {
    /// What must not appear in a log.
    pub(super) fn secrets(&self) -> impl Iterator<Item = String> {
        self.login.iter().map(|(_, password)| password.0.clone())
    }
}

/// Where the servers of the store are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreLocation {
    /// Whether connections are encrypted: `etcds://`.
    pub secure: bool,
    /// At least one.
    pub servers: Vec<StoreServer>,
}

/// `etcd://10.0.0.1:2379,10.0.0.2:2379`
impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers: Vec<String> = self.servers.iter().map(StoreServer::to_string).collect();
        write!(f, "{}://{}", if self.secure { "etcds" } else { "etcd" }, servers.join(","))
    }
}

/// One server of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreServer {
    /// A name, an IPv4 address, or an IPv6 address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// `10.0.0.1:2379`, `[2001:db8::1]:2379`
impl fmt::Display for StoreServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", bracketed(&self.host), self.port)
    }
}

/// A file that was read.
#[derive(Clone, PartialEq, Eq)]
pub struct FileText {
    /// Its path, as written.
    pub path: String,
    /// Its content.
    pub text: String,
}

impl fmt::Debug for FileText {
    /// Shows only the path, because the text may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)
    }
}

/// A password. `Debug` masks it.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(pub String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// `group`; `None` if it is not set or wrong.
pub(super) fn group(reader: &mut SettingReader<'_>, files: &FileContents) -> Option<Group> {
    const STORE: &str = "e.g. etcd://10.0.0.1:2379,10.0.0.2:2379; etcds:// for TLS; an IPv6 address in brackets";
    let node = &reader.setting(Key::Group)?.node;
    let members = node.value.members().ok_or_else(|| format!("`group` must be an object, not {}", node.value.kind()));
    let hint = "e.g. {\"store\": \"etcd://10.0.0.1:2379\", \"name\": \"home\"}";
    let members = reader.valid(Key::Group, node.span, members, hint)?;
    let before = reader.diagnostics.errors();
    let mut of = PartReader::new(reader, Key::Group, members);
    of.refuse_unknown(|name| match name {
        "password" => Some("put the password into a file and name it in `password_file`"),
        "cert" => Some("did you mean `certificate`?"),
        _ => None,
    });
    refuse_missing(&mut of, "store", "etcd://10.0.0.1:2379,10.0.0.2:2379");
    let store = of.get("store").and_then(|node| {
        let kind = node.value.kind();
        let text = node.value.text().ok_or_else(|| (format!("must be a string, not {kind}"), None));
        let read = text.and_then(|text| store(text.trim()));
        let hint = read.as_ref().err().and_then(|(_, hint)| *hint).unwrap_or(STORE);
        of.reader.valid(Key::Group, node.span, read.map_err(|(why, _)| format!("`group.store` {why}")), hint)
    });
    refuse_missing(&mut of, "name", "home");
    let must_name = format!("letters, digits, `.`, `_` and `-`, at most {MAX_NAME_BYTES}");
    let name = of.part("name", name_in, [&must_name, "the same on all hosts of the group"]);
    let lease = of.read(
        "lease",
        read_lease,
        "e.g. 15s: this long after a host dies, another one takes over; a number alone is minutes",
    );
    let member = of.part("member", name_in, [&must_name, "different on each host"]);
    let number = |node: &Node| digits(&node.value)?.parse().ok().filter(|number| *number <= MAX_PREFER);
    let must = format!("a whole number from 0 to {MAX_PREFER}");
    let prefer = of.part("prefer", number, [&must, "the host with the highest value sends as long as it can"]);
    let file = |of: &mut PartReader<'_, '_, '_>, name| {
        in_file(of, name, files, FileContents::text).map(|(path, text)| FileText { path, text })
    };
    let [ca, certificate, key] = ["ca", "certificate", "key"].map(|name| file(&mut of, name));
    let user = |node: &Node| node.value.text().filter(|text| !text.trim().is_empty()).map(str::to_owned);
    let user = of.part("user", user, ["the name of a user of the store", ""]);
    let password = in_file(&mut of, "password_file", files, FileContents::line).map(|(_, line)| Password(line));
    refuse_halves(&mut of, [("certificate", "key"), ("user", "password_file")]);
    if let Some(StoreLocation { secure: false, .. }) = store {
        refuse_without_tls(&mut of);
    }
    (reader.diagnostics.errors() == before).then_some(())?;
    Some(Group {
        store: store?,
        name: name?,
        lease: lease.unwrap_or(DEFAULT_LEASE),
        member,
        prefer: prefer.unwrap_or_default(),
        ca,
        identity: certificate.zip(key),
        login: user.zip(password),
    })
}

fn refuse_missing(of: &mut PartReader<'_, '_, '_>, name: &str, example: &str) {
    if of.get(name).is_none() {
        let hint = format!("e.g. \"{name}\": \"{example}\"");
        of.reader.wrong_whole(Key::Group, format!("`group.{name}` is missing"), &hint);
    }
}

/// A name of a group or a member.
fn name_in(node: &Node) -> Option<String> {
    node.value.text().map(str::trim).filter(|name| is_name(name)).map(str::to_owned)
}

fn read_lease(node: &Node) -> Result<Duration, String> {
    let lease = digits(&node.value).and_then(duration::parse);
    let lease = lease.ok_or_else(|| " must be a time from 5s to 10m".to_owned())?;
    let is_allowed = (MIN_LEASE..=MAX_LEASE).contains(&lease);
    is_allowed.then_some(lease).ok_or_else(|| format!(" is {}; use 5s to 10m", duration::duration(lease)))
}

/// The path in a part, and the content of the file.
fn in_file(
    of: &mut PartReader<'_, '_, '_>,
    name: &str,
    files: &FileContents,
    text_of: fn(&FileContents, &str) -> Result<String, String>,
) -> Option<(String, String)> {
    let path = of.path(name, "put the configuration into a local file")?;
    let text = |_: &Node| text_of(files, path).map_err(|why| format!(": {} {why}", files.shown(path)));
    of.read(name, text, "").map(|text| (path.to_owned(), text))
}

fn refuse_halves(of: &mut PartReader<'_, '_, '_>, pairs: [(&str, &str); 2]) {
    for (one, other) in pairs {
        let (has, lacks) = match (of.get(one), of.get(other)) {
            (Some(_), None) => (one, other),
            (None, Some(_)) => (other, one),
            _ => continue,
        };
        let message = format!("`group.{has}` is set, but `group.{lacks}` is not: they belong together");
        of.reader.wrong_whole(Key::Group, message, "");
    }
}

fn refuse_without_tls(of: &mut PartReader<'_, '_, '_>) {
    let no_effect = || " has no effect with `etcd://`, which is not encrypted".to_owned();
    for name in ["ca", "certificate", "key"] {
        of.read(name, |_| Err::<(), _>(no_effect()), "write `etcds://` in `store`");
    }
    if of.get("password_file").is_some() {
        let message = "`group`: with `etcd://` the password of the store is sent unencrypted";
        of.reader.warn_whole(Key::Group, message, "write `etcds://` in `store`, if the store has TLS");
    }
}

fn is_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=MAX_NAME_BYTES).contains(&text.len()) && text.bytes().all(is_letter)
}

/// The servers of a store, or what is wrong with the text, with its own hint. The error does not quote a text that may
/// contain a password.
fn store(text: &str) -> Result<StoreLocation, (String, Option<&'static str>)> {
    let plain = |why: String| (why, None);
    if text.contains('@') {
        let hint = "set `user` and `password_file` beside it, and no user in the address";
        return Err(("must not contain a user or a password".to_owned(), Some(hint)));
    }
    let (scheme, rest) = split_scheme(text).ok_or_else(|| plain("must begin with etcd:// or etcds://".to_owned()))?;
    let secure = match scheme.to_ascii_lowercase().as_str() {
        "etcd" => false,
        "etcds" => true,
        _ => return Err(plain(format!("must begin with etcd:// or etcds://, not {}://", shown_scheme(scheme)))),
    };
    let servers: Vec<&str> = rest.split(',').map(str::trim).collect();
    if servers.len() > MAX_SERVERS {
        return Err(plain(format!("has {} servers; at most {MAX_SERVERS} are allowed", servers.len())));
    }
    let read =
        |(at, text): (usize, &str)| server(text).map_err(|(why, hint)| (format!("{why} (server {})", at + 1), hint));
    let servers = servers.into_iter().enumerate().map(read).collect::<Result<Vec<StoreServer>, _>>()?;
    let repeated = servers.iter().enumerate().find(|(at, server)| servers[..*at].contains(server));
    match repeated {
        Some((_, server)) => Err(plain(format!("names {server} twice"))),
        None => Ok(StoreLocation { secure, servers }),
    }
}

/// A server, or what is wrong with it. The error does not quote the text, which may be part of a password.
fn server(text: &str) -> Result<StoreServer, (&'static str, Option<&'static str>)> {
    if text.contains("://") {
        return Err(("has a second scheme", Some("write the scheme once, at the beginning")));
    }
    if text.is_empty() {
        return Err(("has an empty host", None));
    }
    if text.contains(['/', '?', '#']) {
        return Err(("has more than host and port", Some("leave out what follows host and port")));
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return Err(("has an IPv6 address without brackets", Some("e.g. etcd://[2001:db8::1]:2379")));
    }
    let (host, port) = split_host(text).map_err(|_| ("has an invalid host", None))?;
    let port = read_port(port, PORT).ok_or(("has an invalid port", None))?;
    Ok(StoreServer { host, port })
}

#[cfg(test)]
mod tests;
