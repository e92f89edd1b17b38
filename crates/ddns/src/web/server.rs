//! The listening side of the page.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context, Poll};

use ddns_core::config::web::Web;
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::AbortHandle;

use super::reply::{Reply, Request};
use super::route;
use super::site::{Ask, Site};
use crate::http::Whole;
use crate::http::server::{Accepted, Activity, Patience, Phase, Wire, accept, hang_up, read, speak};

/// More body than this is no request to the page, in KiB: a configuration with very many domains.
const BODY_LIMIT: usize = 1024;

/// A page that is open.
pub(crate) struct Server {
    /// What was asked for: port 0 is another one then.
    listen: SocketAddr,
    address: SocketAddr,
    asks: UnboundedReceiver<Ask>,
    site: Rc<Site>,
    task: AbortHandle,
}

impl Server {
    /// Listens from now on.
    pub(crate) fn open(web: &Web) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(web.listen)?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let address = listener.local_addr()?;
        let (sender, asks) = unbounded_channel();
        let site = Rc::new(Site::new(web.clone(), sender));
        let shared = Rc::clone(&site);
        let serving = tokio::task::spawn_local(async move {
            accept(&listener, Patience::USUAL, |accepted| serve(accepted, &shared)).await;
        });
        Ok(Self { listen: web.listen, address, asks, site, task: serving.abort_handle() })
    }

    /// Goes on with what the configuration says now; false where that needs another listener.
    pub(crate) fn apply(&self, web: &Web) -> bool {
        if self.listen != web.listen {
            return false;
        }
        self.site.web.replace(web.clone());
        true
    }

    /// Where a browser finds it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// What somebody asks of the service.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Ask> {
        match self.asks.poll_recv(context) {
            Poll::Ready(Some(ask)) => Poll::Ready(ask),
            _ => Poll::Pending,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Serves a connection to its end.
async fn serve(Accepted { stream, from, activity }: Accepted, site: &Site) -> bool {
    let wire = Rc::new(RefCell::new(Wire::new(stream, Rc::clone(&activity))));
    let served = speak(&wire, |request| respond(request, from, site, &activity)).await;
    if !matches!(served, Some(Ok(())))
        && let Some(mut wire) = Rc::into_inner(wire).map(RefCell::into_inner)
    {
        hang_up(&mut wire.stream).await;
    }
    false
}

async fn respond(
    request: hyper::Request<Incoming>,
    from: SocketAddr,
    site: &Site,
    activity: &Activity,
) -> Result<hyper::Response<Whole>, io::Error> {
    activity.enter(Phase::Reading);
    let (head, body) = request.into_parts();
    let reply = match read(body, BODY_LIMIT).await {
        Ok(body) => {
            activity.enter(Phase::Responding);
            let request = Request {
                method: head.method,
                path: head.uri.path().to_owned(),
                query: head.uri.query().unwrap_or_default().to_owned(),
                headers: head.headers,
                body,
                client: from.ip(),
            };
            route::respond(site, &request).await
        }
        Err((Some(status), why)) => Reply::text(status, &why),
        Err((None, why)) => return Err(io::Error::other(why)),
    };
    activity.enter(Phase::Writing);
    Ok(reply.outgoing())
}
