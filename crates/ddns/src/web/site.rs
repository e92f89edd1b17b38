//! What all requests to the page share.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
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

use super::sources::Sources;
use super::try_line::TryLine;
use crate::clock::{steady_time, unix_time};
use crate::load::OUTSIDE;
use crate::output::log::RecentLine;
use crate::random::random;
use ddns_core::engine::Previews;

/// How long the page shows what came of a synchronization.
const SHOWN_SECONDS: u64 = 60;

/// What the page asks of the service. The visitor may be gone when the response comes.
pub(crate) enum Ask {
    /// How every update stands.
    Status(oneshot::Sender<Status>),
    /// To synchronize now, also what services refused for good if so wanted; the response comes when that is done.
    Synchronize { retry_stopped: bool, done: oneshot::Sender<SyncResult> },
    /// To take an address that a host of this name in `web.push` tells; the response comes when it is remembered.
    Push { name: String, push: PushRequest, done: oneshot::Sender<PushAnswer> },
    /// A warning for the log.
    Warn(String),
    /// The updates that are wanted, with their requests: without the first `skip`, and no more than `take`.
    Previews { is_wanted: IsWanted, skip: usize, take: usize, done: oneshot::Sender<Previews> },
    /// The files of its histories, with everything in them.
    Histories(oneshot::Sender<Vec<PathBuf>>),
    /// That the event loop responds.
    Alive(oneshot::Sender<()>),
    /// Why the service is not ready; `None` if it is.
    Ready(oneshot::Sender<Option<String>>),
    /// The text for Prometheus.
    Metrics(oneshot::Sender<String>),
    /// The configurations that the service runs on.
    Configs(oneshot::Sender<Rc<Vec<Valid>>>),
    /// What the service runs on.
    Configured(oneshot::Sender<Configured>),
    /// What was logged lately, the latest first.
    Log(oneshot::Sender<Vec<RecentLine>>),
    /// To load the configuration now; the response is what is wrong with it.
    Reload(oneshot::Sender<Vec<String>>),
}

/// Answers. Whoever asked may be gone.
pub(crate) fn answer<T>(respond: oneshot::Sender<T>, value: T) {
    let _ = respond.send(value);
}

/// Whether an update is wanted.
type IsWanted = Box<dyn Fn(&Domain, Family) -> bool>;

/// Updates whose domains contain a text.
pub(super) fn containing(search: &str) -> IsWanted {
    let search = search.to_lowercase();
    Box::new(move |domain, _| domain.as_str().to_lowercase().contains(&search))
}

/// What a service runs on.
pub(crate) struct Configured {
    /// The configurations, as they are called.
    pub(crate) names: Vec<String>,
    /// What each of them is layered with.
    pub(crate) around: Surroundings,
    /// Where the first configuration is to be written; `None` if there is one already.
    pub(crate) set_up: Option<String>,
}

impl Configured {
    /// The file of a number, or its address; `None` if the configuration stands in none.
    pub(super) fn file(&self, number: usize) -> Option<&String> {
        self.names.get(number).filter(|name| *name != OUTSIDE)
    }

    /// The same; `None` if it was fetched, too.
    pub(super) fn local_file(&self, number: usize) -> Option<&String> {
        self.file(number).filter(|name| !name.contains("://"))
    }
}

pub(super) struct Site {
    /// As the configuration has it now.
    pub(super) web: RefCell<Web>,
    pub(super) tls: RefCell<Option<TlsAcceptor>>,
    /// Where it listens in fact.
    pub(super) address: SocketAddr,
    /// Of this process: what is signed with it means nothing to the next.
    pub(super) key: SessionKey,
    pub(super) sessions: RefCell<Sessions>,
    /// Passwords and tokens of the page.
    pub(super) logins: Rc<TryLine>,
    /// Passwords of pushes.
    pub(super) pushes: Rc<TryLine>,
    pub(super) push_rate: RefCell<PushRate>,
    /// Held by what is done beside the event loop: one thing at a time.
    beside: Arc<Mutex<()>>,
    /// How often something changed.
    pub(super) changes: watch::Sender<u64>,
    /// The tasks that tell browsers of it, the oldest first.
    pub(super) listening: RefCell<Vec<AbortHandle>>,
    asks: UnboundedSender<Ask>,
    pub(super) sources: Rc<Sources>,
    /// What came of the last synchronization that somebody asked for, and when; without a result while it runs.
    outcome: RefCell<Option<(u64, Option<SyncResult>)>>,
}

impl Site {
    pub(super) fn new(
        web: Web,
        tls: Option<TlsAcceptor>,
        address: SocketAddr,
        asks: UnboundedSender<Ask>,
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
            beside: Arc::default(),
            changes: watch::Sender::default(),
            listening: RefCell::default(),
            asks,
            sources: Rc::default(),
            outcome: RefCell::default(),
        })
    }

    /// Goes on with what the configuration says now. Another password ends all sessions.
    pub(super) fn apply(&self, web: &Web, tls: Option<TlsAcceptor>) {
        if self.web.borrow().password != web.password {
            self.sessions.borrow_mut().end_all();
        }
        self.web.replace(web.clone());
        self.tls.replace(tls);
        self.tell();
    }

    /// Whether somebody needs no password, or gave it. Counts as being busy only through [`Site::enters`].
    pub(super) fn is_let_in(&self, id: &Id) -> bool {
        self.web.borrow().password.is_none() || self.sessions.borrow().is_open(id, steady_time())
    }

    /// The same for somebody who asks for something.
    pub(super) fn enters(&self, id: &Id) -> bool {
        self.web.borrow().password.is_none() || self.sessions.borrow_mut().use_by(id, steady_time())
    }

    /// Synchronizes; what came of it is shown to everybody.
    pub(super) async fn synchronize(self: Rc<Self>, retry_stopped: bool) {
        self.outcome.replace(Some((unix_time().seconds, None)));
        self.tell();
        let result = self.ask(|done| Ask::Synchronize { retry_stopped, done }).await;
        self.outcome.replace(result.map(|result| (unix_time().seconds, Some(result))));
        self.tell();
    }

    /// How the synchronization stands that somebody asked for; without a result while it runs. `None` if that is long ago.
    pub(super) fn outcome(&self) -> Option<(u64, Option<SyncResult>)> {
        let is_news = |(at, result): &(u64, Option<SyncResult>)| {
            result.is_none() || unix_time().seconds.saturating_sub(*at) < SHOWN_SECONDS
        };
        self.outcome.borrow().clone().filter(is_news)
    }

    /// Does what may take long beside the event loop: one thing at a time, also where nobody waits for it any more. None where
    /// it ended without a result.
    pub(super) async fn aside<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let alone = Arc::clone(&self.beside).lock_owned().await;
        let done = tokio::task::spawn_blocking(move || {
            let _alone = alone;
            work()
        });
        done.await.ok()
    }

    /// Tells everybody who shows the page that something changed.
    pub(super) fn tell(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(super) fn warn(&self, text: String) {
        let _ = self.asks.send(Ask::Warn(text));
    }

    /// What the service responds; `None` if it ends.
    pub(super) async fn ask<T>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> Ask) -> Option<T> {
        let (respond, response) = oneshot::channel();
        self.asks.send(ask(respond)).ok()?;
        response.await.ok()
    }
}
