//! Asks DNS servers what the core wants to know, at its pace.

mod exchange;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fs;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use ddns_core::dns::{
    DnsObservation, DnsQuery, DnsReply, Pace, Replies, SAME_AGAIN, ServerQuestion, Zones, resolvers, round,
};
use futures_util::future::{FutureExt as _, LocalBoxFuture, Shared, join_all};
use tokio::time::sleep;

use crate::clock::steady_time;
use crate::platform::local_addresses;
use crate::udp::TRIES;

pub(crate) use exchange::exchange;

const RESOLV_CONF: &str = "/etc/resolv.conf";

/// Above this number, old replies are forgotten.
const MAX_REPLIES: usize = 1000;

/// A reply that is still awaited, or has just arrived.
type SharedReply = Shared<LocalBoxFuture<'static, DnsReply>>;

/// What is known about zones, and when each server was asked; shared by all names.
#[derive(Default)]
pub(crate) struct DnsClient {
    zones: RefCell<Zones>,
    pace: RefCell<Pace>,
    replies: RefCell<HashMap<ServerQuestion, (Duration, SharedReply)>>,
    /// How many questions were answered, and how many were not, since the counts were last taken.
    counts: Rc<Cell<[u32; 2]>>,
}

impl DnsClient {
    /// One round: asks until the core knows what the servers say.
    pub(crate) async fn round(&self, dns_query: &DnsQuery) -> DnsObservation {
        let mut replies = Replies::default();
        loop {
            let wanted = match round(dns_query, &mut self.zones.borrow_mut(), &replies, steady_time()) {
                Ok(seen) => return seen,
                Err(wanted) => wanted,
            };
            let asked = wanted.into_iter().map(async |asking| (asking.clone(), self.ask(asking).await));
            replies.extend(join_all(asked).await);
        }
    }

    /// How many questions were answered, and how many were not, since the last call.
    pub(crate) fn take_counts(&self) -> [u32; 2] {
        self.counts.take()
    }

    /// The reply to a question. The same question within two seconds gets the same reply (K14).
    fn ask(&self, asking: ServerQuestion) -> SharedReply {
        let (mut replies, now) = (self.replies.borrow_mut(), steady_time());
        let is_fresh = |(at, reply): &&(Duration, SharedReply)| *at + SAME_AGAIN > now || reply.peek().is_none();
        if let Some((_, reply)) = replies.get(&asking).filter(is_fresh) {
            return reply.clone();
        }
        let wait = self.pace.borrow_mut().turn(asking.server, now);
        if replies.len() >= MAX_REPLIES {
            replies.retain(|_, (at, _)| *at + SAME_AGAIN > now);
        }
        let (asked, counts) = (asking.clone(), Rc::clone(&self.counts));
        let reply = async move {
            sleep(wait).await;
            let reply = exchange(&asked, None, &TRIES).await;
            let [answered, unanswered] = counts.get();
            counts.set([answered + u32::from(reply.is_ok()), unanswered + u32::from(reply.is_err())]);
            reply
        };
        let reply = reply.boxed_local().shared();
        replies.insert(asking, (now + wait, reply.clone()));
        reply
    }
}

/// The resolvers that this host uses.
pub(crate) fn system_resolvers() -> Vec<SocketAddr> {
    let number = |name: &str| local_addresses().ok()?.iter().find(|own| own.interface == name).map(|own| own.index);
    resolvers(&fs::read_to_string(RESOLV_CONF).unwrap_or_default(), number)
}
