//! A world of DNS in one network namespace, on port 53 of loopback: BIND has the root, the top level `test`, the primary of
//! example.test and the resolver of the host, each in a view of its own by the address that is asked; Knot is the secondary,
//! which hears of nothing by itself. A server of the test's own has odd.test.

use std::net::{TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::Sandbox;
use crate::support::tools::{Ended, sh, skipped, tool};

/// Setup of the namespace: the addresses of the servers.
pub const SETUP: &str = "
    ip link set lo up
    for number in 1 2 3 4 5 6 7 8 9 10; do ip addr add 10.53.0.$number/32 dev lo; done
    ip addr add 203.0.113.53/32 dev lo
    ip addr add 2001:db8:53::53/128 dev lo nodad || exit 77
";

pub const RESOLVER: &str = "10.53.0.9";

/// Its server answers as a script of the test says.
pub const ODD: &str = "10.53.0.7";

/// The servers of the lab, ended with it.
pub struct DnsLab {
    folder: Sandbox,
    _named: Ended,
    _knot: Ended,
}

const START: &str = "$TTL 300\n@ SOA a.nic.test. h.test. 1 3600 600 86400 60\n";

const ROOT: &str = "@ NS a.root.\na.root. A 10.53.0.1\ntest. NS a.nic.test.\na.nic.test. A 10.53.0.2\n";

const TEST: &str = "@ NS a.nic\na.nic A 10.53.0.2
example NS ns1.example\nexample NS ns2.example\nns1.example A 10.53.0.3\nns2.example A 10.53.0.4
other NS ns.other\nns.other A 10.53.0.5
six NS ns.six\nns.six AAAA 2001:db8:53::53
half NS ns1.half\nhalf NS ns2.half\nns1.half A 10.53.0.5\nns2.half A 10.53.0.4
lame NS ns.lame\nns.lame A 10.53.0.4
gone NS ns.gone\nns.gone A 10.53.0.6
odd NS ns.odd\nns.odd A 10.53.0.7
dyn NS ns.dyn\nns.dyn A 10.53.0.8
limited NS ns.limited\nns.limited A 10.53.0.10
";

/// Names of every kind, in the zone of the primary.
const EXAMPLE: &str = "@ NS ns1\n@ NS ns2\nns1 A 10.53.0.3\nns2 A 10.53.0.4
@ A 203.0.113.7
old A 198.51.100.4
* A 203.0.113.7
none TXT x
two A 203.0.113.7\ntwo A 198.51.100.4
inside CNAME old2\nold2 CNAME two
outside CNAME host.other.test.
round1 CNAME round2\nround2 CNAME round1
child NS ns.child\nns.child A 10.53.0.5
private A 192.168.1.5
";

impl DnsLab {
    /// Starts the servers; `None` if they are not installed: the test is skipped then.
    pub fn start() -> Option<Self> {
        let needed = ["named", "knotd", "knotc", "nsupdate"].map(tool);
        let [Some(named), Some(knotd), Some(_), Some(_)] = needed else {
            skipped("`named`, `knotd` or `nsupdate` is not installed");
            return None;
        };
        let folder = Sandbox::new();
        let many: Vec<String> = (1..=60).map(|number| format!("many A 198.51.100.{number}\n")).collect();
        let own: Vec<String> = (0..60).map(|number| format!("n{number} A 203.0.113.7\n")).collect();
        let zones = [
            ("limited", format!("@ NS ns\nns A 10.53.0.10\n*.below A 203.0.113.7\n{}", own.concat())),
            ("root", ROOT.to_owned()),
            ("test", TEST.to_owned()),
            ("example", format!("{EXAMPLE}{}many A 203.0.113.7\n", many.concat())),
            ("inside", "@ NS ns1\nns1 A 192.168.1.1\nhome A 192.168.1.5\n".to_owned()),
            ("other", "@ NS ns\nns A 10.53.0.5\nhost A 203.0.113.7\na A 203.0.113.7\n".to_owned()),
            ("six", "@ NS ns\nns AAAA 2001:db8:53::53\na A 203.0.113.7\n".to_owned()),
            ("whoami", "@ NS ns\nns A 10.53.0.4\n".to_owned()),
        ];
        for (name, text) in zones {
            folder.write(&format!("{name}.zone"), format!("{START}{text}"));
        }
        folder.write("hints", ". 300 NS a.root.\na.root. 300 A 10.53.0.1\n");
        let path = folder.path("").display().to_string();
        folder.write("named.conf", named_conf(&path));
        folder.write("knot.conf", knot_conf(&path));
        let start = |program: &std::path::Path, args: &[&str], log: &str| {
            let log = std::fs::File::create(folder.path(log)).expect("a log");
            let mut command = Command::new("setpriv");
            command.args(["--pdeathsig", "KILL"]).arg(program).args(args).current_dir(folder.path(""));
            command.stdin(Stdio::null()).stdout(log.try_clone().expect("a log")).stderr(log);
            Ended(command.spawn().expect("the server starts"))
        };
        let named = start(&named, &["-g", "-c", "named.conf"], "named.log");
        let knot = start(&knotd, &["-c", "knot.conf"], "knot.log");
        let resolv = folder.write("resolv.conf", format!("nameserver {RESOLVER}\n"));
        sh(&format!("mount --bind {} /etc/resolv.conf", resolv.display()));
        let lab = Self { folder, _named: named, _knot: knot };
        for address in ["10.53.0.3:53", "10.53.0.4:53", "10.53.0.9:53"] {
            lab.until(&format!("{address} listens"), || TcpStream::connect(address).is_ok());
        }
        lab.refresh();
        Some(lab)
    }

    /// Waits until something holds, for 20 s at most.
    #[track_caller]
    fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let begun = Instant::now();
        while !holds() {
            let logs = ["named.log", "knot.log"].map(|log| self.folder.read(log));
            assert!(begun.elapsed() < Duration::from_secs(20), "{what}: never\n{}", logs.join("\n"));
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Sets the address of a name at the primary: the secondary does not hear of it.
    pub fn set(&self, name: &str, ip: &str) {
        let text = format!(
            "server 10.53.0.3\nzone example.test\nupdate delete {name} A\nupdate add {name} 300 A {ip}\nsend\n"
        );
        let nsupdate = tool("nsupdate").expect("nsupdate").display().to_string();
        sh(&format!("{nsupdate} {}", self.folder.write("update", text).display()));
    }

    /// The secondary takes over what the primary has.
    pub fn refresh(&self) {
        let run = |args: &[&str]| self.knotc(args);
        self.until("knot responds", || run(&["status"]).contains("Running"));
        let serial = |text: &str| {
            text.split("serial: ").nth(1).and_then(|rest| rest.split([' ', '|']).next().map(str::to_owned))
        };
        run(&["-b", "zone-refresh", "example.test"]);
        self.until("the zone is loaded", || {
            let is_loaded = serial(&run(&["zone-status", "example.test"])).is_some_and(|it| it != "none" && it != "-");
            if !is_loaded {
                // The primary was not ready: knot would try again only after a pause.
                run(&["-b", "zone-refresh", "example.test"]);
            }
            is_loaded
        });
    }

    /// What the log of BIND says.
    pub fn log(&self) -> String {
        self.folder.read("named.log")
    }

    /// The questions that a view of BIND heard: when, and the name and the type. Those of the lab's own servers are not among them.
    pub fn heard_by(&self, view: &str) -> Vec<(String, String)> {
        let (log, view) = (self.log(), format!("view {view}: query: "));
        let heard = |line: &str| {
            let (head, question) = line.split_once(&view)?;
            Some((head.get(..20)?.to_owned(), question.to_owned()))
        };
        log.lines().filter_map(heard).collect()
    }

    /// How many questions Knot heard over UDP.
    pub fn heard_by_secondary(&self) -> usize {
        let stats = self.knotc(&["-f", "stats", "mod-stats.request-protocol"]);
        let counts = stats.lines().filter(|line| line.contains("[udp"));
        counts.filter_map(|line| line.rsplit_once("= ")?.1.trim().parse::<usize>().ok()).sum()
    }

    fn knotc(&self, args: &[&str]) -> String {
        let mut command = Command::new(tool("knotc").expect("knotc"));
        let output = command.arg("-s").arg(self.folder.path("knot.sock")).args(args).output().expect("knotc starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

fn named_conf(path: &str) -> String {
    let view = |name: &str, address: &str, more: &str| {
        format!("view {name} {{ match-destinations {{ {address}; }}; recursion no; {more} }};\n")
    };
    let zone = |name: &str, file: &str, more: &str| {
        format!("zone \"{name}\" {{ type primary; file \"{file}.zone\"; {more} }};")
    };
    let others =
        [zone("other.test", "other", ""), zone("half.test", "other", ""), zone("child.example.test", "other", "")];
    format!(
        "options {{ directory \"{path}\"; pid-file none; session-keyfile none; dnssec-validation no; notify no; querylog yes;
            listen-on {{ 10.53.0.1; 10.53.0.2; 10.53.0.3; 10.53.0.5; 10.53.0.9; 10.53.0.10; }}; listen-on-v6 {{ 2001:db8:53::53; }}; }};
        controls {{ }};\n"
    ) + &view("root", "10.53.0.1", &zone(".", "root", ""))
        + &view("tld", "10.53.0.2", &zone("test", "test", ""))
        + &view("primary", "10.53.0.3", &zone("example.test", "example", "allow-update { any; };"))
        + &view("other", "10.53.0.5", &others.concat())
        // What is over the limit is not answered at all.
        + &view(
            "limited",
            "10.53.0.10",
            &format!("rate-limit {{ responses-per-second 5; slip 0; }}; {}", zone("limited.test", "limited", "")),
        )
        + &view("six", "2001:db8:53::53", &zone("six.test", "six", ""))
        // It has a zone of the same name, as many routers do.
        + &format!(
            "view resolver {{ match-destinations {{ {RESOLVER}; }}; recursion yes; allow-recursion {{ any; }};
                query-source address 10.53.0.8; zone \".\" {{ type hint; file \"hints\"; }}; {} }};",
            zone("example.test", "inside", "")
        )
}

fn knot_conf(path: &str) -> String {
    format!(
        "server:\n  rundir: \"{path}\"\n  listen: [ 10.53.0.4@53, 203.0.113.53@53 ]
database:\n  storage: \"{path}/knotdb\"
remote:\n  - id: primary\n    address: 10.53.0.3@53
template:\n  - id: default\n    storage: \"{path}\"\n    zonefile-sync: -1\n    global-module: mod-stats
zone:
  - domain: example.test\n    master: primary\n    zonefile-load: none
  - domain: whoami.test\n    file: whoami.zone\n    module: mod-whoami\n"
    )
}

/// What the odd server sends back: the try (from 1), and the question's bytes.
pub type OddScript = fn(usize, &[u8]) -> Vec<Vec<u8>>;

/// Answers questions for addresses and texts by a script, until the test ends; others with authority and nothing else.
pub fn odd_server(script: OddScript) {
    let socket = UdpSocket::bind((ODD, 53)).expect("port 53");
    // Others answer first, from another port and from another address (K6).
    let others = [(ODD, 0), ("10.53.0.6", 53)].map(|place| UdpSocket::bind(place).expect("a port"));
    thread::spawn(move || {
        let (mut buffer, mut tries) = ([0; 512], 0);
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let question = &buffer[..length];
            let is_ns = question[length - 4..length - 2] == [0, 2];
            for other in &others {
                let _ = other.send_to(&answer(question, [0x84, 0], &record(question, &[198, 51, 100, 66])), from);
            }
            let packets = if is_ns {
                vec![answer(question, [0x84, 0], &[])]
            } else {
                tries += 1;
                script(tries, question)
            };
            for packet in packets {
                let _ = socket.send_to(&packet, from);
            }
        }
    });
}

/// An answer with these flags, and this record behind the question.
pub fn answer(question: &[u8], flags: [u8; 2], record: &[u8]) -> Vec<u8> {
    let mut bytes = question.to_vec();
    bytes[2..4].copy_from_slice(&flags);
    bytes[7] = u8::from(!record.is_empty());
    bytes.extend(record);
    bytes
}

/// A record of the name in the question, of its type and class.
pub fn record(question: &[u8], data: &[u8]) -> Vec<u8> {
    let kind = &question[question.len() - 4..];
    let length = u16::try_from(data.len()).expect("short").to_be_bytes();
    [&[0xc0, 12][..], kind, &[0, 0, 1, 44], &length, data].concat()
}
