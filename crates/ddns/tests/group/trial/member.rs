//! A member of the group: `ddns watch` on a host of its own, whose address can be changed.

use std::net::Ipv4Addr;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::group::trial::store::Store;
use crate::support::Sandbox;
use crate::support::network::Host;
use crate::support::watching::{Watch, host};

pub const LEASE: Duration = Duration::from_secs(5);

/// Longer than a member takes to end when it is asked to.
const END: Duration = Duration::from_secs(30);

pub struct Member {
    pub name: String,
    pub host: Host,
    sandbox: Sandbox,
    /// How many addresses it had before this one.
    generation: u8,
    watch: Option<Watch>,
    /// What it logged before it was started again.
    past: String,
}

impl Member {
    /// The member with this number, from 1; started.
    pub fn new(number: u8, endpoint: &str) -> Self {
        let name = format!("host-{number}");
        let group = json!({"store": Store::url(), "name": "trial", "lease": format!("{}s", LEASE.as_secs()),
            "member": name});
        let config = json!({"dns": "callback", "id": endpoint, "ipv4": ["home.example.com"], "index4": "interface:wan0",
            "proxy": "DIRECT", "timeout": 3, "group": group, "debug": true,
            "log": {"format": "%(asctime)s %(levelname)s %(message)s"}});
        let sandbox = host().configure(&config);
        let mut member = Self { name, host: Host(number), sandbox, generation: 0, watch: None, past: String::new() };
        member.host.change_address(None, member.ip());
        member.start();
        member
    }

    /// The address that it should send.
    pub fn ip(&self) -> Ipv4Addr {
        Ipv4Addr::new(198, 18, self.generation, self.host.0)
    }

    /// Gives its host another address.
    pub fn change_address(&mut self) {
        let old = self.ip();
        self.generation = self.generation.wrapping_add(1);
        self.host.change_address(Some(old), self.ip());
    }

    pub fn start(&mut self) {
        self.watch = Some(Watch::run(self.host.ddns(&self.sandbox, &["watch", "-c", "config.json"])));
    }

    pub fn signal(&self, signal: Signal) {
        self.watch.as_ref().expect("it runs").signal(signal);
    }

    /// Waits until it has ended; its exit status, -1 where a signal ended it.
    #[track_caller]
    pub fn ended(&mut self) -> i32 {
        let mut watch = self.watch.take().expect("it runs");
        let code = watch.ended(END);
        self.past += &watch.log();
        code
    }

    /// Everything that it logged.
    pub fn log(&self) -> String {
        format!("{}{}", self.past, self.watch.as_ref().map(Watch::log).unwrap_or_default())
    }
}
