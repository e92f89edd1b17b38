//! Slows down clients that guess passwords (I2), each client separately, and decides whose try is checked next: a check takes a
//! while, and only one runs at a time.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

/// How many wrong tries a client has without a delay, and how many of its tries may wait at once.
const FREE_ATTEMPTS: u32 = 3;

/// The longest time that a client must wait.
const MAX_WAIT: Duration = Duration::from_secs(15 * 60);

/// The wrong tries of a client are forgotten after this time without another one.
const FORGET_AFTER: Duration = Duration::from_secs(3600);

/// How many clients are remembered at once.
const MAX_CLIENTS: usize = 4096;

/// How many tries may wait at once. Each takes some milliseconds, so the last one is served within a few seconds.
const MAX_WAITING: usize = 32;

/// How many tries of others go first for each wrong try of a client.
const PENALTY_PLACES: u64 = 2 * MAX_WAITING as u64;

/// How long a client must wait if there is no room for its try.
const RETRY_WHEN_FULL: Duration = Duration::from_secs(1);

/// The wrong tries so far, and the tries that wait to be checked. Times are those of a steady clock.
#[derive(Debug, Default)]
pub struct PasswordAttempts {
    clients: Vec<ClientAttempts>,
    line: Vec<QueuedAttempt>,
    /// The number of the next try.
    next: u64,
    is_checking: bool,
}

#[derive(Debug)]
struct ClientAttempts {
    who: IpAddr,
    wrong: u32,
    last: Duration,
}

/// A waiting try; tries sort in the order in which they are checked. Each wrong try of the client, and each of its tries that
/// already waits, costs [`PENALTY_PLACES`]: clients that guess cannot keep out the one who knows the password, and nobody waits forever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct QueuedAttempt {
    place: u64,
    number: u64,
    who: IpAddr,
}

impl ClientAttempts {
    fn wait(&self) -> Duration {
        match self.wrong.checked_sub(FREE_ATTEMPTS) {
            None => Duration::ZERO,
            Some(more) => Duration::from_secs(1 << more.min(10)).min(MAX_WAIT),
        }
    }
}

/// Who is behind an address: all addresses of an IPv6 /64 network count as one client.
pub fn client_of(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64).into(),
        ip @ IpAddr::V4(_) => ip,
    }
}

impl PasswordAttempts {
    fn client(&self, who: IpAddr) -> Option<&ClientAttempts> {
        self.clients.iter().find(|client| client.who == who)
    }

    /// Whether a client may try now: who is behind its address ([`client_of`]). The error is how long it must wait.
    pub fn may(&self, who: IpAddr, now: Duration) -> Result<(), Duration> {
        let left = |client: &ClientAttempts| (client.last + client.wait()).saturating_sub(now);
        match self.client(who).map_or(Duration::ZERO, left) {
            Duration::ZERO => Ok(()),
            wait => Err(wait),
        }
    }

    /// Puts a try in line, and returns its number. The error is how long its client must wait.
    pub fn wait(&mut self, who: IpAddr, now: Duration) -> Result<u64, Duration> {
        self.may(who, now)?;
        let own = self.line.iter().filter(|other| other.who == who).count() as u64;
        let number = self.next;
        let costs = own + u64::from(self.client(who).map_or(0, |client| client.wrong));
        let waiting = QueuedAttempt { place: number + costs * PENALTY_PLACES, number, who };
        let last = self.line.iter().max().filter(|_| self.line.len() >= MAX_WAITING).copied();
        match last {
            _ if own >= u64::from(FREE_ATTEMPTS) => return Err(RETRY_WHEN_FULL),
            Some(last) if last < waiting => return Err(RETRY_WHEN_FULL),
            Some(last) => self.line.retain(|other| *other != last),
            None => {}
        }
        self.next += 1;
        self.line.push(waiting);
        Ok(number)
    }

    /// Whether it is the turn of a try; if so, no other one is checked until [`PasswordAttempts::end`]. `None`: not yet. The error is how
    /// long its client must wait, because the try lost its place or the client was wrong in the meantime.
    pub fn turn(&mut self, number: u64, now: Duration) -> Option<Result<(), Duration>> {
        let Some(own) = self.line.iter().find(|waiting| waiting.number == number).copied() else {
            return Some(Err(RETRY_WHEN_FULL));
        };
        if self.is_checking || self.line.iter().min() != Some(&own) {
            return None;
        }
        self.line.retain(|waiting| *waiting != own);
        let result = self.may(own.who, now);
        self.is_checking = result.is_ok();
        Some(result)
    }

    /// Ends a check: the password was right or wrong.
    pub fn end(&mut self, who: IpAddr, is_right: bool, now: Duration) {
        self.is_checking = false;
        if is_right {
            // Forget the wrong tries.
            self.clients.retain(|client| client.who != who);
        } else {
            self.wrong(who, now);
        }
    }

    /// Counts a wrong try of a client.
    pub fn wrong(&mut self, who: IpAddr, now: Duration) {
        self.clients.retain(|client| now.saturating_sub(client.last) < FORGET_AFTER);
        if let Some(client) = self.clients.iter_mut().find(|client| client.who == who) {
            (client.wrong, client.last) = (client.wrong.saturating_add(1), now);
            return;
        }
        if self.clients.len() >= MAX_CLIENTS
            && let Some((at, _)) = self.clients.iter().enumerate().min_by_key(|(_, client)| client.last)
        {
            self.clients.swap_remove(at);
        }
        self.clients.push(ClientAttempts { who, wrong: 1, last: now });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    #[test]
    fn i2_wrong_tries_take_longer_and_longer() {
        let mut tries = PasswordAttempts::default();
        let mut now = Duration::ZERO;
        let mut waits = Vec::new();
        for _ in 0..16 {
            let wait = tries.may(ONE, now).err().unwrap_or_default();
            waits.push(wait.as_secs());
            now += wait;
            assert_eq!(tries.may(ONE, now), Ok(()));
            tries.wrong(ONE, now);
            assert_eq!(tries.may(OTHER, now), Ok(()), "others do not wait");
        }
        assert_eq!(waits, [0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
        tries.end(ONE, true, now);
        assert_eq!(tries.may(ONE, now), Ok(()));
    }

    #[test]
    fn i2_each_client_counts_by_itself_and_memory_is_bounded() {
        let mut tries = PasswordAttempts::default();
        for number in 0..20_000_u32 {
            let ip = IpAddr::from(number.to_be_bytes());
            tries.wrong(ip, Duration::ZERO);
            let _ = tries.wait(ip, Duration::ZERO);
        }
        assert!(tries.clients.len() <= MAX_CLIENTS && tries.line.len() <= MAX_WAITING);
        assert_eq!(tries.may(ONE, Duration::ZERO), Ok(()), "nobody waits for others");
        // The addresses of one network are one client.
        let mut tries = PasswordAttempts::default();
        for number in 0..4_u128 {
            tries.wrong(client_of(Ipv6Addr::from_bits(0x2001_0db8 << 96 | number).into()), Duration::ZERO);
        }
        let who = |ip: &str| client_of(ip.parse().expect(ip));
        assert!(tries.may(who("2001:db8::9"), Duration::ZERO).is_err());
        assert_eq!(tries.may(who("2001:db8:0:1::9"), Duration::ZERO), Ok(()));
    }

    #[test]
    fn i2_one_is_checked_at_a_time_and_who_was_wrong_less_often_goes_first() {
        let now = Duration::ZERO;
        let mut tries = PasswordAttempts::default();
        let ip = |number: u32| IpAddr::from((0x0a00_0000 + number).to_be_bytes());
        // Many guessing clients fill the line; each was wrong before.
        let guesses: Vec<u64> = (0..40)
            .filter_map(|number| {
                tries.wrong(ip(number), now);
                tries.wait(ip(number), now).ok()
            })
            .collect();
        assert_eq!(guesses.len(), MAX_WAITING, "the line is bounded");
        assert_eq!(tries.turn(guesses[1], now), None);
        assert_eq!(tries.turn(guesses[0], now), Some(Ok(())));
        let owner = tries.wait(ONE, now).expect("there is room for who was never wrong");
        assert_eq!(tries.turn(owner, now), None, "one at a time");
        tries.end(ip(0), false, now);
        assert_eq!(tries.turn(guesses[1], now), None);
        assert_eq!(tries.turn(owner, now), Some(Ok(())));
        tries.end(ONE, true, now);
        // A few tries of one client may wait; they go behind those of others, and each is counted before the next one is checked.
        let mut tries = PasswordAttempts::default();
        let own: Vec<_> = (0..4).map(|_| tries.wait(ONE, now)).collect();
        assert_eq!(own, [Ok(0), Ok(1), Ok(2), Err(RETRY_WHEN_FULL)]);
        let other = tries.wait(OTHER, now).expect("there is room");
        for (number, ip) in [(0, ONE), (other, OTHER), (1, ONE), (2, ONE)] {
            assert_eq!(tries.turn(number, now), Some(Ok(())), "{number}");
            tries.end(ip, false, now);
        }
        assert!(tries.wait(ONE, now).is_err());
    }
}
