//! The page of a service (I1): a server on this thread that shows how the service stands. It knows nothing by itself: it
//! asks the event loop, which responds between two of its steps.

mod api;
mod configuration;
mod events;
mod guard;
mod health;
mod login;
mod models;
mod pages;
pub(crate) mod password;
mod past;
mod reply;
mod route;
mod save;
mod sent;
mod server;
mod site;
mod sources;
pub(crate) mod tls;
pub(crate) mod views;
mod wizard;

pub(crate) use server::PageServer;
pub(crate) use site::{Ask, Configured};
