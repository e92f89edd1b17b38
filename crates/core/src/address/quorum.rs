//! `quorum:`: what several sources agree on.

use std::net::IpAddr;

use crate::address::observation::Choice;
use crate::text::order;

/// The address that at least `need` sources agree on. The reason lists the sources that differ.
///
/// If no address has enough sources, or two addresses do, the error lists what each source gave.
pub fn agreed(need: usize, results: &[(String, Result<Choice, String>)]) -> Result<Choice, String> {
    let agreed = agreement(need, results);
    let others =
        results.iter().filter(|(_, result)| !matches!((result, agreed), (Ok(choice), Some(ip)) if choice.ip == ip));
    let others: Vec<String> = others
        .map(|(source, result)| match result {
            Ok(choice) => format!("{source} gives {}", choice.ip),
            Err(why) => format!("{source} gives none ({why})"),
        })
        .collect();
    let others = others.join("; ");
    match agreed {
        Some(ip) if others.is_empty() => Ok(Choice { ip, why: format!("all {} sources agree", results.len()) }),
        Some(ip) => {
            Ok(Choice { ip, why: format!("{} of {} sources agree; {others}", votes(results, ip), results.len()) })
        }
        None => {
            let is_tie = results.iter().flat_map(|(_, result)| result).any(|choice| votes(results, choice.ip) >= need);
            let count = results.len();
            Err(match need {
                _ if is_tie => format!("its {count} sources agree on different addresses: {others}"),
                1 => format!("none of its {count} sources gives an address: {others}"),
                _ => format!("no {need} of its {count} sources agree on an address: {others}"),
            })
        }
    }
}

/// The only address that at least `need` sources agree on so far; `None` if there is none, or more than one.
pub fn agreement(need: usize, results: &[(String, Result<Choice, String>)]) -> Option<IpAddr> {
    let addresses = results.iter().filter_map(|(_, result)| result.as_ref().ok()).map(|choice| choice.ip);
    let mut enough: Vec<IpAddr> = addresses.filter(|ip| votes(results, *ip) >= need).collect();
    // If one source is enough, the first that gave an address decides.
    enough.truncate(if need == 1 { 1 } else { enough.len() });
    order::sort(&mut enough);
    enough.dedup();
    match enough.as_slice() {
        [ip] => Some(*ip),
        _ => None,
    }
}

fn votes(results: &[(String, Result<Choice, String>)], ip: IpAddr) -> usize {
    results.iter().filter(|(_, result)| matches!(result, Ok(choice) if choice.ip == ip)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f_quorum_counts_equal_results() {
        let results = |texts: &[&str]| -> Vec<(String, Result<Choice, String>)> {
            let result = |text: &&str| match text.parse() {
                Ok(ip) => Ok(Choice { ip, why: String::new() }),
                Err(_) => Err((*text).to_owned()),
            };
            texts.iter().enumerate().map(|(at, text)| (format!("source {at}"), result(text))).collect()
        };
        let table: [(usize, &[&str], &str); 8] = [
            (1, &["203.0.113.7", "198.51.100.1"], "203.0.113.7: 1 of 2 sources agree"),
            (2, &["203.0.113.7", "203.0.113.7", "198.51.100.1", "198.51.100.1"], "its 4 sources agree on different"),
            (1, &["down", "down"], "none of its 2 sources gives an address: source 0 gives none (down)"),
            (
                2,
                &["203.0.113.7", "198.51.100.1", "203.0.113.7"],
                "203.0.113.7: 2 of 3 sources agree; source 1 gives 198.51.100.1",
            ),
            (1, &["down", "198.51.100.1"], "198.51.100.1"),
            (2, &["198.51.100.1", "203.0.113.7", "203.0.113.7"], "203.0.113.7"),
            (2, &["203.0.113.7", "down"], "source 0 gives 203.0.113.7; source 1 gives none (down)"),
            (3, &["203.0.113.7", "203.0.113.7"], "no 3 of its 2 sources agree"),
        ];
        for (need, texts, expected) in table {
            let found =
                agreed(need, &results(texts)).map_or_else(|why| why, |choice| format!("{}: {}", choice.ip, choice.why));
            assert!(found.contains(expected), "{need} of {texts:?}: {found}");
        }
    }
}
