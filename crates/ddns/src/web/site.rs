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
use ddns_core::web::access::{password, token};
use ddns_core::web::list::ListFilter;
use ddns_core::web::mask::mask;
use ddns_core::web::session::{Id, SessionKey, Sessions};
use ddns_core::web::tries::Tries;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Mutex, Notify, oneshot};
use tokio_rustls::TlsAcceptor;

use super::changes::ChangeFeed;
use super::save;
use super::sources::Sources;
use crate::clock::steady_time;
use crate::load::OUTSIDE;
use crate::random::random;
use ddns_core::engine::Previews;

/// What the page asks of the service. The visitor may be gone when the response comes.
pub(crate) enum Ask {
    /// How every update stands.
    Status(oneshot::Sender<Status>),
    /// To synchronize now, also what services refused for good if so wanted; the response comes when that is done.
    Synchronize { retry_stopped: bool, done: oneshot::Sender<SyncResult> },
    /// A warning for the log.
    Warn(String),
    /// The updates that are wanted, with their requests.
    Previews(Wanted, oneshot::Sender<Previews>),
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
    /// To load the configuration now; the response is what is wrong with it.
    Reload(oneshot::Sender<Vec<String>>),
}

/// Answers. Whoever asked may be gone.
pub(crate) fn answer<T>(respond: oneshot::Sender<T>, value: T) {
    let _ = respond.send(value);
}

/// Which updates are wanted.
pub(crate) struct Wanted {
    pub(crate) filter: ListFilter,
    /// Only the update of this domain and type.
    pub(crate) update: Option<(String, String)>,
    /// How many come before the first that is shown.
    pub(crate) skip: usize,
    /// No more are shown.
    pub(crate) take: usize,
}

impl Wanted {
    pub(crate) fn includes(&self, domain: &Domain, family: Family) -> bool {
        match &self.update {
            Some((name, kind)) => domain.as_str() == name && family.record_type() == kind,
            None => self.filter.includes(domain.as_str()),
        }
    }
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
    pub(super) tries: RefCell<Tries>,
    /// Held by what is done beside the event loop: one thing at a time.
    beside: Arc<Mutex<()>>,
    /// A password was checked: it is the turn of the next one.
    pub(super) checked: Notify,
    pub(super) changes: ChangeFeed,
    asks: UnboundedSender<Ask>,
    pub(super) sources: Rc<Sources>,
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
            key: SessionKey::new(random()?),
            sessions: RefCell::default(),
            tries: RefCell::default(),
            beside: Arc::default(),
            checked: Notify::new(),
            changes: ChangeFeed::default(),
            asks,
            sources: Rc::default(),
        })
    }

    /// Goes on with what the configuration says now. Another password ends all sessions.
    pub(super) fn apply(&self, web: &Web, tls: Option<TlsAcceptor>) {
        if self.web.borrow().password != web.password {
            self.sessions.borrow_mut().end_all();
        }
        self.web.replace(web.clone());
        self.tls.replace(tls);
        self.changes.tell();
    }

    /// The hash of the password; `None` if no password is configured.
    pub(super) fn hash(&self) -> Option<String> {
        let web = self.web.borrow();
        password(&web).ok().flatten().map(str::to_owned)
    }

    /// Whether somebody needs no password, or gave it. Counts as being busy only through [`Site::enters`].
    pub(super) fn is_let_in(&self, id: &Id) -> bool {
        self.web.borrow().password.is_none() || self.sessions.borrow().is_open(id, steady_time())
    }

    /// The same for somebody who asks for something.
    pub(super) fn enters(&self, id: &Id) -> bool {
        self.web.borrow().password.is_none() || self.sessions.borrow_mut().use_by(id, steady_time())
    }

    /// Whether a program has the token of `token_file`; `None` if there is no such file.
    pub(super) fn is_token(&self, given: &str) -> Option<bool> {
        let web = self.web.borrow();
        token(&web).ok().flatten().map(|token| self.key.is_same(token, given))
    }

    /// Begins a synchronization and does not wait for its end.
    pub(super) fn begin_synchronizing(&self, retry_stopped: bool) {
        let (done, _) = oneshot::channel();
        let _ = self.asks.send(Ask::Synchronize { retry_stopped, done });
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

    /// The text of a file without its secrets; fails with a phrase that follows its name.
    pub(super) async fn masked(&self, name: &str) -> Result<String, String> {
        let name = name.to_owned();
        let text = self.aside(move || save::open(&name).map(|opened| mask(&opened.text))).await;
        text.unwrap_or_else(|| Err("cannot be shown".to_owned()))
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
