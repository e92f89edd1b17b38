//! DNS services that keep one zone in memory and refuse what the real ones refuse: keys, signatures, paths, parameters
//! and fields. Each says in its own file where its facts are from.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rsa::KeyPair as RsaKeyPair;
use ring::signature::{KeyPair as _, RsaParameters, UnparsedPublicKey};
use serde_json::{Map, Value, json};

use super::{Received, Receiver, Response};

pub mod alidns;
pub mod cloudflare;
pub mod digitalocean;
pub mod godaddy;
pub mod google;
pub mod hetzner;
pub mod huaweidns;
pub mod linode;
pub mod netcup;
pub mod ovh;
pub mod porkbun;
pub mod route53;
pub mod spaceship;
pub mod tencentcloud;
pub mod transip;
pub mod vultr;

/// The zone that every account has.
pub const ZONE: &str = "example.com";
/// The key of every account that signs with RSA.
pub const PEM: &str = include_str!("rfc7515.pem");

/// What a request gets: `Err` where the service refuses it.
pub type Answer = Result<Response, Response>;

/// How a service answers a request, and how it answers all of them where there were too many.
pub struct Service {
    pub name: &'static str,
    pub answer: fn(&mut Zone, &Call) -> Answer,
    pub limit: fn() -> Response,
}

/// A record, whatever the service calls its parts. Its name is what stands in front of the zone, `@` for the zone itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    pub id: u64,
    pub name: String,
    pub kind: String,
    pub value: String,
    pub ttl: u64,
}

/// What a service does other than it should.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Trouble {
    /// Lists have one entry less than they say.
    Short,
    /// There were too many requests.
    Limited,
    /// The response to the next creation gets lost.
    Lossy,
}

/// What a service keeps, and how it behaves now.
#[derive(Default)]
pub struct Zone {
    pub records: Vec<Record>,
    /// Those that are open.
    pub sessions: Vec<String>,
    pub logins: usize,
    /// Something was changed that is not published yet.
    pub is_pending: bool,
    pub trouble: Option<Trouble>,
    nonces: Vec<String>,
}

impl Zone {
    pub fn add(&mut self, name: &str, kind: &str, value: &str, ttl: u64) -> Result<Record, String> {
        check(kind, value)?;
        let id = self.records.iter().map(|record| record.id).max().unwrap_or(1_000_016) + 1;
        let record = Record { id, name: name.to_owned(), kind: kind.to_owned(), value: value.to_owned(), ttl };
        self.records.push(record.clone());
        self.is_pending = true;
        Ok(record)
    }

    /// Changes a record as `how` has it.
    pub fn change(&mut self, id: u64, how: impl FnOnce(&mut Record)) -> Result<Record, String> {
        self.is_pending = true;
        let record = self.records.iter_mut().find(|record| record.id == id).ok_or("no such record")?;
        let mut changed = record.clone();
        how(&mut changed);
        check(&changed.kind, &changed.value)?;
        *record = changed.clone();
        Ok(changed)
    }

    pub fn find(&self, id: &str) -> Option<Record> {
        self.records.iter().find(|record| record.id.to_string() == id).cloned()
    }

    /// Those of a name and a type.
    pub fn of(&self, name: &str, kind: &str) -> Vec<Record> {
        let is_it = |record: &&Record| record.name == name && record.kind == kind;
        self.records.iter().filter(is_it).cloned().collect()
    }

    /// How many entries a list says that it has.
    pub fn total(&self, listed: usize) -> usize {
        listed + usize::from(self.trouble == Some(Trouble::Short))
    }

    /// Opens a session and gives its name.
    pub fn log_in(&mut self) -> String {
        self.logins += 1;
        let session = format!("session-{}-s3cret", self.logins);
        self.sessions.push(session.clone());
        session
    }

    /// Whether a nonce is used for the first time.
    pub fn is_new(&mut self, nonce: &str) -> bool {
        let is_new = !self.nonces.iter().any(|used| used == nonce);
        self.nonces.push(nonce.to_owned());
        is_new
    }
}

/// No service takes a record of an address that is none.
fn check(kind: &str, value: &str) -> Result<(), String> {
    let is_right = match kind {
        "A" => value.parse::<Ipv4Addr>().is_ok(),
        "AAAA" => value.parse::<Ipv6Addr>().is_ok(),
        _ => !value.is_empty(),
    };
    if is_right { Ok(()) } else { Err(format!("`{value}` is no value of a record {kind}")) }
}

/// A request, taken apart.
pub struct Call<'a> {
    pub received: &'a Received,
    path: Vec<String>,
    query: BTreeMap<String, String>,
}

impl<'a> Call<'a> {
    fn new(received: &'a Received) -> Self {
        let (path, query) = received.target().split_once('?').unwrap_or((received.target(), ""));
        let path = path.trim_start_matches('/').split('/').map(decoded).collect();
        Self { received, path, query: pairs(query) }
    }

    /// The method and the parts of the path, to be matched.
    pub fn route(&self) -> (&str, Vec<&str>) {
        (self.received.method(), self.path.iter().map(String::as_str).collect())
    }

    /// A header, empty where it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.received.header(name).unwrap_or_default()
    }

    /// The parameters of the query, if all of them are among the known.
    pub fn query(&self, known: &str) -> Result<&BTreeMap<String, String>, String> {
        let stray = self.query.keys().find(|name| !known.split(' ').any(|known| known == *name));
        stray.map_or(Ok(&self.query), |name| Err(format!("unknown parameter {name}")))
    }

    /// The JSON of the body, if it [`fits`].
    pub fn json(&self, fields: &str) -> Result<Value, String> {
        let is_json = self.header("content-type").starts_with("application/json");
        let value = serde_json::from_slice(&self.received.body).ok().filter(|_| is_json).ok_or("no JSON")?;
        fits(&value, fields)?;
        Ok(value)
    }

    /// The fields of a form, if they [`fits`].
    pub fn form(&self, fields: &str) -> Result<Value, String> {
        let is_form = self.header("content-type").starts_with("application/x-www-form-urlencoded");
        let text = if is_form { std::str::from_utf8(&self.received.body).unwrap_or_default() } else { "" };
        let value = json!(pairs(text));
        fits(&value, fields)?;
        Ok(value)
    }

    /// Whether the key is in `Authorization`, behind this word.
    pub fn bears(&self, word: &str, key: &str) -> bool {
        self.header("authorization").strip_prefix(word).and_then(|rest| rest.strip_prefix(' ')) == Some(key)
    }
}

fn pairs(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))).map(|(a, b)| (decoded(a), decoded(b))).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).filter(|_| *first == b'%').and_then(|two| std::str::from_utf8(two).ok());
        let byte = hex.and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes.push(byte.unwrap_or(if *first == b'+' { b' ' } else { *first }));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether an object has these members and no other: `name` is a text, `ttl#` a number, `force!` a boolean, `items[]` a
/// list, `param{}` an object; with `?` behind it may be missing. What is wrong is named.
pub fn fits(value: &Value, fields: &str) -> Result<(), String> {
    let empty = Map::new();
    let members = value.as_object().ok_or("no object")?;
    let mut known = Vec::new();
    for field in fields.split_whitespace() {
        let (field, is_optional) = field.strip_suffix('?').map_or((field, false), |field| (field, true));
        let name = field.trim_end_matches(['#', '!', '[', ']', '{', '}']);
        known.push(name);
        let is_right = match (members.get(name), &field[name.len()..]) {
            (None, _) if is_optional => true,
            (None, _) => return Err(format!("{name} is missing")),
            (Some(value), "#") => value.is_u64(),
            (Some(value), "!") => value.is_boolean(),
            (Some(value), "[]") => value.as_array().is_some_and(|list| !list.is_empty()),
            (Some(value), "{}") => value.as_object().unwrap_or(&empty) != &empty,
            (Some(value), _) => value.is_string(),
        };
        if !is_right {
            return Err(format!("{name} is not what it must be"));
        }
    }
    members.keys().find(|name| !known.contains(&name.as_str())).map_or(Ok(()), |name| Err(format!("{name} is unknown")))
}

/// A text of an object, empty where it is missing.
pub fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// The name of a record of the zone, from a whole name with or without a dot at its end.
pub fn host_of(domain: &str) -> Option<&str> {
    let rest = domain.strip_suffix('.').unwrap_or(domain).strip_suffix(ZONE)?;
    if rest.is_empty() { Some("@") } else { rest.strip_suffix('.') }
}

pub fn full(name: &str) -> String {
    if name == "@" { ZONE.to_owned() } else { format!("{name}.{ZONE}") }
}

/// The name of a record where the service has nothing for the zone itself.
pub fn at(name: &str) -> &str {
    if name.is_empty() { "@" } else { name }
}

/// The opposite of [`at`].
pub fn bare(name: &str) -> &str {
    if name == "@" { "" } else { name }
}

pub fn reply(status: u16, body: &Value) -> Response {
    Response::with_body(status, &body.to_string()).header("Content-Type", "application/json")
}

/// Whether the key in [`PEM`] signed it.
pub fn is_signed(how: &'static RsaParameters, message: &[u8], signature: &[u8]) -> bool {
    let der: String = PEM.lines().filter(|line| !line.starts_with('-')).collect();
    let key = RsaKeyPair::from_pkcs8(&STANDARD.decode(der).expect("base64")).expect("a key");
    UnparsedPublicKey::new(how, key.public_key().as_ref()).verify(message, signature).is_ok()
}

/// A service that runs.
pub struct Fake {
    pub receiver: Receiver,
    zone: Arc<Mutex<Zone>>,
}

impl Fake {
    pub fn start(service: &Service) -> Self {
        let zone: Arc<Mutex<Zone>> = Arc::default();
        let (kept, answer, limit) = (zone.clone(), service.answer, service.limit);
        let receiver = Receiver::responding(move |received| {
            let mut zone = kept.lock().expect("no fake failed");
            if zone.trouble == Some(Trouble::Limited) {
                return limit();
            }
            let before = zone.records.len();
            let response = answer(&mut zone, &Call::new(received)).unwrap_or_else(|refused| refused);
            if zone.trouble == Some(Trouble::Lossy) && zone.records.len() > before {
                zone.trouble = None;
                return Response::Close;
            }
            response
        });
        Self { receiver, zone }
    }

    pub fn zone(&self) -> MutexGuard<'_, Zone> {
        self.zone.lock().expect("no fake failed")
    }
}
