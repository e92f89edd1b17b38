//! Successful responses whose text looks like a failure. They still count as accepted; ddns only warns, and suggests setting `expect`.

/// First words of responses that services send with status 200 after a failure.
const WORDS: &str = "badauth badagent abuse nohost notfqdn numhost !donator !yours badsys badip 911 dnserr servererror ko error \
    invalid";

/// Members of JSON responses that mean a failure, without whitespace.
const MEMBERS: [&str; 7] = [
    "\"success\":false",
    "\"ok\":false",
    "\"status\":\"error\"",
    "\"status\":\"fail",
    "\"result\":\"error\"",
    "\"result\":\"fail",
    "\"error\":{",
];

/// The word or member that looks like a failure.
pub fn suspicious(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(&body[..body.len().min(4096)]);
    let first = text.split_whitespace().next()?.trim_end_matches([':', ',', '.', '!']).to_ascii_lowercase();
    if WORDS.split(' ').any(|word| word == first) {
        return Some(first);
    }
    if !first.starts_with(['{', '[']) {
        return None;
    }
    let compact: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    MEMBERS.iter().find(|member| compact.contains(**member)).map(|member| (*member).to_owned())
}
