//! Placeholders and their values: from the update, from the configuration, from steps, and the time.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;

use super::combine::{Batch, Combine};
use super::notice::{Notice, Subject};
use super::sign::message_id;
use crate::net::family::Family;
use crate::text::json::Value;
use crate::text::number::address_text;
use crate::text::secrets::MASK;
use crate::update::Update;
use crate::update::domain::Domain;
use crate::update::state::Fingerprint;

/// Seconds since the epoch with a fractional part, read once per request (C9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamp {
    /// Whole seconds.
    pub seconds: u64,
    /// Microseconds beyond them.
    pub micros: u32,
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.seconds, self.micros)
    }
}

/// What a request depends on besides its update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// When it is rendered.
    pub now: Timestamp,
    /// The address that the endpoint accepted last (H10); `None`: it never accepted one, or that is not known.
    pub accepted: Option<IpAddr>,
    /// The callback's key in the cache and the number of the message: equal for all tries, different for another address (H11).
    pub message: (Fingerprint, u32),
}

impl From<Timestamp> for Moment {
    /// A moment at which nothing has been accepted before.
    fn from(now: Timestamp) -> Self {
        Self { now, accepted: None, message: (Fingerprint::new([0; 16]), 0) }
    }
}

/// The values that steps took, indexed by the place of the name; `None`: not taken yet.
pub type Taken = [Option<Value>];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Variable {
    Domain,
    Ip,
    RecordType,
    Ttl,
    Line,
    Timestamp,
    OldIp,
    Zone,
    Host,
    Subdomain,
    Ipv4,
    Ipv6,
    Ips,
    Domains,
    Event,
    Message,
    /// A name in `extra`, by its index.
    Extra(usize),
    /// A value that a step takes (H16): the index of its name, and whether it must stay hidden.
    Taken(usize, bool),
}

const BUILT_IN: [(&str, Variable); 6] = [
    ("__DOMAIN__", Variable::Domain),
    ("__IP__", Variable::Ip),
    ("__RECORDTYPE__", Variable::RecordType),
    ("__TTL__", Variable::Ttl),
    ("__LINE__", Variable::Line),
    ("__TIMESTAMP__", Variable::Timestamp),
];

/// Built-in names that the user may define in `extra`; the value in `extra` wins then.
const YIELDING: [(&str, Variable); 8] = [
    ("__OLDIP__", Variable::OldIp),
    ("__ZONE__", Variable::Zone),
    ("__HOST__", Variable::Host),
    ("__SUBDOMAIN__", Variable::Subdomain),
    ("__IPV4__", Variable::Ipv4),
    ("__IPV6__", Variable::Ipv6),
    ("__IPS__", Variable::Ips),
    ("__DOMAINS__", Variable::Domains),
];

/// The names in a notification (I5); no other placeholder has a value there.
const OF_NOTICE: [(&str, Variable); 8] = [
    ("__EVENT__", Variable::Event),
    ("__MESSAGE__", Variable::Message),
    ("__DOMAINS__", Variable::Domains),
    ("__DOMAIN__", Variable::Domain),
    ("__IP__", Variable::Ip),
    ("__OLDIP__", Variable::OldIp),
    ("__RECORDTYPE__", Variable::RecordType),
    ("__TIMESTAMP__", Variable::Timestamp),
];

impl Variable {
    /// Whether the value is a list, separated by commas.
    pub(super) fn is_list(self) -> bool {
        matches!(self, Self::Ips | Self::Domains)
    }

    /// Whether the value is known: always, unless a step must take it first.
    pub(super) fn is_given(self, taken: &Taken) -> bool {
        !matches!(self, Self::Taken(at, _) if taken.get(at).is_none_or(Option::is_none))
    }

    /// Whether the value is a single address.
    pub(super) fn is_address(self) -> bool {
        matches!(self, Self::Ip | Self::Ipv4 | Self::Ipv6)
    }

    /// Whether the value may be a key: the user typed it, or a step took it as a `secret` (G2).
    pub(super) fn is_secret(self) -> bool {
        matches!(self, Self::Extra(_) | Self::Taken(_, true))
    }
}

/// The values that the configuration gives: `ttl`, `line`, `zone` and `extra`. `Debug` does not show the values of
/// `extra`: the user typed them, so they may be keys.
#[derive(Clone, PartialEq, Default)]
pub struct Variables {
    pub(super) ttl: Option<u32>,
    pub(super) line: Option<String>,
    /// The zones of the domains (H8), without duplicates.
    pub zones: Vec<Domain>,
    /// Which updates share a request (H7); `None`: each update has its own.
    pub combine: Option<Combine>,
    /// `extra`: names of the form `__NAME__` and their scalar values, in the order in which they were added; `null` if
    /// only single domains have a value.
    pub(super) extra: Vec<(String, Value)>,
    /// The `extra` of single domains, which overrides that of the entry: indexes in `extra`, and values. By [`Family::index`].
    own: [HashMap<Domain, Vec<(usize, Value)>>; 2],
    /// Whether these are the values of a notification.
    is_notice: bool,
    /// The names whose values steps take (H16).
    pub(super) taken: Vec<TakenName>,
}

/// A placeholder whose value a step takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TakenName {
    pub(super) name: String,
    is_secret: bool,
    /// The index of the step.
    step: usize,
}

impl Variables {
    /// How many names `extra` may have: each placeholder in a text is looked up among them.
    pub const MAX_EXTRA: usize = 1000;

    /// Values with `ttl` and `line`; `None`: not set.
    pub fn new(ttl: Option<u32>, line: Option<String>) -> Self {
        Self { ttl, line, ..Self::default() }
    }

    /// The values of a notification (I5).
    pub fn of_notice() -> Self {
        Self { is_notice: true, ..Self::default() }
    }

    /// Whether a placeholder is ambiguous because a request carries several families or domains (H7).
    pub(super) fn is_ambiguous(&self, variable: Variable) -> bool {
        let Some(combine) = &self.combine else { return false };
        match variable {
            Variable::Ip | Variable::RecordType => combine.families,
            Variable::Domain | Variable::Host | Variable::Subdomain => combine.domains > 1,
            Variable::OldIp => combine.joins(),
            _ => false,
        }
    }

    /// The names of `extra` and of the built-in placeholders that have a value, for messages.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let yielding = YIELDING.iter().filter(|(_, variable)| !self.is_notice && self.exists(*variable));
        let built_in: &[(&str, Variable)] = if self.is_notice { &OF_NOTICE } else { &BUILT_IN };
        let own = self.extra.iter().map(|(name, _)| name).chain(self.taken.iter().map(|taken| &taken.name));
        built_in.iter().chain(yielding).map(|(name, _)| *name).chain(own.map(String::as_str))
    }

    /// Whether a name that has no value here has one in updates.
    pub fn is_of_updates(&self, name: &str) -> bool {
        self.is_notice && BUILT_IN.iter().chain(&YIELDING).any(|(known, _)| *known == name)
    }

    pub(super) fn name_of(&self, variable: Variable) -> &str {
        let mut built_in = BUILT_IN.iter().chain(&YIELDING).chain(&OF_NOTICE);
        match variable {
            Variable::Extra(at) => self.extra.get(at).map_or(MASK, |(name, _)| name),
            Variable::Taken(at, _) => self.taken.get(at).map_or(MASK, |taken| &taken.name),
            other => built_in.find(|(_, variable)| *variable == other).map_or(MASK, |(name, _)| name),
        }
    }

    /// Adds a variable of the user. Refuses a value that is not a scalar, and the name of a built-in.
    pub fn add(&mut self, name: &str, value: Value) -> Result<(), &'static str> {
        let value = allowed(name, value)?;
        self.extra.retain(|(known, _)| known != name);
        self.extra.push((name.to_owned(), value));
        Ok(())
    }

    /// Adds a name whose value a step takes, and returns its index, or why the name is refused. `__TTL__` and
    /// `__LINE__` are allowed: the taken value counts unless the configuration sets one.
    pub fn add_taken(&mut self, name: &str, is_secret: bool, step: usize) -> Result<usize, &'static str> {
        let is_found = |(known, variable): &&(&str, Variable)| {
            *known == name && !matches!(variable, Variable::Ttl | Variable::Line)
        };
        if self.taken.iter().any(|taken| taken.name == name) {
            return Err("is taken twice");
        }
        if BUILT_IN.iter().chain(&YIELDING).any(|known| is_found(&known)) {
            return Err("is a built-in placeholder");
        }
        if self.extra.iter().any(|(known, _)| known == name) {
            return Err("is also set in `extra`");
        }
        self.taken.push(TakenName { name: name.to_owned(), is_secret, step });
        Ok(self.taken.len() - 1)
    }

    /// Whether the value that a step takes must stay hidden.
    pub(super) fn is_taken_secret(&self, place: usize) -> bool {
        self.taken.get(place).is_some_and(|taken| taken.is_secret)
    }

    /// The index of a name whose value a step takes.
    pub fn taken_place(&self, name: &str) -> Option<usize> {
        self.taken.iter().position(|taken| taken.name == name)
    }

    /// The step that takes the value of a placeholder; `None`: no step does.
    pub(super) fn step_of(&self, variable: Variable) -> Option<usize> {
        let Variable::Taken(at, _) = variable else { return None };
        self.taken.get(at).map(|taken| taken.step)
    }

    /// Whether a placeholder has the same value for every update.
    pub(super) fn is_common(&self, variable: Variable) -> bool {
        match variable {
            Variable::Ttl | Variable::Line | Variable::Timestamp | Variable::Event | Variable::Message => true,
            Variable::Zone => self.zones.len() == 1,
            Variable::Extra(at) => !self.own.iter().flat_map(HashMap::values).flatten().any(|(own, _)| *own == at),
            _ => false,
        }
    }

    /// Adds a name that only single domains have values for.
    pub fn declare(&mut self, name: &str) {
        if allowed(name, Value::Bool(true)).is_ok() && !self.extra.iter().any(|(known, _)| known == name) {
            self.extra.push((name.to_owned(), Value::Null));
        }
    }

    /// Adds a variable of a single domain. Refuses what [`Variables::add`] refuses.
    pub fn add_own(&mut self, family: Family, domain: &Domain, name: &str, value: Value) -> Result<(), &'static str> {
        let value = allowed(name, value)?;
        let at = self.extra.iter().position(|(known, _)| known == name).unwrap_or(self.extra.len());
        if at >= Self::MAX_EXTRA {
            return Err("is one too many: at most 1,000 names are allowed");
        }
        if at == self.extra.len() {
            self.extra.push((name.to_owned(), Value::Null));
        }
        let own = self.own[family.index()].entry(domain.clone()).or_default();
        own.retain(|(known, _)| *known != at);
        own.push((at, value));
        Ok(())
    }

    /// The value of a name in `extra`, if it is the same for all updates.
    pub(super) fn constant(&self, variable: Variable) -> Option<String> {
        let Variable::Extra(at) = variable else { return None };
        let is_constant = self.is_common(variable) && !self.is_partial(variable);
        self.extra.get(at).filter(|_| is_constant).map(|(_, value)| scalar_text(value).into_owned())
    }

    /// Whether any domain has its own variables.
    pub(super) fn has_own(&self, family: Family) -> bool {
        !self.own[family.index()].is_empty()
    }

    /// The names and values of a domain's own variables.
    pub(super) fn own(&self, domain: &Domain, family: Family) -> impl Iterator<Item = (&str, &Value)> {
        let own = self.own[family.index()].get(domain).into_iter().flatten();
        own.filter_map(|(at, value)| Some((self.extra.get(*at)?.0.as_str(), value)))
    }

    /// All values of `extra`, of the entry and of its domains.
    pub(super) fn typed(&self) -> impl Iterator<Item = &Value> {
        let own = self.own.iter().flat_map(HashMap::values).flatten().map(|(_, value)| value);
        self.extra.iter().map(|(_, value)| value).chain(own)
    }

    /// Whether only single domains have a value for this placeholder.
    pub(super) fn is_partial(&self, variable: Variable) -> bool {
        let Variable::Extra(at) = variable else { return false };
        self.extra.get(at).is_some_and(|(_, value)| *value == Value::Null)
    }

    /// Whether a domain has no value of its own for this placeholder.
    pub(super) fn lacks(&self, variable: Variable, domain: &Domain, family: Family) -> bool {
        let own = self.own[family.index()].get(domain);
        !own.is_some_and(|own| own.iter().any(|(known, _)| Variable::Extra(*known) == variable))
    }

    /// The longest zone that contains a domain (H8).
    pub fn zone_of(&self, domain: &Domain) -> Option<&Domain> {
        let fits = |zone: &&Domain| subdomain(domain, zone).is_some();
        self.zones.iter().filter(fits).max_by_key(|zone| zone.as_str().len())
    }

    fn exists(&self, variable: Variable) -> bool {
        let combines = |part: fn(&Combine) -> bool| self.combine.as_ref().is_some_and(part);
        match variable {
            Variable::OldIp => true,
            Variable::Ipv4 | Variable::Ipv6 | Variable::Ips => combines(|combine| combine.families),
            Variable::Domains => self.combine.is_some(),
            _ => !self.zones.is_empty(),
        }
    }

    /// What to set so that a built-in placeholder has a value; `None`: it is none, or has one.
    pub fn way_to(&self, name: &str) -> Option<&'static str> {
        let (_, variable) = YIELDING.iter().find(|(known, variable)| *known == name && !self.exists(*variable))?;
        Some(match variable {
            Variable::Ipv4 | Variable::Ipv6 => "write __IP__, or set `combine.families`",
            Variable::Ips => "set `combine.families`",
            Variable::Domains => "set `combine`",
            _ => "set `zone`",
        })
    }

    pub(super) fn find(&self, name: &str) -> Option<Variable> {
        let of = |table: &[(&str, Variable)]| table.iter().find(|(known, _)| *known == name).map(|(_, found)| *found);
        let extra = || self.extra.iter().position(|(known, _)| known == name).map(Variable::Extra);
        if self.is_notice {
            return extra().or_else(|| of(&OF_NOTICE));
        }
        let taken = || {
            let at = self.taken_place(name)?;
            Some(Variable::Taken(at, self.taken[at].is_secret))
        };
        let is_unset = match name {
            "__TTL__" => self.ttl.is_none(),
            "__LINE__" => self.line.is_none(),
            _ => false,
        };
        let kept = is_unset.then(taken).flatten().or_else(|| of(&BUILT_IN));
        kept.or_else(extra).or_else(taken).or_else(|| of(&YIELDING).filter(|variable| self.exists(*variable)))
    }

    pub(super) fn with<'a>(&'a self, subject: Subject<'a>, moment: Moment, taken: &'a Taken) -> Values<'a> {
        Values { subject, moment, taken, variables: self }
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.extra.iter().map(|(name, _)| name).collect();
        let (ttl, line, zones) = (&self.ttl, &self.line, &self.zones);
        let mut shown = f.debug_struct("Variables");
        shown.field("ttl", ttl).field("line", line).field("zones", zones).field("extra", &names).finish_non_exhaustive()
    }
}

/// Checks the name and the value of a variable.
fn allowed(name: &str, value: Value) -> Result<Value, &'static str> {
    if BUILT_IN.iter().any(|(known, _)| *known == name) {
        return Err("is a built-in placeholder");
    }
    match value {
        Value::String(_) | Value::Number(_) | Value::Bool(_) => Ok(value),
        _ => Err("must be a string, a number or a boolean"),
    }
}

/// The part of a name before its zone, without the dot; `None`: the name is not in the zone.
fn subdomain<'a>(domain: &'a Domain, zone: &Domain) -> Option<&'a str> {
    let before = domain.as_str().strip_suffix(zone.as_str())?;
    if before.is_empty() { Some("") } else { before.strip_suffix('.') }
}

/// A value of `extra` as text.
pub(super) fn scalar_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) | Value::Number(text) | Value::Placeholder(text) => Cow::Borrowed(text),
        Value::Bool(value) => Cow::Owned(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => Cow::Borrowed(""),
    }
}

/// The values of one request; each is converted to text where it is used.
pub(super) struct Values<'a> {
    subject: Subject<'a>,
    moment: Moment,
    /// The values that steps took; empty before the first step was sent.
    taken: &'a Taken,
    pub(super) variables: &'a Variables,
}

impl Values<'_> {
    /// The value as text; empty if it is not set (C5).
    pub(super) fn text(&self, variable: Variable) -> Cow<'_, str> {
        match (variable, self.subject) {
            (Variable::Ttl, _) => self.variables.ttl.map(|ttl| ttl.to_string()).unwrap_or_default().into(),
            (Variable::Line, _) => self.variables.line.as_deref().unwrap_or_default().into(),
            // Before the value is known, a preview shows its name.
            (Variable::Taken(at, _), _) => {
                self.taken(at).map_or_else(|| self.variables.name_of(variable).into(), scalar_text)
            }
            (Variable::Timestamp, _) => self.moment.now.to_string().into(),
            (Variable::Extra(at), _) => self.extra(at).map_or("".into(), scalar_text),
            (_, Subject::Notice(notice)) => in_notice(notice, variable).into(),
            (Variable::Domain, Subject::Updates(all)) => all.first.domain.as_str().into(),
            (Variable::Ip, Subject::Updates(all)) => address_text(all.first.ip).into(),
            (Variable::RecordType, Subject::Updates(all)) => all.first.family.record_type().into(),
            (Variable::OldIp, _) => self.moment.accepted.map(address_text).unwrap_or_default().into(),
            (Variable::Zone, Subject::Updates(all)) => self.zone(all.first.domain).as_str().into(),
            (Variable::Host, Subject::Updates(all)) => match self.subdomain(all.first.domain) {
                "" => "@".into(),
                subdomain => subdomain.into(),
            },
            (Variable::Subdomain, Subject::Updates(all)) => self.subdomain(all.first.domain).into(),
            (Variable::Ipv4, _) => self.address(Family::V4),
            (Variable::Ipv6, _) => self.address(Family::V6),
            (Variable::Ips, _) => self.addresses().into(),
            (Variable::Domains, _) => self.domains().into(),
            (Variable::Event | Variable::Message, _) => "".into(),
        }
    }

    fn taken(&self, at: usize) -> Option<&Value> {
        self.taken.get(at)?.as_ref()
    }

    /// The updates of the request; `None`: it is a notification.
    fn batch(&self) -> Option<Batch<'_>> {
        if let Subject::Updates(batch) = self.subject { Some(batch) } else { None }
    }

    fn updates(&self) -> impl Iterator<Item = &Update<'_>> {
        self.batch().into_iter().flat_map(Batch::iter)
    }

    fn found(&self, family: Family) -> Option<IpAddr> {
        self.updates().find(|update| update.family == family).map(|update| update.ip)
    }

    /// The address of a family, or the `missing` of `combine`.
    fn address(&self, family: Family) -> Cow<'_, str> {
        let missing = || self.variables.combine.as_ref().and_then(|combine| combine.missing.as_deref());
        match self.found(family) {
            Some(ip) => address_text(ip).into(),
            None => missing().unwrap_or_default().into(),
        }
    }

    fn addresses(&self) -> String {
        let found = Family::ALL.into_iter().filter_map(|family| self.found(family));
        found.map(address_text).collect::<Vec<_>>().join(",")
    }

    fn domains(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for update in self.updates() {
            if !names.contains(&update.domain.as_str()) {
                names.push(update.domain.as_str());
            }
        }
        names.join(",")
    }

    /// The `webhook-id` of the request.
    pub(super) fn message(&self) -> String {
        let (callback, number) = self.moment.message;
        let about = match self.subject {
            Subject::Notice(notice) => format!("{} {number}", notice.event),
            Subject::Updates(Batch { first, .. }) => {
                format!("{} {} {number}", first.domain, first.family.record_type())
            }
        };
        message_id(callback, &about)
    }

    /// A text that no other try has.
    pub(super) fn nonce(&self) -> String {
        let about = format!("{} {}", self.message(), self.moment.now);
        message_id(self.moment.message.0, &about).trim_start_matches("msg_").to_owned()
    }

    /// Whole seconds since the epoch.
    pub(super) fn seconds(&self) -> u64 {
        self.moment.now.seconds
    }

    /// The value of a name in `extra`; the domain's own wins.
    fn extra(&self, at: usize) -> Option<&Value> {
        let own = self.batch().and_then(|all| self.variables.own[all.first.family.index()].get(all.first.domain));
        let own = own.and_then(|own| own.iter().find(|(known, _)| *known == at)).map(|(_, value)| value);
        own.or_else(|| self.variables.extra.get(at).map(|(_, value)| value))
    }

    /// The zone of a domain. Domains outside all zones are refused when the configuration is read.
    fn zone<'d>(&'d self, domain: &'d Domain) -> &'d Domain {
        self.variables.zone_of(domain).unwrap_or(domain)
    }

    fn subdomain<'d>(&'d self, domain: &'d Domain) -> &'d str {
        subdomain(domain, self.zone(domain)).unwrap_or_default()
    }

    /// The value as JSON of its own type, for a placeholder outside quotes (C7).
    pub(super) fn json(&self, variable: Variable) -> Value {
        match variable {
            Variable::Ttl => self.variables.ttl.map_or(Value::Null, |ttl| Value::Number(ttl.to_string())),
            Variable::Line => self.variables.line.clone().map_or(Value::Null, Value::String),
            Variable::Taken(at, _) if self.taken(at).is_some() => self.taken(at).cloned().unwrap_or(Value::Null),
            Variable::Timestamp => Value::Number(self.moment.now.to_string()),
            Variable::OldIp if self.batch().is_some() => {
                self.moment.accepted.map_or(Value::Null, |ip| Value::String(ip.to_string()))
            }
            Variable::Extra(at) => self.extra(at).cloned().unwrap_or(Value::Null),
            _ => Value::String(self.text(variable).into_owned()),
        }
    }
}

/// The text of a placeholder in a notification; empty if notifications do not have it.
fn in_notice(notice: &Notice, variable: Variable) -> &str {
    match variable {
        Variable::Event => notice.event,
        Variable::Message => &notice.message,
        Variable::Domain | Variable::Domains => &notice.domains,
        Variable::Ip => &notice.ips,
        Variable::OldIp => &notice.old_ips,
        Variable::RecordType => &notice.record_types,
        _ => "",
    }
}
