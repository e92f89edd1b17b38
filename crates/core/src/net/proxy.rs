//! Which route a request takes: directly, or through a proxy (D5).
//!
//! [`ProxyItem`] is one entry of `proxy` as written, [`System`] holds the environment's proxies, and [`Proxies`]
//! combines both: for a URL, it gives the [`Route`]s to try, in order. [`NoProxy`] decides which hosts bypass the
//! environment's proxies; [`socks`] contains the bytes of SOCKS5.

mod no_proxy;

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::net::url::{
    Url, bracketed, credential_secrets, is_local_host, read_port, shown_scheme, split_credentials, split_host,
    split_scheme,
};
use crate::text::vocabulary::vocabulary;

pub use no_proxy::NoProxy;

vocabulary! {
    /// The protocol of a proxy; its key is written before `://`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Scheme {
        /// HTTP without TLS.
        Http = "http",
        /// HTTP over TLS.
        Https = "https",
        /// SOCKS5; ddns looks up names.
        Socks5 = "socks5",
        /// SOCKS5; the proxy looks up names.
        Socks5h = "socks5h",
    }
}

impl Scheme {
    /// The port if none is written. (curl uses 1080 for http too, but users who leave out the port mean the scheme's default.)
    fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
            Self::Socks5 | Self::Socks5h => 1080,
        }
    }

    fn is_socks(self) -> bool {
        matches!(self, Self::Socks5 | Self::Socks5h)
    }
}

/// A proxy. Displays itself without user and password.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Server {
    /// Its protocol.
    pub scheme: Scheme,
    /// A name, an IPv4 address, or an IPv6 address without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// User and password, decoded.
    pub credentials: Option<(String, String)>,
    /// User and password as they were written, because errors of libraries might contain them.
    written: String,
}

impl Server {
    /// Reads `scheme://user:password@host:port`; without a scheme, it is http. The error continues a sentence that
    /// begins with the name of the field or variable. It contains no part of the text except the scheme: whatever is
    /// wrong may be a password.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong_host = || "names a proxy with an invalid host".to_owned();
        let text = text.trim();
        let (scheme, rest) = match split_scheme(text) {
            Some((scheme, rest)) => {
                // GNOME exports `socks://` for SOCKS5.
                let known = if scheme.eq_ignore_ascii_case("socks") { "socks5" } else { scheme };
                (
                    Scheme::parse(known).ok_or_else(|| {
                        let scheme = shown_scheme(scheme);
                        format!("names a proxy with the scheme `{scheme}`; use http, https, socks5 or socks5h")
                    })?,
                    rest,
                )
            }
            None if text.contains("://") => return Err(wrong_host()),
            None => (Scheme::Http, text),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        if rest.contains(['/', '?', '#']) {
            return Err("names a proxy with a path; leave it out".to_owned());
        }
        let (written, host) = rest.rsplit_once('@').unwrap_or(("", rest));
        let credentials = (!written.is_empty()).then(|| split_credentials(written));
        let is_short = |text: &str| (1..=super::socks::MAX_FIELD_BYTES).contains(&text.len());
        let fits = |(user, password): &(String, String)| is_short(user) && is_short(password);
        if scheme.is_socks() && !credentials.as_ref().is_none_or(fits) {
            return Err("names a SOCKS5 proxy whose user or password is empty or longer than 255 bytes".to_owned());
        }
        let (host, port) = split_host(host).map_err(|_| wrong_host())?;
        if host.contains('*') {
            return Err(wrong_host());
        }
        let port = read_port(port, scheme.port()).ok_or("names a proxy whose port is not between 1 and 65535")?;
        Ok(Self { scheme, host, port, credentials, written: written.to_owned() })
    }

    /// The value of `Proxy-Authorization`.
    pub fn authorization(&self) -> Option<String> {
        let (user, password) = self.credentials.as_ref()?;
        Some(format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
    }

    /// Whether this proxy receives the request itself, to an http (not secure) or https (secure) URL, so that it reads
    /// the request and may respond in the endpoint's place. Otherwise, the proxy only carries bytes.
    pub fn relays(&self, secure: bool) -> bool {
        !secure && !self.scheme.is_socks()
    }

    /// Whether the proxy looks local (D6).
    pub fn is_local(&self) -> bool {
        is_local_host(&self.host)
    }

    fn secrets(&self) -> Vec<String> {
        if self.written.is_empty() { Vec::new() } else { credential_secrets(&self.written) }
    }
}

/// `http://proxy.example.com:3128`
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}", self.scheme.key(), bracketed(&self.host), self.port)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Whether the endpoint looks local (D6). Behind a proxy, a private address or a name such as `nas.lan` means a host in
/// the proxy's network, which is ours only if the proxy looks local too.
pub fn is_local(url: &Url, via: Option<&Server>) -> bool {
    url.is_local() && via.is_none_or(Server::is_local)
}

/// The valid forms of a proxy, as a hint.
pub const FORMS: &str = "use http://HOST:PORT, https://…, socks5://…, socks5h://…, HOST:PORT, each with \
                         USER:PASSWORD@ before the host (`@`, `/` and `:` in them as %40, %2F and %3A)";

/// One item of `proxy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProxyItem {
    /// `DIRECT`
    Direct,
    /// `SYSTEM`, `DEFAULT`
    System,
    /// A proxy.
    Server(Arc<Server>),
}

impl ProxyItem {
    /// Reads one item. Words may be in any case.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.trim().to_ascii_uppercase().as_str() {
            "" => Err("contains an empty string instead of a proxy".to_owned()),
            "DIRECT" | "NONE" => Ok(Self::Direct),
            "SYSTEM" | "DEFAULT" => Ok(Self::System),
            _ => Server::parse(text).map(|server| Self::Server(Arc::new(server))),
        }
    }
}

/// The variables that name a proxy: for http URLs, and for https. The first that is set counts.
const VARIABLES: [[&str; 4]; 2] =
    [["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"], ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]];

/// The variables that list hosts to reach without a proxy.
const EXCEPT: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// Whether a variable configures proxies.
pub fn is_variable(name: &str) -> bool {
    // The ending rules out almost every variable.
    let has_end = name.ends_with("_proxy") || name.ends_with("_PROXY");
    has_end && VARIABLES.iter().flatten().chain(&EXCEPT).any(|known| *known == name)
}

/// The environment's proxies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct System {
    /// For http URLs, and for https.
    named: [Option<Named>; 2],
    except: NoProxy,
}

/// The proxy that a variable names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    variable: &'static str,
    server: Result<Arc<Server>, String>,
}

impl System {
    /// Reads the variables; `get` returns the value of a variable that is set and not empty.
    pub fn new<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Self {
        let first = |names: &[&'static str]| names.iter().find_map(|name| get(name).map(|value| (*name, value)));
        let named = VARIABLES.map(|names| {
            let (variable, value) = first(&names)?;
            Some(Named { variable, server: Server::parse(value).map(Arc::new) })
        });
        let except = if named.iter().any(Option::is_some) { first(&EXCEPT) } else { None };
        Self { named, except: except.map(|(_, value)| NoProxy::parse(value)).unwrap_or_default() }
    }

    /// Whether every variable that is set names a valid proxy.
    pub fn is_usable(&self) -> bool {
        self.named.iter().flatten().all(|named| named.server.is_ok())
    }

    fn route(&self, url: &Url) -> Route<'_> {
        match &self.named[usize::from(url.secure)] {
            Some(named) if !self.except.covers(&url.host, url.port) => match &named.server {
                Ok(server) => Route::Via(server),
                Err(why) => Route::Unusable(named.variable, why),
            },
            _ => Route::Direct,
        }
    }
}

/// The routes that the requests of one entry may take, in order. Empty: only the direct one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    items: Vec<ProxyItem>,
    /// The environment's proxies, if it names any.
    system: Option<Arc<System>>,
}

/// One route to a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route<'a> {
    /// Without a proxy.
    Direct,
    /// Through this proxy.
    Via(&'a Arc<Server>),
    /// This variable should name a proxy; the text says why it does not.
    Unusable(&'static str, &'a str),
}

impl Route<'_> {
    fn described(self, secure: bool) -> String {
        match self {
            Self::Direct => "directly".to_owned(),
            Self::Via(server) if server.relays(secure) => {
                format!("through the proxy {server} (absolute URL in the request line)")
            }
            Self::Via(server) => format!("through the proxy {server}"),
            Self::Unusable(name, _) => format!("set by the variable {name}"),
        }
    }
}

impl Proxies {
    /// No proxy, whatever the environment says: for lookups, which would otherwise find the proxy's address.
    pub const DIRECT: &'static Self = &Self { items: Vec::new(), system: None };

    /// The environment's proxies.
    pub fn system(system: &Arc<System>) -> Self {
        Self::new([ProxyItem::System], system)
    }

    /// The items of `proxy`, in order.
    pub fn new(items: impl IntoIterator<Item = ProxyItem>, system: &Arc<System>) -> Self {
        let items: Vec<ProxyItem> = items.into_iter().collect();
        let has_system = items.contains(&ProxyItem::System) && system.named.iter().any(Option::is_some);
        let has_server = items.iter().any(|item| matches!(item, ProxyItem::Server(_)));
        if !has_system && !has_server {
            return Self::default();
        }
        Self { items, system: has_system.then(|| system.clone()) }
    }

    /// The routes to a URL, in order and without repetition; at least one.
    pub fn routes<'a>(&'a self, url: &'a Url) -> impl Iterator<Item = Route<'a>> + Clone {
        let alone = self.items.is_empty().then_some(Route::Direct);
        let all = (0..self.items.len()).filter_map(move |at| {
            let route = self.route(&self.items[at], url);
            let is_new = !self.items[..at].iter().any(|before| self.route(before, url) == route);
            is_new.then_some(route)
        });
        alone.into_iter().chain(all)
    }

    fn route<'a>(&'a self, item: &'a ProxyItem, url: &Url) -> Route<'a> {
        match (item, &self.system) {
            (ProxyItem::Server(server), _) => Route::Via(server),
            (ProxyItem::System, Some(system)) => system.route(url),
            _ => Route::Direct,
        }
    }

    /// The routes to a URL, as a phrase that follows it; empty if there is only the direct one.
    pub fn described(&self, url: &Url) -> String {
        let ways: Vec<String> = self.routes(url).map(|route| route.described(url.secure)).collect();
        if ways == ["directly"] { String::new() } else { format!(" {}", ways.join(", else ")) }
    }

    /// The secrets in the credentials of the proxies.
    pub fn secrets(&self) -> Vec<String> {
        let named = self.system.iter().flat_map(|system| system.named.iter().flatten());
        let servers = self.items.iter().filter_map(|item| match item {
            ProxyItem::Server(server) => Some(server),
            _ => None,
        });
        let servers = servers.chain(named.filter_map(|named| named.server.as_ref().ok()));
        servers.flat_map(|server| server.secrets()).collect()
    }
}

#[cfg(test)]
mod tests;
