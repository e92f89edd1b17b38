//! Several hosts, one name (J): a group agrees in a store who of them sends.

#[allow(dead_code, unused_imports, reason = "nothing uses it yet")]
pub(crate) mod etcd;
