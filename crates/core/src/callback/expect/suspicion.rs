//! Responses with a status of success that look like a failure. Nothing is decided by it: the operator of the service is told
//! about `expect`.

/// Return codes that services send with a status of 200, as the first word of a response.
const WORDS: [&str; 16] = [
    "badauth",
    "badagent",
    "abuse",
    "nohost",
    "notfqdn",
    "numhost",
    "!donator",
    "!yours",
    "badsys",
    "badip",
    "911",
    "dnserr",
    "servererror",
    "ko",
    "error",
    "invalid",
];

/// Members of a JSON response that say no, without their blanks.
const MEMBERS: [&str; 7] = [
    "\"success\":false",
    "\"ok\":false",
    "\"status\":\"error\"",
    "\"status\":\"fail",
    "\"result\":\"error\"",
    "\"result\":\"fail",
    "\"error\":{",
];

/// The word of a response that looks like a failure.
pub fn suspicious(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(&body[..body.len().min(4096)]);
    let first = text.split_whitespace().next()?.trim_end_matches([':', ',', '.', '!']).to_ascii_lowercase();
    if WORDS.contains(&first.as_str()) {
        return Some(first);
    }
    if !first.starts_with(['{', '[']) {
        return None;
    }
    let compact: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    MEMBERS.iter().find(|member| compact.contains(**member)).map(|member| (*member).to_owned())
}
