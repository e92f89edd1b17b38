//! The result of a lookup, as a value: the program asks the sources, and adds what each gave.

use std::net::IpAddr;
use std::time::Duration;

use super::observation::{Choice, Observed};
use super::source::Source;
use crate::text::secrets::Secrets;

/// How the reason begins if the router has no address that the internet can reach.
pub const NO_PUBLIC_ADDRESS: &str = "the router is behind another NAT";

/// What the sources gave, in the order in which they were asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lookup {
    /// One for each source that was asked.
    pub attempts: Vec<Attempt>,
    observed: Option<Observed>,
}

/// What one source gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The source, without secrets.
    pub source: String,
    /// The address and the reason for it, or why there is none.
    pub result: Result<Choice, String>,
    /// How long it took.
    pub took: Duration,
}

impl Lookup {
    /// An example address from the command line: no source is asked, and the address can never be sent (A8).
    pub fn given(ip: IpAddr) -> Self {
        let choice = Choice { ip, why: "an example, given on the command line".to_owned() };
        let attempt = Attempt { source: "--ip".to_owned(), result: Ok(choice), took: Duration::ZERO };
        Self { attempts: vec![attempt], observed: None }
    }

    /// Adds what a source gave; returns whether it gave an address.
    pub fn add(&mut self, source: &Source, result: Result<Choice, String>, took: Duration) -> bool {
        let is_found = result.is_ok();
        self.observed = self.observed.or(result.as_ref().ok().map(|choice| Observed::by(source, choice)));
        self.attempts.push(Attempt { source: source.to_string(), result, took });
        is_found
    }

    /// The first address that a source gave; `None` if no source gave one, or the address is an example.
    pub fn observed(&self) -> Option<Observed> {
        self.observed
    }

    /// Whether the address is an example.
    pub fn is_example(&self) -> bool {
        self.observed.is_none() && self.found().is_some()
    }

    /// The first source that gave an address, and that address.
    pub fn found(&self) -> Option<(&str, &Choice)> {
        self.attempts.iter().find_map(|attempt| Some((attempt.source.as_str(), attempt.result.as_ref().ok()?)))
    }

    /// The first source that gave an address, or why none did.
    pub fn source(&self) -> Result<String, String> {
        let failed = || self.failed().map(|(source, why)| format!("{source}: {why}")).collect::<Vec<_>>().join("; ");
        self.found().map(|(source, _)| source.to_owned()).ok_or_else(failed)
    }

    /// The address to show, which may be an example; `None` if there is none.
    pub fn address(&self) -> Option<IpAddr> {
        self.found().map(|(_, choice)| choice.ip)
    }

    /// The sources that gave no address, and why.
    pub fn failed(&self) -> impl Iterator<Item = (&str, &str)> {
        self.attempts
            .iter()
            .filter_map(|attempt| Some((attempt.source.as_str(), attempt.result.as_ref().err()?.as_str())))
    }

    /// A hint that the internet sees another address than the router has (F9). It is no error: some networks translate addresses one
    /// to one.
    pub fn behind_nat(&self) -> Option<String> {
        let of = |name: &str| {
            let is_it = |source: &str| source.split(':').next() == Some(name);
            self.attempts.iter().find(|attempt| is_it(&attempt.source)).map(|attempt| &attempt.result)
        };
        let seen = of("public")?.as_ref().ok()?.ip;
        let router = match of("router")? {
            Ok(choice) if choice.ip == seen => return None,
            Ok(choice) => format!("the router has {}: a VPN, a second line or another NAT is in between", choice.ip),
            Err(why) if why.starts_with(NO_PUBLIC_ADDRESS) => {
                format!("{why}: nothing can reach this host by IPv4 (carrier-grade or double NAT)")
            }
            Err(_) => return None,
        };
        Some(format!("the internet sees {seen}, {router}"))
    }

    /// Whether both lookups gave the same results, however long they took.
    pub fn has_same_results(&self, other: &Self) -> bool {
        let results = |lookup: &'_ Self| -> Vec<_> {
            lookup.attempts.iter().map(|attempt| (attempt.source.clone(), attempt.result.clone())).collect()
        };
        results(self) == results(other)
    }

    /// Masks these secrets: the response of a server or the output of a program may repeat what the user typed.
    #[must_use]
    pub fn masked(mut self, secrets: &Secrets) -> Self {
        for attempt in &mut self.attempts {
            match &mut attempt.result {
                Ok(choice) => choice.why = secrets.mask(&choice.why).into_owned(),
                Err(why) => *why = secrets.mask(why).into_owned(),
            }
        }
        self
    }
}
