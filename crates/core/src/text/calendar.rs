//! Days and dates, as far as texts need them: without a clock and without a time zone.

/// Days from the first of January 1970, in the Gregorian calendar. Years are counted from March: a leap day comes last.
pub(crate) fn days_since_epoch(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    let days_before_month = (month * 153 + 2) / 5;
    // The first of March of year 0 is 719,468 days before the epoch.
    (year * 365 + leap_days + days_before_month + day - 1).saturating_sub(719_468)
}

/// The day of a time in seconds since the epoch, as `2026-11-15`.
pub fn date(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    // Of each four hundred years, then of each hundred, four and one: the last of each kind may be a day longer.
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = (era * 400 + year + u64::from(month >= 10), if month < 10 { month + 3 } else { month - 9 });
    format!("{year:04}-{month:02}-{day:02}")
}

/// A stretch of time in the unit that fits it: `90 s`, `5 min`, `3 h`, `12 days`.
pub fn in_words(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_and_its_day_belong_together() {
        let cases = [
            (0, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_794_700_800, "2026-11-15"),
            (4_107_542_400, "2100-03-01"),
            (253_402_300_799, "9999-12-31"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(date(seconds), expected);
        }
        for day in (0..200_000).step_by(13) {
            let text = date(day * 86_400);
            let part = |range: std::ops::Range<usize>| text[range].parse::<u64>().expect("a number");
            assert_eq!(days_since_epoch(part(0..4), part(5..7), part(8..10)), day, "{text}");
        }
    }

    #[test]
    fn time_is_told_in_the_unit_that_fits() {
        let cases = [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (172_800, "2 days")];
        for (seconds, expected) in cases {
            assert_eq!(in_words(seconds), expected);
        }
    }
}
