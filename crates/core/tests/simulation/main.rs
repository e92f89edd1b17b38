//! The service with time and network as inputs: a month of one host, and the load of a fleet of hosts on one endpoint.

mod fleet;
mod host;
mod month;
mod random;
