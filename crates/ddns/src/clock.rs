//! The time, as far as the program asks for it.

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, fs};

use ddns_core::callback::Timestamp;
use jiff::Zoned;
use jiff::tz::TimeZone;

pub(crate) use crate::platform::steady_time;

/// The time of day; the epoch on a host whose clock is before it.
pub(crate) fn unix_time() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Timestamp { seconds: since.as_secs(), micros: since.subsec_micros() }
}

/// The time zone of this host. jiff would read the names of all zones before it looks for the one in `TZ`: two dozen
/// folders, and 130 KB that a service keeps.
pub(crate) fn zone() -> TimeZone {
    static NAMED: OnceLock<Option<TimeZone>> = OnceLock::new();
    let named = NAMED.get_or_init(|| zone_named(&env::var("TZ").ok()?));
    named.clone().unwrap_or_else(TimeZone::system)
}

/// `Europe/Berlin`, or the path of such a file. None for a rule (`CET-1CEST`), which jiff understands.
fn zone_named(name: &str) -> Option<TimeZone> {
    let name = name.strip_prefix(':').unwrap_or(name);
    let folder = env::var_os("TZDIR").unwrap_or_else(|| "/usr/share/zoneinfo".into());
    TimeZone::tzif(name, &fs::read(Path::new(&folder).join(name)).ok()?).ok()
}

/// The time of day, where this host is.
pub(crate) fn local_time() -> Zoned {
    jiff::Timestamp::now().to_zoned(zone())
}

/// By how many seconds local time is ahead of UTC at a moment.
pub(crate) fn local_offset(at: u64) -> i32 {
    let moment = i64::try_from(at).ok().and_then(|at| jiff::Timestamp::from_second(at).ok());
    moment.map_or(0, |moment| zone().to_offset(moment).seconds())
}
