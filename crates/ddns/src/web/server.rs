//! The listening side of the page.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use ddns_core::config::web::Web;
use hyper::body::Incoming;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::reply::Reply;
use super::request::PageRequest;
use super::site::{Site, SiteRequest};
use super::{push, route};
use crate::http::server::{
    AcceptedConnection, Activity, ConnectionPhase, ConnectionTimeouts, ServerWire, accept, hang_up, read, speak,
};

/// The largest body, in KiB, from somebody who is not logged in.
const MAX_FORM_KIB: usize = 32;

/// The largest configuration to check, and the largest form, in KiB: enough for very many domains.
const MAX_TEXT_KIB: usize = 1024;

/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// An open page.
pub(crate) struct PageServer {
    /// The configured address; for port 0, the actual port is another one.
    listen: SocketAddr,
    asks: UnboundedReceiver<SiteRequest>,
    site: Rc<Site>,
    task: JoinHandle<()>,
}

impl PageServer {
    /// Starts to listen.
    pub(crate) fn open(web: &Web, tls: Option<TlsAcceptor>) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(web.listen)?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let address = listener.local_addr()?;
        let (sender, asks) = unbounded_channel();
        let site = Rc::new(Site::new(web.clone(), tls, address, sender)?);
        let shared = Rc::clone(&site);
        let serving = tokio::task::spawn_local(async move {
            accept(&listener, ConnectionTimeouts::USUAL, |accepted| serve(accepted, &shared)).await;
        });
        Ok(Self { listen: web.listen, asks, site, task: serving })
    }

    /// Applies a new configuration; false if it needs another listener.
    pub(crate) fn apply(&self, web: &Web, tls: Option<&TlsAcceptor>) -> bool {
        let is_same = self.listen == web.listen;
        if is_same {
            self.site.apply(web, tls.cloned());
        }
        is_same
    }

    /// Closes the page, and waits until its port is free.
    pub(crate) async fn close(mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }

    /// The URL of the page.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.site.tls.borrow().is_some() { "https" } else { "http" };
        format!("{scheme}://{}/", self.site.address)
    }

    /// Tells every browser that shows the page that something changed.
    pub(crate) fn changed(&self) {
        self.site.tell();
    }

    /// Waits for what the page asks the service next.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<SiteRequest> {
        match self.asks.poll_recv(context) {
            Poll::Ready(Some(ask)) => Poll::Ready(ask),
            _ => Poll::Pending,
        }
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Serves a connection to its end.
async fn serve(AcceptedConnection { stream, from, activity }: AcceptedConnection, site: &Rc<Site>) -> bool {
    let tls = site.tls.borrow().clone();
    match tls {
        None => converse(stream, from, activity, site, false).await,
        Some(tls) => {
            if let Ok(Ok(stream)) = timeout(HANDSHAKE, tls.accept(stream)).await {
                converse(stream, from, activity, site, true).await;
            }
        }
    }
    false
}

async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    from: SocketAddr,
    activity: Rc<Activity>,
    site: &Rc<Site>,
    is_secured: bool,
) {
    let wire = Rc::new(RefCell::new(ServerWire::new(stream, Rc::clone(&activity))));
    let respond = async |request: hyper::Request<Incoming>| {
        activity.enter(ConnectionPhase::Reading);
        let (head, body) = request.into_parts();
        let is_check = head.uri.path() == route::CHECK;
        let request = PageRequest::new(head, from.ip(), is_secured, site);
        let request = request.and_then(|request| push::of_stranger(site, &request).map_or(Ok(request), Err));
        let may_be_long = is_check || request.as_ref().is_ok_and(|request| request.is_let_in);
        let limit = if may_be_long { MAX_TEXT_KIB } else { MAX_FORM_KIB };
        let reply = match request {
            Ok(mut request) => match read(body, limit).await {
                Ok(body) => {
                    activity.enter(ConnectionPhase::Responding);
                    request.body = body;
                    route::respond(site, request).await
                }
                Err((Some(status), why)) => Reply::text(status, &why).last(),
                Err((None, why)) => return Err(io::Error::other(why)),
            },
            // Its body is not worth waiting for.
            Err(turned_away) => turned_away.last(),
        };
        activity.enter(if reply.is_endless() { ConnectionPhase::Streaming } else { ConnectionPhase::Writing });
        Ok(reply.outgoing())
    };
    // Notice a browser that is gone, or it would count as listening.
    let served = speak(&wire, false, respond).await;
    if !matches!(served, Some(Ok(())))
        && let Some(mut wire) = Rc::into_inner(wire).map(RefCell::into_inner)
    {
        hang_up(&mut wire.stream).await;
    }
}
