//! Merges what two processes changed in one file since they read it (E4a).

use super::{Accepted, Changed, Claim, ClaimKey, Fingerprint, InDoubt, KeptClaim, Saved, State};
use crate::net::family::Family;
use crate::update::hold::UnderWay;

impl Claim {
    /// Merges with what another process wrote of the same claim.
    fn over(self, theirs: Self, own: u32, now: u64) -> Self {
        let is_live = |doubt: &InDoubt| doubt.is_foreign(own, now);
        // A time in the future is from a wrong clock.
        let is_later = |theirs: &Accepted| {
            let is_after = |ours: Accepted| (ours.at, false) < (theirs.at, self.in_doubt.is_some());
            self.accepted.is_none_or(|ours| is_after(ours) && theirs.at <= now)
        };
        let accepted = theirs.accepted.filter(is_later).or(self.accepted);
        let in_doubt = match (self.in_doubt, theirs.in_doubt) {
            // The first mark stays; two marks for the same address are both right.
            (Some(ours), Some(theirs)) if ours.by == own && is_live(&theirs) && theirs.ip != ours.ip => Some(theirs),
            (Some(ours), _) if ours.by == own => Some(ours),
            // This is what was there before our mark, whose request was not sent. It is restored, unless they changed it.
            (Some(before), Some(mark)) if before.by != 0 && mark.by == own => Some(before),
            (Some(before), theirs) if before.by != 0 => theirs,
            // What we sent may have arrived, even if nothing comes of their request. Theirs goes beside it (`under_way`).
            (Some(ours), _) => Some(ours),
            // Two requests may carry the same address: whichever is applied last, the result is right.
            (None, Some(doubt)) => {
                let is_news = accepted == self.accepted && accepted != theirs.accepted;
                let is_settled = is_news && accepted.is_some_and(|accepted| accepted.ip == doubt.ip);
                Some(doubt).filter(|_| doubt.by != own && !is_settled)
            }
            (None, None) => None,
        };
        Self { accepted, in_doubt }
    }
}

impl State {
    /// The claims of other callbacks of the same file and origin for this domain and type.
    fn others_of<'a>(&'a self, key: &'a ClaimKey) -> impl Iterator<Item = (Fingerprint, Claim)> + 'a {
        let makers = self.callbacks.get(&key.callback).map_or(&[][..], |claims| &claims.by);
        let others = self.callbacks.iter().filter(move |(callback, claims)| {
            **callback != key.callback && claims.by.iter().any(|by| makers.contains(by))
        });
        others.filter_map(|(callback, claims)| {
            Some((*callback, claims.entries[key.family.index()].get(&key.domain).copied()?.into()))
        })
    }

    /// Whether another process is sending a different address for this domain and type through such a callback.
    /// `is_live` tells which marks count.
    pub(crate) fn is_being_replaced(&self, key: &ClaimKey, claim: &Claim, is_live: impl Fn(&InDoubt) -> bool) -> bool {
        let is_other =
            |doubt: InDoubt| is_live(&doubt) && claim.accepted.is_some_and(|accepted| accepted.ip != doubt.ip);
        self.others_of(key).any(|(callback, other)| {
            let hold = self.of(callback).hold(&key.domain, key.family);
            let beside = hold.into_iter().flat_map(|hold| &hold.under_way).map(|other| InDoubt::from(*other));
            other.in_doubt.into_iter().chain(beside).any(&is_other)
        })
    }

    /// Whether such a callback has since had a different address accepted. Callbacks that are configured beside this
    /// one (`is_beside`) do not count. Of two acceptances in one second, the other counts as later unless its claim is
    /// in doubt: what was sent after it put it in doubt.
    pub(crate) fn was_replaced(
        &self,
        key: &ClaimKey,
        claim: &Claim,
        now: u64,
        is_beside: impl Fn(Fingerprint) -> bool,
    ) -> bool {
        self.others_of(key).any(|(callback, other)| {
            let is_later = |(own, its): (Accepted, Accepted)| {
                let is_after = own.at < its.at || own.at == its.at && other.in_doubt.is_none();
                is_after && its.at <= now && own.ip != its.ip
            };
            claim.accepted.zip(other.accepted).is_some_and(is_later) && !is_beside(callback)
        })
    }

    /// Takes over what `ours` has changed since this state was read from the file. If both mark an update, the first
    /// mark stays (E4a), unless both send the same address. Of two acceptances, the later one counts.
    pub fn merge(&mut self, ours: &Self, changed: &mut Changed, own: u32, now: u64) {
        self.doubt_former(ours, changed, own, now);
        for key in &ours.changed(changed) {
            let (is_changed, mut base) = (ours.is_changed(key), changed.holds.get_mut(key));
            let (claim, theirs, mut hold) = (ours.entry(key), self.entry(key), self.hold(key));
            let beside = hold.clone();
            let is_marked = claim.in_doubt.is_some_and(|doubt| doubt.by == own);
            // Another process has since recorded something that our unsent mark must be judged by again.
            let is_outdated = is_marked && is_changed && base.as_ref().is_some_and(|base| hold.has_changed_from(base));
            let is_taken = is_changed && !is_outdated;
            let mut merged = if is_taken { claim.over(theirs, own, now) } else { theirs };
            // Of two addresses accepted in the same second, nobody knows which came last.
            if let Some((accepted, theirs)) = merged.accepted.zip(theirs.accepted)
                && accepted.at == theirs.at
                && accepted.ip != theirs.ip
                && let Some(doubted) = merged.doubted()
            {
                merged = doubted;
            }
            if let Some(doubt) = merged.in_doubt.as_mut().filter(|doubt| doubt.by != 0) {
                let is_old = doubt.by == own && is_outdated;
                // This mark was there before ours: its process has since ended the request.
                let is_over = doubt.by != own
                    && theirs.in_doubt != Some(*doubt)
                    && hold.under_way.iter().all(|other| other.by != doubt.by);
                if is_old || is_over {
                    (doubt.by, doubt.until) = (0, 0);
                }
            }
            if let Some(base) = &mut base {
                if !is_outdated {
                    hold = ours.hold(key).merged(base, hold, merged.accepted.map_or(0, |accepted| accepted.at));
                }
                **base = beside;
            }
            let is_open = is_marked || ours.hold(key).sent_by(own).is_some();
            hold.under_way.retain(|other| other.until > now && (other.by != own || is_open));
            if let Some(doubt) = theirs.in_doubt.filter(|doubt| doubt.is_foreign(own, now))
                && merged.in_doubt != theirs.in_doubt
            {
                hold.under_way.retain(|other| other.by != doubt.by);
                hold.under_way.push(doubt.into());
            }
            // Another callback has since sent a different address, or is about to.
            if is_changed
                && (self.is_being_replaced(key, &merged, |doubt| doubt.is_foreign(own, now))
                    || self.was_replaced(key, &merged, now, |_| false))
                && let Some(doubted) = merged.doubted()
            {
                merged = doubted;
            }
            // Our request was not sent, or is settled, but theirs may still deliver a different address.
            let is_other = |other: &UnderWay| {
                InDoubt::from(*other).is_foreign(own, now)
                    && merged.accepted.is_none_or(|accepted| accepted.ip != other.ip)
            };
            if merged.in_doubt.is_none() {
                merged.in_doubt = hold.take_last(is_other).map(InDoubt::from);
            }
            self.put_claim(key, merged, is_changed.then_some(Saved::No));
            for by in ours.callbacks.get(&key.callback).iter().flat_map(|claims| &claims.by) {
                self.note_maker(key.callback, *by);
            }
            self.set_hold(key, hold);
        }
        for key in &changed.streaks {
            self.set_streak(key, ours.streak(key).unwrap_or_default());
        }
    }

    /// A file that says less than this process knows is an old one that was put back, for example because a folder was away for
    /// a while. Its claims do not count if another address was accepted since, and our marks are put back into it.
    fn doubt_former(&mut self, ours: &Self, changed: &mut Changed, own: u32, now: u64) {
        let mut beside = Vec::new();
        // An entry from the future was written before the clock was set back.
        let is_old = |former: Accepted, known: Accepted| former.at < known.at || former.at > now;
        for (callback, known) in &ours.callbacks {
            let Some(claims) = self.callbacks.get_mut(callback) else { continue };
            for (family, (entries, known)) in Family::ALL.into_iter().zip(claims.entries.iter_mut().zip(&known.entries))
            {
                for (domain, known) in known {
                    let Some(slot) = entries.get_mut(domain) else { continue };
                    let (mut entry, is_changed, known) =
                        (Claim::from(*slot), known.saved != Saved::Yes, Claim::from(*known));
                    let is_ours = |doubt: &InDoubt| doubt.by == own;
                    let key = || ClaimKey { callback: *callback, domain: domain.clone(), family };
                    let is_open = || is_changed || ours.hold(&key()).sent_by(own).is_some();
                    // Our request has ended.
                    if let Some(doubt) = entry.in_doubt.as_mut().filter(|doubt| is_ours(doubt))
                        && !known.in_doubt.as_ref().is_some_and(is_ours)
                        && !is_open()
                    {
                        (doubt.by, doubt.until) = (0, 0);
                    }
                    if let Some(known) = known.accepted
                        && entry.in_doubt.is_none()
                        && entry.accepted.is_some_and(|former| former.ip != known.ip && is_old(former, known))
                    {
                        entry.in_doubt = Some(InDoubt { ip: known.ip, until: 0, by: 0, message: 0 });
                    }
                    // The file was put back after we marked this update.
                    let is_gone = |doubt: &InDoubt| {
                        let marks = self.holds.get(callback).and_then(|holds| holds[family.index()].get(domain));
                        is_ours(doubt) && doubt.until > now && marks.and_then(|hold| hold.sent_by(own)).is_none()
                    };
                    match entry.in_doubt {
                        None => {
                            // Unless another process has had the same address accepted since.
                            let is_sent = |mark: &InDoubt| {
                                let is_later = |theirs: Accepted| known.accepted.is_none_or(|ours| ours.at < theirs.at);
                                entry.accepted.is_some_and(|theirs| theirs.ip == mark.ip && is_later(theirs))
                            };
                            match known.in_doubt.filter(is_gone) {
                                Some(mark) if is_sent(&mark) => beside.push((key(), mark)),
                                Some(mark) => {
                                    (entry.in_doubt, slot.saved, changed.claims) = (Some(mark), Saved::No, true);
                                }
                                None => {}
                            }
                        }
                        // Another process has marked it since.
                        Some(doubt) if !is_ours(&doubt) => {
                            // Or our mark already went beside theirs, and was not written yet.
                            let own = || ours.hold(&key()).sent_by(own).map(InDoubt::from);
                            let mark = known.in_doubt.filter(is_ours).or_else(own).filter(is_gone);
                            beside.extend(mark.map(|mark| (key(), mark)));
                        }
                        Some(_) => {}
                    }
                    *slot = KeptClaim { saved: slot.saved, ..entry.into() };
                }
            }
        }
        for (key, mark) in beside.into_iter().filter(|(key, _)| !ours.is_changed(key)) {
            let mut hold = self.hold(&key);
            // Nothing of ours has changed: what they recorded counts.
            changed.holds.entry(key.clone()).or_insert_with(|| ours.hold(&key));
            changed.claims = true;
            hold.under_way.push(mark.into());
            self.set_hold(&key, hold);
        }
    }
}
