//! The pages, each a pure function from what is known to markup. Maud escapes every value.

pub(crate) mod addresses;
pub(crate) mod assets;
pub(crate) mod configuration;
pub(crate) mod details;
mod group;
pub(crate) mod history;
pub(crate) mod layout;
pub(crate) mod login;
pub(crate) mod overview;
pub(crate) mod parts;
pub(crate) mod requests;
pub(crate) mod strip;
pub(crate) mod wizard;

#[cfg(test)]
mod tests;
