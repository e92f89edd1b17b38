//! HTTP/1.1 in both directions, on hyper: requests to endpoints, and requests from clients of this host.

mod body;
mod client;
mod io;
pub(crate) mod server;

pub(crate) use body::Whole;
pub(crate) use client::{
    AddressFamilies, BodyUse, Client, Failure, How, MAX_BODY_BYTES, Pem, ProbeStep, Response, Streaming, TlsTrust,
    WANTS_CERTIFICATE, certificates, private_key, read_ca,
};
