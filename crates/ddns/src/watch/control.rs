//! The socket through which a running service is asked: `status` and `sync`, one line each; the answer is one JSON text.
//!
//! It lies in a folder that is the user's own, and is for the owner alone.

use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hasher as _};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use ddns_core::update::status::Status;
use rustix::fs::Mode;
use rustix::process::{getuid, umask};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

use crate::environment::Environment;

/// Who asks must say what he wants within this time, and take the answer within it.
const PATIENCE: Duration = Duration::from_secs(5);

/// No question is longer.
const LONGEST: u64 = 64;

/// So many may wait for an answer at once.
const MOST: usize = 32;

/// What can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// How things stand.
    Status,
    /// To synchronize now; the answer comes when that is done.
    Synchronize,
}

impl Question {
    fn word(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Synchronize => "sync",
        }
    }
}

/// Somebody who waits for an answer.
pub(super) struct Asked {
    pub(super) question: Question,
    stream: UnixStream,
    /// Counted as long as it lives.
    guest: Rc<()>,
}

impl Asked {
    pub(super) fn answer(self, text: String) {
        let Self { mut stream, guest, .. } = self;
        tokio::task::spawn_local(async move {
            let _ = timeout(PATIENCE, async {
                stream.write_all(text.as_bytes()).await?;
                stream.shutdown().await
            })
            .await;
            drop(guest);
        });
    }
}

/// The listening side.
pub(super) struct Control {
    path: PathBuf,
    listener: UnixListener,
    asked: UnboundedReceiver<Asked>,
    hand_on: UnboundedSender<Asked>,
    guests: Rc<()>,
}

impl Control {
    /// Listens in the first folder that can be had. `identity` tells this service from others of the same user.
    pub(super) fn open(environment: &Environment, identity: &impl std::hash::Hash) -> io::Result<Self> {
        let mut hasher = DefaultHasher::new();
        identity.hash(&mut hasher);
        let name = format!("watch-{:016x}.sock", hasher.finish());
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for folder in environment.runtime_folders() {
            match listen(&folder, &name) {
                Ok((path, listener)) => {
                    let (hand_on, asked) = unbounded_channel();
                    return Ok(Self { path, listener, asked, hand_on, guests: Rc::default() });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Asked> {
        while let Poll::Ready(accepted) = self.listener.poll_accept(context) {
            let Ok((stream, _)) = accepted else { break };
            if Rc::strong_count(&self.guests) > MOST {
                continue;
            }
            let (hand_on, guest) = (self.hand_on.clone(), Rc::clone(&self.guests));
            tokio::task::spawn_local(async move {
                if let Ok(Some((question, stream))) = timeout(PATIENCE, hear(stream)).await {
                    let _ = hand_on.send(Asked { question, stream, guest });
                }
            });
        }
        match self.asked.poll_recv(context) {
            Poll::Ready(Some(asked)) => Poll::Ready(asked),
            _ => Poll::Pending,
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

async fn hear(stream: UnixStream) -> Option<(Question, UnixStream)> {
    let mut reader = BufReader::new(stream.take(LONGEST));
    let mut line = String::new();
    reader.read_line(&mut line).await.ok()?;
    let question = [Question::Status, Question::Synchronize].into_iter().find(|known| known.word() == line.trim())?;
    Some((question, reader.into_inner().into_inner()))
}

fn listen(folder: &Path, name: &str) -> io::Result<(PathBuf, UnixListener)> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let metadata = fs::symlink_metadata(folder)?;
    // In a folder that all share, one that another user made first is not for us.
    if metadata.is_symlink() || metadata.mode() & 0o022 != 0 || ![getuid().as_raw(), 0].contains(&metadata.uid()) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the folder is not this user's own"));
    }
    let path = folder.join(name);
    // Left by one that was killed: nobody else has this name while the lock of its cache is ours.
    let _ = fs::remove_file(&path);
    let before = umask(Mode::from_raw_mode(0o177));
    let listener = UnixListener::bind(&path);
    umask(before);
    Ok((path, listener?))
}

/// Every service of this user that listens, and how it stands.
pub(crate) async fn services(environment: &Environment) -> Vec<(PathBuf, Status)> {
    let mut found: Vec<(PathBuf, Status)> = Vec::new();
    for folder in environment.runtime_folders() {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        let mut sockets: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        sockets.sort();
        for path in sockets {
            let is_new = found.iter().all(|(known, _)| *known != path);
            if is_new
                && path.extension().is_some_and(|ending| ending == "sock")
                && let Ok(Ok(text)) = timeout(PATIENCE, ask(&path, Question::Status)).await
                && let Some(status) = Status::from_text(&text)
            {
                found.push((path, status));
            }
        }
    }
    found
}

/// Asks one service.
pub(crate) async fn ask(path: &Path, question: Question) -> io::Result<String> {
    let mut stream = UnixStream::connect(path).await?;
    stream.write_all(format!("{}\n", question.word()).as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    if answer.is_empty() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(answer) }
}
