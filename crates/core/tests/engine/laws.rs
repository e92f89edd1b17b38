//! The laws for requests. The simulation checks its own requests, the contract tests those that the program traced.

use std::fmt::Debug;
use std::net::IpAddr;
use std::time::Duration;

use ddns_core::update::state::{Claim, ClaimKey, State};

/// A request that was sent.
pub(crate) trait Sent {
    /// Identifies an update.
    type Key: PartialEq + Debug;

    /// The address of each update. `None`: a substitute is sent.
    fn members(&self) -> &[(Self::Key, Option<IpAddr>)];

    fn may_arrive(&self, now: Duration) -> bool;
}

/// Who sent a request, from the point of view of a process that sends another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    /// This process, which still waits for the response.
    Waiting,
    /// This process, which has abandoned the request.
    Own,
    /// Another process, whose mark this process can read.
    Known,
    Unknown,
}

/// S1 and S4: no update is sent while an earlier request with it is running, or may still arrive with another address; one that
/// makes a record, while any may still arrive.
pub(crate) fn order<'a, Request: Sent + 'a>(
    (key, ip): &(Request::Key, Option<IpAddr>),
    makes: bool,
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
        if sender != Sender::Unknown && (makes || other != ip) && other.is_some() && ip.is_some() {
            return Err(format!("S4: {key:?} {ip:?} is sent while one with {other:?} may arrive"));
        }
    }
    Ok(())
}

/// S2: whether a file marks an update as being sent with this address, at least until `ends`.
pub(crate) fn is_marked(state: &State, key: &ClaimKey, ip: IpAddr, ends: Duration) -> bool {
    let Claim { accepted, in_doubt } = state.entry(key);
    let lasts = |of: IpAddr, until: u64| of == ip && Duration::from_secs(until) >= ends;
    // After the mark, another process may have had the same address accepted, or sent an address that may have arrived.
    let is_beside = || {
        (in_doubt.is_some() || accepted.is_some_and(|accepted| accepted.ip == ip))
            && state.hold(key).under_way.iter().any(|beside| lasts(beside.ip, beside.until))
    };
    in_doubt.is_some_and(|doubt| lasts(doubt.ip, doubt.until)) || is_beside()
}

/// S3: whether a claim is right: it does not count, or names the address that the endpoint has.
pub(crate) fn is_right(claim: Claim, max_age: Duration, now: u64, has: Option<IpAddr>) -> bool {
    match claim.accepted {
        Some(accepted) if claim.in_doubt.is_none() => !accepted.counts(max_age, now) || has == Some(accepted.ip),
        _ => true,
    }
}

/// S7: an endpoint that asked for a pause gets no request before it ends.
pub(crate) fn pause(until: Option<Duration>, now: Duration) -> Result<(), String> {
    match until.filter(|until| *until > now) {
        Some(until) => Err(format!("S7: the endpoint wants no request before {until:?}")),
        None => Ok(()),
    }
}

/// S8 and S9: the limits of running requests, including the one that is sent: all of a process, and those to the same endpoint.
pub(crate) fn limits(all: usize, here: usize, concurrency: Option<u16>) -> Result<(), String> {
    if concurrency == Some(1) && all > 1 {
        return Err(format!("S8: {all} requests are under way in strict order"));
    }
    if all > 768 || here > concurrency.map_or(64, usize::from) {
        return Err(format!("S9: {all} requests are under way, {here} of them to one endpoint"));
    }
    Ok(())
}

/// S13: the journal reports each update of a request once.
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

/// S14: a process that is stopping starts nothing.
pub(crate) fn starts(is_closing: bool) -> Result<(), String> {
    if is_closing { Err("S14: something starts after it was to stop".to_owned()) } else { Ok(()) }
}
