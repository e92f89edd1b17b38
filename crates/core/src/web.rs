//! The page: what it may do, and what its views show.

pub mod access;
pub mod addition;
pub mod attempts;
pub mod check;
pub mod controls;
pub mod edit;
pub mod form;
pub mod list;
pub mod overview;
pub mod push;
pub mod session;
pub mod visit;
pub mod when;
