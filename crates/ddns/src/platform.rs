//! What each system does in a way of its own: its notifications, timers, addresses and options of sockets. Everything
//! that asks which system this is stands here; another system is one file more, with the same names in it.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
mod wake;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use other as system;

pub(crate) use system::{
    Folders, Kernel, Timer, abstract_name, acknowledge, gateway, has_acl, ignored_signals, limit_unsent,
    local_addresses, steady_time,
};
pub(crate) use wake::Wake;
