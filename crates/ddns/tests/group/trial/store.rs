//! Three nodes of a real etcd, and what the group's keys say.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::network::Host;
use crate::support::tools::tool;
use crate::support::watching::{ms, until};

/// The prefix of the group's keys.
const PREFIX: &str = "ddns/trial/";

const HOSTS: [Host; 3] = [Host(11), Host(12), Host(13)];

/// Longer than the nodes take to agree on a leader, on a machine that does many other things.
const AGREE: Duration = Duration::from_secs(60);

/// Who had the lease from when on, as the nodes told it: by revision, the moment when the first of them did.
type Holders = Arc<Mutex<BTreeMap<u64, (Instant, Option<String>)>>>;

/// A member as its key has it.
#[derive(Debug)]
pub struct Known {
    pub member: String,
    pub ready: bool,
}

pub struct Store {
    etcd: PathBuf,
    sandbox: Sandbox,
    nodes: [Option<Child>; 3],
    holders: Holders,
}

impl Store {
    /// Starts the nodes; none where there is no etcd.
    pub fn new() -> Option<Self> {
        let etcd = tool("etcd")?;
        let mut store = Self { etcd, sandbox: Sandbox::new(), nodes: [const { None }; 3], holders: Holders::default() };
        (0..3).for_each(|node| store.start(node));
        Self::agreed();
        for host in HOSTS {
            let holders = store.holders.clone();
            thread::spawn(move || observe(host, &holders));
        }
        Some(store)
    }

    /// As `group.store` names the nodes.
    pub fn url() -> String {
        format!("etcd://{}", HOSTS.map(|host| format!("{}:2379", host.address())).join(","))
    }

    pub fn hosts() -> [Host; 3] {
        HOSTS
    }

    pub fn start(&mut self, node: usize) {
        let peer = |node: usize| format!("http://{}:2380", HOSTS[node].address());
        let client = format!("http://{}:2379", HOSTS[node].address());
        let cluster = [0, 1, 2].map(|node| format!("n{node}={}", peer(node))).join(",");
        let mut command = HOSTS[node].command(&self.etcd);
        command.args(["--name", &format!("n{node}"), "--data-dir"]).arg(self.sandbox.path(&format!("n{node}")));
        command.args(["--listen-peer-urls", &peer(node), "--initial-advertise-peer-urls", &peer(node)]);
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--initial-cluster", &cluster, "--unsafe-no-fsync"]).env_clear();
        let log = File::options().create(true).append(true).open(self.sandbox.path(&format!("n{node}.log")));
        let log = log.expect("a file for the log");
        command.stdout(Stdio::null()).stderr(log);
        self.nodes[node] = Some(command.spawn().expect("etcd starts"));
    }

    pub fn kill(&mut self, node: usize) {
        if let Some(mut child) = self.nodes[node].take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Waits until every node knows the leader, and its place among the nodes.
    #[track_caller]
    pub fn agreed() -> usize {
        let mut leader = None;
        until(AGREE, "the nodes of etcd agree on a leader", || {
            leader = leader_of(HOSTS.map(|host| ask(host, "maintenance/status", &json!({}))));
            leader.is_some()
        });
        leader.expect("a leader")
    }

    /// The members whose leases live.
    pub fn members() -> Vec<Known> {
        let prefix = format!("{PREFIX}members/");
        let end = format!("{PREFIX}members0");
        let query = json!({"key": BASE64_STANDARD.encode(prefix), "range_end": BASE64_STANDARD.encode(end)});
        let Some(answer) = HOSTS.iter().find_map(|host| ask(*host, "kv/range", &query)) else { return Vec::new() };
        let values = answer["kvs"].as_array().map(Vec::as_slice).unwrap_or_default();
        let known = values.iter().filter_map(|item| {
            let value = text_of(&item["value"])?;
            Some(Known { member: value["member"].as_str()?.to_owned(), ready: value["ready"].as_bool()? })
        });
        known.collect()
    }

    /// Who has the lease now, as far as was told.
    pub fn holder(&self) -> Option<String> {
        let holders = self.holders.lock().expect("no test thread failed");
        holders.values().next_back().and_then(|(_, member)| member.clone())
    }

    /// Whether this member could send at that moment: it had the lease, or got it so shortly after that the news may have
    /// come later than its request.
    pub fn could_send(&self, member: &str, at: Instant) -> bool {
        let holders = self.holders.lock().expect("no test thread failed");
        let is_it = |(_, holder): &(Instant, Option<String>)| holder.as_deref() == Some(member);
        let had = holders.values().rfind(|(seen, _)| *seen <= at).is_some_and(is_it);
        had || holders.values().filter(|(seen, _)| *seen > at && *seen < at + ms(1000)).any(is_it)
    }

    /// The last lines of what the nodes logged.
    pub fn logs(&self) -> String {
        let last = |node: usize| {
            let log = self.sandbox.read(&format!("n{node}.log"));
            let lines: Vec<&str> = log.lines().collect();
            format!("--- etcd {node}\n{}\n", lines[lines.len().saturating_sub(20)..].join("\n"))
        };
        [0, 1, 2].map(last).concat()
    }

    /// How often the lease changed hands, or was free.
    pub fn changes(&self) -> usize {
        self.holders.lock().expect("no test thread failed").len()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        (0..3).for_each(|node| self.kill(node));
    }
}

/// The place of the leader that all nodes name.
fn leader_of(answers: [Option<Value>; 3]) -> Option<usize> {
    let [first, second, third] = answers;
    let answers = [first?, second?, third?];
    let leader = answers[0]["leader"].as_str()?;
    let all = answers.iter().all(|answer| answer["leader"] == leader);
    all.then(|| answers.iter().position(|answer| answer["header"]["member_id"] == leader)).flatten()
}

/// The JSON in a value of a key.
fn text_of(value: &Value) -> Option<Value> {
    serde_json::from_slice(&BASE64_STANDARD.decode(value.as_str()?).ok()?).ok()
}

/// A request to a node, and the stream of its response; HTTP/1.0, so that it is not cut into chunks.
fn opened(host: Host, path: &str, body: &Value) -> Option<BufReader<TcpStream>> {
    let address = SocketAddr::from((host.address(), 2379));
    let mut stream = TcpStream::connect_timeout(&address, ms(500)).ok()?;
    let body = body.to_string();
    let head = format!("POST /v3/{path} HTTP/1.0\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(head.as_bytes()).ok()?;
    Some(BufReader::new(stream))
}

/// The response of a node; none where it has none in time, or an error.
fn ask(host: Host, path: &str, body: &Value) -> Option<Value> {
    let mut stream = opened(host, path, body)?;
    stream.get_mut().set_read_timeout(Some(ms(2000))).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    head.split(' ').nth(1).filter(|status| *status == "200")?;
    serde_json::from_str(body).ok()
}

/// Notes who has the lease, as one node tells it, until the test ends.
fn observe(host: Host, holders: &Holders) {
    loop {
        let next = holders.lock().expect("no test thread failed").keys().next_back().map_or(1, |last| last + 1);
        let key = BASE64_STANDARD.encode(format!("{PREFIX}holder"));
        let watch = json!({"create_request": {"key": key, "start_revision": next.to_string()}});
        let lines = opened(host, "watch", &watch).map(BufRead::lines);
        for line in lines.into_iter().flatten().map_while(Result::ok) {
            let seen = Instant::now();
            let Ok(news) = serde_json::from_str::<Value>(&line) else { continue };
            let events = news["result"]["events"].as_array().map(Vec::as_slice).unwrap_or_default();
            for event in events {
                let revision = event["kv"]["mod_revision"].as_str().and_then(|text| text.parse().ok());
                let revision: u64 = revision.expect("an event has a revision");
                let holder =
                    text_of(&event["kv"]["value"]).and_then(|value| Some(value["member"].as_str()?.to_owned()));
                holders.lock().expect("no test thread failed").entry(revision).or_insert((seen, holder));
            }
        }
        thread::sleep(ms(50));
    }
}
