//! The faults of the trial: what is done to the holder or the store, and which request shows that the group got over it.

use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::group::trial::endpoint::Arrival;
use crate::group::trial::member::{LEASE, Member};
use crate::group::trial::rounds::Trial;
use crate::group::trial::store::Store;
use crate::support::network::ROUTER;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Kill,
    Stop,
    NoStore,
    NoEndpoint,
    Leader,
    Majority,
    Terminate,
    RestartAll,
}

impl Fault {
    pub const ALL: [Self; 8] = [
        Self::Kill,
        Self::Stop,
        Self::NoStore,
        Self::NoEndpoint,
        Self::Leader,
        Self::Majority,
        Self::Terminate,
        Self::RestartAll,
    ];

    /// Those that are tried in every run of the tests.
    pub const FEW: [Self; 6] =
        [Self::Kill, Self::NoStore, Self::NoEndpoint, Self::Leader, Self::Terminate, Self::RestartAll];

    pub fn words(self) -> &'static str {
        match self {
            Self::Kill => "holder killed (`kill -9`)",
            Self::Stop => "holder stopped for three leases (SIGSTOP)",
            Self::NoStore => "holder cut off from etcd",
            Self::NoEndpoint => "holder cut off from the endpoint, its address changed",
            Self::Leader => "leader of etcd killed, addresses changed",
            Self::Majority => "two nodes of etcd killed, addresses changed; from their return",
            Self::Terminate => "holder ended (SIGTERM)",
            Self::RestartAll => "all members restarted, addresses changed",
        }
    }
}

/// A changed address is at the endpoint by then.
const BUSY: Duration = Duration::from_millis(500);

/// When the time began that a fault is measured by, and the request that ended it.
pub struct Overcome {
    pub since: Instant,
    pub arrival: Arrival,
}

impl Trial {
    /// Does it to the holder, waits until the endpoint has the new address, and mends it again. Half of the time it meets
    /// the holder while it is about to send.
    pub fn suffer(&mut self, fault: Fault, holder: usize) -> Overcome {
        if self.random.below(2) == 0 {
            self.members[holder].change_address();
            thread::sleep(self.up_to(BUSY));
        }
        match fault {
            Fault::Kill => self.kill(holder),
            Fault::Stop => self.stop(holder),
            Fault::NoStore => self.cut_off_from_store(holder),
            Fault::NoEndpoint => self.cut_off_from_endpoint(holder),
            Fault::Leader => self.kill_leader(),
            Fault::Majority => self.kill_majority(),
            Fault::Terminate => self.terminate(holder),
            Fault::RestartAll => self.restart_all(),
        }
    }

    fn kill(&mut self, holder: usize) -> Overcome {
        let since = Instant::now();
        self.members[holder].signal(Signal::KILL);
        self.members[holder].ended();
        let arrival = self.other_sends(holder, since);
        self.members[holder].start();
        Overcome { since, arrival }
    }

    /// While it is stopped its address changes: it wants to send the moment that it goes on.
    fn stop(&mut self, holder: usize) -> Overcome {
        let since = Instant::now();
        self.members[holder].signal(Signal::STOP);
        let arrival = self.other_sends(holder, since);
        self.members[holder].change_address();
        wait_until(since + 3 * LEASE);
        self.members[holder].signal(Signal::CONT);
        Overcome { since, arrival }
    }

    /// Sometime its address changes: before its lease ends it may send that, after that it may not.
    fn cut_off_from_store(&mut self, holder: usize) -> Overcome {
        let since = Instant::now();
        let host = self.members[holder].host;
        for node in Store::hosts() {
            host.cut_off(node.address());
        }
        let moment = since + self.up_to(LEASE * 3 / 2);
        wait_until(moment);
        self.members[holder].change_address();
        let arrival = self.other_sends(holder, since);
        wait_until(moment + LEASE / 2);
        for node in Store::hosts() {
            host.reconnect(node.address());
        }
        Overcome { since, arrival }
    }

    fn cut_off_from_endpoint(&mut self, holder: usize) -> Overcome {
        let since = Instant::now();
        let host = self.members[holder].host;
        host.cut_off(ROUTER);
        self.members[holder].change_address();
        let arrival = self.other_sends(holder, since);
        host.reconnect(ROUTER);
        Overcome { since, arrival }
    }

    fn kill_leader(&mut self) -> Overcome {
        let leader = Store::agreed();
        let since = Instant::now();
        self.store.kill(leader);
        self.change_addresses();
        let arrival = self.current_address_comes(since);
        self.store.start(leader);
        Overcome { since, arrival }
    }

    /// Nobody may send once the lease has ended that nobody can renew.
    fn kill_majority(&mut self) -> Overcome {
        let spared = self.random.below(3);
        let killed = [(spared + 1) % 3, (spared + 2) % 3];
        let begun = Instant::now();
        for node in killed {
            self.store.kill(node);
        }
        let moment = begun + self.up_to(LEASE * 2);
        wait_until(moment);
        self.change_addresses();
        wait_until(begun + 2 * LEASE);
        let without_store = self.endpoint.arrivals().into_iter().filter(|arrival| arrival.at > begun + LEASE);
        self.late += without_store.count();
        let since = Instant::now();
        for node in killed {
            self.store.start(node);
        }
        let arrival = self.current_address_comes(begun);
        Overcome { since, arrival }
    }

    fn terminate(&mut self, holder: usize) -> Overcome {
        let since = Instant::now();
        self.members[holder].signal(Signal::TERM);
        let arrival = self.other_sends(holder, since);
        assert_eq!(self.members[holder].ended(), 0, "it ends well:\n{}", self.members[holder].log());
        self.members[holder].start();
        Overcome { since, arrival }
    }

    fn restart_all(&mut self) -> Overcome {
        let signal = [Signal::KILL, Signal::TERM][self.random.below(2)];
        let since = Instant::now();
        self.members.iter().for_each(|member| member.signal(signal));
        for member in &mut self.members {
            member.ended();
            member.change_address();
        }
        self.members.iter_mut().for_each(Member::start);
        let arrival = self.current_address_comes(since);
        Overcome { since, arrival }
    }

    fn change_addresses(&mut self) {
        self.members.iter_mut().for_each(Member::change_address);
    }

    fn up_to(&mut self, limit: Duration) -> Duration {
        let limit = usize::try_from(limit.as_millis()).expect("a short time");
        Duration::from_millis(self.random.below(limit) as u64)
    }
}

fn wait_until(moment: Instant) {
    thread::sleep(moment.saturating_duration_since(Instant::now()));
}
