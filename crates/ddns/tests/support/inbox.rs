//! A service that notifications are sent to, and the fields with which they are.

use serde_json::{Value, json};

use crate::support::given::with;
use crate::support::watching::{SOON, until};
use crate::support::{Received, Receiver, Response};

/// What every notification of these tests holds and nothing may print.
pub const SECRET: &str = "s3cret-of-the-inbox";

/// Receives notifications.
pub struct Inbox(pub Receiver);

impl Inbox {
    /// Accepts everything.
    pub fn new() -> Self {
        Self::responding(|_| Response::status(200))
    }

    pub fn responding(script: impl Fn(&Received) -> Response + Send + Sync + 'static) -> Self {
        Self(Receiver::responding(script))
    }

    /// A notification to it, changed by `more`.
    pub fn notify(&self, more: &Value) -> Value {
        let notify = json!({"id": self.0.url(&format!("/notify?key={SECRET}")), "token": {"key": SECRET,
            "event": "__EVENT__", "message": "__MESSAGE__", "domains": "__DOMAINS__", "ip": "__IP__", "old": "__OLDIP__"}});
        with(&notify, more)
    }

    /// What came, in this order.
    pub fn messages(&self) -> Vec<Value> {
        self.0.callbacks().iter().map(Received::json).collect()
    }

    /// The events that came, in this order.
    pub fn events(&self) -> Vec<String> {
        self.messages().iter().map(|message| message["event"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Waits until these events came, and no others.
    #[track_caller]
    pub fn wait(&self, expected: &[&str]) {
        until(SOON, &format!("{expected:?}; came: {:?}", self.messages()), || self.events().len() >= expected.len());
        assert_eq!(self.events(), expected);
    }
}
