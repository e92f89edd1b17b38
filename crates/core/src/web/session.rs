//! Sessions of people who logged in, and the tokens that prove that a form was sent from this page (I2).

use std::time::Duration;

use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use crate::text::hex;

/// A session that is not used for this time ends.
pub const IDLE: Duration = Duration::from_secs(12 * 3600);

/// A session ends after this time, however often it is used.
pub const MAX_AGE: Duration = Duration::from_secs(7 * 86_400);

/// How many sessions are open at once; a new one ends the least recently used.
const MAX_SESSIONS: usize = 32;

/// Identifies a visitor, logged in or not: random, and known only to the browser.
#[derive(Clone, PartialEq, Eq)]
pub struct Id(pub [u8; 32]);

impl Id {
    /// Reads the value of a cookie; `None`: it is not an id.
    pub fn parse(text: &str) -> Option<Self> {
        hex::bytes(text).and_then(|bytes| bytes.try_into().ok()).map(Self)
    }

    /// The first id with this name in a `Cookie` header; `None`: there is none.
    pub fn in_cookies(cookies: &str, name: &str) -> Option<Self> {
        cookies.split(';').find_map(|cookie| Self::parse(cookie.trim().strip_prefix(name)?.strip_prefix('=')?))
    }

    /// The value for a cookie.
    pub fn text(&self) -> String {
        hex::text(&self.0)
    }
}

impl std::fmt::Debug for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// A random key of this process, which turns ids into tokens.
pub struct SessionKey(pub [u8; 32]);

impl SessionKey {
    fn mac(&self, about: &[u8]) -> Hmac<Sha256> {
        // HMAC accepts a key of any length.
        let mut mac = Hmac::new_from_slice(&self.0).expect("a key");
        mac.update(about);
        mac
    }

    /// The token of a visitor, which every form of the page contains.
    pub fn token(&self, id: &Id) -> String {
        hex::text(&self.mac(&id.0).finalize().into_bytes())
    }

    /// Whether a token belongs to the visitor. The time does not depend on where it is wrong.
    pub fn is_token(&self, id: &Id, given: &str) -> bool {
        hex::bytes(given).is_some_and(|given| self.mac(&id.0).verify_slice(&given).is_ok())
    }

    /// Whether two texts are the same. The time does not depend on where they differ.
    pub fn is_same(&self, one: &str, other: &str) -> bool {
        self.mac(one.as_bytes()).verify(&self.mac(other.as_bytes()).finalize().into_bytes()).is_ok()
    }
}

/// The sessions of everybody who is logged in.
#[derive(Debug, Default)]
pub struct Sessions(Vec<Session>);

#[derive(Debug)]
struct Session {
    id: Id,
    begun: Duration,
    used: Duration,
}

impl Sessions {
    /// Begins a session. Times are those of a steady clock.
    pub fn begin(&mut self, id: Id, now: Duration) {
        self.0.retain(|session| session.is_open(now));
        if self.0.len() >= MAX_SESSIONS
            && let Some((at, _)) = self.0.iter().enumerate().min_by_key(|(_, session)| session.used)
        {
            self.0.swap_remove(at);
        }
        self.0.push(Session { id, begun: now, used: now });
    }

    /// Whether a session is open; if so, this counts as use.
    pub fn use_by(&mut self, id: &Id, now: Duration) -> bool {
        let session = self.0.iter_mut().find(|session| session.id == *id && session.is_open(now));
        session.map(|session| session.used = now).is_some()
    }

    /// The same, without counting as use.
    pub fn is_open(&self, id: &Id, now: Duration) -> bool {
        self.0.iter().any(|session| session.id == *id && session.is_open(now))
    }

    /// Ends a session.
    pub fn end(&mut self, id: &Id) {
        self.0.retain(|session| session.id != *id);
    }

    /// Ends all sessions.
    pub fn end_all(&mut self) {
        self.0.clear();
    }
}

impl Session {
    fn is_open(&self, now: Duration) -> bool {
        now.saturating_sub(self.used) < IDLE && now.saturating_sub(self.begun) < MAX_AGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u8) -> Id {
        Id([number; 32])
    }

    #[test]
    fn i2_a_session_ends_when_it_is_idle_old_or_left() {
        let mut sessions = Sessions::default();
        let at = Duration::from_secs;
        sessions.begin(id(1), at(0));
        assert!(sessions.use_by(&id(1), at(10)) && !sessions.use_by(&id(2), at(10)));
        assert!(!sessions.use_by(&id(1), at(10) + IDLE));
        sessions.begin(id(2), at(0));
        let mut now = at(0);
        while now + IDLE / 2 < MAX_AGE {
            now += IDLE / 2;
            assert!(sessions.use_by(&id(2), now), "{now:?}");
        }
        assert!(!sessions.use_by(&id(2), MAX_AGE));
        sessions.begin(id(3), at(0));
        sessions.begin(id(4), at(0));
        sessions.end(&id(3));
        assert!(!sessions.use_by(&id(3), at(1)) && sessions.use_by(&id(4), at(1)));
        sessions.end_all();
        assert!(!sessions.use_by(&id(4), at(1)));
    }

    #[test]
    fn i2_the_number_of_sessions_is_bounded() {
        let mut sessions = Sessions::default();
        for number in 0..=255 {
            sessions.begin(id(number), Duration::from_secs(number.into()));
            assert!(sessions.0.len() <= MAX_SESSIONS);
        }
        let now = Duration::from_secs(300);
        assert!(sessions.use_by(&id(255), now) && !sessions.use_by(&id(0), now));
    }

    #[test]
    fn i2_a_token_is_that_of_one_visitor_and_one_process() {
        let (one, other) = (SessionKey([1; 32]), SessionKey([2; 32]));
        let token = one.token(&id(1));
        assert!(one.is_token(&id(1), &token));
        assert!(!one.is_token(&id(2), &token) && !other.is_token(&id(1), &token));
        for wrong in ["", "00", &token[1..], &format!("{token}00"), "x"] {
            assert!(!one.is_token(&id(1), wrong), "{wrong}");
        }
        assert!(one.is_same("a", "a") && !one.is_same("a", "b") && !one.is_same("a", "aa"));
        assert_eq!(Id::parse(&id(7).text()), Some(id(7)));
        for wrong in ["", "07", &"g".repeat(64), &"0".repeat(63), &"0".repeat(66), "\u{e9}"] {
            assert_eq!(Id::parse(wrong), None, "{wrong}");
        }
    }
}
