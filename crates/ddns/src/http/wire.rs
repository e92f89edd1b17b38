//! HTTP/1.1 on an open stream: a request in one write, the head of the final answer, and a bounded part of its body.
//!
//! Only the status of an answer decides (A4), so whatever is odd about a body costs no more than the connection. That
//! is why this is so short, and why it is ours: it knows exactly whether anything was sent, which a pooling client does
//! not tell. The head is parsed by httparse.

mod head;

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use ddns_core::callback::Request;
use ddns_core::net::proxy::Server;
use futures_util::future::{Either, join, select};
use httparse::Status;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, split};
use tokio::time::{Instant, timeout_at};

use super::USER_AGENT;
use head::{Framing, Head, MOST_HEADERS};

/// As much of a body is read (D4, F4).
pub(crate) const BODY_LIMIT: usize = 64 * 1024;

/// More head than this is no answer.
const HEAD_LIMIT: usize = 64 * 1024;

/// So many answers may announce the final one.
const MOST_ANNOUNCEMENTS: usize = 16;

/// So much is asked of the stream at once: enough for almost every answer.
const READ_SIZE: usize = 2 * 1024;

/// How long the rest of an answer is waited for whose status is known: it only decides whether the connection is kept.
const DRAIN_PATIENCE: Duration = Duration::from_millis(500);

/// An answer: its final status and the beginning of its body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    /// Whether the body is all there: neither cut off nor longer than [`BODY_LIMIT`].
    pub(crate) is_whole: bool,
    /// Where the answer points to, if it does.
    pub(super) location: Option<String>,
    /// `Retry-After`, as it was written.
    pub(crate) retry_after: Option<String>,
    /// What is doubtful about who got the request, told once for an origin.
    pub(crate) warnings: Vec<String>,
    /// The proxy it came through.
    pub(crate) via: Option<Arc<Server>>,
    /// Whether that proxy read the request, and so may have answered it in the endpoint's place.
    pub(crate) is_relayed: bool,
}

/// How the body of an answer matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// The status decides; the body is read as far as it comes at once.
    Status,
    /// The body is what was asked for.
    Body,
}

/// Why no status came.
#[derive(Debug)]
pub(super) enum WireError {
    /// The other side closed before a word.
    Silent,
    /// The other side closed in the middle of the head.
    CutOff,
    /// The head is longer than [`HEAD_LIMIT`].
    TooLong,
    /// More than [`MOST_ANNOUNCEMENTS`] answers announced another one.
    OnlyAnnounced,
    /// What came is TLS.
    Secured,
    /// What came is no HTTP.
    Nonsense(httparse::Error),
    /// The stream broke.
    Broken(io::Error),
}

impl WireError {
    /// A sentence about whoever was asked.
    pub(super) fn told_of(&self, origin: &str) -> String {
        match self {
            Self::Silent => format!("{origin} closed the connection without an answer"),
            Self::CutOff => format!("{origin} closed the connection in the middle of its answer"),
            Self::TooLong => format!("the head of {origin}'s answer is longer than {} KiB", HEAD_LIMIT >> 10),
            Self::OnlyAnnounced => format!("{origin} announces an answer again and again (1xx) and gives none"),
            Self::Secured => format!("{origin} speaks TLS: is it an https address?"),
            Self::Nonsense(error) => format!("what {origin} answered is no HTTP ({error})"),
            Self::Broken(error) => match error.kind() {
                io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                    format!("{origin} broke the connection off before it had answered")
                }
                _ => {
                    let told = error.to_string();
                    let words = told.split(" (os error").next().unwrap_or_default();
                    format!("the connection to {origin} broke ({words})")
                }
            },
        }
    }

    /// Why some bytes are no head.
    fn of_nonsense(error: httparse::Error, bytes: &[u8]) -> Self {
        // An alert or a handshake, and the version that all of TLS has in common.
        if matches!(bytes, [0x15 | 0x16, 0x03, ..]) { Self::Secured } else { Self::Nonsense(error) }
    }
}

impl Answer {
    /// The proxy that may have answered in the endpoint's place.
    pub(crate) fn relay(&self) -> Option<&Server> {
        self.via.as_deref().filter(|_| self.is_relayed)
    }
}

/// The status of an answer that has no body, and whether nothing came behind its head.
pub(super) async fn status_alone<S: AsyncRead + Unpin>(stream: &mut S) -> Result<(u16, bool), WireError> {
    let mut incoming = Incoming { stream, buffer: Vec::new(), at: 0 };
    let head = incoming.final_head().await?;
    Ok((head.status, incoming.is_empty()))
}

/// Sends a request and reads its answer; tells whether the connection can be used again. A `relay` is a proxy that hands
/// the request on: it gets the whole address, and its own user and password.
pub(super) async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    request: &Request,
    relay: Option<&Server>,
    want: Want,
    deadline: Instant,
) -> Result<(Answer, bool), WireError> {
    let (mut reader, mut writer) = split(stream);
    let mut incoming = Incoming { stream: &mut reader, buffer: Vec::new(), at: 0 };
    // An endpoint may answer, and close, before it has read everything: what it said counts.
    let mut sending = pin!(send(&mut writer, request, relay));
    let mut sent = None;
    let head = match select(sending.as_mut(), pin!(incoming.final_head())).await {
        Either::Left((result, head)) => {
            sent = Some(result);
            head.await
        }
        Either::Right((head, _)) => head,
    };
    let head = head.map_err(|told| match (told, sent.take()) {
        (WireError::Silent | WireError::Broken(_), Some(Err(error))) => WireError::Broken(error),
        (told, _) => told,
    })?;
    let mut body = Vec::new();
    let mut is_whole = false;
    let patience = Instant::now() + DRAIN_PATIENCE;
    let deadline = if want == Want::Status { patience.min(deadline) } else { deadline };
    let reading = async { is_whole = matches!(incoming.body(head.framing, &mut body).await, Ok(true)) };
    // Who accepts before it has read everything may be about to read it. Who refuses is not.
    let goes_on = sent.is_none() && (200..300).contains(&head.status);
    let finishing = async {
        if goes_on {
            sent = Some(sending.await);
        }
    };
    let _ = timeout_at(deadline, join(reading, finishing)).await;
    let can_be_kept = head.keeps_open && is_whole && matches!(sent, Some(Ok(()))) && incoming.is_empty();
    let Head { status, location, retry_after, .. } = head;
    let is_relayed = relay.is_some();
    Ok((
        Answer { status, body, is_whole, location, retry_after, warnings: Vec::new(), via: None, is_relayed },
        can_be_kept,
    ))
}

async fn send<S: AsyncWrite + Unpin>(stream: &mut S, request: &Request, relay: Option<&Server>) -> io::Result<()> {
    let method = request.method().as_str();
    let mut text = match relay {
        None => format!("{method} {} HTTP/1.1\r\n", request.url.path),
        Some(server) => {
            let login = server.authorization().map(|value| format!("Proxy-Authorization: {value}\r\n"));
            format!("{method} {} HTTP/1.1\r\n{}", request.url, login.unwrap_or_default())
        }
    };
    for (name, value) in request.headers(USER_AGENT) {
        text += name;
        text += ": ";
        text += &value;
        text += "\r\n";
    }
    text += "\r\n";
    text += request.body.as_deref().unwrap_or_default();
    stream.write_all(text.as_bytes()).await?;
    stream.flush().await
}

/// Bytes that have come, and those that are still to come.
struct Incoming<'a, S> {
    stream: &'a mut S,
    buffer: Vec<u8>,
    /// How much of the buffer has been used.
    at: usize,
}

impl<S: AsyncRead + Unpin> Incoming<'_, S> {
    fn rest(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    fn is_empty(&self) -> bool {
        self.rest().is_empty()
    }

    /// Waits for more; false at the end of the stream.
    async fn fill(&mut self) -> io::Result<bool> {
        // What was used is dropped, so that nothing the other side says can make this grow.
        self.buffer.drain(..self.at);
        self.at = 0;
        self.buffer.reserve(READ_SIZE);
        Ok(self.stream.read_buf(&mut self.buffer).await? > 0)
    }

    /// The head of the final answer; those that only announce it (100, 103) are passed over.
    async fn final_head(&mut self) -> Result<Head, WireError> {
        let mut announcements = 0;
        loop {
            match Head::parse(self.rest()).map_err(|error| WireError::of_nonsense(error, self.rest()))? {
                Some((head, length)) => {
                    self.at += length;
                    if !(100..200).contains(&head.status) || head.status == 101 {
                        return Ok(head);
                    }
                    announcements += 1;
                    if announcements > MOST_ANNOUNCEMENTS {
                        return Err(WireError::OnlyAnnounced);
                    }
                }
                None if self.rest().len() >= HEAD_LIMIT => return Err(WireError::TooLong),
                None => match self.fill().await {
                    Ok(true) => {}
                    // Over TLS an end that was not announced is an error, and is an end all the same.
                    Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(WireError::Broken(error)),
                    _ if self.is_empty() => return Err(WireError::Silent),
                    _ => return Err(WireError::CutOff),
                },
            }
        }
    }

    /// Reads a body as far as [`BODY_LIMIT`]; true where that was all of it.
    async fn body(&mut self, framing: Framing, body: &mut Vec<u8>) -> io::Result<bool> {
        match framing {
            Framing::Empty => Ok(true),
            Framing::Length(length) => self.copy(length, body).await,
            // The end of the stream is the end of the body, and of the connection.
            Framing::UntilClose => {
                self.copy(u64::MAX, body).await?;
                Ok(self.is_empty())
            }
            Framing::Chunked => {
                while let Some(size) = self.chunk_size().await? {
                    if !self.copy(size, body).await? || !self.line().await?.is_some_and(|line| line.is_empty()) {
                        return Ok(false);
                    }
                }
                // Trailers up to an empty line.
                for _ in 0..MOST_HEADERS {
                    match self.line().await? {
                        Some(line) if line.is_empty() => return Ok(true),
                        Some(_) => {}
                        None => return Ok(false),
                    }
                }
                Ok(false)
            }
        }
    }

    /// Takes `length` bytes; false where the limit or the end of the stream came first.
    async fn copy(&mut self, mut length: u64, body: &mut Vec<u8>) -> io::Result<bool> {
        while length > 0 {
            if self.is_empty() && !self.fill().await? {
                return Ok(false);
            }
            let here = usize::try_from(length).unwrap_or(usize::MAX).min(self.rest().len());
            let room = BODY_LIMIT - body.len();
            let taken = here.min(room);
            body.extend_from_slice(&self.buffer[self.at..self.at + taken]);
            self.at += taken;
            if here > room {
                return Ok(false);
            }
            length -= taken as u64;
        }
        Ok(true)
    }

    /// The size of the next chunk; none for the last one, which is empty.
    async fn chunk_size(&mut self) -> io::Result<Option<u64>> {
        loop {
            match httparse::parse_chunk_size(self.rest()) {
                Ok(Status::Complete((length, size))) => {
                    self.at += length;
                    return Ok((size > 0).then_some(size));
                }
                Ok(Status::Partial) if self.rest().len() < READ_SIZE && self.fill().await? => {}
                _ => return Err(io::ErrorKind::InvalidData.into()),
            }
        }
    }

    /// A line without its end; none where the stream ends or the line does not.
    async fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(end) = self.rest().iter().position(|byte| *byte == b'\n') {
                let line = self.rest()[..end].trim_ascii_end().to_vec();
                self.at += end + 1;
                return Ok(Some(line));
            }
            if self.rest().len() > READ_SIZE || !self.fill().await? {
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads an answer that is all there, in pieces of a size.
    fn read(text: &[u8], piece: usize) -> Result<(u16, String, bool), String> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let (mut ours, mut theirs) = tokio::io::duplex(piece);
            let text = text.to_vec();
            let writer = tokio::spawn(async move {
                let _ = theirs.write_all(&text).await;
            });
            let mut incoming = Incoming { stream: &mut ours, buffer: Vec::new(), at: 0 };
            let head = incoming.final_head().await.map_err(|error| error.told_of("it"))?;
            let mut body = Vec::new();
            let is_whole = incoming.body(head.framing, &mut body).await.unwrap_or(false) && incoming.is_empty();
            drop(ours);
            let _ = writer.await;
            Ok((head.status, String::from_utf8_lossy(&body).into_owned(), head.keeps_open && is_whole))
        })
    }

    #[test]
    fn d4_answers_are_read_whatever_their_framing() {
        let cases: [(&str, u16, &str, bool); 16] = [
            ("HTTP/1.1 204 No Content\r\n\r\n", 204, "", true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", 200, "abc", true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 200, "abc", true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", 200, "abc", false),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", 200, "abc", false),
            ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na", 200, "a", false),
            ("HTTP/1.0 200 OK\r\n\r\nabc", 200, "abc", false),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 201 C\r\nContent-Length: 0\r\n\r\n",
                201,
                "",
                true,
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\nT: x\r\n\r\n",
                200,
                "abc",
                true,
            ),
            ("HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 500, "", false),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", 200, "ab", false),
            ("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 304, "", false),
            ("HTTP/1.1 204 X\r\nContent-Length: 0\r\n\r\n", 204, "", true),
            ("HTTP/1.1 204 X\r\nTransfer-Encoding: chunked\r\n\r\n", 204, "", false),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: gzip\r\n\r\nabc", 200, "abc", false),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
                200,
                "a",
                false,
            ),
        ];
        for (text, status, body, keeps) in cases {
            for piece in [1, 7, 4096] {
                assert_eq!(read(text.as_bytes(), piece), Ok((status, body.to_owned(), keeps)), "{text} by {piece}");
            }
        }
    }

    #[test]
    fn a4_odd_headers_do_not_hide_the_status() {
        let many = format!("HTTP/1.1 204 OK\r\n{}\r\n", "A: b\r\n".repeat(1000));
        let odd = "HTTP/1.1 204 OK\r\nBad Header: x\r\nFolded: a\r\n b\r\n\r\n";
        let bare = many.replace("\r\n", "\n");
        for text in [many.as_str(), odd, bare.as_str()] {
            assert_eq!(read(text.as_bytes(), 4096).map(|(status, ..)| status), Ok(204), "{text}");
        }
    }

    #[test]
    fn endless_announcements_and_trailers_end() {
        let floods = [
            "HTTP/1.1 100 Continue\r\n\r\n".repeat(100_000),
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n{}", "T: x\r\n".repeat(500_000)),
        ];
        for flood in floods {
            let kept = read(flood.as_bytes(), 4096).is_ok_and(|(_, _, keeps)| keeps);
            assert!(!kept);
        }
    }

    #[test]
    fn e2_what_is_no_answer_is_told() {
        let long = format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(70_000));
        let cases = [
            ("", "without an answer"),
            ("HTTP/1.1 200 OK\r\nA", "in the middle"),
            ("SSH-2.0-x\r\n\r\n", "no HTTP"),
            ("HTTP/1.1 OK\r\n\r\n", "no HTTP"),
            ("\u{15}\u{3}\u{3}\0\u{2}\u{2}\u{46}", "speaks TLS"),
            (long.as_str(), "longer than 64 KiB"),
        ];
        for (text, part) in cases {
            let error = read(text.as_bytes(), 4096).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_connection_that_says_more_than_it_announced_is_not_kept() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc";
        assert_eq!(read(text, 4096), Ok((200, "a".to_owned(), false)));
    }

    #[test]
    fn d4_no_more_than_the_limit_is_read() {
        let text = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(BODY_LIMIT + 1));
        let (_, body, keeps) = read(text.as_bytes(), 4096).expect("an answer");
        assert_eq!((body.len(), keeps), (BODY_LIMIT, false));
    }
}
