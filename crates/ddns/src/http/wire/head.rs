//! What the head of an answer says: its status, where its body ends, and whether the connection can be used again.

use httparse::Status;

/// So many headers are understood; of an answer with more only the status is.
pub(super) const MOST_HEADERS: usize = 128;

/// What matters of the head of an answer.
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) location: Option<String>,
    pub(super) retry_after: Option<String>,
    pub(super) framing: Framing,
    pub(super) keeps_open: bool,
}

/// Where a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Empty,
    Length(u64),
    Chunked,
    UntilClose,
}

impl Head {
    /// The head at the start of some bytes and its length; none where it is not all there. Odd headers do not matter.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, httparse::Error> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        let mut config = httparse::ParserConfig::default();
        config.ignore_invalid_headers_in_responses(true).allow_obsolete_multiline_headers_in_responses(true);
        match config.parse_response(&mut response, bytes) {
            Ok(Status::Complete(length)) => Ok(Some((Self::of(&response), length))),
            Ok(Status::Partial) => Ok(None),
            Err(httparse::Error::TooManyHeaders) => {
                let status = response.code.unwrap_or_default();
                let framing = Framing::UntilClose;
                let head = Self { status, location: None, retry_after: None, framing, keeps_open: false };
                Ok(end_of_head(bytes).map(|end| (head, end)))
            }
            Err(error) => Err(error),
        }
    }

    fn of(response: &httparse::Response<'_, '_>) -> Self {
        let values = |name: &'static str| {
            let found = response.headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
            found.map(|header| String::from_utf8_lossy(header.value).trim().to_ascii_lowercase())
        };
        let status = response.code.unwrap_or_default();
        let lengths: Vec<Option<u64>> = values("content-length").map(|value| value.parse().ok()).collect();
        let encoding = values("transfer-encoding").next_back();
        let framing = match (lengths.as_slice(), &encoding) {
            _ if matches!(status, 100..200 | 204 | 304) => Framing::Empty,
            (_, Some(last)) if last.ends_with("chunked") => Framing::Chunked,
            ([Some(length), others @ ..], None) if others.iter().all(|other| *other == Some(*length)) => {
                Framing::Length(*length)
            }
            _ => Framing::UntilClose,
        };
        let closes = values("connection").any(|value| value.split(',').any(|word| word.trim() == "close"));
        // A body where none may be, or one with two ends: what comes next may be its rest and no answer.
        let is_odd = match framing {
            Framing::Empty => encoding.is_some() || lengths.iter().any(|length| *length != Some(0)),
            _ => encoding.is_some() && !lengths.is_empty(),
        };
        let keeps_open =
            response.version == Some(1) && !closes && !is_odd && framing != Framing::UntilClose && status != 101;
        let first = |name: &str| {
            let found = response.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
            found.map(|header| String::from_utf8_lossy(header.value).into_owned())
        };
        Self { status, location: first("location"), retry_after: first("retry-after"), framing, keeps_open }
    }
}

/// Where the first empty line ends, whatever ends the lines.
fn end_of_head(bytes: &[u8]) -> Option<usize> {
    (0..bytes.len()).find_map(|at| match &bytes[at..] {
        [b'\n', b'\n', ..] => Some(at + 2),
        [b'\n', b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    })
}
