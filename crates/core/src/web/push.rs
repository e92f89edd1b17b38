//! A push (F10): a router tells ddns its address with the dyndns2 protocol. What the request says, who may send it, and the
//! answer. A push can set nothing but an address.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::access::{PushKey, push_key};
use super::attempts::client_of;
use super::form;
use crate::address::pushed::Push;
use crate::config::Config;
use crate::config::web::{PushRule, Web};
use crate::net::family::Family;
use crate::net::network::Network;
use crate::net::reach::is_public;
use crate::update::domain::Domain;

/// The longest query and form of a push together, in KiB.
pub const MAX_KIB: usize = 8;

/// How many pushes of one name are taken in a minute.
const MAX_A_MINUTE: usize = 30;

/// How many domains one push may name.
const MAX_HOSTS: usize = 20;

const PATHS: [&str; 2] = ["/nic/update", "/v3/update"];

/// The page has a view with this path, too: only a request with an address in its query, or a POST, is a push.
const SHARED_PATH: &str = "/update";

const ADDRESSES: [&str; 10] = ["myip", "ip", "ipv4", "myipv4", "ipaddr", "v4", "ipv6", "myipv6", "ip6addr", "v6"];

const PREFIX: &str = "ip6lanprefix";

/// Headers that browsers send, and no client of dyndns2. Over plain http, an image of another site has only `accept-language`.
const OF_BROWSERS: [&str; 6] = ["origin", "cookie", "referer", "accept-language", "upgrade-insecure-requests", "sec-"];

/// Whether a request is a push; never, if `web.push` is empty.
pub fn is_push(web: &Web, is_post: bool, path: &str, query: &str) -> bool {
    let has_address =
        || form::fields(query).any(|(name, _)| is_one_of(&ADDRESSES, &name) || is_one_of(&[PREFIX], &name));
    // Old routers double a slash, or add one.
    let path = format!("/{}", path.trim_matches('/'));
    !web.push.is_empty() && (PATHS.contains(&path.as_str()) || path == SHARED_PATH && (is_post || has_address()))
}

/// Whether a path is that of a push with another URL behind it: old routers send two URLs as one.
pub fn is_two_in_one(web: &Web, path: &str) -> bool {
    let rest = PATHS.iter().chain([&SHARED_PATH]).find_map(|own| path.strip_prefix(own));
    !web.push.is_empty() && rest.is_some_and(|rest| rest.starts_with("%20") || rest.starts_with('+'))
}

/// The header, or how its name begins, by which a request is one of a browser; `None`: it is not.
pub fn of_browser<'a>(mut headers: impl Iterator<Item = &'a str>) -> Option<&'static str> {
    let known = |name: &str| {
        OF_BROWSERS.into_iter().find(|known| name == *known || known.ends_with('-') && name.starts_with(known))
    };
    headers.find_map(known)
}

/// The rules that a client may use, judged by its address alone.
pub fn allowed(web: &Web, client: IpAddr) -> Vec<&PushRule> {
    let is_from = |rule: &&PushRule| rule.from.is_empty() || rule.from.iter().any(|network| network.contains(client));
    web.push.iter().filter(is_from).collect()
}

/// Who is counted for a wrong password. A network counts as one client, but an address that `from` names counts alone: others
/// of its network must not keep its router out.
pub fn counted(rules: &[&PushRule], client: IpAddr) -> IpAddr {
    let alone = Network::of(client, 128);
    let is_named = rules.iter().flat_map(|rule| &rule.from).any(|network| Some(*network) == alone);
    if is_named { client } else { client_of(client) }
}

/// A hash of one of these rules. A wrong try takes the time of a hash wherever there is one: the time must not reveal which users
/// exist.
pub fn any_hash<'a>(rules: &[&'a PushRule]) -> Option<&'a str> {
    rules.iter().find_map(|rule| match push_key(rule) {
        Ok(PushKey::Hash(hash)) => Some(hash),
        _ => None,
    })
}

/// What a push says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushRequest {
    /// The domains that it names, as far as they matter; `None`: one of them is invalid.
    pub hosts: Option<Vec<Domain>>,
    /// The addresses, or why there are none: a phrase that repeats nothing from the request except addresses.
    pub push: Result<Push, String>,
    /// An address in a parameter that means nothing here: the router may mean it all the same.
    pub ignored: Option<IpAddr>,
}

/// Who wants to push.
#[derive(Clone, PartialEq, Eq)]
pub struct PushLogin {
    /// The user; `None`: only a password was sent.
    pub user: Option<String>,
    /// The password as it was sent.
    pub password: String,
}

impl PushLogin {
    /// Reads `Authorization`, or else the query or the form; `None`: there is no password.
    pub fn read(authorization: Option<&str>, query: &str, body: &str) -> Option<Self> {
        let basic = authorization.and_then(|value| value.split_once(' '));
        if let Some((_, encoded)) = basic.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic")) {
            let bytes = STANDARD_NO_PAD.decode(encoded.trim().trim_end_matches('=')).unwrap_or_default();
            let text = String::from_utf8(bytes).unwrap_or_default();
            let (user, password) = text.split_once(':').unwrap_or_default();
            return Some(Self { user: Some(user.to_owned()), password: password.to_owned() });
        }
        let of = |names: &[&str]| fields(query, body).find(|(name, _)| is_one_of(names, name)).map(|(_, value)| value);
        Some(Self { user: of(&["user", "username"]), password: of(&["password", "pass", "token"])? })
    }

    /// The rule whose password is compared, and whether the login names its user. For an unknown user, some password is compared
    /// as well, so that the time does not reveal which users exist.
    pub fn rule<'a>(
        &self,
        allowed: &[&'a PushRule],
        is_same: impl Fn(&str, &str) -> bool,
    ) -> Option<(&'a PushRule, bool)> {
        match &self.user {
            Some(user) => {
                let named = allowed.iter().find(|rule| is_same(&rule.user, user));
                named.map(|rule| (*rule, true)).or_else(|| allowed.first().map(|rule| (*rule, false)))
            }
            None => allowed.first().map(|rule| (*rule, allowed.len() == 1)),
        }
    }
}

impl PushRequest {
    /// Reads a query and a form. Everything else in them is ignored.
    pub fn read(query: &str, body: &str) -> Self {
        let (mut hosts, mut push, mut read, mut ignored) = (Some(Vec::new()), Push::NONE, Ok(()), None);
        for (name, value) in fields(query, body) {
            let mut items = value.split(',').map(str::trim).filter(|item| !item.is_empty()).peekable();
            push.is_prefix_empty |= is_one_of(&[PREFIX], &name) && items.peek().is_none();
            for item in items {
                match () {
                    () if is_one_of(&["hostname", "domain"], &name) => {
                        // A router may write the root's dot.
                        let host = Domain::parse(item.strip_suffix('.').unwrap_or(item));
                        hosts = hosts.zip(host.ok()).map(|(mut hosts, host)| {
                            // One more is enough to know that they are too many.
                            hosts.extend((hosts.len() <= MAX_HOSTS).then_some(host));
                            hosts
                        });
                    }
                    () if is_one_of(&ADDRESSES, &name) => read = read.and_then(|()| add_address(&mut push, item)),
                    () if is_one_of(&[PREFIX], &name) => read = read.and_then(|()| add_prefix(&mut push, item)),
                    () => ignored = ignored.or(item.split('/').next().and_then(|item| item.parse().ok())),
                }
            }
        }
        let is_empty = push.families() == [false; 2];
        let push = read.and(if is_empty { Err("it has no address".to_owned()) } else { Ok(push) });
        Self { hosts, push, ignored }
    }

    /// The addresses for the source of this name, or what is wrong: the answer, and a phrase for the log.
    pub fn judge<'a>(
        &self,
        name: &str,
        configs: impl Iterator<Item = &'a Config>,
    ) -> Result<Push, (PushAnswer, String)> {
        let hosts =
            self.hosts.as_ref().ok_or((PushAnswer::NotFqdn, "one of its domains is not a valid name".to_owned()))?;
        if hosts.len() > MAX_HOSTS {
            return Err((PushAnswer::NumHost, format!("it names more than {MAX_HOSTS} domains")));
        }
        let entries = configs.flat_map(|config| &config.entries);
        let both = entries.flat_map(|entry| Family::ALL.map(|family| (entry, family)));
        let users: Vec<_> = both.filter(|(entry, family)| entry.takes_pushed(*family, name)).collect();
        let is_known = |host: &Domain| users.iter().any(|(entry, family)| entry.domains_of(*family).contains(host));
        // An address that no entry uses would be lost without notice.
        if users.is_empty() {
            return Err((PushAnswer::NoHost, "no domain takes its address from it".to_owned()));
        }
        if let Some(host) = hosts.iter().find(|host| !is_known(host)) {
            return Err((PushAnswer::NoHost, format!("{host} does not take its address from it")));
        }
        self.push.clone().map_err(|why| (PushAnswer::BadIp, why))
    }
}

fn fields<'a>(query: &'a str, body: &'a str) -> impl Iterator<Item = (String, String)> + 'a {
    form::fields(query).chain(form::fields(body))
}

fn is_one_of(names: &[&str], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn add_address(push: &mut Push, text: &str) -> Result<(), String> {
    let ip: IpAddr = text.parse().map_err(|_| "it has a value that is no address".to_owned())?;
    let place = if ip.is_ipv4() { &mut push.ipv4 } else { &mut push.ipv6 };
    match place.replace(ip) {
        _ if !is_public(ip) => Err(format!("{ip} is not a public address")),
        Some(known) if known != ip => Err("it has two addresses of one family".to_owned()),
        _ => Ok(()),
    }
}

/// Reads `2001:db8:1:2::/56`; the length is optional. A prefix longer than 64 bits leaves no room for hosts, and one shorter
/// than 32 is the network of a provider, not of a router.
fn add_prefix(push: &mut Push, text: &str) -> Result<(), String> {
    let (network, length) = text.split_once('/').unwrap_or((text, "64"));
    let network =
        network.parse::<Ipv6Addr>().ok().filter(|_| length.parse().is_ok_and(|length: u8| (32..=64).contains(&length)));
    let network = network.ok_or("its prefix is no IPv6 network of 32 to 64 bits")?;
    let prefix = IpAddr::V6(Ipv6Addr::from_bits(network.to_bits() >> 64 << 64));
    match push.prefix.replace(prefix) {
        _ if !is_public(prefix) => Err(format!("{prefix} is not a public network")),
        Some(known) if known != prefix => Err("it has two prefixes".to_owned()),
        _ => Ok(()),
    }
}

/// The answer to a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PushAnswer {
    /// Remembered, for this number of domains.
    Good(Push, usize),
    /// The same as before, for this number of domains.
    NoChange(Push, usize),
    /// No password, or a wrong one.
    BadAuth,
    /// A domain that does not take its address from this source.
    NoHost,
    /// An invalid domain name.
    NotFqdn,
    /// Too many domains.
    NumHost,
    /// No public address.
    BadIp,
    /// Too many pushes.
    Abuse,
    /// ddns could not remember the address.
    Broken,
}

impl PushAnswer {
    /// The status of the response.
    pub fn status(&self) -> u16 {
        match self {
            Self::BadAuth => 401,
            Self::Abuse => 429,
            _ => 200,
        }
    }

    /// The answer in the words of dyndns2: one line for each domain.
    pub fn text(&self) -> String {
        let lines = |word: &str, push: &Push, hosts: usize| vec![format!("{word} {push}"); hosts.max(1)].join("\n");
        let word = match self {
            Self::Good(push, hosts) => return lines("good", push, *hosts),
            Self::NoChange(push, hosts) => return lines("nochg", push, *hosts),
            Self::BadAuth => "badauth",
            Self::NoHost => "nohost",
            Self::NotFqdn => "notfqdn",
            Self::NumHost => "numhost",
            Self::BadIp => "badip",
            Self::Abuse => "abuse",
            Self::Broken => "911",
        };
        word.to_owned()
    }
}

/// The pushes of the last minute, by name and time.
#[derive(Debug, Default)]
pub struct PushRate(Vec<(String, Duration)>);

impl PushRate {
    /// Whether one more push is accepted now; if so, it is counted. `now` is the time on a steady clock.
    pub fn admits(&mut self, name: &str, now: Duration) -> bool {
        self.0.retain(|(_, at)| now.saturating_sub(*at) < Duration::from_secs(60));
        let is_admitted = self.0.iter().filter(|(known, _)| known == name).count() < MAX_A_MINUTE;
        if is_admitted {
            self.0.push((name.to_owned(), now));
        }
        is_admitted
    }
}

#[cfg(test)]
mod tests;
