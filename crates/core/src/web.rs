//! The page: what it may do, and what its views show.

pub mod access;
pub mod check;
pub mod state;
pub mod when;
