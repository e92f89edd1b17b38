//! Reads configurations from files and from the network.

use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use ddns_core::callback::{Request, is_long};
use ddns_core::config::raw::Document;
use ddns_core::config::validate::{Surroundings, for_fetching};
use ddns_core::net::url::{Url, UrlError, shown_path};
use ddns_core::text::diagnostic::{Diagnostic, Place};
use ddns_core::text::secrets::MASK;

use crate::http::{AddressFamilies, BodyUse, Client, How, MAX_BODY_BYTES};
use crate::open_file::{Identity, identity, open_any};
use ddns_core::net::status::with_reason;

/// The size limit in bytes: a hundred thousand long names for both families need less.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// How long it may take to fetch a configuration.
const FETCH_TIMEOUT: Duration = Duration::from_secs(30);

/// A configuration that was read.
pub(super) struct LoadedFile {
    pub(super) document: Document,
    /// `None`: the configuration was fetched.
    pub(super) identity: Option<Identity>,
    /// Warnings about the server that it came from.
    pub(super) warnings: Vec<Diagnostic>,
}

pub(super) async fn read(name: &str, client: &Client, around: &Surroundings) -> Result<LoadedFile, Vec<Diagnostic>> {
    if let Some(url) = address(name) {
        return Box::pin(fetch(url, client, around)).await;
    }
    let (text, identity) = read_file(name)
        .map_err(|why| vec![Diagnostic::error(Place::file(&shown_path(name)), format!("the configuration {why}"))])?;
    Ok(LoadedFile {
        document: Document { name: name.to_owned(), text, fetched: false },
        identity,
        warnings: Vec::new(),
    })
}

/// The text of a file. The error is a phrase that follows the file's name.
pub(crate) fn read_text(path: &str) -> Result<String, String> {
    read_file(path).map(|(text, _)| text)
}

/// Why a file cannot be read: a phrase that follows its name.
#[allow(clippy::needless_pass_by_value, reason = "it is what `map_err` hands over")]
pub(crate) fn cannot(error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "cannot be read by this user".to_owned(),
        io::ErrorKind::IsADirectory => "is a folder, not a file".to_owned(),
        io::ErrorKind::InvalidInput => "is not a regular file".to_owned(),
        _ => format!("cannot be read ({error})"),
    }
}

fn read_file(path: &str) -> Result<(String, Option<Identity>), String> {
    let file = open_any(Path::new(path)).map_err(cannot)?;
    let metadata = file.metadata().ok();
    let size = metadata.as_ref().map_or(0, |metadata| metadata.len().min(MAX_FILE_BYTES));
    let text = text_of(file, usize::try_from(size).unwrap_or(0), MAX_FILE_BYTES)?;
    Ok((text, metadata.as_ref().map(identity)))
}

/// Reads a whole text of at most `limit` bytes; `size` is an estimate.
pub(crate) fn text_of(file: impl Read, size: usize, limit: u64) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(size + 1);
    file.take(limit + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > limit {
        return Err(format!("is larger than {} MiB", limit >> 20));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let before = &error.as_bytes()[..at];
        let line = before.split(|byte| *byte == b'\n').count();
        let column = at - before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1) + 1;
        format!("is not UTF-8 text (line {line}, column {column}): save it as UTF-8")
    })
}

/// The URL of a configuration on the network; `None` if the name is that of a file.
pub(super) fn address(name: &str) -> Option<Result<Url, UrlError>> {
    let lower = name.to_ascii_lowercase();
    (lower.starts_with("http://") || lower.starts_with("https://")).then(|| Url::parse(name))
}

/// The name of a configuration from the network: its origin and path. Its query and long segments may be keys.
pub(super) fn name_of(url: &Url) -> String {
    let path = url.path.split('?').next().unwrap_or_default();
    // Text before an `@` may be the rest of a password that contains a `/`.
    let path = path.rsplit_once('@').map_or_else(|| path.to_owned(), |(_, rest)| format!("/{MASK}@{rest}"));
    let shown: Vec<&str> = path.split('/').map(|segment| if is_long(segment) { MASK } else { segment }).collect();
    format!("{}{}", url.origin(), shown.join("/"))
}

/// Fetches a configuration (B12), with `proxy` and `ssl` of options and environment.
async fn fetch(
    url: Result<Url, UrlError>,
    client: &Client,
    around: &Surroundings,
) -> Result<LoadedFile, Vec<Diagnostic>> {
    let (proxies, ssl) = &for_fetching(around)?;
    let url =
        url.map_err(|why| vec![Diagnostic::error(Place::Option("-c".to_owned()), format!("the address {why}"))])?;
    let name = name_of(&url);
    let wrong = |why: String| {
        vec![Diagnostic::error(Place::file(&name), format!("the configuration cannot be fetched: {why}"))]
    };
    let request = Request::new(url, None);
    let how = How { limit: FETCH_TIMEOUT, want: BodyUse::Body, over: AddressFamilies::Any, proxies, ssl, from: None };
    let response = client.send(&request, how).await.map_err(|failure| wrong(failure.why))?;
    if !(200..300).contains(&response.status) {
        return Err(wrong(format!("the response was {}", with_reason(response.status))));
    }
    if !response.is_whole {
        return Err(wrong(format!("it was cut off, or is larger than {} KiB", MAX_BODY_BYTES >> 10)));
    }
    let text = String::from_utf8(response.body).map_err(|_| wrong("it is not UTF-8 text".to_owned()))?;
    let warnings = response.warnings.iter().map(|why| Diagnostic::warning(Place::file(&name), why)).collect();
    Ok(LoadedFile { document: Document { name, text, fetched: true }, identity: None, warnings })
}
