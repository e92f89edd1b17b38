//! Slows down whoever tries passwords (I2): each client by itself, and all of them together.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

/// So many wrong tries of a client cost it no time.
const FREE: u32 = 3;

/// The longest time that a client must wait.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// Who has not tried for so long has a clean slate.
const FORGOTTEN: Duration = Duration::from_secs(3600);

/// So many clients are known at once.
const MOST: usize = 256;

/// All clients together have so many wrong tries in [`WINDOW`]. More than one person mistypes, and far less than it takes
/// to guess.
const TOGETHER: usize = 30;
const WINDOW: Duration = Duration::from_secs(60);

/// The wrong tries so far. Times are those of a steady clock.
#[derive(Debug, Default)]
pub struct Tries {
    clients: Vec<Client>,
    /// The last wrong tries of all, the oldest first.
    together: VecDeque<Duration>,
}

#[derive(Debug)]
struct Client {
    who: IpAddr,
    wrong: u32,
    last: Duration,
}

impl Client {
    fn wait(&self) -> Duration {
        match self.wrong.checked_sub(FREE) {
            None => Duration::ZERO,
            Some(more) => Duration::from_secs(1 << more.min(10)).min(LONGEST),
        }
    }
}

/// A network that one client has for itself counts as one.
fn who(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64).into(),
        ip @ IpAddr::V4(_) => ip,
    }
}

impl Tries {
    /// Whether a client may try now; how long it must wait where it may not.
    pub fn may(&self, ip: IpAddr, now: Duration) -> Result<(), Duration> {
        let own = self
            .clients
            .iter()
            .find(|client| client.who == who(ip))
            .map_or(Duration::ZERO, |client| (client.last + client.wait()).saturating_sub(now));
        let oldest = self.together.front().filter(|_| self.together.len() >= TOGETHER);
        let all = oldest.map_or(Duration::ZERO, |oldest| (*oldest + WINDOW).saturating_sub(now));
        match own.max(all) {
            Duration::ZERO => Ok(()),
            wait => Err(wait),
        }
    }

    /// A client was wrong.
    pub fn wrong(&mut self, ip: IpAddr, now: Duration) {
        if self.together.len() >= TOGETHER {
            self.together.pop_front();
        }
        self.together.push_back(now);
        self.clients.retain(|client| now.saturating_sub(client.last) < FORGOTTEN);
        if let Some(client) = self.clients.iter_mut().find(|client| client.who == who(ip)) {
            (client.wrong, client.last) = (client.wrong.saturating_add(1), now);
            return;
        }
        if self.clients.len() >= MOST
            && let Some((at, _)) = self.clients.iter().enumerate().min_by_key(|(_, client)| client.last)
        {
            self.clients.swap_remove(at);
        }
        self.clients.push(Client { who: who(ip), wrong: 1, last: now });
    }

    /// A client was right: it has a clean slate.
    pub fn right(&mut self, ip: IpAddr) {
        self.clients.retain(|client| client.who != who(ip));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    #[test]
    fn i2_wrong_tries_take_longer_and_longer() {
        let mut tries = Tries::default();
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
        tries.right(ONE);
        assert_eq!(tries.may(ONE, now), Ok(()));
    }

    #[test]
    fn i2_many_clients_are_slowed_down_together_and_memory_is_bounded() {
        let mut tries = Tries::default();
        for number in 0..2_000_u32 {
            let ip = IpAddr::from(number.to_be_bytes());
            tries.wrong(ip, Duration::ZERO);
        }
        assert!(tries.clients.len() <= MOST && tries.together.len() <= TOGETHER);
        assert!(tries.may(ONE, Duration::ZERO).is_err(), "all together");
        assert_eq!(tries.may(ONE, WINDOW), Ok(()));
        // The addresses of one network are one client.
        let mut tries = Tries::default();
        for number in 0..4_u128 {
            tries.wrong(Ipv6Addr::from_bits(0x2001_0db8 << 96 | number).into(), Duration::ZERO);
        }
        assert!(tries.may("2001:db8::9".parse().expect("an address"), Duration::ZERO).is_err());
        assert_eq!(tries.may("2001:db8:0:1::9".parse().expect("an address"), Duration::ZERO), Ok(()));
    }
}
