//! Hosts of a group on one machine: each has a sandbox and an address of its own, and all send to one endpoint.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::etcd::Etcd;
use crate::support::given::with;
use crate::support::watching::{Endpoint, Watch, host};

/// The shortest lease that can be set: tests wait for its end.
pub const LEASE: Duration = Duration::from_secs(5);

/// Another host holds the lease so long after one died (J1); and a while for a machine that does many other things.
pub const TAKEN_OVER: Duration = Duration::from_secs(5 + 2 + 5);

/// One host of the group `home`.
pub struct Member {
    pub sandbox: Sandbox,
    config: Value,
}

impl Member {
    /// Its address is read from a file, which [`Member::set_ip`] writes.
    pub fn new(name: &str, ip: &str, etcd: &Etcd, endpoint: &Endpoint, more: &Value) -> Self {
        let sandbox = host();
        let file = sandbox.write("address", ip);
        let index = format!("cmd:cat {}", file.display());
        let group = json!({"store": format!("etcd://127.0.0.1:{}", etcd.port), "name": "home", "lease": "5s",
            "member": name});
        let group = with(&group, more);
        let config = endpoint.config(&json!({"index4": index, "group": group, "interval": "1m"}));
        Self { sandbox, config }
    }

    pub fn set_ip(&self, ip: &str) {
        self.sandbox.write("address", ip);
    }

    pub fn watch(&self) -> Watch {
        Watch::start(&self.sandbox, &self.config)
    }

    /// The configuration without `interval`, changed by `more`, for a single run.
    pub fn single(&self, more: &Value) -> Value {
        let mut config = self.config.clone();
        config.as_object_mut().expect("fields").remove("interval");
        with(&config, more)
    }
}

/// The hosts `one` and `other` with these addresses, their store and their endpoint; none where etcd is not installed.
pub fn two([one, other]: [&str; 2]) -> Option<(Etcd, Endpoint, Member, Member)> {
    let (etcd, endpoint) = (Etcd::start()?, Endpoint::new());
    let one = Member::new("one", one, &etcd, &endpoint, &json!({}));
    let other = Member::new("other", other, &etcd, &endpoint, &json!({}));
    Some((etcd, endpoint, one, other))
}
