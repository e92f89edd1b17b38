//! The network of the trial: a host for each member and each node of etcd, and between them a router, in whose namespace the
//! test itself and the endpoint run. Other tests use some of its hosts. Whoever is cut off is not told: packets get lost.

use std::ffi::OsStr;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};

use crate::support::Sandbox;
use crate::support::tools::sh;

/// The router and its hosts. A host's packets pass the router, whose rules say which of them get lost; the rule for the
/// router's own addresses comes first by default, and must not.
pub const SETUP: &str = "
    mount -t tmpfs none /run || exit 77
    mkdir /run/netns
    ip link set lo up
    ip addr add 10.77.0.1/32 dev lo
    echo 1 >/proc/sys/net/ipv4/ip_forward || exit 77
    ip rule add pref 100 lookup local || exit 77
    ip rule del pref 0
    host() {
        ip netns add h$1 || exit 77
        ip link add r$1 type veth peer name net0 netns h$1 || exit 77
        ip addr add 10.77.$1.254/24 dev r$1
        ip link set r$1 up
        ip -n h$1 link set lo up
        ip -n h$1 addr add 10.77.$1.1/24 dev net0
        ip -n h$1 link set net0 up
        ip -n h$1 route add default via 10.77.$1.254
    }
    for number in 1 2 3; do
        host $number
        ip -n h$number link add wan0 type veth peer name wan1
        ip -n h$number link set wan1 up
        ip -n h$number link set wan0 up
    done
    for number in 11 12 13; do host $number; done
";

/// Where the endpoint is.
pub const ROUTER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

/// A host by its number: members are 1 to 3, nodes of etcd 11 to 13.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host(pub u8);

impl Host {
    /// How the others reach it.
    pub fn address(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, self.0, 1)
    }

    /// A program on this host, not yet started. It ends with the thread that starts it.
    pub fn command(self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "nsenter", &format!("--net=/run/netns/h{}", self.0)]).arg(program);
        command.stdin(Stdio::null());
        command
    }

    /// The built program on this host, with what a sandbox gives it.
    pub fn ddns(self, sandbox: &Sandbox, args: &[&str]) -> Command {
        let program = sandbox.command(args);
        let mut command = self.command(program.get_program());
        command.args(program.get_args()).current_dir(sandbox.path(".")).env_clear();
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    /// Gives `wan0` another address in place of the old one.
    pub fn change_address(self, old: Option<Ipv4Addr>, new: Ipv4Addr) {
        let host = self.0;
        let remove = old.map(|old| format!("; ip -n h{host} addr del {old}/32 dev wan0")).unwrap_or_default();
        sh(&format!("ip -n h{host} addr add {new}/32 dev wan0{remove}"));
    }

    /// From now on packets between this host and the other one get lost.
    pub fn cut_off(self, other: Ipv4Addr) {
        self.rules("add", other);
    }

    pub fn reconnect(self, other: Ipv4Addr) {
        self.rules("del", other);
    }

    /// From now on packets of this host to the other one get lost; those to it arrive.
    pub fn silence(self, other: Ipv4Addr) {
        sh(&format!("ip rule add pref 50 from {} to {other} type blackhole", self.address()));
    }

    pub fn hear(self, other: Ipv4Addr) {
        sh(&format!("ip rule del pref 50 from {} to {other} type blackhole", self.address()));
    }

    fn rules(self, what: &str, other: Ipv4Addr) {
        let own = self.address();
        sh(&format!(
            "ip rule {what} pref 50 from {own} to {other} type blackhole
            ip rule {what} pref 50 from {other} to {own} type blackhole"
        ));
    }
}
