//! Several hosts, one name (J1 to J7): decides which member of a group holds the lease in the store and may send.
//!
//! [`machine`] is the protocol of one member: events in, actions out, with time and randomness as inputs. [`view`] is the
//! group as the store shows it, with the names and texts of its keys. [`etcd`] writes requests to etcd and reads its
//! responses. The state of a member is described with the types of [`ddns_core::lease`], which the whole program uses; only
//! the program's `group/` uses this crate.

pub mod etcd;
pub mod machine;
pub mod view;
