//! Several hosts, one name (J1 to J5): which member of a group holds the lease in the store, and may send.
//!
//! [`machine`] is the protocol of one member: events in, actions out, time and chance as inputs. [`view`] is the group as
//! the store shows it, with the names and texts of its keys; [`standing`] is how a member stands, and
//! [`membership`] says so to people and programs. [`etcd`] is what is said to that store.

pub mod etcd;
pub mod machine;
pub mod membership;
pub mod role_change;
pub mod standing;
pub mod view;
pub mod words;
