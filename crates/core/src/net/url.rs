//! An absolute http or https URL, split into its parts and otherwise left as it was written.
//!
//! The `url` crate rewrites dots, quotes, hosts and ports. A callback must arrive as the user wrote it (C6), so this
//! code splits, checks host and port, and encodes only what no URL may contain.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::text::number::push_number;
use crate::text::secrets::MASK;

/// A URL that ddns can connect to.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    /// Whether it is https.
    pub secure: bool,
    /// A name, an IPv4 address, or an IPv6 address without brackets.
    pub host: String,
    /// The port; the scheme's default if none is written.
    pub port: u16,
    /// Path and query as in the request line; starts with `/`.
    pub path: String,
    /// User and password, decoded.
    pub credentials: Option<(String, String)>,
}

/// Why a text is not such a URL. Contains no part of the text except the scheme and the host, and these only if they
/// cannot be part of a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UrlError {
    /// No `scheme://`.
    Relative,
    /// A scheme other than http or https.
    Scheme(String),
    /// An invalid host.
    Host(String),
    /// An invalid port.
    Port,
    /// An invalid host or port, and an `@` in the path: probably all of them are part of a password.
    Password,
}

impl Url {
    /// Splits a URL. A fragment is left out: it is never sent.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let (scheme, rest) = split_scheme(text).ok_or(UrlError::Relative)?;
        let secure = scheme.eq_ignore_ascii_case("https");
        if !secure && !scheme.eq_ignore_ascii_case("http") {
            return Err(UrlError::Scheme(shown_scheme(scheme)));
        }
        Self::parse_rest(secure, rest).map_err(|error| {
            let path = rest.find(['/', '?', '#']).map_or("", |at| &rest[at..]);
            if path.contains('@') { UrlError::Password } else { error }
        })
    }

    /// Splits what follows `://`.
    fn parse_rest(secure: bool, rest: &str) -> Result<Self, UrlError> {
        let (authority, path) = split_authority(rest);
        let (credentials, host) = match authority.rsplit_once('@') {
            Some((credentials, host)) => (Some(split_credentials(credentials)), host),
            None => (None, authority),
        };
        let (host, port) = split_host(host)?;
        let port = read_port(port, default_port(secure)).ok_or(UrlError::Port)?;
        Ok(Self { secure, host, port, path: path_of(path), credentials })
    }

    /// The same host with another path, as it was written.
    pub(crate) fn with_path(&self, path: &str) -> Self {
        Self { path: path_of(path), host: self.host.clone(), credentials: self.credentials.clone(), ..*self }
    }

    /// `host` or `host:port`, as in the `Host` header.
    pub fn authority(&self) -> String {
        let mut text = String::with_capacity(self.host.len() + "[]:65535".len());
        self.push_authority(&mut text);
        text
    }

    /// `host:port`, even if the port is the scheme's default.
    pub fn host_and_port(&self) -> String {
        format!("{}:{}", bracketed(&self.host), self.port)
    }

    /// Whether the host looks local: a loopback, private or link-local address, or a name that no public authority certifies (D6).
    pub fn is_local(&self) -> bool {
        is_local_host(&self.host)
    }

    /// `http` or `https`.
    pub fn scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }

    /// `https://host:port`: the part of any URL that may be printed.
    pub fn origin(&self) -> String {
        // Called for every request: without `format!`, it takes a third of the time.
        let mut text = String::with_capacity("https://".len() + self.host.len() + "[]:65535".len());
        text += self.scheme();
        text += "://";
        self.push_authority(&mut text);
        text
    }

    fn push_authority(&self, text: &mut String) {
        text.push_str(&bracketed(&self.host));
        if self.port != default_port(self.secure) {
            text.push(':');
            push_number(text, self.port.into());
        }
    }
}

/// The URL without its credentials. Path and query may contain secrets: print a redacted URL instead (G2).
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin(), self.path)
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{MASK}", self.origin())
    }
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relative => f.write_str("is not an absolute URL (https://…)"),
            Self::Scheme(scheme) => write!(f, "has the scheme `{scheme}`; use http or https"),
            Self::Host(host) if host.is_empty() => f.write_str("names no host"),
            Self::Host(host) if !host.is_ascii() => {
                write!(f, "names the host `{host}`; write it in its ASCII form (xn--…)")
            }
            Self::Host(host) if host.matches(':').count() > 1 => {
                write!(f, "names the host `{host}`; put an IPv6 address in brackets, as in http://[::1]:8080/")
            }
            Self::Host(host) => {
                write!(f, "names the host `{host}`, which is neither a name nor an address such as 192.0.2.1")
            }
            Self::Port => f.write_str("names a port that is not between 1 and 65535"),
            Self::Password => f.write_str(
                "names no valid host; `/`, `?`, `#` and `@` in a password must be written as %2F, %3F, %23 and %40",
            ),
        }
    }
}

/// See [`Url::is_local`].
pub(crate) fn is_local_host(host: &str) -> bool {
    match host.parse() {
        Ok(IpAddr::V4(v4)) => v4.is_loopback() || v4.is_private() || v4.is_link_local(),
        Ok(IpAddr::V6(v6)) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
        Err(_) => {
            let name = host.trim_end_matches('.');
            let endings = [".local", ".lan", ".internal", ".home.arpa", ".localhost"];
            !name.contains('.') || endings.iter().any(|ending| name.ends_with(ending))
        }
    }
}

/// Splits user, host and port from what follows them.
pub(crate) fn split_authority(rest: &str) -> (&str, &str) {
    rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()))
}

/// Path and query as they are sent: without a fragment.
fn path_of(text: &str) -> String {
    let text = text.split('#').next().unwrap_or_default();
    let mut path = String::with_capacity(text.len() + 1);
    if !text.starts_with('/') {
        path.push('/');
    }
    push_kept(&mut path, text);
    path
}

/// The scheme and what follows `://`.
pub(crate) fn split_scheme(text: &str) -> Option<(&str, &str)> {
    // A scheme contains no colon, and searching for one character takes a fifth of the time.
    let (scheme, rest) = text.split_once(':')?;
    let rest = rest.strip_prefix("//")?;
    let mut letters = scheme.bytes();
    let right = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    right.then_some((scheme, rest))
}

/// A scheme as it may be shown, in lower case. A long one is masked, because it may be something else.
pub(crate) fn shown_scheme(scheme: &str) -> String {
    const MAX_SCHEME_BYTES: usize = 12;
    if scheme.len() > MAX_SCHEME_BYTES { MASK.to_owned() } else { scheme.to_ascii_lowercase() }
}

/// Whether what looks like host and path may be part of a password with an unescaped `/`, `?` or `#`: an `@` comes
/// before and after them, or after them but not in the value of a parameter.
pub(crate) fn has_unclear_host(text: &str) -> bool {
    let Some((_, rest)) = split_scheme(text) else { return false };
    let (authority, after) = split_authority(rest);
    let Some((before, _)) = after.rsplit_once('@') else { return false };
    let is_value = before.split_once('?').is_none_or(|(_, query)| query.contains('=') && !query.contains('#'));
    authority.contains('@') || before.contains('#') || !is_value
}

/// What may be shown of an invalid URL: the scheme. Any other part may belong to a password.
pub(crate) fn masked(text: &str) -> String {
    split_scheme(text).map_or(MASK.to_owned(), |(scheme, _)| format!("{}://{MASK}", shown_scheme(scheme)))
}

/// A text that should be a file name, as it may be shown: a URL in its place may contain a password or a key.
pub fn shown_path(text: &str) -> String {
    let has_credentials = text.rsplit_once('@').is_some_and(|(before, _)| before.contains(':'));
    let has_query = text.split_once('?').is_some_and(|(_, query)| query.contains('='));
    if has_credentials || has_query || text.contains(":/") { masked(text) } else { text.to_owned() }
}

/// The error for an invalid host. Its colons may belong to an IPv6 address, or separate a user from a password.
pub(crate) fn wrong_host(host: &str) -> UrlError {
    let is_address = |byte: u8| byte.is_ascii_hexdigit() || b":.[]".contains(&byte);
    let may_be_shown = !host.contains(':') || host.bytes().all(is_address);
    UrlError::Host(if may_be_shown { host } else { MASK }.to_owned())
}

fn default_port(secure: bool) -> u16 {
    if secure { 443 } else { 80 }
}

/// A host as a port can follow it: an IPv6 address in brackets.
pub(crate) fn bracketed(host: &str) -> Cow<'_, str> {
    if host.contains(':') { Cow::Owned(format!("[{host}]")) } else { Cow::Borrowed(host) }
}

/// A port that is written in digits only; `own` if none is written.
pub(crate) fn read_port(written: Option<&str>, own: u16) -> Option<u16> {
    match written {
        None | Some("") => Some(own),
        Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok().filter(|port| *port != 0),
        Some(_) => None,
    }
}

/// User and password, decoded.
pub(crate) fn split_credentials(text: &str) -> (String, String) {
    let (user, password) = text.split_once(':').unwrap_or((text, ""));
    (percent_decode(user), percent_decode(password))
}

/// The secrets in a user and password: as they were written, decoded, and as the pair that is sent.
pub(crate) fn credential_secrets(written: &str) -> Vec<String> {
    let (user, password) = split_credentials(written);
    let mut secrets = vec![written.to_owned(), format!("{user}:{password}"), user, password];
    secrets.extend(written.split(':').map(str::to_owned));
    secrets
}

/// A host without brackets, and its port as text.
pub(crate) fn split_host(text: &str) -> Result<(String, Option<&str>), UrlError> {
    let wrong = || wrong_host(text);
    if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or_else(wrong)?;
        let ip: Ipv6Addr = host.parse().map_err(|_| wrong())?;
        let port = match after.strip_prefix(':') {
            Some(port) => Some(port),
            None if after.is_empty() => None,
            None => return Err(wrong()),
        };
        return Ok((ip.to_string(), port));
    }
    // `__IP__` as the host may have become a bare IPv6 address: nothing else contains more than one colon.
    if let Ok(ip) = text.parse::<Ipv6Addr>() {
        return Ok((ip.to_string(), None));
    }
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    match is_host(host) {
        true => Ok((host.to_ascii_lowercase(), port)),
        false if port.is_some_and(|port| read_port(Some(port), 0).is_some()) => Err(wrong_host(host)),
        false => Err(wrong_host(text)),
    }
}

/// Whether a host is a name that can be looked up (`*` stands for what is masked), or an IPv4 address in its usual form.
fn is_host(host: &str) -> bool {
    let name = host.strip_suffix('.').unwrap_or(host);
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'*'))
    };
    // Systems read `0x7f000001` as an address, too.
    let is_number = |last: &str| match last.get(..2) {
        Some("0x" | "0X") => last[2..].bytes().all(|byte| byte.is_ascii_hexdigit()),
        _ => last.bytes().all(|byte| byte.is_ascii_digit()),
    };
    let last_is_number = name.rsplit('.').next().is_some_and(is_number);
    name.len() <= 253 && name.split('.').all(label) && (!last_is_number || name.parse::<Ipv4Addr>().is_ok())
}

/// Appends what the user wrote, byte for byte; encodes only what no URL may contain (C6).
pub(crate) fn push_kept(out: &mut String, text: &str) {
    push(out, text, |byte| matches!(byte, b'!'..=b'~') && !matches!(byte, b'"' | b'<' | b'>' | b'`'));
}

/// Appends a value. Unreserved characters, `:` and `*` stay; everything else is encoded, so that no value can end a
/// parameter or add one (C6).
pub(crate) fn push_value(out: &mut String, text: &str) {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b':' | b'*');
    push(out, text, is_plain);
}

/// Encodes all bytes except unreserved characters (RFC 3986).
pub(crate) fn percent_encoded(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => text.push(char::from(*byte)),
            byte => text += &format!("%{byte:02X}"),
        }
    }
    text
}

/// Appends a value of a form (WHATWG, application/x-www-form-urlencoded).
pub(crate) fn push_form(out: &mut String, text: &str) {
    for letter in text.chars() {
        match letter {
            'A'..='Z' | 'a'..='z' | '0'..='9' | '-' | '.' | '_' | '*' => out.push(letter),
            ' ' => out.push('+'),
            _ => push_encoded(out, letter),
        }
    }
}

/// Appends a text, and encodes what is not plain. Most texts are entirely plain.
fn push(out: &mut String, text: &str, is_plain: impl Fn(u8) -> bool) {
    if text.bytes().all(&is_plain) {
        out.push_str(text);
        return;
    }
    for letter in text.chars() {
        match u8::try_from(letter) {
            Ok(byte) if is_plain(byte) => out.push(letter),
            _ => push_encoded(out, letter),
        }
    }
}

fn push_encoded(out: &mut String, letter: char) {
    for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
        let digit = |value: u8| char::from(b"0123456789ABCDEF"[usize::from(value)]);
        out.extend(['%', digit(byte >> 4), digit(byte & 15)]);
    }
}

/// Undoes percent-encoding. Invalid encodings stay.
pub(crate) fn percent_decode(text: &str) -> String {
    let decoded = percent_decoded(text);
    String::from_utf8(decoded).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The same as bytes.
pub(crate) fn percent_decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        if let Some([byte]) = hex.and_then(crate::text::hex::bytes).as_deref() {
            decoded.push(*byte);
            at += 3;
        } else {
            decoded.push(bytes[at]);
            at += 1;
        }
    }
    decoded
}
