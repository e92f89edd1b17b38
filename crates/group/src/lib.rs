//! Several hosts, one name (J1 to J7): which member of a group holds the lease in the store, and may send.
//!
//! [`machine`] is the protocol of one member: events in, actions out, time and chance as inputs. [`view`] is the group as
//! the store shows it, with the names and texts of its keys. [`etcd`] is what is said to that store. How a member stands is
//! said in the words of [`ddns_core::lease`], which everybody knows; of what is here only the program's `group/` does.

pub mod etcd;
pub mod machine;
pub mod view;
