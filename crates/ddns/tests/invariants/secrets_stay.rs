//! No secret reaches an origin or a first hop that did not get it before, whatever is added on the page or set up (I2).
//!
//! A service has secrets in every place that can hold one, in a random order of file, entry, environment and options. Everybody whom it
//! may send to, proxies included, notes what comes. Then somebody on the page adds an entry for an endpoint of their own, or sets one up.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::support::page::{Page, address, encoded};
use crate::support::random::{Random, try_for_a_while};
use crate::support::watching::{Endpoint, SOON, Watch, host, until};
use crate::support::{Received, Receiver, Response, Sandbox};

/// What each kind of secret looks like. A signature shows that a key was used.
const SECRETS: [&str; 12] = [
    "s3cret-query",
    "s3cret-user",
    "s3cret-token",
    "s3cret-header",
    "s3cret-extra",
    "s3cret-own",
    "s3cret-file",
    "s3cret-proxy",
    "s3cret-other",
    "s3cret-source",
    "s3cret-notify",
    "webhook-signature",
];

/// The password of each proxy, and the proxy: it may always get that, also where nothing went through it so far.
const PROXIES: [(&str, &str); 2] = [("s3cret-proxy", "proxy"), ("s3cret-other", "other proxy")];

/// Everybody who may get something.
struct World {
    /// Two endpoints of the owner, two proxies (which respond themselves), a source, who is notified, and the endpoint of somebody else.
    all: [(&'static str, Receiver); 7],
    /// The address that all of them respond with.
    ip: Arc<Mutex<String>>,
}

/// A secret, and who got it.
type Known = BTreeSet<(&'static str, &'static str)>;

impl World {
    fn new() -> Self {
        let ip = Arc::new(Mutex::new("203.0.113.7".to_owned()));
        let one = |name| {
            let ip = ip.clone();
            (name, Receiver::responding(move |_| Response::with_body(200, &ip.lock().expect("no test thread failed"))))
        };
        let all = ["home", "office", "proxy", "other proxy", "source", "notified", "somebody"].map(one);
        Self { all, ip }
    }

    fn of(&self, name: &str) -> &Receiver {
        &self.all.iter().find(|(known, _)| *known == name).expect("one of them").1
    }

    /// Who has got which secret so far.
    fn known(&self) -> Known {
        let mut known = Known::new();
        for (name, receiver) in &self.all {
            for text in receiver.callbacks().iter().map(whole) {
                known.extend(SECRETS.into_iter().filter(|secret| text.contains(secret)).map(|secret| (secret, *name)));
            }
        }
        known
    }

    fn has_sent(&self, secret: &str) -> bool {
        self.known().iter().any(|(known, _)| *known == secret)
    }
}

/// A request as text, with what its credentials mean.
fn whole(request: &Received) -> String {
    let mut text = format!("{}\n{}\n", request.line, String::from_utf8_lossy(&request.body));
    for (name, value) in &request.headers {
        let basic = value.strip_prefix("Basic ").and_then(|word| STANDARD.decode(word).ok()).unwrap_or_default();
        text += &format!("{}: {value} {}\n", name.to_lowercase(), String::from_utf8_lossy(&basic));
    }
    text
}

fn one_of<T: Clone>(random: &mut Random, from: &[T]) -> T {
    from[random.below(from.len())].clone()
}

fn maybe(random: &mut Random) -> bool {
    random.below(2) == 0
}

/// Secrets that an entry, what stands outside of entries, or the environment may hold. Each is there or not.
fn secrets(random: &mut Random, sandbox: &Sandbox) -> Vec<(&'static str, Value)> {
    let file = sandbox.write("secret", "s3cret-file\n");
    let all = [
        ("token", json!({"key": "s3cret-token", "more": "__K__ __F__", "ip": "__IP__"})),
        ("headers", json!({"X-Key": "s3cret-header __K__"})),
        ("extra", json!({"__K__": "s3cret-extra", "__F__": {"file": file}})),
        ("sign", json!("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")),
    ];
    all.into_iter().filter(|_| maybe(random)).collect()
}

fn put(into: &mut Value, fields: Vec<(&'static str, Value)>) {
    for (name, value) in fields {
        into[name] = value;
    }
}

/// A configuration of the owner, and variables of the environment.
fn owners(random: &mut Random, world: &World, sandbox: &Sandbox) -> (Value, Vec<(String, String)>) {
    let entry = |random: &mut Random, name: &str| {
        let port = world.of(name).port();
        let user = one_of(random, &["", "s3cret-user:x@"]);
        let path = one_of(random, &["/?k=s3cret-query&n=__DOMAIN__&ip=__IP__", "/?k=__K__&n=__DOMAIN__&ip=__IP__"]);
        let mut entry =
            json!({"id": format!("http://{user}127.0.0.1:{port}{path}"), "ipv4": [format!("{name}.example.com")]});
        if maybe(random) {
            entry["ipv4"] = json!([{"name": format!("{name}.example.com"), "extra": {"__K__": "s3cret-own"}}]);
        }
        let fields = secrets(random, sandbox);
        put(&mut entry, fields);
        entry
    };
    let way = |random: &mut Random| {
        let proxies =
            PROXIES.map(|(password, name)| format!("http://u:{password}@127.0.0.1:{}", world.of(name).port()));
        json!([one_of(random, &[proxies[0].as_str(), proxies[1].as_str(), "DIRECT"])])
    };
    let mut config = if maybe(random) {
        let mut config = entry(random, "home");
        config["dns"] = json!("callback");
        config
    } else {
        let mut entries = [entry(random, "home"), entry(random, "office")];
        for entry in &mut entries {
            entry["provider"] = json!("callback");
            if maybe(random) {
                entry["proxy"] = way(random);
            }
        }
        let mut config = json!({"providers": entries});
        if random.below(3) == 0 {
            let fields = secrets(random, sandbox);
            put(&mut config, fields);
        }
        config
    };
    config["web"] = json!({"listen": "127.0.0.1:0", "allow_edit": true});
    config["index4"] = json!(format!("url:{}", world.of("source").url("/?k=s3cret-source")));
    config["proxy"] = way(random);
    if maybe(random) {
        let id = world.of("notified").url("/?k=s3cret-notify&m=__EVENT__");
        config["notify"] = json!({"id": id, "on": ["changed"]});
    }
    let variables = if random.below(3) == 0 { environment(random, sandbox) } else { Vec::new() };
    (config, variables)
}

fn environment(random: &mut Random, sandbox: &Sandbox) -> Vec<(String, String)> {
    let token = sandbox.write("token.json", r#"{"key": "s3cret-token", "ip": "__IP__"}"#);
    let variable = |(name, value): (&'static str, Value)| match name {
        "token" => ("DDNS_TOKEN_FILE".to_owned(), token.display().to_string()),
        _ => (format!("DDNS_{}", name.to_uppercase()), value.as_str().map_or(value.to_string(), str::to_owned)),
    };
    secrets(random, sandbox).into_iter().map(variable).collect()
}

/// What somebody types: an address of their own that asks for everything, by every way that there is.
fn typed(random: &mut Random, world: &World) -> String {
    let somebody = world.of("somebody");
    let fields = [
        ("name", "own".to_owned()),
        (
            "id",
            one_of(
                random,
                &[
                    somebody.url("/?k=__K__&f=__F__&n=__DOMAIN__&ip=__IP__"),
                    somebody.url("/?n=__DOMAIN__&ip=__IP__"),
                    "/?k=__K__&n=__DOMAIN__&ip=__IP__".to_owned(),
                ],
            ),
        ),
        ("body", one_of(random, &[String::new(), r#"{"k": "__K__ __F__", "ip": "__IP__"}"#.to_owned()])),
        ("domains", one_of(random, &["nas.example.com", "nas.example.com, other.example.com"]).to_owned()),
        ("index4", format!("url:{}", somebody.url("/where"))),
        ("index6", "none".to_owned()),
    ];
    fields.map(|(name, value)| format!("{name}={}", encoded(&value))).join("&")
}

/// Another address, sent to all endpoints.
fn synchronize(world: &World, page: &Page, number: usize) {
    *world.ip.lock().expect("no test thread failed") = format!("203.0.113.{number}");
    // While it loads a configuration, nobody listens for a moment.
    until(SOON, "a synchronization", || page.sandbox.run(&["sync", "-c", "config.json"]).code == 0);
}

fn nobody_else(world: &World, before: &Known, said: &str) -> Result<(), String> {
    let after = world.known();
    let new: Vec<_> = after.difference(before).filter(|known| !PROXIES.contains(known)).collect();
    if new.is_empty() { Ok(()) } else { Err(format!("{new:?} is new, after the page said {said}")) }
}

#[test]
fn i2_no_secret_reaches_anybody_who_did_not_get_it_before() {
    try_for_a_while("no secret goes elsewhere by what is added", |random| {
        let (world, mut sandbox) = (World::new(), host());
        let (config, variables) = owners(random, &world, &sandbox);
        for (name, value) in &variables {
            sandbox = sandbox.env(name, value);
        }
        let watch = Watch::start(&sandbox, &config);
        let address = address(&watch);
        let page = Page { endpoint: Endpoint::new(), sandbox, watch, address };
        synchronize(&world, &page, 8);
        synchronize(&world, &page, 9);
        if config.get("notify").is_some() {
            until(SOON, "a notification", || world.has_sent("s3cret-notify"));
        }
        let before = world.known();
        let fields = format!("{}&step=add", typed(random, &world));
        let answer = page.post("/recipes", &page.visitor("/recipes?name=own"), &fields);
        if ![303, 422].contains(&answer.status) {
            return Err(format!("{}: {}", answer.status, answer.body));
        }
        synchronize(&world, &page, 10);
        synchronize(&world, &page, 11);
        nobody_else(&world, &before, &format!("{} to {fields}\n{config:#}\n{variables:?}", answer.status))
    });
}

/// Where the environment has secrets of an endpoint, there is no set-up; those of its proxy go to that alone.
#[test]
fn i2_no_secret_of_the_environment_is_sent_by_set_up() {
    try_for_a_while("no secret goes anywhere by set-up", |random| {
        let (world, mut sandbox) = (World::new(), host());
        let variables = if maybe(random) { environment(random, &sandbox) } else { Vec::new() };
        for (name, value) in &variables {
            sandbox = sandbox.env(name, value);
        }
        if maybe(random) {
            sandbox =
                sandbox.env("http_proxy", format!("http://u:s3cret-proxy@127.0.0.1:{}", world.of("proxy").port()));
        }
        let mut watch = Watch::run(sandbox.command(&["watch", "--web", "127.0.0.1:0", "-c", "config.json"]));
        if !variables.is_empty() {
            assert_eq!(watch.ended(SOON), 2, "{}", watch.log());
            return nobody_else(&world, &Known::new(), "nothing");
        }
        let address = address(&watch);
        let page = Page { endpoint: Endpoint::new(), sandbox, watch, address };
        let (visitor, fields) = (page.visitor("/setup?name=own"), typed(random, &world));
        let mut said = String::new();
        for step in ["", "&step=send", "&step=save"] {
            said += &format!("{} ", page.post("/setup", &visitor, &format!("{fields}{step}")).status);
        }
        if said.contains("303") {
            synchronize(&world, &page, 9);
        }
        nobody_else(&world, &Known::new(), &format!("{said} to {fields}"))
    });
}
