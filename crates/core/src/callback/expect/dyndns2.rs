//! The return codes of dyndns2: one word for each line, sometimes followed by an address. The status is nearly always 200.

use std::net::IpAddr;
use std::time::Duration;

use super::{MAX_PAUSE, Meaning, ResponseVerdict};

/// Permanent refusals: asking again does not help.
const STOP: [&str; 10] =
    ["badagent", "abuse", "nohost", "notfqdn", "numhost", "!donator", "!yours", "!active", "badsys", "badip"];

/// Temporary trouble of the service.
const WAIT: [&str; 5] = ["911", "dnserr", "servererror", "interror", "interval"];

/// How long to wait after one of these.
const PAUSE: Duration = Duration::from_secs(30 * 60);

/// Line n is about domain n if there are as many lines as domains; otherwise the worst line is about all updates of the
/// request. Of the response to a single update, later lines count only if they are return codes: the URL may name several hosts.
pub(super) fn judge(status: u16, text: &str, domains: usize, sent: &[IpAddr]) -> Vec<ResponseVerdict> {
    let is_single = domains <= 1 && sent.len() <= 1;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate();
    let judged = lines.filter_map(|(place, line)| {
        let is_further = is_single && place > 0;
        let judged = judge_line(status, line, sent, is_further);
        // It may be no code at all.
        (!is_further || judged.verdict != Meaning::Rejected).then_some(judged)
    });
    let all: Vec<ResponseVerdict> = judged.collect();
    if domains > 1 && all.len() == domains {
        return all;
    }
    let worst = all.into_iter().min_by_key(|line| match line.verdict {
        Meaning::Stopped { all: true, .. } => 0,
        Meaning::Stopped { .. } => 1,
        Meaning::Wait(_) => 2,
        Meaning::Accepted => 4,
        Meaning::Unchanged => 5,
        _ => 3,
    });
    vec![worst.unwrap_or_else(|| judge_line(status, "", sent, false))]
}

fn judge_line(status: u16, line: &str, sent: &[IpAddr], is_further: bool) -> ResponseVerdict {
    let (verdict, because) = verdict(status, line, sent, is_further);
    ResponseVerdict { verdict, words: line.to_owned(), because }
}

fn verdict(status: u16, line: &str, sent: &[IpAddr], is_further: bool) -> (Meaning, String) {
    let mut words = line.split([' ', '\t', ',']).filter(|word| !word.is_empty());
    let code = words.next().unwrap_or_default().to_ascii_lowercase();
    let stopped = Meaning::Stopped { until_address: false, all: false };
    match code.as_str() {
        // selfHOST responds like this if nothing changed.
        "" if status == 204 => (Meaning::Unchanged, "204 without a text accepts: nothing changed".to_owned()),
        "" => (Meaning::Rejected, "the response is empty".to_owned()),
        "good" | "nochg" => {
            if !(200..300).contains(&status) {
                return (Meaning::Rejected, format!("`{code}` only counts with a status from 200 to 299"));
            }
            // A further line may name an address of the other family.
            let is_meant = |ip: &IpAddr| !is_further || sent.iter().any(|sent| sent.is_ipv4() == ip.is_ipv4());
            let is_other = |ip: &IpAddr| !sent.is_empty() && !sent.contains(ip) && is_meant(ip);
            let other = words.filter_map(|word| word.parse::<IpAddr>().ok()).find(is_other);
            match other {
                Some(ip) => (stopped, format!("`{code}`: the service set {ip}, which was not sent")),
                None if code == "good" => (Meaning::Accepted, "`good` accepts".to_owned()),
                None => (Meaning::Unchanged, "`nochg` accepts: the service already had this address".to_owned()),
            }
        }
        // The key is wrong for all updates, and services lock out clients that repeat a wrong password.
        "badauth" => (Meaning::Stopped { until_address: false, all: true }, "`badauth` stops".to_owned()),
        code if STOP.contains(&code) => (stopped, format!("`{code}` stops")),
        code if WAIT.contains(&code) => (Meaning::Wait(Some(PAUSE)), format!("`{code}` asks to wait")),
        code => match wanted(code) {
            Some(pause) => (Meaning::Wait(Some(pause)), format!("`{code}` asks to wait")),
            None => (Meaning::Rejected, "it is not a dyndns2 return code".to_owned()),
        },
    }
}

/// The pause that `w30s`, `w10m` or `w1h` asks for.
fn wanted(code: &str) -> Option<Duration> {
    let rest = code.strip_prefix('w')?;
    let (number, unit) = match rest.as_bytes().last()? {
        b's' => (&rest[..rest.len() - 1], 1),
        b'm' => (&rest[..rest.len() - 1], 60),
        b'h' => (&rest[..rest.len() - 1], 3600),
        _ => (rest, 1),
    };
    let number: u32 = number.parse().ok()?;
    Some(Duration::from_secs(u64::from(number) * unit).min(MAX_PAUSE))
}
