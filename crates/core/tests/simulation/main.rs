//! The service with time and network as inputs: what it would do in a month, and what a fleet of it does to one endpoint.

mod fleet;
mod host;
mod month;
mod random;
