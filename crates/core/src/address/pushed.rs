//! The addresses that other hosts pushed (F10), each with its time, and whether they still count.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::observation::Choice;
use super::source::PushSource;
use crate::net::family::Family;
use crate::net::reach::is_public;
use crate::text::duration::seconds;
use crate::text::own_json;

/// Routers push their address at least once a month. After this many seconds without a push, something is wrong.
const SILENCE: u64 = 35 * 86_400;

/// One push. It contains only public addresses.
pub type Push = PushedSet<IpAddr>;

/// The addresses that a router pushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushedSet<T> {
    /// The router's own IPv4 address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<T>,
    /// The router's own IPv6 address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<T>,
    /// The network of the hosts behind the router; the lower 64 bits are zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<T>,
    /// The push with the IPv6 address had an empty prefix: the network of the router's own address is not that of its hosts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_prefix_empty: bool,
}

impl<T> PushedSet<T> {
    /// No addresses.
    pub const NONE: Self = Self { ipv4: None, ipv6: None, prefix: None, is_prefix_empty: false };
}

impl Push {
    /// Which families have an address, by [`Family::index`].
    pub fn families(&self) -> [bool; 2] {
        [self.ipv4.is_some(), self.ipv6.or(self.prefix).is_some()]
    }
}

impl fmt::Display for Push {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.ipv4, self.ipv6.or(self.prefix)) {
            (Some(ipv4), Some(ipv6)) => write!(f, "{ipv4},{ipv6}"),
            (Some(ipv4), None) => ipv4.fmt(f),
            (None, Some(ipv6)) => ipv6.fmt(f),
            (None, None) => Ok(()),
        }
    }
}

/// Everything that was pushed, by the names in `web.push`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PushMemory(BTreeMap<String, PushedSet<PushedAddress>>);

/// An address, and when it was last pushed, in seconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct PushedAddress {
    address: IpAddr,
    at: u64,
}

impl PushedAddress {
    fn age(&self, now: u64) -> u64 {
        // If the clock was set back, the address counts as new.
        now.saturating_sub(self.at)
    }

    fn counts(&self, max_age: Option<Duration>, now: u64) -> bool {
        max_age.is_none_or(|limit| self.age(now) <= limit.as_secs())
    }
}

impl PushMemory {
    /// Reads the remembered pushes; `None` if the text is damaged.
    pub fn from_text(text: &str) -> Option<Self> {
        own_json::read(text)
    }

    /// The text to write to the file.
    pub fn text(&self) -> String {
        own_json::indented(self)
    }

    /// Remembers a push; returns whether it is news: an address changed, or the remembered one no longer counted.
    pub fn take(&mut self, name: &str, push: &Push, max_age: Option<Duration>, now: u64) -> bool {
        let PushedSet { ipv4, ipv6, prefix, is_prefix_empty } =
            self.0.entry(name.to_owned()).or_insert(PushedSet::NONE);
        let before = *is_prefix_empty;
        if push.ipv6.is_some() {
            *is_prefix_empty = push.is_prefix_empty;
        }
        let mut is_news = *is_prefix_empty != before;
        // Without a prefix, the address itself counts (F10d), in place of an older prefix.
        if push.ipv6.is_some() && push.prefix.is_none() && !push.is_prefix_empty {
            is_news |= prefix.take().is_some();
        }
        for (place, address) in [(ipv4, push.ipv4), (ipv6, push.ipv6), (prefix, push.prefix)] {
            let Some(address) = address else { continue };
            let before = place.replace(PushedAddress { address, at: now });
            is_news |= before.is_none_or(|before| before.address != address || !before.counts(max_age, now));
        }
        is_news
    }

    /// The address of a source, or why there is none.
    pub fn choice(&self, source: &PushSource, family: Family, now: u64) -> Result<Choice, String> {
        let Some((name, known)) = self.of(source)? else { return Err(Self::nothing(source)) };
        let v6 = match (source.is_prefix, known.prefix, known.ipv6) {
            (true, Some(prefix), _) => Some(prefix),
            (true, None, Some(_)) if family == Family::V6 && known.is_prefix_empty => {
                return Err(format!(
                    "`{name}` pushed no prefix of its network (`ip6lanprefix` was empty), which domains with an \
                     `interface_id` need"
                ));
            }
            (_, _, Some(ipv6)) => Some(ipv6),
            (false, Some(_), None) if family == Family::V6 => {
                return Err(format!(
                    "`{name}` pushed only the prefix of its network, which needs an `interface_id` in each domain"
                ));
            }
            _ => None,
        };
        let pushed = if family == Family::V4 { known.ipv4 } else { v6 };
        let counts = |it: &PushedAddress| Family::of(it.address) == Some(family) && is_public(it.address);
        let pushed = pushed.filter(counts).ok_or_else(|| format!("`{name}` has not pushed an {family} address yet"))?;
        let age = seconds(pushed.age(now));
        match source.max_age.map(|limit| limit.as_secs()) {
            Some(limit) if !pushed.counts(source.max_age, now) => Err(format!(
                "the address that `{name}` pushed is {age} old, and counts for {} (`max_age`)",
                seconds(limit)
            )),
            None if pushed.age(now) > SILENCE => {
                Ok(Choice { ip: pushed.address, why: format!("`{name}` pushed it {age} ago, and nothing since") })
            }
            _ => Ok(Choice { ip: pushed.address, why: format!("`{name}` pushed it") }),
        }
    }

    /// The seconds since the last push of a source, if that is too long; `None` if it is not, or if `max_age` sets the limit.
    pub fn silence(&self, source: &PushSource, now: u64) -> Option<u64> {
        let (_, known) = self.of(source).ok()??;
        let times = [known.ipv4.map(|it| it.at), known.ipv6.map(|it| it.at), known.prefix.map(|it| it.at)];
        let age = now.saturating_sub(times.into_iter().flatten().max()?);
        (source.max_age.is_none() && age > SILENCE).then_some(age)
    }

    /// Why a source has no address before its first push (F10l).
    fn nothing(source: &PushSource) -> String {
        format!("nothing has been pushed for `{source}` yet: `ddns watch --web` receives it, see `web.push`")
    }

    fn of(&self, source: &PushSource) -> Result<Option<(&str, &PushedSet<PushedAddress>)>, String> {
        match &source.name {
            Some(name) => Ok(self.0.get_key_value(name).map(|(name, known)| (name.as_str(), known))),
            None if self.0.len() > 1 => {
                let names: Vec<String> = self.0.keys().map(|name| format!("`push:{name}`")).collect();
                Err(format!("several hosts have pushed an address: name one of {}", names.join(", ")))
            }
            None => Ok(self.0.iter().next().map(|(name, known)| (name.as_str(), known))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400;

    fn push(ipv4: &str, ipv6: &str, prefix: &str) -> Push {
        let is_prefix_empty = prefix == "empty";
        Push { ipv4: ipv4.parse().ok(), ipv6: ipv6.parse().ok(), prefix: prefix.parse().ok(), is_prefix_empty }
    }

    fn source(name: Option<&str>, hours: Option<u64>) -> PushSource {
        let max_age = hours.map(|hours| Duration::from_secs(hours * 3600));
        PushSource { name: name.map(str::to_owned), max_age, ..PushSource::default() }
    }

    #[test]
    fn f10g_an_address_is_news_once_and_reads_back() {
        let mut memory = PushMemory::default();
        let half = Some(Duration::from_secs(DAY / 2));
        for (push, now, is_news) in [
            (push("5.145.0.7", "", ""), 100, true),
            (push("5.145.0.7", "", ""), 200, false),
            (push("5.145.0.8", "", ""), 300, true),
            (push("", "2a02:db8::1", ""), 300, true),
            (push("5.145.0.8", "2a02:db8::1", "2a02:db8:1:2::"), 400, true),
            (push("5.145.0.8", "2a02:db8::1", "2a02:db8:1:2::"), 500, false),
            (push("5.145.0.8", "", ""), 500 + DAY, true),
            (push("5.145.0.8", "", ""), 400, false),
        ] {
            assert_eq!(memory.take("r", &push, half, now), is_news, "{push} {now}");
        }
        assert_eq!(PushMemory::from_text(&memory.text()), Some(memory));
        for damaged in ["", "[]", r#"{"r": 1}"#, r#"{"r": {"ipv4": {"address": "x", "at": 1}}}"#] {
            assert_eq!(PushMemory::from_text(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn f10d_a_prefix_is_for_domains_with_an_interface_id() {
        for (told, is_prefix, expected) in [
            (push("", "2a02:db8::1", "2a02:db8:1:2::"), true, "2a02:db8:1:2::"),
            (push("", "2a02:db8::1", "2a02:db8:1:2::"), false, "2a02:db8::1"),
            (push("", "", "2a02:db8:1:2::"), true, "2a02:db8:1:2::"),
            (push("", "", "2a02:db8:1:2::"), false, "only the prefix"),
            // A LAN host pushes its own address. A router has another network on its own side, and would name the prefix.
            (push("", "2a02:db8::1", ""), true, "2a02:db8::1"),
            (push("", "2a02:db8::1", "empty"), true, "`ip6lanprefix` was empty"),
            (push("", "2a02:db8::1", "empty"), false, "2a02:db8::1"),
            (push("5.145.0.7", "", ""), true, "has not pushed an IPv6 address"),
        ] {
            let mut memory = PushMemory::default();
            memory.take("r", &told, None, 1);
            let source = PushSource { is_prefix, ..source(None, None) };
            let found = memory.choice(&source, Family::V6, 2);
            let found = found.map_or_else(|why| why, |choice| choice.ip.to_string());
            assert!(found.contains(expected), "{told} {is_prefix}: {found}");
        }
    }

    #[test]
    fn f10d_an_empty_prefix_keeps_the_one_before_and_counts_until_the_next_ipv6_address() {
        let mut memory = PushMemory::default();
        let source = PushSource { is_prefix: true, ..source(None, None) };
        for (told, is_news, expected) in [
            (push("", "2a02:db8::1", ""), true, Some("2a02:db8::1")),
            (push("", "2a02:db8::1", "empty"), true, None),
            (push("5.145.0.7", "", ""), true, None),
            (push("", "2a02:db8::1", ""), true, Some("2a02:db8::1")),
            (push("", "2a02:db8::1", "2a02:db8:1:2::"), true, Some("2a02:db8:1:2::")),
            (push("", "2a02:db8::2", "empty"), true, Some("2a02:db8:1:2::")),
            // The line has a new network, and the router does not say which.
            (push("", "2a02:db8:2::1", ""), true, Some("2a02:db8:2::1")),
            (push("", "2a02:db8:2::1", ""), false, Some("2a02:db8:2::1")),
        ] {
            assert_eq!(memory.take("r", &told, None, 1), is_news, "{told}");
            assert_eq!(PushMemory::from_text(&memory.text()), Some(memory.clone()));
            let found = memory.choice(&source, Family::V6, 2).ok().map(|choice| choice.ip.to_string());
            assert_eq!(found.as_deref(), expected, "{told}");
        }
    }

    #[test]
    fn f10i_what_is_too_old_does_not_count() {
        let mut memory = PushMemory::default();
        memory.take("r", &push("5.145.0.7", "", ""), None, 1000);
        let found = |hours, age| memory.choice(&source(Some("r"), hours), Family::V4, 1000 + age);
        assert_eq!(found(Some(12), 12 * 3600).expect("an address").why, "`r` pushed it");
        assert!(found(Some(12), 12 * 3600 + 1).is_err_and(|why| why.contains("12 h old")));
        assert_eq!(found(None, 35 * DAY).expect("an address").why, "`r` pushed it");
        assert!(found(None, 36 * DAY).expect("an address").why.ends_with("36 days ago, and nothing since"));
        let silence = |hours, days| memory.silence(&source(Some("r"), hours), 1000 + days * DAY);
        assert_eq!((silence(None, 35), silence(None, 36), silence(Some(1), 36)), (None, Some(36 * DAY), None));
        assert!(memory.choice(&source(Some("s"), None), Family::V4, 1).is_err_and(|why| why.contains("--web")));
        memory.take("s", &push("5.145.0.9", "", ""), None, 1000);
        assert!(memory.choice(&source(None, None), Family::V4, 1).is_err_and(|why| why.contains("`push:s`")));
        // Even if somebody edits the file, only public addresses are used.
        let odd = PushMemory::from_text(r#"{"r": {"ipv4": {"address": "10.0.0.1", "at": 1}}}"#).expect("a memory");
        assert!(odd.choice(&source(None, None), Family::V4, 1).is_err());
    }
}
