//! The page of a service (I1): a server on this thread that shows how the service stands. It knows nothing by itself: it
//! asks the event loop, which responds between two of its steps.
#![allow(dead_code, reason = "not everything has its route yet")]

mod pages;
mod reply;
mod route;
mod server;
mod site;
pub(crate) mod views;

pub(crate) use server::Server;
pub(crate) use site::Ask;
