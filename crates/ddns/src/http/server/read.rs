//! Requests from a stream, whatever stands in it.

use std::io;
use std::net::SocketAddr;

use httparse::Status;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Received, Refusal};

/// More head than this is no request.
const HEAD_LIMIT: usize = 64 * 1024;

/// More body than this is no callback.
const BODY_LIMIT: usize = 1024 * 1024;

/// So many headers are understood.
const MOST_HEADERS: usize = 128;

/// So much is asked of the stream at once.
const READ_SIZE: usize = 8 * 1024;

/// The line before a part of a body in parts is no longer than this.
const PART_LINE_LIMIT: usize = 4 * 1024;

/// The first byte of TLS: somebody wrote https.
const HANDSHAKE: u8 = 0x16;

/// A connection, and what came of it but was not yet understood.
pub(super) struct Incoming {
    pub(super) stream: TcpStream,
    from: SocketAddr,
    buffer: Vec<u8>,
}

/// How the body of a request is framed.
enum Framing {
    Length(usize),
    Parts,
}

/// A request without its body.
struct Head {
    request: Received,
    framing: Framing,
    /// Whether the other side wants to hear that the body is welcome.
    waits: bool,
}

impl Incoming {
    pub(super) fn new(stream: TcpStream, from: SocketAddr) -> Self {
        Self { stream, from, buffer: Vec::new() }
    }

    /// Waits for the first byte of a request; false where the other side has closed.
    pub(super) async fn wait(&mut self) -> io::Result<bool> {
        Ok(!self.buffer.is_empty() || self.read().await? > 0)
    }

    /// Reads one request, which has begun.
    pub(super) async fn request(&mut self) -> Result<Received, Refusal> {
        let Head { mut request, framing, waits } = self.head().await?;
        if waits {
            let _ = self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await;
        }
        request.body = match framing {
            Framing::Length(length) => {
                while self.buffer.len() < length {
                    self.more().await?;
                }
                self.buffer.drain(..length).collect()
            }
            Framing::Parts => self.parts().await?,
        };
        Ok(request)
    }

    /// Takes whatever still comes, and drops it.
    pub(super) async fn drop_rest(&mut self) {
        while self.read().await.is_ok_and(|count| count > 0) {
            self.buffer.clear();
        }
    }

    async fn head(&mut self) -> Result<Head, Refusal> {
        let mut is_new = true;
        loop {
            if self.buffer.first() == Some(&HANDSHAKE) {
                return Err(self.refuse(None, "https was spoken, and this is http: write http:// into the address"));
            }
            // Parsed at once, so that nonsense is told at once, and then when it can be complete.
            if is_new || has_blank_line(&self.buffer) {
                let parsed = parse(&self.buffer, self.from).map_err(|(status, why)| self.refuse(Some(status), why))?;
                if let Some((head, length)) = parsed {
                    self.buffer.drain(..length);
                    return Ok(head);
                }
            }
            if self.buffer.len() > HEAD_LIMIT {
                return Err(self.refuse(Some(431), "a request has more than 64 KiB of headers"));
            }
            is_new = false;
            self.more().await?;
        }
    }

    /// A body in parts (chunks), and what follows it.
    async fn parts(&mut self) -> Result<Vec<u8>, Refusal> {
        let mut body = Vec::new();
        loop {
            let (at, size) = match httparse::parse_chunk_size(&self.buffer) {
                Ok(Status::Complete(found)) => found,
                Ok(Status::Partial) if self.buffer.len() <= PART_LINE_LIMIT => {
                    self.more().await?;
                    continue;
                }
                _ => return Err(self.refuse(Some(400), "the body of a request is in parts, and they are wrong")),
            };
            self.buffer.drain(..at);
            if size == 0 {
                break;
            }
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            if size > BODY_LIMIT - body.len() {
                return Err(self.refuse(Some(413), "the body of a request is larger than 1 MiB"));
            }
            while self.buffer.len() < size + 2 {
                self.more().await?;
            }
            body.extend(self.buffer.drain(..size));
            self.buffer.drain(..2);
        }
        self.trailers().await?;
        Ok(body)
    }

    /// What may follow a body in parts, up to a blank line.
    async fn trailers(&mut self) -> Result<(), Refusal> {
        let mut taken = 0;
        loop {
            let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') else {
                if self.buffer.len() > PART_LINE_LIMIT {
                    return Err(self.refuse(Some(400), "what follows the body of a request is no header"));
                }
                self.more().await?;
                continue;
            };
            let is_blank = self.buffer[..end].trim_ascii().is_empty();
            self.buffer.drain(..=end);
            taken += end;
            if is_blank {
                return Ok(());
            }
            if taken > HEAD_LIMIT {
                return Err(self.refuse(Some(431), "a request has more than 64 KiB of headers"));
            }
        }
    }

    async fn more(&mut self) -> Result<(), Refusal> {
        match self.read().await {
            Ok(0) => Err(self.refuse(None, "a connection was closed in the middle of a request")),
            Ok(_) => Ok(()),
            Err(error) => Err(self.refuse(None, format!("a connection broke in the middle of a request ({error})"))),
        }
    }

    async fn read(&mut self) -> io::Result<usize> {
        self.buffer.reserve(READ_SIZE);
        self.stream.read_buf(&mut self.buffer).await
    }

    fn refuse(&self, status: Option<u16>, why: impl Into<String>) -> Refusal {
        Refusal { from: self.from, status, why: why.into() }
    }
}

fn has_blank_line(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair == b"\n\n") || bytes.windows(4).any(|four| four == b"\r\n\r\n")
}

/// The head that the bytes begin with and its length; none where there is more to come.
fn parse(bytes: &[u8], from: SocketAddr) -> Result<Option<(Head, usize)>, (u16, String)> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let length = match parsed.parse(bytes) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => {
            return Err((431, format!("a request has more than {MOST_HEADERS} headers")));
        }
        Err(error) => return Err((400, format!("something came that is no HTTP request ({error})"))),
    };
    if length > HEAD_LIMIT {
        return Err((431, "a request has more than 64 KiB of headers".to_owned()));
    }
    let owned =
        |header: &httparse::Header<'_>| (header.name.to_owned(), String::from_utf8_lossy(header.value).into_owned());
    let request = Received {
        from,
        method: parsed.method.unwrap_or_default().to_owned(),
        target: parsed.path.unwrap_or_default().to_owned(),
        headers: parsed.headers.iter().map(owned).collect(),
        body: Vec::new(),
        keeps_open: false,
    };
    let (is_new, waits) = (parsed.version == Some(1), request.says("expect", "100-continue"));
    let keeps_open =
        if is_new { !request.says("connection", "close") } else { request.says("connection", "keep-alive") };
    let framing = framing(&request)?;
    Ok(Some((Head { request: Received { keeps_open, ..request }, framing, waits }, length)))
}

/// How long the body is. Two answers to that are one too many.
fn framing(request: &Received) -> Result<Framing, (u16, String)> {
    let is_in_parts = request.values("transfer-encoding").next().is_some();
    let mut lengths = request.values("content-length");
    let length = lengths.next();
    let is_contradicted = lengths.any(|other| Some(other) != length);
    match (is_in_parts, length) {
        (true, None) if request.says("transfer-encoding", "chunked") => Ok(Framing::Parts),
        (false, None) => Ok(Framing::Length(0)),
        (false, Some(text))
            if !is_contradicted && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            match text.parse() {
                Ok(length) if length <= BODY_LIMIT => Ok(Framing::Length(length)),
                _ => Err((413, "the body of a request is larger than 1 MiB".to_owned())),
            }
        }
        _ => Err((400, "a request does not say clearly how long its body is".to_owned())),
    }
}

impl Received {
    /// The values of a header.
    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        let meant = self.headers.iter().filter(move |(known, _)| known.eq_ignore_ascii_case(name));
        meant.map(|(_, value)| value.trim())
    }

    /// Whether a word stands in a header that is a list of words.
    fn says(&self, name: &str, word: &str) -> bool {
        self.values(name).flat_map(|value| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Option<(Head, usize)>, (u16, String)> {
        parse(text.as_bytes(), SocketAddr::from(([127, 0, 0, 1], 1)))
    }

    #[test]
    fn the_length_of_a_body_is_clear_or_refused() {
        let cases = [
            ("", Ok(0)),
            ("Content-Length: 5", Ok(5)),
            ("Content-Length: 5\r\nContent-Length: 5", Ok(5)),
            ("Content-Length: 5\r\nContent-Length: 6", Err(400)),
            ("Content-Length: +5", Err(400)),
            ("Content-Length:", Err(400)),
            ("Content-Length: 1048576", Ok(1_048_576)),
            ("Content-Length: 1048577", Err(413)),
            ("Content-Length: 99999999999999999999999", Err(413)),
            ("Content-Length: 5\r\nTransfer-Encoding: chunked", Err(400)),
            ("Transfer-Encoding: gzip", Err(400)),
        ];
        for (headers, expected) in cases {
            let head = parsed(&format!(
                "POST / HTTP/1.1\r\nA: b\r\n{headers}{}\r\n",
                if headers.is_empty() { "" } else { "\r\n" }
            ));
            let length = head.map(|head| match head.expect("complete").0.framing {
                Framing::Length(length) => length,
                Framing::Parts => usize::MAX,
            });
            assert_eq!(length.map_err(|(status, _)| status), expected, "{headers}");
        }
    }

    #[test]
    fn a_connection_is_kept_as_the_other_side_means_it() {
        for (text, kept) in [
            ("GET / HTTP/1.1\r\n\r\n", true),
            ("GET / HTTP/1.1\r\nConnection: Close\r\n\r\n", false),
            ("GET / HTTP/1.0\r\n\r\n", false),
            ("GET / HTTP/1.0\r\nconnection: x, keep-alive\r\n\r\n", true),
        ] {
            let head = parsed(text).expect("a request").expect("complete").0;
            assert_eq!(head.request.keeps_open, kept, "{text}");
        }
    }
}
