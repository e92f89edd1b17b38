//! The page of a running service.

mod views;
