//! Shows what was received, as text for people or a line of JSON for programs. Keys are not masked, since the user who
//! listens here is the one who sends. Received text cannot control the terminal.

use std::net::SocketAddr;

use ddns_core::object;
use ddns_core::text::json::{Dialect, one_line, parse, pretty};
use ddns_core::text::own_json::{self, as_is};
use ddns_core::text::screen;
use ddns_core::web::form;
use serde::Serialize;

use super::options::ListenOptions;
use crate::cli::ReportFormat;
use crate::clock::local_time;
use crate::http::server::{InvalidRequest, Received, ReceiverResponse};
use crate::output::layout::{beside, broken};
use ddns_core::net::status::with_reason;

/// Headers that every request has; they are not shown.
const USUAL: [&str; 6] = ["accept", "accept-encoding", "connection", "content-length", "expect", "transfer-encoding"];

/// The column in which the text beside a label begins.
const COLUMN: usize = 12;

/// Where it listens, how it responds, and a command that sends to it.
pub(super) fn beginning(address: SocketAddr, options: &ListenOptions, form: ReportFormat) -> String {
    let origin = format!("http://{address}");
    let statuses: Vec<String> = options.statuses.iter().map(|status| with_reason(*status)).collect();
    let (field, record) = if address.is_ipv4() { ("ipv4", "IPv4") } else { ("ipv6", "IPv6") };
    let first = format!("ddns --dns callback --no-cache --{field} home.example.com");
    let second = format!("--id '{origin}/update?name=__DOMAIN__&ip=__IP__'");
    if form.json {
        return line(&object! { listening: origin, call: format!("{first} {second}") });
    }
    let responses = format!("It responds with {}; Ctrl-C stops it.", statuses.join(", then "));
    let responses = broken(&responses, 0, form.width);
    format!("Listening on {origin}\n{responses}To send it this host's {record} address:\n\n")
        + &format!("  {first} \\\n       {second}\n\n")
}

/// One request, with the response that it gets.
pub(super) fn request(request: &Received, response: &ReceiverResponse, number: usize, form: ReportFormat) -> String {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let query: Vec<(String, String)> = form::fields(query).collect();
    if form.json {
        return json(request, response, number, path, &query);
    }
    let time = local_time().strftime("%H:%M:%S").to_string();
    let mut text = broken_hard(&format!("{number}. {time}  {} {}", request.method, path), 0, form.width);
    let widest = query.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(20);
    let rows = query.iter().map(|(name, value)| format!("{name:<widest$} = {value}"));
    text += &labelled("query", rows, form.width);
    let unusual = request.headers.iter().filter(|(name, _)| !USUAL.contains(&name.to_ascii_lowercase().as_str()));
    text += &labelled("header", unusual.map(|(name, value)| format!("{name}: {value}")), form.width);
    text += &labelled("body", body(&request.body), form.width);
    let after = match response.delay.as_millis() {
        0 => String::new(),
        millis => format!(", after {millis} ms"),
    };
    let status = format!("{}{after}", with_reason(response.status));
    let headers = response.headers.iter().map(|(name, value)| format!("{name}: {value}"));
    text + &labelled("response", [status].into_iter().chain(headers), form.width) + "\n"
}

/// Something that was received and is not a request.
pub(super) fn refusal(refusal: &InvalidRequest, form: ReportFormat) -> String {
    if form.json {
        let InvalidRequest { from, status, why } = refusal;
        return line(&object! { time: timestamp(), from: from, refused: why, status: status });
    }
    let response = refusal.status.map(|status| format!("; it got {}", with_reason(status))).unwrap_or_default();
    let text = format!("{}{response}", refusal.why);
    beside("-", &text, 3, form.width) + "\n"
}

fn json(
    request: &Received,
    response: &ReceiverResponse,
    number: usize,
    path: &str,
    query: &[(String, String)],
) -> String {
    let pair = |(name, value): &(String, String)| object! { name: name.clone(), value: value.clone() };
    let pairs = |pairs: &[(String, String)]| pairs.iter().map(pair).collect::<Vec<_>>();
    let body = String::from_utf8_lossy(&request.body);
    line(&object! {
        number: number,
        time: timestamp(),
        from: request.from,
        method: &request.method,
        target: &request.target,
        path: path,
        query: pairs(query),
        headers: pairs(&request.headers),
        body: &body;
        // On one line; numbers keep their digits.
        json: parse(&body, Dialect::STRICT).ok().and_then(|document| as_is(one_line(&document.value))),
        status: Some(response.status),
    })
}

/// A value as one line of JSON.
fn line(value: &impl Serialize) -> String {
    screen::json(&own_json::line(value)).into_owned() + "\n"
}

fn timestamp() -> String {
    local_time().strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string()
}

/// The lines of the body: JSON is indented, other text stays unchanged.
fn body(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    match parse(&text, Dialect::STRICT) {
        Ok(document) => pretty(&document.value).lines().map(str::to_owned).collect(),
        Err(_) => text.lines().map(str::to_owned).collect(),
    }
}

/// `   query    name = value`, with the label on the first line alone; empty if there are no rows.
fn labelled(label: &str, rows: impl IntoIterator<Item = String>, width: usize) -> String {
    let mut text = String::new();
    for (at, row) in rows.into_iter().enumerate() {
        let head = if at == 0 { format!("   {label}") } else { String::new() };
        let row = broken_hard(&row, COLUMN, width);
        text += &head;
        text += row.get(head.len()..).unwrap_or_default();
    }
    text
}

/// A line that cannot control the terminal, indented by `indent` spaces. If it is too wide, it continues below, two
/// spaces further in: a key or a URL has no spaces to break at.
fn broken_hard(line: &str, indent: usize, width: usize) -> String {
    let room = width - indent;
    let mut text = " ".repeat(indent);
    let mut column = 0;
    for piece in line.chars().map(printable) {
        let more = piece.chars().count();
        if column + more > room {
            text += "\n";
            text += &" ".repeat(indent + 2);
            column = 2;
        }
        text += &piece;
        column += more;
    }
    text.truncate(text.trim_end().len().max(indent));
    text + "\n"
}

fn printable(letter: char) -> String {
    if screen::is_harmless(letter) { letter.to_string() } else { letter.escape_default().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::layout::{WIDE, WIDTH};

    #[test]
    fn parameters_are_decoded_and_nothing_panics() {
        let shown = |query| {
            let pairs = form::fields(query).map(|(name, value)| [name, value].join("="));
            pairs.collect::<Vec<_>>().join(";")
        };
        assert_eq!(shown("a=1&b=%C3%A4+%2B&c&&=d"), "a=1;b=ä +;c=;=d");
        assert_eq!(shown("a=%&b=%4&c=%zz&d=%ff&e=1=2"), "a=%;b=%4;c=%zz;d=\u{fffd};e=1=2");
        assert_eq!(shown("%"), "%=");
    }

    #[test]
    fn nothing_that_came_drives_the_terminal() {
        let line = "a\u{1b}[2J\r\n\t\u{202e}b\u{9b}c\u{7f}\u{200b}ä…";
        let text = broken_hard(line, 3, WIDE);
        assert_eq!(text, "   a\\u{1b}[2J\\r\\n\\t\\u{202e}b\\u{9b}c\\u{7f}\\u{200b}ä…\n");
        let json = super::line(&line);
        assert_eq!(json, "\"a\\u001b[2J\\r\\n\\t\\u202eb\\u009bc\\u007f\\u200bä…\"\n");
    }

    #[test]
    fn long_lines_go_on_below() {
        let text = broken_hard(&"x".repeat(200), COLUMN, WIDTH);
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert_eq!(text.matches('x').count(), 200);
        assert_eq!(text.lines().nth(1).map(|line| line.find('x')), Some(Some(COLUMN + 2)));
        assert_eq!(broken_hard(&"x".repeat(200), COLUMN, WIDE).lines().count(), 1);
    }
}
