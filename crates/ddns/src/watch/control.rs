//! The control socket of a running service: a request is one line, `status`, `history` or `sync`; the response is one
//! JSON text.
//!
//! The socket is for the owner alone, in a folder of this user.

use std::collections::VecDeque;
use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hasher as _};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::fs::Mode;
use rustix::process::{getuid, umask};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{AbortHandle, spawn_local, yield_now};
use tokio::time::{sleep, timeout};

use crate::environment::{Environment, max_files_per_kind};
use crate::open_file::{Identity, identity, make_private};

/// A client must send its request within this time, and take the response within it.
pub(super) const CLIENT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long to wait if no connection can be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// The length limit of a request, in bytes.
const MAX_REQUEST_BYTES: u64 = 64;

/// How many clients may be connected at once.
const MAX_CLIENTS: usize = 32;

/// The line of each command, in the order of [`Command`].
const COMMANDS: [(Command, &str); 4] = [
    (Command::Status, "status"),
    (Command::History, "history"),
    (Command::Synchronize, "sync"),
    (Command::RetryStopped, "sync retry-stopped"),
];

/// What a client can request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// The state of every update.
    Status,
    /// The paths of the history files.
    History,
    /// Synchronize now; the response comes when that is done.
    Synchronize,
    /// The same, and send stopped updates, too.
    RetryStopped,
}

impl Command {
    pub(super) fn word(self) -> &'static str {
        COMMANDS[self as usize].1
    }
}

/// A request whose client waits for the response.
pub(super) struct ControlRequest {
    pub(super) command: Command,
    stream: UnixStream,
    /// The client counts as connected until this is dropped.
    connected: Rc<()>,
}

impl ControlRequest {
    pub(super) fn respond(self, text: String) {
        let Self { mut stream, connected, .. } = self;
        spawn_local(async move {
            let _ = timeout(CLIENT_TIMEOUT, async {
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
    /// Another service may have put its own socket in this place.
    file: Option<Identity>,
    requests: UnboundedReceiver<ControlRequest>,
    /// Accepts connections.
    task: AbortHandle,
}

impl Control {
    /// Listens in the first usable folder. `identity` distinguishes this service from others of the same user, as far
    /// as possible: two without a cache may share it.
    pub(super) async fn open(environment: &Environment, identity: &impl std::hash::Hash) -> io::Result<Self> {
        let mut hasher = DefaultHasher::new();
        identity.hash(&mut hasher);
        let name = format!("watch-{:016x}", hasher.finish());
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for folder in environment.runtime_folders() {
            match listen(&folder, &name).await {
                Ok((path, listener)) => {
                    let (received, requests) = unbounded_channel();
                    let task = spawn_local(accept(listener, received)).abort_handle();
                    return Ok(Self { file: file_of(&path), path, requests, task });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Whether clients find the socket.
    pub(super) fn is_in_place(&self) -> bool {
        file_of(&self.path) == self.file
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<ControlRequest> {
        match self.requests.poll_recv(context) {
            Poll::Ready(Some(request)) => Poll::Ready(request),
            _ => Poll::Pending,
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.task.abort();
        if self.file.is_some() && self.is_in_place() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Accepts connections and reads their requests.
async fn accept(listener: UnixListener, received: UnboundedSender<ControlRequest>) {
    let connected = Rc::new(());
    // Clients that have not sent their request yet, the oldest first.
    let mut silent: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Most likely, too many files are open; nothing reports when that changes.
            sleep(PAUSE).await;
            continue;
        };
        silent.retain(|client| !client.is_finished());
        let most = MAX_CLIENTS.min(max_files_per_kind().div_ceil(2));
        if silent.len() >= most {
            // Their requests may have come in the meantime.
            yield_now().await;
            silent.retain(|client| !client.is_finished());
        }
        if silent.len() >= most
            && let Some(oldest) = silent.pop_front()
        {
            oldest.abort();
            // Let it close before the next client is accepted.
            yield_now().await;
        }
        let (received, connected) = (received.clone(), Rc::clone(&connected));
        let reading = spawn_local(async move {
            if let Ok(Some((command, stream))) = timeout(CLIENT_TIMEOUT, read_command(stream)).await {
                // Those that wait for a synchronization must not keep others from asking how things stand.
                if command == Command::Status || Rc::strong_count(&connected) <= 2 * most {
                    let _ = received.send(ControlRequest { command, stream, connected });
                }
            }
        });
        silent.push_back(reading.abort_handle());
    }
}

fn file_of(path: &Path) -> Option<Identity> {
    fs::symlink_metadata(path).ok().as_ref().map(identity)
}

async fn read_command(stream: UnixStream) -> Option<(Command, UnixStream)> {
    let mut reader = BufReader::new(stream.take(MAX_REQUEST_BYTES));
    let mut line = String::new();
    reader.read_line(&mut line).await.ok()?;
    let (command, _) = COMMANDS.iter().find(|(_, word)| *word == line.trim())?;
    Some((*command, reader.into_inner().into_inner()))
}

/// Whether this is a folder of this user or of root, and nobody else can write to it.
pub(super) fn is_private(folder: &Metadata) -> bool {
    folder.is_dir() && folder.mode() & 0o022 == 0 && [getuid().as_raw(), 0].contains(&folder.uid())
}

/// Listens at a path that begins with this name, and takes no socket from a running service.
async fn listen(folder: &Path, name: &str) -> io::Result<(PathBuf, UnixListener)> {
    make_private(folder)?;
    // In a shared folder, another user may have created this one first.
    if !is_private(&fs::symlink_metadata(folder)?) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the folder belongs to another user"));
    }
    let mut path = folder.join(format!("{name}.sock"));
    if is_in_use(&path).await {
        path = folder.join(format!("{name}-{}.sock", std::process::id()));
    }
    // Left by a service that was killed.
    let _ = fs::remove_file(&path);
    let before = umask(Mode::from_raw_mode(0o177));
    let listener = UnixListener::bind(&path);
    umask(before);
    Ok((path, listener?))
}

/// Whether a service listens there, even one that is too busy to answer.
async fn is_in_use(path: &Path) -> bool {
    use io::ErrorKind::{ConnectionRefused, NotFound};
    let connected = UnixStream::connect(path).await;
    !connected.is_err_and(|error| matches!(error.kind(), ConnectionRefused | NotFound))
}
