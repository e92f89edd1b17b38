//! A receiver of callbacks for rehearsals: what `ddns listen` shows and `ddns demo` calls. It takes HTTP/1.1 requests
//! on a port of this host, hands each to whoever started it, and answers as told.
//!
//! Whoever connects is a stranger: sizes, times and the number of connections are bounded, and what is no HTTP is told,
//! never a reason to end.

mod read;

use std::io;
use std::net::SocketAddr;
use std::task::Poll;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use crate::output::report::with_reason;
use read::Incoming;

/// So many connections are served at once; others wait until one ends.
const MOST_CONNECTIONS: usize = 64;

/// How long a connection may wait for its next request.
const IDLE_PATIENCE: Duration = Duration::from_secs(60);

/// How long a request may take from its first byte to its last, and its answer to be taken.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait where the system gives no connection (no more files, say).
const PAUSE: Duration = Duration::from_millis(100);

/// One request as it arrived.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) from: SocketAddr,
    pub(crate) method: String,
    /// What stands between method and version.
    pub(crate) target: String,
    /// In the order in which they came.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Whether the other side means to send another on this connection.
    keeps_open: bool,
}

/// Why something that came is no request.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) from: SocketAddr,
    /// The status that says so; none where nobody waits for it.
    pub(crate) status: Option<u16>,
    /// A sentence that begins with what came.
    pub(crate) why: String,
}

/// What to say to a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) delay: Duration,
    /// Whether the receiver ends when this is said.
    pub(crate) is_last: bool,
}

/// What to do about what came.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Answer it. What was refused is answered with its own status.
    Answer(Answer),
    /// Close the connection without a word.
    Ignore,
    /// End at once.
    Stop,
}

/// Serves until a last answer was said, or `hear` wants it to stop.
pub(crate) async fn serve(listener: TcpListener, hear: impl Fn(Result<&Received, &Refusal>) -> Verdict) {
    let mut open = FuturesUnordered::new();
    loop {
        let next = std::future::poll_fn(|context| {
            while let Poll::Ready(Some(is_over)) = open.poll_next_unpin(context) {
                if is_over {
                    return Poll::Ready(None);
                }
            }
            if open.len() < MOST_CONNECTIONS { listener.poll_accept(context).map(Some) } else { Poll::Pending }
        });
        match next.await {
            None => return,
            Some(Ok((stream, from))) => open.push(converse(stream, from, &hear)),
            // Nobody's fault here: the connection is gone already, or the system has none to give.
            Some(Err(_)) => sleep(PAUSE).await,
        }
    }
}

/// One connection from its first request to its last; says whether the receiver is to end.
async fn converse(stream: TcpStream, from: SocketAddr, hear: impl Fn(Result<&Received, &Refusal>) -> Verdict) -> bool {
    let mut incoming = Incoming::new(stream, from);
    loop {
        match timeout(IDLE_PATIENCE, incoming.wait()).await {
            Ok(Ok(true)) => {}
            _ => return false,
        }
        let read = timeout(PATIENCE, incoming.request()).await;
        let late = || Refusal { from, status: Some(408), why: "a request took too long to come".to_owned() };
        let request = match read.unwrap_or_else(|_| Err(late())) {
            Ok(request) => request,
            Err(refusal) => {
                let verdict = hear(Err(&refusal));
                if let (Verdict::Answer(_), Some(status)) = (&verdict, refusal.status) {
                    let answer = Answer { status, ..Answer::default() };
                    let _ = say(&mut incoming.stream, &answer, false).await;
                    hang_up(&mut incoming).await;
                }
                return matches!(verdict, Verdict::Stop);
            }
        };
        let answer = match hear(Ok(&request)) {
            Verdict::Answer(answer) => answer,
            Verdict::Ignore => return false,
            Verdict::Stop => return true,
        };
        sleep(answer.delay).await;
        let is_kept = request.keeps_open && !answer.is_last;
        let is_said = say(&mut incoming.stream, &answer, is_kept).await.is_ok();
        if answer.is_last {
            let _ = incoming.stream.shutdown().await;
        }
        if answer.is_last || !is_kept || !is_said {
            return answer.is_last;
        }
    }
}

/// Writes an answer without a body.
async fn say(stream: &mut TcpStream, answer: &Answer, is_kept: bool) -> io::Result<()> {
    let mut text = format!("HTTP/1.1 {}\r\n", with_reason(answer.status));
    // What has no reason of its own still needs the blank behind the status.
    if !with_reason(answer.status).contains(' ') {
        text.insert(text.len() - 2, ' ');
    }
    for (name, value) in &answer.headers {
        text += &format!("{name}: {value}\r\n");
    }
    if !matches!(answer.status, 204 | 304) {
        text += "Content-Length: 0\r\n";
    }
    if !is_kept {
        text += "Connection: close\r\n";
    }
    text += "\r\n";
    timeout(PATIENCE, stream.write_all(text.as_bytes())).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Takes what is still under way for a moment: a connection that is closed before would lose the answer.
async fn hang_up(incoming: &mut Incoming) {
    let _ = incoming.stream.shutdown().await;
    let _ = timeout(Duration::from_millis(500), incoming.drop_rest()).await;
}
