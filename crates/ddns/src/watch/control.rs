//! The control socket of a running service: a request is one line, `status`, `history` or `sync`; the response is one JSON text.
//!
//! It is in a folder that is the user's own, and for the owner alone.

use std::collections::VecDeque;
use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use ddns_core::update::status::Status;
use rustix::fs::Mode;
use rustix::process::{getuid, umask};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;
use tokio::time::{Sleep, sleep, timeout};

use crate::environment::{Environment, most_for_others};

/// A client must send its request within this time, and take the response within it.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait where the system gives no connection.
const PAUSE: Duration = Duration::from_millis(100);

/// No request is longer.
const LONGEST: u64 = 64;

/// So many clients may be connected at once.
const MOST: usize = 32;

/// What a client can request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// How every update stands.
    Status,
    /// The files of its history.
    History,
    /// To synchronize now; the response comes when that is done.
    Synchronize,
    /// The same, with what services refused for good.
    RetryStopped,
}

impl Command {
    fn word(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::History => "history",
            Self::Synchronize => "sync",
            Self::RetryStopped => "sync retry-stopped",
        }
    }
}

/// A request whose client waits for the response.
pub(super) struct ControlRequest {
    pub(super) command: Command,
    stream: UnixStream,
    /// Counts as connected as long as it lives.
    connected: Rc<()>,
}

impl ControlRequest {
    pub(super) fn respond(self, text: String) {
        let Self { mut stream, connected, .. } = self;
        tokio::task::spawn_local(async move {
            let _ = timeout(PATIENCE, async {
                stream.write_all(text.as_bytes()).await?;
                stream.shutdown().await
            })
            .await;
            drop(connected);
        });
    }
}

/// The listening side.
pub(super) struct Control {
    path: PathBuf,
    listener: UnixListener,
    requests: UnboundedReceiver<ControlRequest>,
    received: UnboundedSender<ControlRequest>,
    connected: Rc<()>,
    /// Those who have not sent their request yet, the oldest first.
    silent: VecDeque<AbortHandle>,
    /// Until when nobody is taken; none while everybody is.
    pause: Option<Pin<Box<Sleep>>>,
}

impl Control {
    /// Listens in the first folder that can be used. `identity` distinguishes this service from others of the same user.
    pub(super) fn open(environment: &Environment, identity: &impl std::hash::Hash) -> io::Result<Self> {
        let mut hasher = DefaultHasher::new();
        identity.hash(&mut hasher);
        let name = format!("watch-{:016x}.sock", hasher.finish());
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for folder in environment.runtime_folders() {
            match listen(&folder, &name) {
                Ok((path, listener)) => {
                    let (received, requests) = unbounded_channel();
                    return Ok(Self {
                        path,
                        listener,
                        requests,
                        received,
                        connected: Rc::default(),
                        silent: VecDeque::new(),
                        pause: None,
                    });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<ControlRequest> {
        loop {
            if let Some(pause) = &mut self.pause {
                if pause.as_mut().poll(context).is_pending() {
                    break;
                }
                self.pause = None;
            }
            let Poll::Ready(accepted) = self.listener.poll_accept(context) else { break };
            let Ok((stream, _)) = accepted else {
                // No more files, most likely: nobody says when there are some again.
                self.pause = Some(Box::pin(sleep(PAUSE)));
                continue;
            };
            self.silent.retain(|client| !client.is_finished());
            let mut is_full = false;
            if Rc::strong_count(&self.connected) > MOST.min(most_for_others().div_ceil(2)) {
                // Whoever is silent makes room for the one who may speak. Where all have spoken, there is none.
                let Some(oldest) = self.silent.pop_front() else { continue };
                oldest.abort();
                is_full = true;
            }
            let (received, connected) = (self.received.clone(), Rc::clone(&self.connected));
            let reading = tokio::task::spawn_local(async move {
                if let Ok(Some((command, stream))) = timeout(PATIENCE, read_command(stream)).await {
                    let _ = received.send(ControlRequest { command, stream, connected });
                }
            });
            self.silent.push_back(reading.abort_handle());
            if is_full {
                // The other one is closed before the next is taken.
                context.waker().wake_by_ref();
                break;
            }
        }
        match self.requests.poll_recv(context) {
            Poll::Ready(Some(request)) => Poll::Ready(request),
            _ => Poll::Pending,
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

async fn read_command(stream: UnixStream) -> Option<(Command, UnixStream)> {
    let mut reader = BufReader::new(stream.take(LONGEST));
    let mut line = String::new();
    reader.read_line(&mut line).await.ok()?;
    let command = [Command::Status, Command::History, Command::Synchronize, Command::RetryStopped]
        .into_iter()
        .find(|known| known.word() == line.trim())?;
    Some((command, reader.into_inner().into_inner()))
}

fn listen(folder: &Path, name: &str) -> io::Result<(PathBuf, UnixListener)> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let metadata = fs::symlink_metadata(folder)?;
    // In a folder that all share, one that another user made first is not for us.
    if metadata.is_symlink() || metadata.mode() & 0o022 != 0 || ![getuid().as_raw(), 0].contains(&metadata.uid()) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the folder belongs to another user"));
    }
    let path = folder.join(name);
    // Left by one that was killed: nobody else has this name while the lock of its cache is ours.
    let _ = fs::remove_file(&path);
    let before = umask(Mode::from_raw_mode(0o177));
    let listener = UnixListener::bind(&path);
    umask(before);
    Ok((path, listener?))
}

/// The services of this user.
#[derive(Default)]
pub(crate) struct Services {
    /// Those that respond, by their sockets, and how they stand.
    pub(crate) running: Vec<(PathBuf, Status)>,
    /// The processes of those that do not, where known: stopped, or busy with something that does not end.
    pub(crate) silent: Vec<Option<i32>>,
}

impl Services {
    /// Which ones do not respond, or that there is none.
    pub(crate) fn silence(&self) -> String {
        let name = |process: &Option<i32>| match process {
            Some(process) => format!("The service (process {process}) does not respond."),
            None => "The service does not respond.".to_owned(),
        };
        match self.silent.as_slice() {
            [] => "No running service found.".to_owned(),
            silent => silent.iter().map(name).collect::<Vec<_>>().join(" "),
        }
    }
}

/// The services that use one of these configuration files, or all where none is named. One that does not respond does not
/// say which files it uses: it counts where no other uses them.
pub(crate) async fn services(environment: &Environment, files: &[String]) -> Services {
    let full_name =
        |file: &String| fs::canonicalize(file).map_or_else(|_| file.clone(), |path| path.display().to_string());
    let files: Vec<String> = files.iter().map(full_name).collect();
    let is_meant = |status: &Status| files.is_empty() || status.configs.iter().any(|name| files.contains(name));
    let mut found = Services::default();
    let mut seen: Vec<PathBuf> = Vec::new();
    for folder in environment.runtime_folders() {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        let mut sockets: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        sockets.sort();
        sockets.retain(|path| path.extension().is_some_and(|ending| ending == "sock") && !seen.contains(path));
        for path in sockets {
            match how_it_stands(&path).await {
                Asked::Status(status) if is_meant(&status) => found.running.push((path.clone(), *status)),
                Asked::Silent(process) => found.silent.push(process),
                Asked::Status(_) | Asked::Nobody => {}
            }
            seen.push(path);
        }
    }
    if !files.is_empty() && !found.running.is_empty() {
        found.silent.clear();
    }
    found
}

/// What is behind a socket.
enum Asked {
    Status(Box<Status>),
    /// A process that does not respond in time.
    Silent(Option<i32>),
    /// The service has ended, or is something else.
    Nobody,
}

async fn how_it_stands(path: &Path) -> Asked {
    let mut process = None;
    let asked = async {
        let stream = UnixStream::connect(path).await?;
        process = stream.peer_cred().ok().and_then(|peer| peer.pid()).filter(|process| *process > 0);
        talk(stream, Command::Status).await
    };
    match timeout(PATIENCE, asked).await {
        Ok(Ok(text)) => Status::from_text(&text).map_or(Asked::Nobody, |status| Asked::Status(Box::new(status))),
        // Its line for new connections is full.
        Ok(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => Asked::Silent(None),
        Ok(Err(_)) => Asked::Nobody,
        Err(_) => Asked::Silent(process),
    }
}

/// A folder in which a service of another user (root, most likely) has its socket; `None` where there is none.
pub(crate) fn closed_folder(environment: &Environment) -> Option<PathBuf> {
    let is_closed = |folder: &PathBuf| {
        fs::metadata(folder).is_ok_and(|metadata| metadata.uid() != getuid().as_raw())
            && fs::read_dir(folder).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
    };
    environment.runtime_folders().into_iter().find(is_closed)
}

/// Says that a service of another user may be there, where this user has none.
pub(crate) fn note_closed_folder(environment: &Environment, command: &str) {
    if let Some(folder) = closed_folder(environment) {
        let folder = folder.display();
        let _ =
            writeln!(io::stderr(), "note: {folder} belongs to another user's service: `sudo ddns {command}` asks that");
    }
}

/// The response of the service behind a socket.
pub(crate) async fn request(path: &Path, command: Command) -> io::Result<String> {
    talk(UnixStream::connect(path).await?, command).await
}

async fn talk(mut stream: UnixStream, command: Command) -> io::Result<String> {
    stream.write_all(format!("{}\n", command.word()).as_bytes()).await?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await?;
    if response.is_empty() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(response) }
}
