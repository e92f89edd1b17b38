//! `stun:`: the address that a STUN server sees, for one small packet and without a certificate.

use ddns_core::address::observation::Choice;
use ddns_core::net::reach::{Trust, sendable};
use ddns_core::net::stun::{StunResponse, TransactionId, read, request};

use super::Query;
use super::server::ask_servers;
use crate::http::Client;
use crate::open_file::reason;
use crate::random::random;
use crate::udp::{self, TRIES};

pub(super) async fn ask((host, port): (&str, u16), query: Query<'_>, client: &Client) -> Result<Choice, String> {
    ask_servers((host, port), query, client, async |server, own| {
        let id: TransactionId = random().map_err(|error| error.to_string())?;
        match udp::ask(server, own, &request(&id), &TRIES, |bytes| read(bytes, &id)).await {
            Ok(Some(StunResponse::Address(ip))) => sendable(ip, query.family, Trust::User),
            Ok(Some(StunResponse::Refused)) => Err("refused".to_owned()),
            Ok(Some(StunResponse::Empty)) => Err("gave no address".to_owned()),
            Ok(None) => Err(format!("did not respond to {} requests", TRIES.len())),
            Err(error) => Err(format!("cannot be asked ({})", reason(&error))),
        }
    })
    .await
}
