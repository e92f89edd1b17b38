//! A model of etcd, as far as a group uses it: revisions, leases that end by the store's own clock, transactions, elections.

use std::collections::BTreeMap;
use std::time::Duration;

use ddns_group::etcd::StoreStamp;
use ddns_group::machine::{Answer, Call};
use ddns_group::view::{Holder, LeaseId, MemberEntry, MemberView, VERSION, View};

/// etcd looks for leases that have ended this often.
pub(crate) const CHECK: Duration = Duration::from_millis(500);

/// What the group remembers: the address that was accepted last, and whether another was sent since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Remembered {
    pub(crate) accepted: Option<u32>,
    pub(crate) is_in_doubt: bool,
}

/// A call of a member.
#[derive(Debug, Clone)]
pub(crate) enum Asked {
    Call(Call),
    /// A transaction on the holder's key of this lease and revision, and on what was remembered as of this one: a write that is
    /// late must not undo a newer one.
    Write((LeaseId, i64), i64, Remembered),
    /// Reads what is remembered.
    Read,
}

/// The answer to it.
#[derive(Debug, Clone)]
pub(crate) enum Said {
    Answer(Answer),
    /// What is remembered, and since which revision; the number of the holder where the machine asked.
    Read(Option<i64>, Remembered, i64),
    /// At which revision it was written, if it was.
    Written(Option<i64>),
    Watching,
}

#[derive(Debug, Clone)]
pub(crate) struct Store {
    cluster: u64,
    /// Seconds of its clock in a second.
    pub(crate) rate: f64,
    lease: Duration,
    revision: i64,
    next_lease: i64,
    has_version: bool,
    holder: Option<Holder>,
    members: BTreeMap<LeaseId, (MemberEntry, i64)>,
    /// When each ends.
    leases: BTreeMap<LeaseId, Duration>,
    pub(crate) remembered: Remembered,
    remembered_at: i64,
    pub(crate) has_majority: bool,
    /// Leases that a leader without a majority still confirms, how far it is, and until when.
    stale: (Vec<LeaseId>, i64, Duration),
    /// What is remembered is older than what was sent, and nobody has noticed.
    pub(crate) is_older: bool,
}

impl Store {
    pub(crate) fn new(lease: Duration, rate: f64) -> Self {
        Self {
            cluster: 1,
            rate,
            lease,
            revision: 1,
            next_lease: 0x1000,
            has_version: false,
            holder: None,
            members: BTreeMap::new(),
            leases: BTreeMap::new(),
            remembered: Remembered::default(),
            remembered_at: 0,
            has_majority: true,
            stale: (Vec::new(), 0, Duration::ZERO),
            is_older: false,
        }
    }

    /// When a lease ends that is granted or renewed now.
    fn end(&self, now: Duration) -> Duration {
        now + self.lease.div_f64(self.rate)
    }

    pub(crate) fn view(&self) -> View {
        let members = self.members.iter().map(|(lease, (entry, created))| MemberView {
            member: entry.member.clone(),
            lease: *lease,
            ready: entry.ready,
            prefer: entry.prefer,
            created: *created,
        });
        View {
            revision: self.revision,
            version: self.has_version.then(|| VERSION.to_owned()),
            holder: self.holder.clone(),
            members: members.collect(),
        }
    }

    pub(crate) fn stamp(&self) -> StoreStamp {
        StoreStamp { cluster: self.cluster, revision: self.revision }
    }

    /// It is as it was once, or empty (J7). Leases count from the beginning; those that are granted have never been there.
    pub(crate) fn go_back(&mut self, once: Option<Self>, is_another: bool, now: Duration) {
        let is_older = once.is_some();
        let once = once.unwrap_or_else(|| Self::new(self.lease, self.rate));
        let cluster = self.cluster + u64::from(is_another);
        *self = Self { cluster, next_lease: self.next_lease, is_older, stale: (Vec::new(), 0, Duration::ZERO), ..once };
        self.elect(now);
    }

    /// Whether this is the holder's key.
    fn is_held(&self, lease: LeaseId, created: i64) -> bool {
        self.holder.as_ref().is_some_and(|holder| (holder.lease, holder.created) == (lease, created))
    }

    /// Whose the holder's key is.
    pub(crate) fn holder(&self) -> Option<LeaseId> {
        self.holder.as_ref().map(|holder| holder.lease)
    }

    /// The leader is lost: until the next one nothing is committed, but it still confirms renewals of those who reach it.
    pub(crate) fn lose_leader(&mut self, stale_until: Duration) {
        self.has_majority = false;
        self.stale = (self.leases.keys().copied().collect(), self.revision, stale_until);
    }

    /// A new leader: it counts every lease from the beginning.
    pub(crate) fn elect(&mut self, now: Duration) {
        self.has_majority = true;
        let end = self.end(now);
        self.leases.values_mut().for_each(|at| *at = end);
    }

    /// What the leader without a majority says to a renewal.
    pub(crate) fn stale_answer(&self, asked: &Asked, now: Duration) -> Option<(Said, StoreStamp)> {
        match asked {
            Asked::Call(Call::Renew(lease)) if now < self.stale.2 && self.stale.0.contains(lease) => {
                let stamp = StoreStamp { revision: self.stale.1, ..self.stamp() };
                Some((Said::Answer(Answer::Renewed(*lease, Some(self.lease))), stamp))
            }
            _ => None,
        }
    }

    /// Ends the leases whose time is over.
    pub(crate) fn check(&mut self, now: Duration) {
        if self.has_majority {
            let over: Vec<LeaseId> = self.leases.iter().filter(|(_, end)| **end <= now).map(|(id, _)| *id).collect();
            for lease in over {
                self.revoke(lease);
            }
        }
    }

    fn revoke(&mut self, lease: LeaseId) {
        if self.leases.remove(&lease).is_none() {
            return;
        }
        let was_member = self.members.remove(&lease).is_some();
        let was_holder = self.holder.take_if(|holder| holder.lease == lease).is_some();
        self.revision += i64::from(was_member || was_holder);
    }

    pub(crate) fn apply(&mut self, asked: &Asked, name: &str, now: Duration) -> Said {
        let call = match asked {
            Asked::Call(call) => call,
            Asked::Read => return Said::Read(None, self.remembered, self.remembered_at),
            Asked::Write((lease, created), known, remembered) => {
                if !self.is_held(*lease, *created) || self.remembered_at != *known {
                    return Said::Written(None);
                }
                self.revision += 1;
                (self.remembered, self.remembered_at) = (*remembered, self.revision);
                return Said::Written(Some(self.revision));
            }
        };
        Said::Answer(match call {
            Call::Watch => return Said::Watching,
            Call::Load(created, is_doubtful) => {
                if *is_doubtful && self.holder.as_ref().is_some_and(|holder| holder.created == *created) {
                    self.revision += 1;
                    (self.remembered.is_in_doubt, self.remembered_at, self.is_older) = (true, self.revision, false);
                }
                return Said::Read(Some(*created), self.remembered, self.remembered_at);
            }
            Call::Grant => {
                self.next_lease += 1;
                let (lease, end) = (LeaseId(self.next_lease), self.end(now));
                self.leases.insert(lease, end);
                Answer::Granted(lease, self.lease)
            }
            Call::Renew(lease) => {
                let end = self.end(now);
                if self.leases.get(lease).is_some_and(|known| *known <= now) {
                    self.revoke(*lease);
                }
                let alive = self.leases.get_mut(lease);
                Answer::Renewed(*lease, alive.map(|known| *known = end).map(|()| self.lease))
            }
            Call::Register(lease, entry) => {
                let is_alive = self.leases.contains_key(lease);
                if is_alive {
                    self.revision += 1;
                    self.has_version = true;
                    let created = self.members.get(lease).map_or(self.revision, |(_, created)| *created);
                    self.members.insert(*lease, (entry.clone(), created));
                }
                Answer::Registered(*lease, is_alive.then_some(self.revision))
            }
            Call::Campaign(lease) => {
                if self.holder.is_none() && self.leases.contains_key(lease) {
                    self.revision += 1;
                    let holder = Holder { member: name.to_owned(), lease: *lease, created: self.revision };
                    self.holder = Some(holder);
                }
                Answer::Campaigned(*lease, self.holder.clone())
            }
            Call::Resign(lease, created) => {
                if self.is_held(*lease, *created) {
                    self.holder = None;
                    self.revision += 1;
                }
                Answer::Resigned(*created)
            }
            Call::Revoke(lease) => {
                self.revoke(*lease);
                Answer::Revoked(*lease)
            }
        })
    }
}
