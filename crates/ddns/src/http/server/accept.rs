//! Accepts connections, a limited number at once.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::{Rc, Weak};
use std::task::Poll;
use std::time::Duration;

use ddns_core::web::attempts::client_of;
use futures_util::StreamExt as _;
use futures_util::future::{AbortHandle, abortable};
use futures_util::stream::FuturesUnordered;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use super::wire::{Activity, ConnectionTimeouts, UNBOUNDED};
use crate::environment::max_files_per_kind;

/// How many connections are served at once. A new one evicts the oldest that is idle, or waits until one ends.
const MAX_CONNECTIONS: usize = 64;

/// One client should have no more than this part of the connections.
const SHARE: usize = 4;

/// A client that has been silent for less than this may be about to send its next request.
const SILENCE: Duration = Duration::from_millis(500);

/// The same for a client that has more than its share.
const BRIEF_SILENCE: Duration = Duration::from_millis(50);

/// How long to wait if the system cannot give a connection (too many open files, for example).
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) struct AcceptedConnection {
    pub(crate) stream: TcpStream,
    pub(crate) from: SocketAddr,
    /// Updated by the task that serves the connection.
    pub(crate) activity: Rc<Activity>,
}

/// A connection that is served.
struct ServedConnection {
    client: IpAddr,
    activity: Weak<Activity>,
    handle: AbortHandle,
}

/// Serves connections until one of them returns `true`.
pub(crate) async fn accept<F: Future<Output = bool>>(
    listener: &TcpListener,
    patience: ConnectionTimeouts,
    serve: impl Fn(AcceptedConnection) -> F,
) {
    let most = MAX_CONNECTIONS.min(max_files_per_kind());
    let mut open = FuturesUnordered::new();
    let mut known: VecDeque<ServedConnection> = VecDeque::new();
    loop {
        known.retain(|one| one.activity.strong_count() > 0);
        let is_full = open.len() >= most;
        let next = poll_fn(|context| {
            while let Poll::Ready(Some(is_over)) = open.poll_next_unpin(context) {
                if let Ok(true) = is_over {
                    return Poll::Ready(None);
                }
            }
            let has_room = open.len() < most || silent(&known, most).is_some();
            if has_room { listener.poll_accept(context).map(Some) } else { Poll::Pending }
        });
        // If no connection has been silent long enough, one soon will be.
        let Ok(next) = timeout(if is_full { BRIEF_SILENCE } else { UNBOUNDED }, next).await else { continue };
        match next {
            None => return,
            Some(Ok((stream, from))) => {
                if let Some(at) = silent(&known, most).filter(|_| open.len() >= most) {
                    known[at].handle.abort();
                }
                let activity = Rc::new(Activity::new(patience));
                let weak = Rc::downgrade(&activity);
                let (connection, handle) = abortable(serve(AcceptedConnection { stream, from, activity }));
                known.push_back(ServedConnection { client: client_of(from.ip()), activity: weak, handle });
                open.push(connection);
            }
            // Not this host's fault: the connection is gone already, or the system has none to give.
            Some(Err(_)) => sleep(PAUSE).await,
        }
    }
}

/// The oldest connection that is silent. Those of a client that has more than its share go first, and sooner: it would
/// keep out everybody else.
fn silent(known: &VecDeque<ServedConnection>, most: usize) -> Option<usize> {
    let is_silent =
        |one: &ServedConnection, time| one.activity.upgrade().is_some_and(|activity| activity.is_silent(time));
    let has_many =
        |one: &ServedConnection| known.iter().filter(|other| other.client == one.client).count() > most / SHARE;
    let brief = known.iter().position(|one| is_silent(one, BRIEF_SILENCE) && has_many(one));
    brief.or_else(|| known.iter().position(|one| is_silent(one, SILENCE)))
}

/// Why ddns cannot listen, and what to do about it.
pub(crate) fn not_listening(address: SocketAddr, error: &io::Error) -> (String, &'static str) {
    let (ip, port) = (address.ip(), address.port());
    match error.kind() {
        io::ErrorKind::AddrNotAvailable => {
            (format!("this host has no address {ip}"), "`ddns addresses` lists the addresses of this host")
        }
        io::ErrorKind::AddrInUse => (
            format!("port {port} of {ip} is in use: another program listens there"),
            "name another port, or use port 0 for any free port: 127.0.0.1:0",
        ),
        io::ErrorKind::PermissionDenied => {
            (format!("this user may not listen on port {port}"), "any user may listen on ports from 1024 up")
        }
        _ => (format!("cannot listen on {address} ({error})"), "name another address or port"),
    }
}
