//! Several hosts, one name (J): the members of a group agree in a store which of them sends.

mod calls;
mod etcd;
mod keeper;
mod member;
mod write;

use std::task::{Context, Poll};
use std::time::Duration;

use ddns_core::config::group::Group;
use ddns_core::config::validate::Valid;
use ddns_core::lease::messages::news;
use ddns_core::lease::role_change::RoleChange;
use ddns_core::lease::status::MemberStatus;
use ddns_core::text::diagnostic::{Diagnostic, Place};
use ddns_group::machine::{Machine, Settings};
use ddns_group::view::Keys;
use rustix::system::uname;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::AbortHandle;

use crate::clock::steady_time;
use crate::output::log::Log;
use calls::GroupStore;
use etcd::Etcd;
use keeper::LeaseKeeper;

pub(crate) use keeper::LeaseNotice;
pub(crate) use member::GroupMember;

/// How many characters of the host's name are in the default name of its member.
const MAX_HOST_CHARS: usize = 40;

/// How long this host tries to tell the store that it leaves.
pub(crate) const LEAVE_TIMEOUT: Duration = Duration::from_secs(3);

/// The group that this host has joined.
pub(crate) struct Joined {
    pub(crate) member: GroupMember,
    pub(crate) group: Group,
    changes: UnboundedReceiver<LeaseNotice>,
    /// The state that was last logged.
    said: Option<MemberStatus>,
    task: AbortHandle,
}

/// The group that the configurations name. `None`: they name none. All of them must name the same group, because a process can
/// only be in one.
pub(crate) fn wanted(configs: &[Valid]) -> Result<Option<&Group>, Vec<Diagnostic>> {
    let mut all = configs.iter().map(|(config, _)| (&config.name, config.group.as_ref()));
    let Some((name, first)) = all.next() else { return Ok(None) };
    if let Some((other, _)) = all.find(|(_, group)| *group != first) {
        let message = format!("`group` differs from {name}: a process can only be in one group");
        let hint = "write the same `group` in all files, or run them separately";
        return Err(vec![Diagnostic::error(Place::file(other), message).hint(hint)]);
    }
    Ok(first)
}

/// Fails if this host could not join the group that the configurations name.
pub(crate) fn joinable(configs: &[Valid]) -> Result<(), Vec<Diagnostic>> {
    let Some(group) = wanted(configs)? else { return Ok(()) };
    let wrong = |why| vec![Diagnostic::error(Place::file(&configs[0].0.name), why)];
    Etcd::new(group).map(drop).map_err(wrong)
}

/// Makes this host a member of a group, without waiting for the store. Fails if a certificate or a key cannot be used.
pub(crate) fn join(group: &Group) -> Result<Joined, String> {
    let settings =
        Settings { member: group.member.clone().unwrap_or_else(random_name), lease: group.lease, prefer: group.prefer };
    let etcd = Etcd::new(group)?;
    let (sender, changes) = unbounded_channel();
    let member = GroupMember::new(group.name.clone(), Machine::new(settings.clone(), steady_time()));
    let keeper = LeaseKeeper::new(member.clone(), GroupStore { etcd, keys: Keys::new(&group.name), settings }, sender);
    let task = tokio::task::spawn_local(keeper.run()).abort_handle();
    Ok(Joined { member, group: group.clone(), changes, said: None, task })
}

/// The name of this host and a random part, because two processes on one host are two members.
fn random_name() -> String {
    let host = uname();
    let host = host.nodename().to_string_lossy();
    let is_allowed = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
    let host: String = host.chars().filter(is_allowed).take(MAX_HOST_CHARS).collect();
    let number = getrandom::u32().unwrap_or_else(|_| std::process::id());
    format!("{host}-{number:08x}")
}

impl Joined {
    /// The next notice from the group.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<LeaseNotice> {
        match self.changes.poll_recv(context) {
            Poll::Ready(Some(change)) => Poll::Ready(change),
            _ => Poll::Pending,
        }
    }

    /// Logs the state of this host in its group if it changed. Returns whether the lease was taken over, given back or lost.
    pub(crate) fn say(&mut self, now: MemberStatus, log: &Log<'_>) -> Option<RoleChange> {
        for (level, line) in news(&self.group.name, self.said.as_ref(), &now) {
            log.line(level, || line);
        }
        let before = self.said.replace(now);
        RoleChange::between(&self.group.name, before.as_ref(), self.said.as_ref()?)
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        self.task.abort();
    }
}
