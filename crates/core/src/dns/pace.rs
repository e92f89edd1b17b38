//! How fast servers are asked: each one at most 20 times a second (K14).

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

/// The time between two questions to one server.
const BETWEEN: Duration = Duration::from_millis(50);

/// How long a reply is reused if the same server would be asked the same question again.
pub const SAME_AGAIN: Duration = Duration::from_secs(2);

/// Above this number, servers that may be asked at once are forgotten.
const MAX_KNOWN: usize = 1000;

/// When each server may be asked next.
#[derive(Debug, Default)]
pub struct Pace(HashMap<SocketAddr, Duration>);

impl Pace {
    /// Takes the next turn at a server, and returns how long to wait for it.
    pub fn turn(&mut self, server: SocketAddr, now: Duration) -> Duration {
        if self.0.len() >= MAX_KNOWN {
            self.0.retain(|_, free| *free > now);
        }
        let free = self.0.entry(server).or_default();
        let at = now.max(*free);
        *free = at + BETWEEN;
        at.saturating_sub(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k14_a_server_is_asked_twenty_times_a_second_at_most() {
        let mut pace = Pace::default();
        let server = |number| SocketAddr::new([10, 0, 0, number].into(), 53);
        let now = Duration::from_secs(100);
        let turns: Vec<Duration> = (0..40).map(|_| pace.turn(server(1), now)).collect();
        assert_eq!(turns.last(), Some(&Duration::from_millis(1950)));
        assert_eq!(pace.turn(server(2), now), Duration::ZERO);
        assert_eq!(pace.turn(server(1), now + Duration::from_secs(3)), Duration::ZERO);
    }
}
