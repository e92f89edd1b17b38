//! `verify`: whether and how ddns checks in DNS that an accepted address is visible (K1).

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

use super::super::fields::{Field, Key, part, quoted};
use super::super::value::{flag, list, whole};
use super::EntryBuilder;
use crate::address::source::host_and_port;
use crate::dns::{DnsServerKind, PORT, Verify};
use crate::text::duration;
use crate::text::json::{Member, Node, Value};

/// As many servers as one DNS message can name for a zone.
const MAX_SERVERS: usize = 13;

/// As many resolvers as the C library asks.
const MAX_RESOLVERS: usize = 3;

/// The limits of `within`, in seconds.
const WITHIN_SECONDS: RangeInclusive<u64> = 10..=48 * 3600;

/// The limits of `every`, in seconds.
const EVERY_SECONDS: RangeInclusive<u64> = 300..=30 * 86_400;

impl EntryBuilder<'_, '_> {
    /// `verify` of the entry; `None` if it is off, or wrong.
    pub(super) fn verify(&mut self) -> Option<Verify> {
        let node = match &self.reader.given(Key::Verify)?.node {
            Node { value: Value::String(text), .. } if text.trim_start().starts_with('{') => {
                self.reader.object(Key::Verify)?
            }
            node => node.clone(),
        };
        self.verify_of(Key::Verify, "`verify`", &node)
    }

    /// `verify` of an entry or a domain; `what` begins messages about it.
    pub(super) fn verify_of(&mut self, key: Key, what: &str, node: &Node) -> Option<Verify> {
        let is_on = match &node.value {
            Value::Bool(is_on) => Some(*is_on),
            Value::String(text) => flag(text),
            Value::Object(members) => return self.verify_parts(key, what, node, members),
            _ => None,
        };
        if is_on.is_none() {
            let message = format!("{what} must be {}, not {}", Field::of(Key::Verify).allowed, node.value.kind());
            self.reader.wrong(key, node.span, message, "");
        }
        is_on?.then(Verify::default)
    }

    fn verify_parts(&mut self, key: Key, what: &str, node: &Node, members: &[Member]) -> Option<Verify> {
        let (mut verify, errors) = (Verify::default(), self.errors());
        for member in members.iter().filter(|member| member.node.value != Value::Null) {
            if let Err(must) = set(&mut verify, &member.key, &member.node) {
                let parts = Field::of(Key::Verify).parts;
                if part(parts, &member.key).is_some() {
                    let message = format!("{what}: `{}` must be {must}", member.key);
                    self.reader.wrong(key, member.node.span, message, "");
                } else {
                    let message = format!("{what} has no field `{}`", member.key);
                    self.reader.wrong(key, member.key_span, message, &format!("use {}", quoted(parts, " and ")));
                }
            }
        }
        if verify.way == DnsServerKind::Resolver && !verify.servers.is_empty() {
            let message = format!("{what}: `server` has no meaning with `ask` set to `resolver`");
            self.reader.wrong(key, node.span, message, "leave one of them out");
        }
        if verify.exact && verify.proxied {
            let message = format!("{what}: `exact` has no meaning with `proxied`: any public address is right");
            self.reader.wrong(key, node.span, message, "leave one of them out");
        }
        (self.errors() == errors).then_some(verify)
    }
}

/// Sets one part. The error says what it must be.
fn set(verify: &mut Verify, name: &str, node: &Node) -> Result<(), &'static str> {
    match name {
        "ask" => verify.way = node.value.text().and_then(DnsServerKind::parse).ok_or("`zone` or `resolver`")?,
        "server" => {
            let read = |text: &str| host_and_port(text, PORT).ok();
            let must = "a host or an address, with or without a port, or a list of up to 13";
            verify.servers = items(node, MAX_SERVERS, read).ok_or(must)?;
        }
        "resolver" => {
            let must = "an address such as 192.168.1.1 or [fd00::1]:53, or a list of up to three";
            verify.resolvers = items(node, MAX_RESOLVERS, resolver).ok_or(must)?;
        }
        "within" => verify.within = time(node, &WITHIN_SECONDS).ok_or("a time from 10s to 48h, such as 15m")?,
        "every" => verify.every = time(node, &EVERY_SECONDS).ok_or("a time from 5m to 30d, such as 1h")?,
        "repair" | "proxied" | "exact" => {
            let Value::Bool(is_on) = node.value else { return Err("`true` or `false`") };
            *match name {
                "repair" => &mut verify.repair,
                "proxied" => &mut verify.proxied,
                _ => &mut verify.exact,
            } = is_on;
        }
        _ => return Err(""),
    }
    Ok(())
}

fn items<T>(node: &Node, most: usize, read: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let items = match &node.value {
        Value::Array(items) => items.clone(),
        // `[fd00::1]:53` is an address, not a list.
        Value::String(text) => list(text).unwrap_or_else(|_| vec![node.clone()]),
        _ => return None,
    };
    let read: Option<Vec<T>> = items.iter().map(|item| read(item.value.text()?.trim())).collect();
    read.filter(|read| (1..=most).contains(&read.len()))
}

fn resolver(text: &str) -> Option<SocketAddr> {
    let plain = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let ip = plain.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, PORT));
    ip.or_else(|| text.parse().ok()).filter(|server| server.port() != 0)
}

fn time(node: &Node, limits: &RangeInclusive<u64>) -> Option<Duration> {
    let text = match &node.value {
        Value::String(text) => text.trim(),
        Value::Number(text) => whole(text),
        _ => return None,
    };
    duration::parse(text).filter(|time| limits.contains(&time.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Entry;
    use crate::config::validate::validate_text;
    use crate::net::family::Family;
    use crate::text::diagnostic::Diagnostic;

    fn entry(more: &str) -> Result<Entry, String> {
        let text = format!("{{\"dns\": \"callback\", \"id\": \"https://h.example/__IP__\", {more}}}");
        match validate_text("c.json", &text) {
            Ok((mut config, _)) => Ok(config.entries.swap_remove(0)),
            Err(wrong) => Err(wrong.iter().map(Diagnostic::shown).collect()),
        }
    }

    fn verify(value: &str) -> Result<Option<Verify>, String> {
        entry(&format!("\"ipv4\": \"a.example\", \"verify\": {value}")).map(|entry| entry.verify)
    }

    #[test]
    fn k1_verify_is_read() {
        let on = Ok(Some(Verify::default()));
        for text in ["true", "\"true\"", "{}", "\"{}\"", "{\"ask\": \"zone\", \"within\": 15, \"every\": \"1h\"}"] {
            assert_eq!(verify(text), on, "{text}");
        }
        for text in ["false", "null", "\"\"", "\"no\""] {
            assert_eq!(verify(text), Ok(None), "{text}");
        }
        let all = "{\"server\": [\"ns.example\", \"[fd00::1]:5353\"], \"resolver\": \"fd00::2, 10.0.0.1:5\", \"within\": \"48h\", \
                   \"every\": \"5m\", \"repair\": true, \"exact\": true}";
        let expected = Verify {
            way: DnsServerKind::Zone,
            servers: vec![("ns.example".to_owned(), 53), ("fd00::1".to_owned(), 5353)],
            resolvers: ["[fd00::2]:53", "10.0.0.1:5"].map(|text| text.parse().expect("an address")).to_vec(),
            within: Duration::from_secs(48 * 3600),
            every: Duration::from_secs(300),
            repair: true,
            proxied: false,
            exact: true,
        };
        assert_eq!(verify(all), Ok(Some(expected)));
        assert_eq!(verify("{\"resolver\": \"[fd00::1]:53\"}").map(|it| it.map(|it| it.resolvers.len())), Ok(Some(1)));
    }

    #[test]
    fn k1_a_domain_says_it_for_itself() {
        let more = "\"ipv4\": [\"a.example\", {\"name\": \"b.example\", \"verify\": {\"exact\": true}}, \
                    {\"name\": \"c.example\", \"verify\": false}], \"verify\": {\"proxied\": true}";
        let entry = entry(more).expect("it is valid");
        let of = |place: usize| entry.verify_of(&entry.domains[0][place], Family::V4);
        assert!(of(0).is_some_and(|verify| verify.proxied));
        assert!(of(1).is_some_and(|verify| verify.exact && !verify.proxied));
        assert_eq!(of(2), None);
    }

    #[test]
    fn k1_what_is_wrong_is_said() {
        let cases = [
            ("5", "`verify` must be `true`, `false`, or an object"),
            ("\"always\"", "`verify` must be `true`, `false`, or an object"),
            ("{\"ask\": \"google\"}", "`verify`: `ask` must be `zone` or `resolver`"),
            ("{\"server\": \"a b\"}", "`verify`: `server` must be a host or an address"),
            ("{\"server\": []}", "`verify`: `server` must be"),
            ("{\"resolver\": \"ns.example\"}", "`verify`: `resolver` must be an address such as"),
            ("{\"resolver\": [\"1.1.1.1\", \"1.1.1.2\", \"1.1.1.3\", \"1.1.1.4\"]}", "up to three"),
            ("{\"resolver\": \"127.0.0.53:0\"}", "`verify`: `resolver` must be an address such as"),
            ("{\"exact\": true, \"proxied\": true}", "`verify`: `exact` has no meaning with `proxied`"),
            ("{\"within\": \"5s\"}", "`verify`: `within` must be a time from 10s to 48h"),
            ("{\"within\": \"49h\"}", "from 10s to 48h"),
            ("{\"every\": \"4m\"}", "`verify`: `every` must be a time from 5m to 30d"),
            ("{\"repair\": \"yes\"}", "`verify`: `repair` must be `true` or `false`"),
            ("{\"aks\": \"zone\"}", "`verify` has no field `aks`"),
            (
                "{\"ask\": \"resolver\", \"server\": \"a.example\"}",
                "`server` has no meaning with `ask` set to `resolver`",
            ),
        ];
        for (value, expected) in cases {
            let error = verify(value).expect_err(value);
            assert!(error.contains(expected), "{value}: {error}");
        }
        let error = entry("\"ipv4\": {\"name\": \"a.example\", \"verify\": {\"exact\": 1}}").expect_err("wrong");
        assert!(error.contains("`ipv4`: `verify` of a.example: `exact` must be `true` or `false`"), "{error}");
    }
}
