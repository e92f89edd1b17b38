//! The page of a service (I1): a server on this thread that shows the state of the service. It keeps no state of the updates: it
//! asks the event loop, which answers between two of its steps.

mod api;
mod attempt_queue;
mod configuration;
mod events;
mod history_queries;
mod login;
mod pages;
pub(crate) mod password;
mod push;
mod reply;
mod request;
mod route;
mod save;
mod server;
mod site;
mod sources;
pub(crate) mod tls;
pub(crate) mod views;
mod wizard;

pub(crate) use server::PageServer;
pub(crate) use site::{Configured, SiteRequest, answer};
