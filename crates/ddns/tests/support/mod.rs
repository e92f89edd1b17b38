//! What every black-box test stands on: a real receiver on loopback that records each request byte for byte, and a
//! clean place to run the built program in (own home, own folder, an environment with nothing inherited).

pub mod addresses;
pub mod authority;
pub mod browser;
pub mod dns_lab;
#[allow(dead_code, reason = "the tests inside of the program use more of it")]
pub mod etcd;
pub mod fakes;
pub mod given;
pub mod inbox;
pub mod large;
pub mod lookup;
pub mod loopback;
pub mod members;
pub mod network;
pub mod odd_server;
pub mod page;
pub mod pages;
pub mod powerdns;
pub mod programs;
pub mod proxies;
pub mod random;
mod receiver;
mod sandbox;
pub mod scripted;
pub mod secret_forms;
pub mod signatures;
pub mod slow_way;
pub mod stand_ins;
pub mod terminal;
pub mod tools;
pub mod trace;
pub mod unread;
pub mod watching;
mod wire;

pub use receiver::{Received, Receiver, Response};
pub use sandbox::{Run, Sandbox, mode};
