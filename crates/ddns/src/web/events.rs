//! Server-sent events tell a browser that shows the page that something changed, so that it fetches the change.
//!
//! An event says no more than that, so a browser that falls behind misses nothing and costs nothing: however much happens, it
//! gets one event. A sign of life finds browsers that are gone, and its absence tells a browser that the service hangs.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use ddns_core::web::session::Id;
use futures_util::future::{Either, select};
use hyper::body::{Body, Bytes, Frame};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use super::site::{Site, SiteRequest};

/// How many browsers may listen at once: the other connections are for pages.
const MAX_LISTENERS: usize = 16;

/// No browser gets more than one event in this time.
const PACE: Duration = Duration::from_millis(300);

/// How often a browser that listens gets a sign of life; the script waits for two.
const HEARTBEAT: Duration = Duration::from_secs(20);

/// A sign of life. Scripts do not see comments, nor events without data.
const ALIVE: &str = "event: alive\ndata: 1\n\n";

/// The endless stream of events for one browser.
pub(super) struct EventStream(mpsc::Receiver<String>);

impl EventStream {
    /// Begins the events for a browser. Somebody is looking at the newest page, so the oldest stream makes room for it.
    pub(super) fn new(site: &Rc<Site>, id: &Id) -> Self {
        let (events, stream) = mpsc::channel(1);
        let telling = tokio::task::spawn_local(tell(Rc::clone(site), id.clone(), site.changes.subscribe(), events));
        let mut listening = site.listening.borrow_mut();
        listening.retain(|telling| !telling.is_finished());
        if listening.len() >= MAX_LISTENERS {
            listening.remove(0).abort();
        }
        listening.push(telling.abort_handle());
        Self(stream)
    }
}

/// Tells a browser about changes, until it is gone or its session ends. If the event loop hangs, it tells nothing.
async fn tell(site: Rc<Site>, id: Id, mut changes: watch::Receiver<u64>, events: mpsc::Sender<String>) {
    let mut text = format!("retry: 2000\n{ALIVE}");
    while site.ask(SiteRequest::Alive).await.is_some() && site.is_let_in(&id) && events.send(text).await.is_ok() {
        sleep(PACE).await;
        text = match select(pin!(events.closed()), pin!(timeout(HEARTBEAT, changes.changed()))).await {
            Either::Left(_) => return,
            Either::Right((Err(_), _)) => ALIVE.to_owned(),
            Either::Right((Ok(_), _)) => format!("event: changed\ndata: {}\n\n", *site.changes.borrow()),
        };
    }
}

impl Body for EventStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|text| Some(Ok(Frame::data(text?.into()))))
    }
}
