//! Numbers as text: counts as people read them, and digits for files.

use std::fmt::Write as _;
use std::net::IpAddr;

/// A count as people read it: `9,980`.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Appends the digits. `format!` would take three times as long.
pub(crate) fn push_number(out: &mut String, number: u64) {
    if number >= 10 {
        push_number(out, number / 10);
    }
    out.push(char::from(b'0' + (number % 10) as u8));
}

/// The text of an address, faster than `format!`.
pub(crate) fn address_text(ip: IpAddr) -> String {
    let mut text = String::with_capacity("255.255.255.255".len());
    push_address(&mut text, ip);
    text
}

/// Appends an address.
pub(crate) fn push_address(out: &mut String, ip: IpAddr) {
    match ip {
        IpAddr::V4(ip) => {
            for (at, byte) in ip.octets().into_iter().enumerate() {
                if at > 0 {
                    out.push('.');
                }
                push_number(out, byte.into());
            }
        }
        IpAddr::V6(ip) => {
            let _ = write!(out, "{ip}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_addresses_are_added_as_they_display() {
        for number in [0, 9, 10, 1_763_170_000, u64::MAX] {
            let mut text = "<".to_owned();
            push_number(&mut text, number);
            assert_eq!(text, format!("<{number}"));
        }
        for ip in ["0.0.0.0", "203.0.113.7", "255.255.255.255", "::", "2001:db8::1"] {
            let mut text = "<".to_owned();
            push_address(&mut text, ip.parse().expect("an address"));
            assert_eq!(text, format!("<{ip}"));
            assert_eq!(address_text(ip.parse().expect("an address")), ip);
        }
    }

    #[test]
    fn counts_are_grouped() {
        for (number, expected) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), expected);
        }
    }
}
