//! The text of a notification.

use std::net::IpAddr;

use super::event::NotifyEvent;
use super::ledger::{Outgoing, UpdateLine};
use crate::callback::Notice;
use crate::journal::About;
use crate::lease::role_change::{LeaseChange, RoleChange};
use crate::net::family::Family;
use crate::text::number::grouped;
use crate::update::domain::Domain;

/// How many updates a sentence names.
const MAX_NAMES: usize = 5;

/// How many addresses a sentence names.
const MAX_ADDRESSES: usize = 4;

/// Longer reasons are cut, in characters, because services cut or refuse long messages.
const MAX_REASON_CHARS: usize = 200;

/// The texts of a notification.
pub fn notice(outgoing: &Outgoing) -> Notice {
    let lines = &outgoing.lines;
    Notice {
        event: outgoing.event.key(),
        message: sentence(outgoing),
        domains: joined(lines.iter().map(|line| line.about.domain.as_str().to_owned())),
        ips: joined(lines.iter().filter_map(|line| line.ip).map(|ip| ip.to_string())),
        old_ips: joined(lines.iter().filter_map(|line| line.previous).map(|ip| ip.to_string())),
        record_types: joined(lines.iter().map(|line| line.about.family.record_type().to_owned())),
    }
}

/// An example of a notification, to show or to test.
pub fn example(event: NotifyEvent, domain: &Domain, family: Family, after: u32) -> Outgoing {
    let addresses = match family {
        Family::V4 => ["203.0.113.7", "198.51.100.4"],
        Family::V6 => ["2001:db8::7", "2001:db8::4"],
    };
    let [ip, previous] = addresses.map(|text| text.parse::<IpAddr>().ok());
    let why = match event {
        NotifyEvent::Failed => "503",
        NotifyEvent::Stopped => "200: badauth",
        NotifyEvent::NotVisible | NotifyEvent::Drifted => "ns1.example.net has 192.0.2.1",
        _ => "",
    };
    let failures = if event == NotifyEvent::Failed { after } else { u32::from(event == NotifyEvent::Stopped) };
    let about = About { entry: 0, domain: domain.clone(), family };
    let previous = previous.filter(|_| event == NotifyEvent::Changed);
    let line = UpdateLine { about, ip, previous, failures, why: why.to_owned() };
    let (group, member) = ("home".to_owned(), "router-a".to_owned());
    let change = |kind, why: Option<&str>| {
        let change = RoleChange { group, member, kind, why: why.map(str::to_owned) };
        format!("{} {}", change.member, change.sentence())
    };
    let words = match event {
        NotifyEvent::TookOver => change(LeaseChange::TookOver, None),
        NotifyEvent::Lost => change(LeaseChange::Lost, Some("router-b holds it now")),
        _ => String::new(),
    };
    Outgoing { event, lines: if event.names_updates() { vec![line] } else { Vec::new() }, words }
}

/// Joins texts with commas; each occurs once, in their order.
fn joined(texts: impl Iterator<Item = String>) -> String {
    let mut known = std::collections::HashSet::new();
    let each: Vec<String> = texts.filter(|text| known.insert(text.clone())).collect();
    each.join(",")
}

fn sentence(outgoing: &Outgoing) -> String {
    let lines: Vec<&UpdateLine> = outgoing.lines.iter().collect();
    match (outgoing.event, lines.as_slice()) {
        (NotifyEvent::Synchronized, _) => "everything is up to date".to_owned(),
        (NotifyEvent::TookOver | NotifyEvent::Lost, _) => on_one_line(&outgoing.words),
        (NotifyEvent::Changed, _) => changed(&lines),
        (NotifyEvent::Failed, [line]) => {
            let times = match line.failures {
                0 | 1 => "failed".to_owned(),
                times => format!("failed {} times in a row", grouped(times as usize)),
            };
            format!("{} {times}{}", line.about, reason(": ", line))
        }
        (NotifyEvent::Failed, _) => {
            format!("{} updates fail: {}{}", grouped(lines.len()), names(&lines), of_first(&lines))
        }
        (NotifyEvent::Stopped, [line]) => {
            format!("{} was refused permanently{}; {}", line.about, reason(": ", line), way_out("it is"))
        }
        (NotifyEvent::Stopped, _) => {
            let (count, names) = (grouped(lines.len()), names(&lines));
            format!("{count} updates were refused permanently: {names}{}; {}", of_first(&lines), way_out("they are"))
        }
        (NotifyEvent::NotVisible | NotifyEvent::Drifted | NotifyEvent::Visible, _) => seen(outgoing.event, &lines),
        (NotifyEvent::Recovered, [line]) => {
            let ip = line.ip.map(|ip| format!(": {ip}")).unwrap_or_default();
            format!("{} is up to date again{ip}", line.about)
        }
        (NotifyEvent::Recovered, _) => {
            format!("{} updates are up to date again: {}", grouped(lines.len()), names(&lines))
        }
    }
}

/// A sentence about what DNS shows.
fn seen(event: NotifyEvent, lines: &[&UpdateLine]) -> String {
    let (one, many) = match event {
        NotifyEvent::NotVisible => ("is not visible in DNS", "are not visible in DNS"),
        NotifyEvent::Drifted => ("is different in DNS", "are different in DNS"),
        _ => ("is visible in DNS", "are visible in DNS"),
    };
    let why = |text: String| if event == NotifyEvent::Visible { String::new() } else { text };
    if let [line] = lines {
        let ip = line.ip.map(|ip| format!(" {ip}")).unwrap_or_default();
        return format!("{}{ip} {one}{}", line.about, why(reason(": ", line)));
    }
    format!("{} addresses {many}: {}{}", grouped(lines.len()), names(lines), why(of_first(lines)))
}

fn way_out(subject: &str) -> String {
    format!("{subject} not sent again unchanged: correct the configuration or run ddns --retry-stopped")
}

/// What changed, address by address.
fn changed(lines: &[&UpdateLine]) -> String {
    if let [line] = lines {
        let previous = line.previous.map(|previous| format!(" (was {previous})")).unwrap_or_default();
        let ip = line.ip.map(|ip| ip.to_string()).unwrap_or_default();
        return format!("{} is now {ip}{previous}", line.about);
    }
    let mut by_address: Vec<(Option<IpAddr>, Vec<&UpdateLine>)> = Vec::new();
    for line in lines {
        match by_address.iter().position(|(ip, _)| *ip == line.ip) {
            Some(at) => by_address[at].1.push(line),
            // Hosts behind one prefix may all have different addresses: the rest is only counted.
            None if by_address.len() < MAX_ADDRESSES => by_address.push((line.ip, vec![line])),
            None => {}
        }
    }
    let named: usize = by_address.iter().map(|(_, lines)| lines.len()).sum();
    let mut parts: Vec<String> = by_address.iter().map(|(ip, lines)| now_at(*ip, lines)).collect();
    if named < lines.len() {
        parts.push(format!("and {} more changed", grouped(lines.len() - named)));
    }
    parts.join("; ")
}

fn now_at(ip: Option<IpAddr>, lines: &[&UpdateLine]) -> String {
    let ip = ip.map(|ip| ip.to_string()).unwrap_or_default();
    match lines.len() {
        1 => format!("{} is now {ip}", names(lines)),
        count if count <= MAX_NAMES => format!("{} are now {ip}", names(lines)),
        count => format!("{} records are now {ip}: {}", grouped(count), names(lines)),
    }
}

/// The first names, and how many more there are.
fn names(lines: &[&UpdateLine]) -> String {
    let shown: Vec<String> = lines.iter().take(MAX_NAMES).map(|line| line.about.to_string()).collect();
    let more = lines.len() - shown.len();
    if more > 0 { format!("{} and {} more", shown.join(", "), grouped(more)) } else { shown.join(", ") }
}

/// Why it failed, on one line.
fn reason(before: &str, line: &UpdateLine) -> String {
    let why = on_one_line(&line.why);
    if why.is_empty() { why } else { format!("{before}{why}") }
}

/// A text from outside, short and without line breaks.
fn on_one_line(text: &str) -> String {
    let is_end = |letter: char| letter.is_whitespace() || letter.is_control();
    let words: Vec<&str> = text.split(is_end).filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(MAX_REASON_CHARS).collect()
}

/// The first reason of these updates, with the name of its update.
fn of_first(lines: &[&UpdateLine]) -> String {
    let line = lines.iter().find(|line| !line.why.is_empty());
    line.map(|line| reason(&format!("; {}: ", line.about), line)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(domain: &str, family: Family, ip: &str) -> UpdateLine {
        let about = About { entry: 0, domain: Domain::parse(domain).expect("a domain"), family };
        UpdateLine { about, ip: ip.parse().ok(), previous: None, failures: 0, why: String::new() }
    }

    fn said(event: NotifyEvent, lines: Vec<UpdateLine>) -> Notice {
        notice(&Outgoing { event, lines, words: String::new() })
    }

    #[test]
    fn i5_one_update_is_one_plain_sentence() {
        let home = Domain::parse("home.example.com").expect("a domain");
        let cases = [
            (NotifyEvent::Changed, "home.example.com A is now 203.0.113.7 (was 198.51.100.4)"),
            (NotifyEvent::Failed, "home.example.com A failed 3 times in a row: 503"),
            (NotifyEvent::Recovered, "home.example.com A is up to date again: 203.0.113.7"),
            (
                NotifyEvent::Stopped,
                "home.example.com A was refused permanently: 200: badauth; it is not sent again unchanged: correct \
                 the configuration or run ddns --retry-stopped",
            ),
            (NotifyEvent::Synchronized, "everything is up to date"),
            (NotifyEvent::TookOver, "router-a took over the lease of group home"),
            (NotifyEvent::Lost, "router-a lost the lease of group home: router-b holds it now"),
        ];
        for (event, expected) in cases {
            let notice = notice(&example(event, &home, Family::V4, 3));
            assert_eq!((notice.event, notice.message.as_str()), (event.key(), expected));
        }
        let notice = notice(&example(NotifyEvent::Changed, &home, Family::V6, 3));
        assert_eq!(
            [&*notice.domains, &notice.ips, &notice.old_ips, &notice.record_types],
            ["home.example.com", "2001:db8::7", "2001:db8::4", "AAAA"]
        );
        assert_eq!(
            said(NotifyEvent::Changed, vec![line("a.example", Family::V4, "203.0.113.7")]).message,
            "a.example A is now 203.0.113.7"
        );
    }

    #[test]
    fn i5_many_updates_are_one_short_sentence() {
        let many = |event, why: &str| {
            let of = |number| UpdateLine {
                why: why.to_owned(),
                failures: 3,
                ..line(&format!("h{number}.example"), Family::V4, "203.0.113.7")
            };
            said(event, (0..500).map(of).collect())
        };
        let names = "h0.example A, h1.example A, h2.example A, h3.example A, h4.example A and 495 more";
        assert_eq!(many(NotifyEvent::Changed, "").message, format!("500 records are now 203.0.113.7: {names}"));
        assert_eq!(many(NotifyEvent::Failed, "503").message, format!("500 updates fail: {names}; h0.example A: 503"));
        assert_eq!(many(NotifyEvent::Recovered, "").message, format!("500 updates are up to date again: {names}"));
        let notice = many(NotifyEvent::Failed, &"a\r\nlong \u{7}reason ".repeat(100));
        assert!(notice.message.len() < 1000 && !notice.message.contains(char::is_control), "{}", notice.message);
        assert_eq!(
            (notice.domains.matches(',').count(), &*notice.ips, &*notice.record_types),
            (499, "203.0.113.7", "A")
        );
    }

    #[test]
    fn i5_each_address_is_named_once() {
        let lines = vec![
            line("a.example", Family::V4, "203.0.113.7"),
            line("a.example", Family::V6, "2001:db8::7"),
            line("b.example", Family::V4, "203.0.113.7"),
        ];
        let notice = said(NotifyEvent::Changed, lines);
        assert_eq!(notice.message, "a.example A, b.example A are now 203.0.113.7; a.example AAAA is now 2001:db8::7");
        assert_eq!(
            (&*notice.domains, &*notice.ips, &*notice.record_types),
            ("a.example,b.example", "203.0.113.7,2001:db8::7", "A,AAAA")
        );
        let own = |number| line(&format!("h{number}.example"), Family::V6, &format!("2001:db8::{number}"));
        let notice = said(NotifyEvent::Changed, (1..20).map(own).collect());
        assert!(
            notice.message.ends_with("h4.example AAAA is now 2001:db8::4; and 15 more changed"),
            "{}",
            notice.message
        );
    }
}
