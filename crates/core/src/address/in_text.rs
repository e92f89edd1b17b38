//! Addresses in texts from outside: pages and the output of programs (F4, F6).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::net::family::Family;
use crate::net::reach::{Trust, unusable};

/// The first address in a text that belongs to a family and may be sent.
///
/// An address must not be part of a word: `v1.2.3.4.5`, `999.1.2.3`, `7.113.0.203.in-addr.arpa` and `std::cout`
/// contain none. A port, prefix length or zone after an address is ignored.
pub fn first_address(text: &[u8], family: Family) -> Option<IpAddr> {
    find(text, family, |ip| unusable(ip, Trust::User).is_none())
}

/// The same, or a phrase that says what is in the text instead.
pub fn address_in(text: &[u8], family: Family) -> Result<IpAddr, String> {
    first_address(text, family).ok_or_else(|| {
        let other = find(text, family, |_| true).and_then(|ip| Some((ip, unusable(ip, Trust::User)?)));
        let only = |(ip, why)| format!("has only {ip}, which no host can have: {why}");
        other.map_or_else(|| format!("has no {family} address"), only)
    })
}

/// The first address of a family that is wanted.
fn find(text: &[u8], family: Family, is_wanted: impl Fn(IpAddr) -> bool) -> Option<IpAddr> {
    let mut at = 0;
    while let Some(start) = text[at..].iter().position(|&byte| may_begin(byte)).map(|skip| at + skip) {
        let length = text[start..].iter().take_while(|&&byte| may_hold(byte)).count();
        let end = start + length;
        let run = std::str::from_utf8(&text[start..end]).unwrap_or_default();
        let glued = (is_glued_before(&text[..start], run), ends_in_letter(&text[end..]));
        // `%20203.0.113.7`: the digits of an escape belong to no address.
        let rest = run.get(2..).filter(|rest| text[..start].ends_with(b"%") && !rest.starts_with([':', '.']));
        let is_whole = |ip: &IpAddr| matches!(ip, IpAddr::V6(v6) if is_first_group(v6.segments()[0])) || ip.is_ipv4();
        let escaped = rest.and_then(|rest| address_in_run(rest, glued)).filter(is_whole);
        let found = escaped.or_else(|| address_in_run(run, glued));
        if let Some(ip) = found.filter(|ip| Family::of(*ip) == Some(family) && is_wanted(*ip)) {
            return Some(ip);
        }
        at = end;
    }
    None
}

/// Drops the last word of a text that was cut at `limit` bytes: half an address may look like another address.
pub fn whole_words(text: &[u8], limit: usize) -> &[u8] {
    if text.len() < limit {
        return text;
    }
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || b":._-%".contains(byte);
    let end = text.iter().rposition(|byte| !is_part(byte)).unwrap_or(0);
    &text[..end]
}

fn may_begin(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || byte == b':'
}

fn may_hold(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.')
}

/// Letters that make an adjacent address part of a word. Letters of scripts without spaces between words, such as Chinese,
/// do not count.
fn is_letter(letter: char) -> bool {
    matches!(letter, '_' | '-') || (letter < '\u{600}' && letter.is_alphanumeric())
}

fn last_letter(text: &[u8]) -> Option<char> {
    let from = text.len().saturating_sub(4);
    let tail = (from..text.len()).find_map(|from| std::str::from_utf8(&text[from..]).ok())?;
    tail.chars().next_back()
}

/// Whether a run continues a word: `v1.2.3.4`, `iso.3.6.1.2`, `Foo::bad`.
fn is_glued_before(before: &[u8], run: &str) -> bool {
    match last_letter(before) {
        // In a JSON string, `\n` is an escape, and its `n` no letter of a word.
        Some('n' | 'r' | 't') if before.len() > 1 && before[before.len() - 2] == b'\\' => false,
        Some('.') => last_letter(&before[..before.len() - 1]).is_some_and(is_letter),
        Some(letter) => is_letter(letter) && (!run.starts_with(':') || run.starts_with("::")),
        None => false,
    }
}

/// Whether a word continues a run.
fn ends_in_letter(after: &[u8]) -> bool {
    let head = &after[..after.len().min(4)];
    let valid = std::str::from_utf8(head)
        .unwrap_or_else(|error| std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default());
    valid.chars().next().is_some_and(is_letter)
}

/// The address in a run of hexadecimal digits, colons and dots. `glued`: whether the run continues a word, and whether a word
/// continues the run.
fn address_in_run(run: &str, (glued_before, glued_after): (bool, bool)) -> Option<IpAddr> {
    // A full stop ends a sentence and is not part of the address.
    let run = run.trim_end_matches('.');
    // `IP:2001:db8::1`: one colon before the address belongs to the text.
    let run = match run.strip_prefix(':') {
        Some(rest) if !rest.starts_with(':') => rest,
        _ => run,
    };
    let (run, glued_after) = match run.strip_suffix(':') {
        Some(rest) if !rest.ends_with(':') => (rest, false),
        _ => (run, glued_after),
    };
    // `ipv4:203.0.113.7`: a word before the run ends at the first colon.
    let (word_end, run) = match (glued_before, run.split_once(':')) {
        (false, _) => ("", run),
        (true, Some((word_end, rest))) if !rest.starts_with(':') => (word_end, rest),
        (true, _) => return None,
    };
    if run.len() > 45 || is_hardware_address(run) {
        return None;
    }
    if let Ok(v6) = run.parse::<Ipv6Addr>() {
        // After a word and its colon, a whole address must follow.
        let is_part = glued_before && (may_begin_v6(word_end) || !is_first_group(v6.segments()[0]));
        return if glued_after || is_part { None } else { Some(v6.into()) };
    }
    // `1.2.3.4:8080`: what follows the colon is a port, or the next word.
    let (v4, glued_after) = match run.split_once(':') {
        Some((v4, rest)) if !rest.contains(':') => (v4, false),
        Some(_) => return None,
        None => (run, glued_after),
    };
    if glued_after {
        return None;
    }
    v4.parse::<Ipv4Addr>().ok().map(IpAddr::V4)
}

/// Whether the end of a word may be the first group of an IPv6 address, as in `x2001:db8::7` or `\u00202a02:…` in JSON. The text
/// after its colon is then only part of an address. Addresses in use have a first group of four digits, which begins with 2, 3,
/// `fc`, `fd` or `fe`.
fn may_begin_v6(word_end: &str) -> bool {
    let group = word_end.get(word_end.len().saturating_sub(4)..).filter(|group| group.len() == 4);
    group.and_then(|group| u16::from_str_radix(group, 16).ok()).is_some_and(is_first_group)
}

fn is_first_group(group: u16) -> bool {
    matches!(group, 0x2000..=0x3fff | 0xfc00..)
}

/// Eight pairs of digits: a hardware address, which parses as an IPv6 address.
fn is_hardware_address(run: &str) -> bool {
    let pairs = run.split(':');
    pairs.clone().count() == 8 && pairs.clone().all(|pair| pair.len() == 2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn first(text: &str, family: Family) -> Option<String> {
        first_address(text.as_bytes(), family).map(|ip| ip.to_string())
    }

    #[test]
    fn f4_an_ipv4_address_is_found_where_it_stands_alone() {
        let found = [
            "203.0.113.7",
            "Your address is 203.0.113.7.",
            "{\"ip\":\"203.0.113.7\",\"port\":1}",
            "IP:203.0.113.7",
            "ip=203.0.113.7;",
            "203.0.113.7:8080",
            "203.0.113.7/24",
            "<b>203.0.113.7</b>",
            "version 1.2.3 of 203.0.113.7",
            "999.1.2.3 203.0.113.7",
            "0.0.0.0 203.0.113.7",
            "2001:db8::1 203.0.113.7",
            "::ffff:198.51.100.1 203.0.113.7",
            "Zeit 12:30:00 203.0.113.7\r\n",
            "ipv4:203.0.113.7",
            "iface:203.0.113.7",
            "当前 IP：203.0.113.7  来自于：中国",
            "地址203.0.113.7是",
            "203.0.113.7:down",
            "... 203.0.113.7 ...",
            "{%22ip%22:%22203.0.113.7%22}",
            "100%20203.0.113.7%",
        ];
        for text in found {
            assert_eq!(first(text, Family::V4).as_deref(), Some("203.0.113.7"), "{text}");
        }
        let none = [
            "",
            "v1.2.3.4.5",
            "1.2.3.4.5",
            "999.1.2.3",
            "1.2.3",
            "v1.2.3.4",
            "01.2.3.4",
            "1.2.3.4x",
            "a1.2.3.4",
            "x-1.2.3.4",
            "1.2.3.4-5",
            "ü1.2.3.4",
            "7.113.0.203.in-addr.arpa",
            "203.0.113.7.static.isp.net",
            "1.2.3.4.example.com",
            "iso.3.6.1.2",
            "1.2.3.4ü",
            "::ffff:1.2.3.4",
            "64:ff9b::1.2.3.4",
            "0.0.0.0",
            "255.255.255.255",
            "224.0.0.1",
        ];
        for text in none {
            assert_eq!(first(text, Family::V4), None, "{text}");
        }
    }

    #[test]
    fn f4_an_ipv6_address_is_found_where_it_stands_alone() {
        let found = [
            "2001:db8::7",
            "2001:DB8:0:0::7",
            "IP:2001:db8::7",
            "[2001:db8::7]:443",
            "2001:db8::7%eth0",
            "2001:db8::7/64 scope global",
            "203.0.113.7, 2001:db8::7.",
            "at 2001:db8::7: yes",
            "00:11:22:33:44:55 2001:db8::7",
            "IPv6:2001:db8::7",
            "eth0:2001:db8::7",
            "iface:2001:db8::7",
            "{\"msg\":\"ok\\n2001:db8::7\"}",
            "x2001:db8::9 2001:db8::7",
            "eth0.2001:db8::9, 2001:db8::7",
            "loss 0%2001:db8::7",
            "ip=%222001:db8::7%22",
        ];
        for text in found {
            assert_eq!(first(text, Family::V6).as_deref(), Some("2001:db8::7"), "{text}");
        }
        // Trailing colons belong to the address; eight groups are not always a hardware address.
        for ip in ["2001:db8:1::", "2001:db8:1:2:a1b2:c3d4:e5f6:789"] {
            assert_eq!(first(&format!("<{ip}>"), Family::V6).as_deref(), Some(ip));
        }
        let none = [
            "std::cout",
            "in Foo::Bad",
            "My::Cafe",
            "50:06:01:60:3b:20:11:aa",
            "12:34:56",
            "::",
            "ff02::1",
            "::ffff:1.2.3.4",
            "2001:db8:::7",
            "g::1x",
            "x2001:db8::7",
            "IP2001:db8::7",
            "\\u00202001:db8::7",
            "inet6_2001:db8::7",
            "v6-2001:db8::7",
            "xfd00:db8::7",
            "x200:1:db8::7",
        ];
        for text in none {
            assert_eq!(first(text, Family::V6), None, "{text}");
        }
    }

    #[test]
    fn f7_an_address_that_no_host_can_have_is_named() {
        for (text, family, why) in [
            ("224.0.0.1", Family::V4, "has only 224.0.0.1, which no host can have: it is a multicast address"),
            ("at ::1.", Family::V4, "has no IPv4 address"),
            ("::ffff:1.2.3.4", Family::V6, "has no IPv6 address"),
            ("ff02::1", Family::V6, "has only ff02::1, which no host can have: it is a multicast address"),
        ] {
            assert_eq!(address_in(text.as_bytes(), family), Err(why.to_owned()), "{text}");
        }
        assert!(address_in(b"0.0.0.0 203.0.113.7", Family::V4).is_ok());
    }

    #[test]
    fn f4_half_an_address_at_a_limit_is_none() {
        let text = b"ip: 203.0.113.17";
        assert_eq!(whole_words(text, text.len() + 1), text, "nothing was cut");
        for limit in 5..=text.len() {
            assert_eq!(whole_words(&text[..limit], limit), b"ip:", "{limit}");
        }
        assert_eq!(whole_words(b"203.0.113.1", 11), b"", "not one whole word");
        let long = br#"{"ip":"203.0.113.17","pad":"xxxx"#;
        assert_eq!(whole_words(long, long.len()), &long[..27], "a page without spaces");
    }

    #[test]
    fn f4_ten_megabytes_are_searched_where_they_stand() {
        let mut text = vec![b'x'; 10 << 20];
        text.extend(b" 203.0.113.7");
        assert_eq!(first_address(&text, Family::V4).map(|ip| ip.to_string()).as_deref(), Some("203.0.113.7"));
        assert_eq!(first_address(&"1.2.3.4.".repeat(1 << 20).into_bytes(), Family::V4), None);
    }

    proptest! {
        #[test]
        fn f4_an_address_between_any_blanks_and_marks_is_found(
            bits in 0x0100_0000u32..0xe000_0000, before in "[ \\n\"<>(={]{0,5}", after in "[ \\n\"<>),}]{0,5}",
        ) {
            let ip = Ipv4Addr::from_bits(bits);
            prop_assert_eq!(first(&format!("{before}{ip}{after}"), Family::V4), Some(ip.to_string()));
        }

        #[test]
        fn f4_what_is_found_stands_in_the_text(text in "[0-9a-f:.v \\-]{0,40}") {
            for family in Family::ALL {
                if let Some(ip) = first_address(text.as_bytes(), family) {
                    let stands = text.split(|c: char| !(c.is_ascii_hexdigit() || c == ':' || c == '.')).any(|run| {
                        (0..run.len()).any(|from| (from + 1..=run.len()).any(|to| run[from..to].parse() == Ok(ip)))
                    });
                    prop_assert!(stands, "{} in {:?}", ip, text);
                }
            }
        }

        #[test]
        fn f4_an_address_that_is_glued_to_a_word_is_none(
            bits in 0x0100_0000u32..0xe000_0000, before in "[g-z]{1,3}[.-]?", after in "[.-]?[g-z]{1,3}",
        ) {
            let ip = Ipv4Addr::from_bits(bits);
            for text in [format!("{before}{ip}"), format!("{ip}{after}"), format!("{before}{ip}{after}")] {
                prop_assert_eq!(first(&text, Family::V4), None, "{}", text);
            }
        }

        #[test]
        fn f4_no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            for family in Family::ALL {
                first_address(&bytes, family);
            }
        }
    }
}
