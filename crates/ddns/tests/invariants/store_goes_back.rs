//! A group whose store goes back holds again within the lease and two seconds (J7).

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::support::etcd::Etcd;
use crate::support::members::{LEASE, Member};
use crate::support::random::{Random, try_for_a_while};
use crate::support::watching::{Endpoint, SOON, Watch, ms, status};

/// Beyond the lease (J7), and a while for a machine that does many other things.
const HELD_AGAIN: Duration = LEASE.saturating_add(Duration::from_secs(2 + 5));

#[test]
fn j7_a_group_whose_store_goes_back_holds_again() {
    if Etcd::start().is_some() {
        try_for_a_while("a group whose store goes back holds again", attempt);
    }
}

fn attempt(random: &mut Random) -> Result<(), String> {
    let Some(mut etcd) = Etcd::start() else { return Ok(()) };
    let endpoint = Endpoint::new();
    let members =
        ["203.0.113.1", "203.0.113.2"].map(|ip| Member::new(&format!("of-{ip}"), ip, &etcd, &endpoint, &json!({})));
    let mut watches = Vec::new();
    let kept = etcd.folder().join("kept");
    // Its data are kept at some moment of this, or not at all.
    let moment = random.below(5);
    for (at, member) in members.iter().enumerate() {
        if moment == at {
            keep(&etcd, &kept);
        }
        watches.push(member.watch());
        if at == 0 {
            endpoint.wait(1, 3 * SOON);
        } else {
            watches[at].prints("is on standby");
        }
    }
    if moment == 2 {
        keep(&etcd, &kept);
    }
    if random.below(2) == 0 {
        // The holder gets another address, or another holder comes.
        let before = endpoint.count();
        if random.below(2) == 0 {
            members[0].set_ip("203.0.113.3");
            watches[0].signal(Signal::USR1);
        } else {
            watches.remove(0).stop();
            watches.insert(0, members[0].watch());
            // One that never saw the store cannot know that it goes back.
            watches[0].prints("is on standby");
        }
        endpoint.wait(before + 1, 3 * SOON);
    }
    thread::sleep(ms(random.below(300) as u64));
    for _ in 0..=random.below(2) {
        let is_restored = kept.is_dir() && random.below(4) > 0;
        etcd.restart(|data| {
            fs::remove_dir_all(data).expect("its data");
            if is_restored {
                copy(&kept, data);
            }
        });
        thread::sleep(ms(random.below(500) as u64));
    }
    holds_again(&etcd, &members)?;
    let (holder, address) = holder(&etcd, &members).ok_or("nobody holds")?;
    let begun = Instant::now();
    while endpoint.ips().last() != Some(&address) || status(&members[holder].sandbox).1 != 0 {
        if begun.elapsed() > SOON {
            let logs: Vec<_> = watches.iter().map(Watch::log).collect();
            return Err(format!(
                "the endpoint has {:?}, and {holder} with {address} holds: {}",
                endpoint.ips(),
                logs.join("\n\n")
            ));
        }
        thread::sleep(ms(50));
    }
    for watch in watches {
        watch.stop();
    }
    Ok(())
}

/// Waits until the member that has the key in the store says that it holds.
fn holds_again(etcd: &Etcd, members: &[Member; 2]) -> Result<(), String> {
    let begun = Instant::now();
    while begun.elapsed() < HELD_AGAIN {
        if let Some((holder, _)) = holder(etcd, members)
            && status(&members[holder].sandbox).0["group"]["role"] == "holder"
        {
            return Ok(());
        }
        thread::sleep(ms(50));
    }
    let standings = members.each_ref().map(|member| status(&member.sandbox).0["group"].to_string());
    Err(format!("nobody holds after {HELD_AGAIN:?}: {standings:?}"))
}

/// Which member has the key in the store, and its address.
fn holder(etcd: &Etcd, members: &[Member; 2]) -> Option<(usize, String)> {
    let key = etcd.control(&["get", "ddns/home/holder", "--print-value-only"]);
    let at = (0..members.len()).find(|at| key.contains(&format!("of-203.0.113.{}\"", at + 1)))?;
    Some((at, fs::read_to_string(members[at].sandbox.path("address")).ok()?))
}

fn keep(etcd: &Etcd, kept: &Path) {
    // It answers before its data can be read again.
    etcd.control(&["put", "here", "now"]);
    etcd.pause();
    copy(&etcd.data(), kept);
    etcd.resume();
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-r").arg(from).arg(to).status();
    assert!(status.is_ok_and(|status| status.success()), "the data are copied");
}
