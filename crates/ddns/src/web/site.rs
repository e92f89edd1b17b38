//! What all requests to the page share.

use std::cell::RefCell;

use ddns_core::config::web::Web;
use ddns_core::text::json::Value;
use ddns_core::update::status::Status;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

/// What the page asks of the service. Whoever asked may be gone when the response comes.
pub(crate) enum Ask {
    /// How every update stands.
    Status(oneshot::Sender<Status>),
    /// To synchronize now, also what services refused for good if so wanted; the response comes when that is done.
    Synchronize { retry_stopped: bool, done: oneshot::Sender<Value> },
}

pub(super) struct Site {
    /// As the configuration has it now.
    pub(super) web: RefCell<Web>,
    asks: UnboundedSender<Ask>,
}

impl Site {
    pub(super) fn new(web: Web, asks: UnboundedSender<Ask>) -> Self {
        Self { web: RefCell::new(web), asks }
    }

    /// How every update stands; none where the service ends.
    pub(super) async fn status(&self) -> Option<Status> {
        self.ask(Ask::Status).await
    }

    /// Begins a synchronization and does not wait for its end.
    pub(super) fn begin_synchronizing(&self, retry_stopped: bool) {
        let (done, _) = oneshot::channel();
        let _ = self.asks.send(Ask::Synchronize { retry_stopped, done });
    }

    async fn ask<T>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> Ask) -> Option<T> {
        let (respond, response) = oneshot::channel();
        self.asks.send(ask(respond)).ok()?;
        response.await.ok()
    }
}
