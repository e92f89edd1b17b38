//! Everything that differs between systems: notifications, timers, addresses and socket options. No other code depends
//! on the system; to support another one, add a file with the same names.

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
