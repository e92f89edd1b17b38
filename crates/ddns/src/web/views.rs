//! The pages, each a pure function from what is known to markup. Maud escapes every value.
#![allow(dead_code, reason = "no route shows them yet")]

pub(crate) mod assets;
pub(crate) mod layout;
pub(crate) mod parts;
