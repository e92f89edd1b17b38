//! What the page may do, decided.

pub mod check;
