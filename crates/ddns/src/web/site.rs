//! What all requests to the page share.

use std::cell::RefCell;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use ddns_core::config::validate::{Surroundings, Valid};
use ddns_core::config::web::Web;
use ddns_core::journal::{Status, SyncResult};
use ddns_core::net::family::Family;
use ddns_core::update::domain::Domain;
use ddns_core::web::push::{PushAnswer, PushRate, PushRequest};
use ddns_core::web::session::{Id, SessionKey, Sessions};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Mutex, oneshot, watch};
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;

use super::attempt_queue::AttemptQueue;
use super::sources::Sources;
use crate::clock::{steady_time, unix_time};
use crate::load::OUTSIDE;
use crate::output::log::RecentLine;
use crate::random::random;
use ddns_core::engine::{KnownAddresses, Previews};

/// How long the page shows the result of a synchronization, in seconds.
const SHOWN_SECONDS: u64 = 60;

/// What the page asks the service. The browser may be gone when the answer comes.
pub(crate) enum SiteRequest {
    /// The state of every update.
    Status(oneshot::Sender<Status>),
    /// To synchronize now; with `retry_stopped`, stopped updates are sent, too. The answer comes when this is done.
    Synchronize { retry_stopped: bool, done: oneshot::Sender<SyncResult> },
    /// To take an address that was pushed under this name in `web.push`; the answer comes when it is remembered.
    Push { name: String, push: PushRequest, done: oneshot::Sender<PushAnswer> },
    /// A warning for the log.
    Warn(String),
    /// The updates that match, with their requests: without the first `skip`, and no more than `take`.
    Previews { is_wanted: IsWanted, skip: usize, take: usize, done: oneshot::Sender<Previews> },
    /// The addresses that the sources of each entry gave.
    Addresses(oneshot::Sender<Vec<KnownAddresses>>),
    /// The files of the histories, after everything was saved to them.
    Histories(oneshot::Sender<Vec<PathBuf>>),
    /// That the event loop responds.
    Alive(oneshot::Sender<()>),
    /// Why the service is not ready; `None`: it is ready.
    Ready(oneshot::Sender<Option<String>>),
    /// The text for Prometheus.
    Metrics(oneshot::Sender<String>),
    /// The configurations that the service uses.
    Configs(oneshot::Sender<Rc<Vec<Valid>>>),
    /// The names of the configurations, and what they are layered with.
    Configured(oneshot::Sender<Configured>),
    /// The newest lines of the log, the newest first.
    Log(oneshot::Sender<Vec<RecentLine>>),
    /// To load the configuration now; the answer is what is wrong with it.
    Reload(oneshot::Sender<Vec<String>>),
}

/// Sends an answer. The browser may be gone.
pub(crate) fn answer<T>(respond: oneshot::Sender<T>, value: T) {
    let _ = respond.send(value);
}

/// Whether an update matches.
type IsWanted = Box<dyn Fn(&Domain, Family) -> bool>;

/// Updates whose domains contain a text.
pub(super) fn containing(search: &str) -> IsWanted {
    let search = search.to_lowercase();
    Box::new(move |domain, _| domain.as_str().to_lowercase().contains(&search))
}

/// The configurations of a service.
pub(crate) struct Configured {
    pub(crate) names: Vec<String>,
    /// What each configuration is layered with.
    pub(crate) around: Surroundings,
    /// Where to write the first configuration; `None`: there is one already.
    pub(crate) set_up: Option<String>,
}

impl Configured {
    /// The path or URL of the configuration with this number; `None`: it is not in a file.
    pub(super) fn file(&self, number: usize) -> Option<&String> {
        self.names.get(number).filter(|name| *name != OUTSIDE)
    }

    /// The same for a local file; `None` also if the configuration was fetched.
    pub(super) fn local_file(&self, number: usize) -> Option<&String> {
        self.file(number).filter(|name| !name.contains("://"))
    }
}

pub(super) struct Site {
    /// The current settings of the page.
    pub(super) web: RefCell<Web>,
    pub(super) tls: RefCell<Option<TlsAcceptor>>,
    /// The address where the page actually listens.
    pub(super) address: SocketAddr,
    /// The key of this process; the next process does not accept tokens made with it.
    pub(super) key: SessionKey,
    pub(super) sessions: RefCell<Sessions>,
    /// The tries of passwords and tokens of the page.
    pub(super) logins: Rc<AttemptQueue>,
    /// The tries of passwords of pushes.
    pub(super) pushes: Rc<AttemptQueue>,
    pub(super) push_rate: RefCell<PushRate>,
    /// How often the log was told of a client.
    told: AttemptQueue,
    /// Held by work beside the event loop, so that only one thing is done at a time.
    beside: Arc<Mutex<()>>,
    /// Held while set-up sends its updates once.
    pub(super) sending: Mutex<()>,
    /// How often something changed.
    pub(super) changes: watch::Sender<u64>,
    /// The tasks that tell browsers about changes, the oldest first.
    pub(super) listening: RefCell<Vec<AbortHandle>>,
    asks: UnboundedSender<SiteRequest>,
    pub(super) sources: Rc<Sources>,
    /// The last synchronization that somebody requested: its time and its result; no result: it is running.
    outcome: RefCell<Option<(u64, Option<SyncResult>)>>,
}

impl Site {
    pub(super) fn new(
        web: Web,
        tls: Option<TlsAcceptor>,
        address: SocketAddr,
        asks: UnboundedSender<SiteRequest>,
    ) -> io::Result<Self> {
        Ok(Self {
            web: RefCell::new(web),
            tls: RefCell::new(tls),
            address,
            key: SessionKey(random()?),
            sessions: RefCell::default(),
            logins: Rc::default(),
            pushes: Rc::default(),
            push_rate: RefCell::default(),
            told: AttemptQueue::default(),
            beside: Arc::default(),
            sending: Mutex::default(),
            changes: watch::Sender::default(),
            listening: RefCell::default(),
            asks,
            sources: Rc::default(),
            outcome: RefCell::default(),
        })
    }

    /// Applies a new configuration. A new password ends all sessions.
    pub(super) fn apply(&self, web: &Web, tls: Option<TlsAcceptor>) {
        if self.web.borrow().password != web.password {
            self.sessions.borrow_mut().end_all();
        }
        self.web.replace(web.clone());
        self.tls.replace(tls);
        self.tell();
    }

    /// Whether a visitor needs no password, or is logged in. Only [`Site::enters`] counts as use of the session.
    pub(super) fn is_let_in(&self, id: &Id) -> bool {
        self.web.borrow().password.is_none() || self.sessions.borrow().is_open(id, steady_time())
    }

    /// The same for a request of the visitor, which counts as use of the session.
    pub(super) fn enters(&self, id: &Id) -> bool {
        self.web.borrow().password.is_none() || self.sessions.borrow_mut().use_by(id, steady_time())
    }

    /// Synchronizes; everybody is shown the result.
    pub(super) async fn synchronize(self: Rc<Self>, retry_stopped: bool) {
        self.outcome.replace(Some((unix_time().seconds, None)));
        self.tell();
        let result = self.ask(|done| SiteRequest::Synchronize { retry_stopped, done }).await;
        self.outcome.replace(result.map(|result| (unix_time().seconds, Some(result))));
        self.tell();
    }

    /// The last synchronization that somebody requested; no result: it is running. `None`: it is long ago, or there was none.
    pub(super) fn outcome(&self) -> Option<(u64, Option<SyncResult>)> {
        let is_news = |(at, result): &(u64, Option<SyncResult>)| {
            result.is_none() || unix_time().seconds.saturating_sub(*at) < SHOWN_SECONDS
        };
        self.outcome.borrow().clone().filter(is_news)
    }

    /// Does work that may take long beside the event loop: one thing at a time, to the end even if nobody waits for it any more.
    /// `None`: it ended without a result.
    pub(super) async fn aside<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let alone = Arc::clone(&self.beside).lock_owned().await;
        let done = tokio::task::spawn_blocking(move || {
            let _alone = alone;
            work()
        });
        done.await.ok()
    }

    /// Tells every browser that shows the page that something changed.
    pub(super) fn tell(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(super) fn warn(&self, text: String) {
        let _ = self.asks.send(SiteRequest::Warn(text));
    }

    /// A warning about what a client does; the more often it does so, the more seldom the log says it.
    pub(super) fn warn_of(&self, client: IpAddr, text: impl FnOnce() -> String) {
        if self.told.wrong(client).is_ok() {
            self.warn(text());
        }
    }

    /// What the service answers; `None`: it ends.
    pub(super) async fn ask<T>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> SiteRequest) -> Option<T> {
        let (respond, response) = oneshot::channel();
        self.asks.send(ask(respond)).ok()?;
        response.await.ok()
    }
}
