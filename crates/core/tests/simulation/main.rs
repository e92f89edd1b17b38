//! The service with time and network as inputs: what it would do in a month.

mod host;
mod month;
