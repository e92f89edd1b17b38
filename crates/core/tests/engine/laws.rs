//! What must hold of requests, whoever watches them: the simulation watches its own, the contract tests those that the program traced.

use std::fmt::Debug;
use std::net::IpAddr;
use std::time::Duration;

use ddns_core::update::state::{Claim, ClaimKey, State};

/// A request was sent.
pub(crate) trait Sent {
    /// What tells updates apart.
    type Key: PartialEq + Debug;

    /// The address of each update; `None`: another value stands in its place.
    fn members(&self) -> &[(Self::Key, Option<IpAddr>)];

    fn may_arrive(&self, now: Duration) -> bool;
}

/// Who sent a request, as seen by a process that sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    /// That process itself, and it waits for the response.
    Waiting,
    /// That process itself; it has given the request up.
    Own,
    /// A process that shares its memory with it.
    Known,
    Unknown,
}

/// S1 and S4: what was begun is waited for. `sent`: requests that were sent before.
pub(crate) fn order<'a, Request: Sent + 'a>(
    (key, ip): &(Request::Key, Option<IpAddr>),
    now: Duration,
    sent: impl Iterator<Item = &'a Request>,
    sender: impl Fn(&Request) -> Sender,
) -> Result<(), String> {
    for request in sent.filter(|request| request.may_arrive(now)) {
        let Some((_, other)) = request.members().iter().find(|(of, _)| of == key) else { continue };
        let sender = sender(request);
        if sender == Sender::Waiting {
            return Err(format!("S1: {key:?} is under way already"));
        }
        if sender != Sender::Unknown && other != ip && other.is_some() && ip.is_some() {
            return Err(format!("S4: {key:?} {ip:?} is sent while one with {other:?} may arrive"));
        }
    }
    Ok(())
}

/// S2: whether a file says of an update that an address is being sent, and does so until then.
pub(crate) fn is_marked(state: &State, key: &ClaimKey, ip: IpAddr, ends: Duration) -> bool {
    let Claim { accepted, in_doubt } = state.entry(key);
    let lasts = |of: IpAddr, until: u64| of == ip && Duration::from_secs(until) >= ends;
    // Another process may have had the same address accepted since it was marked, or sent one that may have arrived.
    let is_beside = || {
        (in_doubt.is_some() || accepted.is_some_and(|accepted| accepted.ip == ip))
            && state.hold(key).under_way.iter().any(|beside| lasts(beside.ip, beside.until))
    };
    in_doubt.is_some_and(|doubt| lasts(doubt.ip, doubt.until)) || is_beside()
}

/// S3: whether a claim that counts names what the endpoint has.
pub(crate) fn is_right(claim: Claim, max_age: Duration, now: u64, has: Option<IpAddr>) -> bool {
    match claim.accepted {
        Some(accepted) if claim.in_doubt.is_none() => !accepted.counts(max_age, now) || has == Some(accepted.ip),
        _ => true,
    }
}

/// S7: an endpoint that wants no request before then gets none.
pub(crate) fn pause(until: Option<Duration>, now: Duration) -> Result<(), String> {
    match until.filter(|until| *until > now) {
        Some(until) => Err(format!("S7: the endpoint wants no request before {until:?}")),
        None => Ok(()),
    }
}

/// S8 and S9: how many requests of a process are under way with the one that is sent: all of them, and those to its endpoint.
pub(crate) fn limits(all: usize, here: usize, concurrency: Option<u16>) -> Result<(), String> {
    if concurrency == Some(1) && all > 1 {
        return Err(format!("S8: {all} requests are under way in strict order"));
    }
    if all > 768 || here > concurrency.map_or(64, usize::from) {
        return Err(format!("S9: {all} requests are under way, {here} of them to one endpoint"));
    }
    Ok(())
}

/// S13: each update of a request is told once.
pub(crate) fn told<Key: PartialEq + Debug>(
    members: &[(Key, Option<IpAddr>)],
    told: &[(Key, IpAddr)],
) -> Result<(), String> {
    for (key, ip) in members {
        let Some(ip) = ip else { continue };
        let count = told.iter().filter(|(of, what)| of == key && what == ip).count();
        if count != 1 {
            return Err(format!("S13: the journal has {key:?} {count} times"));
        }
    }
    Ok(())
}

/// S14: nothing starts after a process was to stop.
pub(crate) fn starts(is_closing: bool) -> Result<(), String> {
    if is_closing { Err("S14: something starts after it was to stop".to_owned()) } else { Ok(()) }
}
