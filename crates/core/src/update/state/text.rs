//! The text of the cache file.
//!
//! The text is JSON. It contains addresses, names, times and salted hashes, but no secrets. An entry is `["203.0.113.7",1763170000]`,
//! the address and time of the last acceptance, or `[null,0]` if there was none. An entry in doubt continues with the address that was
//! sent, the time when its request has ended for certain, the number of the process, and, for signed requests, the number of the
//! message. Before the entries of a callback, `"by":["HASH"]` names their makers. `holds` follows the entries if services stop updates
//! or ask to wait, and `streaks` follows that if notifications count failures.
//!
//! Later versions only add to this format. What they add is kept: members at the top level and of a hold, members of a
//! callback whose name has no space, and an object at the end of an entry.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use rustc_hash::FxHashMap;

use super::{Accepted, Claim, ClaimKey, Claims, Fingerprint, InDoubt, KeptClaim, State};
use crate::net::family::Family;
use crate::text::hex;
use crate::text::json::{Dialect, Member, Node, Value, one_line, parse, push_escaped, push_member, push_string};
use crate::text::number::{push_address, push_number};
use crate::update::domain::Domain;
use crate::update::hold::Hold;
use crate::update::streak::Streak;

/// The version of the format.
const VERSION: &str = "2";

/// Precedes the holds.
pub(super) const HOLDS: &str = ",\n\"holds\":";

/// Precedes the failures in a row that notifications count.
pub(super) const STREAKS: &str = ",\n\"streaks\":";

/// The text is written in parts of about this many bytes: all at once, it would take as much memory as the state itself.
const PART: usize = 16_384;

/// About the shortest line of an entry, in bytes; only an estimate of how many entries to reserve.
const TYPICAL_LINE_BYTES: usize = 40;

/// The text of the cache file.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(256);
        text.extend(["{\"version\":", VERSION, ",\"salt\":\""]);
        hex::push(&mut text, &self.salt);
        text.extend(["\"", &self.more, ",\"callbacks\":{"]);
        for (at, (callback, Claims { by, entries, more })) in self.callbacks.iter().enumerate() {
            text += if at == 0 { "\n\"" } else { ",\n\"" };
            hex::push(&mut text, callback.as_bytes());
            text += "\":{\"by\":[";
            for (at, maker) in by.iter().enumerate() {
                text += if at == 0 { "\"" } else { ",\"" };
                hex::push(&mut text, maker.as_bytes());
                text.push('"');
            }
            text.extend(["]", more]);
            let between = ",\n ";
            for family in Family::ALL {
                let mut sorted: Vec<(&Domain, &KeptClaim)> = entries[family.index()].iter().collect();
                sorted.sort_unstable_by_key(|(domain, _)| *domain);
                // Most entries are equal: equal neighbors are formatted only once.
                let mut last: Option<(KeptClaim, String)> = None;
                for (domain, entry) in sorted {
                    if text.len() >= PART {
                        f.write_str(&text)?;
                        text.clear();
                    }
                    text += between;
                    text.push('"');
                    push_escaped(&mut text, domain.as_str());
                    text.push(' ');
                    text += family.record_type();
                    text.push('"');
                    let fresh = || (*entry, text_of(&Claim::from(*entry)));
                    let known = last.take().filter(|(known, _)| known == entry);
                    text += &last.insert(known.unwrap_or_else(fresh)).1;
                    if !self.more_of.is_empty() {
                        let key = ClaimKey { callback: *callback, domain: domain.clone(), family };
                        text.insert_str(text.len() - 1, self.more_of.get(&key).map_or("", String::as_str));
                    }
                }
            }
            text += "}";
        }
        text += "}";
        push_values(&mut text, HOLDS, &self.holds, Hold::push_text);
        push_values(&mut text, STREAKS, &self.streaks, |streak, text| *text += &streak.to_text());
        text += "}\n";
        f.write_str(&text)
    }
}

impl State {
    /// Reads what [`fmt::Display`] wrote; `None`: the text is damaged or of an unknown version.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::from_parts(text).or_else(|| Self::from_document(text))
    }

    /// Reads exactly the form that [`fmt::Display`] writes; `None`: the text has another form.
    pub(super) fn from_parts(text: &str) -> Option<Self> {
        // Only a text with streaks ends like this; otherwise there is no need to search for them.
        let has_streaks = text.ends_with("]}}\n");
        let (rest, streaks) = if has_streaks { parted(text, STREAKS)? } else { (Cow::Borrowed(text), Vec::new()) };
        let (rest, holds) = parted(&rest, HOLDS)?;
        let mut state = Self::from_lines(&rest)?;
        state.take_values(&holds, &streaks)?;
        Some(state)
    }

    fn take_values(&mut self, holds: &[Member], streaks: &[Member]) -> Option<()> {
        for member in holds {
            self.set_hold(&key_of(&member.key)?, Hold::from_value(&member.node.value)?);
        }
        for member in streaks {
            self.set_streak(&key_of(&member.key)?, Streak::from_value(&member.node.value)?);
        }
        Some(())
    }

    /// Whether a text is the cache of NewFuture/DDNS: an object of addresses, with keys such as `home.example.com:A`.
    pub fn is_of_other_client(text: &str) -> bool {
        let is_entry = |member: &Member| {
            let record_type = member.key.rsplit_once(':').map_or("", |(_, record_type)| record_type);
            Family::of_record(record_type).is_some() && member.node.value.text().is_some()
        };
        parse(text, Dialect::STRICT).is_ok_and(|root| match root.value.members() {
            Some(members) => !members.is_empty() && members.iter().all(is_entry),
            None => false,
        })
    }

    /// Reads the entries line by line: for a large file, a JSON tree would need several times the memory of everything else.
    fn from_lines(text: &str) -> Option<Self> {
        let (header, lines) = text.strip_suffix("}}\n")?.split_once('\n')?;
        let salt = header.strip_prefix("{\"version\":")?.strip_prefix(VERSION)?.strip_prefix(",\"salt\":\"")?;
        let salt = hex::bytes(salt.strip_suffix("\",\"callbacks\":{")?).filter(|salt| !salt.is_empty())?;
        let mut state = Self::new(salt);
        let mut claims: Option<&mut Claims> = None;
        let mut left = lines.len() / TYPICAL_LINE_BYTES;
        for line in lines.lines() {
            if let Some(line) = line.strip_prefix(" \"") {
                let (name, parts) = line.split_once("\":[")?;
                let (parts, end) = parts.split_once(']')?;
                let (domain, record_type) = name.rsplit_once(' ').filter(|_| !name.contains(['\\', '"']))?;
                let family = Family::of_record(record_type)?;
                let entries = &mut claims.as_mut()?.entries[family.index()];
                if entries.is_empty() {
                    entries.reserve(left);
                    left = 0;
                }
                entries.insert(Domain::parse(domain).ok()?, entry_in_line(parts, family)?.into());
                matches!(end, "," | "}" | "},").then_some(())?;
            } else {
                let (callback, by) = line.strip_prefix('"')?.split_once("\":{")?;
                let known = state.callbacks.entry(Fingerprint::parse(callback)?).or_default();
                // Older versions wrote no makers.
                if !by.is_empty() {
                    let maker = |hash: &str| Fingerprint::parse(hash.strip_prefix('"')?.strip_suffix('"')?);
                    let makers =
                        by.strip_prefix("\"by\":[")?.strip_suffix("],")?.split(',').filter(|hash| !hash.is_empty());
                    known.by = makers.map(maker).collect::<Option<_>>()?;
                }
                claims = Some(known);
            }
        }
        Some(state)
    }

    fn from_document(text: &str) -> Option<Self> {
        let Value::Object(members) = parse(text, Dialect::STRICT).ok()?.value else { return None };
        let (mut state, mut is_known) = (Self::new(Vec::new()), false);
        for member in &members {
            match (member.key.as_str(), &member.node.value) {
                ("version", Value::Number(version)) if version == VERSION => is_known = true,
                ("salt", Value::String(salt)) => state.salt = hex::bytes(salt)?,
                ("callbacks", Value::Object(callbacks)) => {
                    for callback in callbacks {
                        state.take_claims(Fingerprint::parse(&callback.key)?, &callback.node.value)?;
                    }
                }
                ("holds", Value::Object(holds)) => state.take_values(holds, &[])?,
                ("streaks", Value::Object(streaks)) => state.take_values(&[], streaks)?,
                ("version" | "salt" | "callbacks" | "holds" | "streaks", _) => return None,
                _ => push_member(&mut state.more, member),
            }
        }
        (is_known && !state.salt.is_empty()).then_some(state)
    }

    fn take_claims(&mut self, callback: Fingerprint, value: &Value) -> Option<()> {
        let members = value.members()?;
        let mut claims = Claims::default();
        for (at, member) in members.iter().enumerate() {
            match (member.key.rsplit_once(' '), &member.node.value) {
                (Some((domain, record_type)), Value::Array(parts)) => {
                    let (domain, family) = (Domain::parse(domain).ok()?, Family::of_record(record_type)?);
                    let is_more = |part: &Node| matches!(part.value, Value::Object(_));
                    let (known, more) = parts.split_at(parts.iter().position(is_more).unwrap_or(parts.len()));
                    if !more.is_empty() {
                        let more = more.iter().flat_map(|part| [",".to_owned(), one_line(&part.value)]).collect();
                        self.more_of.insert(ClaimKey { callback, domain: domain.clone(), family }, more);
                    }
                    let entries = &mut claims.entries[family.index()];
                    if entries.is_empty() {
                        entries.reserve(members.len() - at);
                    }
                    entries.insert(domain, entry_of(known, family)?.into());
                }
                (None, Value::Array(makers)) if member.key == "by" => {
                    let maker = |node: &Node| Fingerprint::parse(node.value.text()?);
                    claims.by = makers.iter().map(maker).collect::<Option<_>>()?;
                }
                (None, _) if member.key != "by" => push_member(&mut claims.more, member),
                _ => return None,
            }
        }
        self.callbacks.insert(callback, claims);
        Some(())
    }
}

/// Appends the holds or streaks. Without them, the text has its common form, which is read line by line.
fn push_values<T>(
    text: &mut String,
    name: &str,
    values: &BTreeMap<Fingerprint, [FxHashMap<Domain, T>; 2]>,
    push: impl Fn(&T, &mut String),
) {
    if values.is_empty() {
        return;
    }
    *text += name;
    let mut between = "{\n ";
    for (callback, families) in values {
        for family in Family::ALL {
            let sorted: BTreeMap<&Domain, &T> = families[family.index()].iter().collect();
            for (domain, value) in sorted {
                *text += between;
                push_string(text, &format!("{callback} {domain} {}", family.record_type()));
                text.push(':');
                push(value, text);
                between = ",\n ";
            }
        }
    }
    text.push('}');
}

/// Splits off the part after `name`: the text without it, and its members. `None`: the part is damaged.
fn parted<'a>(text: &'a str, name: &str) -> Option<(Cow<'a, str>, Vec<Member>)> {
    let Some((before, part)) = text.rsplit_once(name) else { return Some((Cow::Borrowed(text), Vec::new())) };
    match parse(part.strip_suffix("}\n")?, Dialect::STRICT).ok()?.value {
        Value::Object(members) => Some((Cow::Owned(format!("{before}}}\n")), members)),
        _ => None,
    }
}

pub(super) fn key_of(text: &str) -> Option<ClaimKey> {
    let mut name = text.split(' ');
    let (callback, domain) = (Fingerprint::parse(name.next()?)?, Domain::parse(name.next()?).ok()?);
    Some(ClaimKey { callback, domain, family: Family::of_record(name.next()?)? })
}

pub(super) fn text_of(entry: &Claim) -> String {
    let mut text = String::with_capacity(80);
    text += ":[";
    match entry.accepted {
        Some(Accepted { ip, at }) => push_moment(&mut text, ip, at),
        None => text += "null,0",
    }
    if let Some(InDoubt { ip, until, by, message }) = entry.in_doubt {
        text.push(',');
        push_moment(&mut text, ip, until);
        for number in [Some(by), Some(message).filter(|message| *message != 0)].into_iter().flatten() {
            text.push(',');
            push_number(&mut text, number.into());
        }
    }
    text.push(']');
    text
}

fn push_moment(text: &mut String, ip: IpAddr, at: u64) {
    text.push('"');
    push_address(text, ip);
    *text += "\",";
    push_number(text, at);
}

/// Parses the text between the brackets of an entry.
fn entry_in_line(text: &str, family: Family) -> Option<Claim> {
    let ip = |text: &str| {
        let ip = text.strip_prefix('"')?.strip_suffix('"')?.parse().ok()?;
        (Family::of(ip) == Some(family)).then_some(ip)
    };
    let mut parts = text.split(',');
    let (first, at) = (parts.next()?, parts.next()?.parse().ok()?);
    let accepted = if first == "null" { None } else { Some(Accepted { ip: ip(first)?, at }) };
    let in_doubt = match parts.next() {
        None => None,
        Some(sent) => {
            let (until, by) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            let message = parts.next().map_or(Some(0), |message| message.parse().ok())?;
            Some(InDoubt { ip: ip(sent)?, until, by, message })
        }
    };
    parts.next().is_none().then_some(Claim { accepted, in_doubt })
}

pub(super) fn entry_of(parts: &[Node], family: Family) -> Option<Claim> {
    let parts: Vec<&Value> = parts.iter().map(|part| &part.value).collect();
    let ip = |text: &str| text.parse().ok().filter(|ip| Family::of(*ip) == Some(family));
    let accepted = match parts.get(..2)? {
        [Value::String(text), Value::Number(at)] => Some(Accepted { ip: ip(text)?, at: at.parse().ok()? }),
        [Value::Null, Value::Number(_)] => None,
        _ => return None,
    };
    let in_doubt = match parts.get(2..)? {
        [] => None,
        [Value::String(text), Value::Number(until), Value::Number(by), message @ ..] => {
            let message = match message {
                [] => 0,
                [Value::Number(message)] => message.parse().ok()?,
                _ => return None,
            };
            Some(InDoubt { ip: ip(text)?, until: until.parse().ok()?, by: by.parse().ok()?, message })
        }
        _ => return None,
    };
    Some(Claim { accepted, in_doubt })
}
