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

/// Adds its digits. `format!` would take three times as long.
pub(crate) fn push_number(out: &mut String, mut number: u64) {
    let mut digits = [b'0'; 20];
    let mut start = digits.len() - 1;
    loop {
        digits[start] += (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
        start -= 1;
    }
    out.push_str(std::str::from_utf8(&digits[start..]).unwrap_or_default());
}

/// Adds an address, for the same reason.
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
        }
    }

    #[test]
    fn counts_are_grouped() {
        for (number, expected) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), expected);
        }
    }
}
