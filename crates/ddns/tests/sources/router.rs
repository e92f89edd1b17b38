//! Section F, `router`: the outer address by NAT-PMP or `UPnP`. Against a real router (miniupnpd) behind a namespace of its own, and
//! against a scripted one for what can go wrong.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::lookup::refused;
use crate::support::tools::{Ended, LOOPBACK, inside, needed, sh, tool};
use crate::support::watching::{Endpoint, SOON, Watch, host, until};
use crate::support::{Run, Sandbox};

/// The address of the source behind the one under test.
const NEXT: &str = "203.0.113.99";

/// This namespace is the home; the router has one of its own, with a line to the internet.
const HOME: &str = "
    mount -t tmpfs none /run || exit 77
    mkdir /run/netns
    ip link set lo up
    ip netns add r || exit 77
    ip link add net0 type veth peer name lan0 netns r || exit 77
    ip addr add 192.168.77.2/24 dev net0
    ip link set net0 up
    ip -n r link set lo up
    ip -n r addr add 192.168.77.1/24 dev lan0
    ip -n r addr add 192.168.77.66/24 dev lan0
    ip -n r link set lan0 up
    ip -n r link add wan0 type veth peer name wan1
    ip -n r link set wan1 up
    ip -n r link set wan0 up
    ip -n r addr add 5.145.0.7/24 dev wan0
    ip route add default via 192.168.77.1
";

fn line(sandbox: &Sandbox, more: &str) -> Ended {
    let conf = format!(
        "ext_ifname=wan0\nlistening_ip=lan0\nhttp_port=5000\nsecure_mode=yes\n\
         uuid=0f5dd4a2-73a4-4e0b-a1b2-8a7bbcf4a6a1\n{more}\n"
    );
    let file = sandbox.write("miniupnpd.conf", conf);
    let pid = sandbox.path("miniupnpd.pid");
    let mut command = Command::new("ip");
    command.args(["netns", "exec", "r", "miniupnpd", "-d", "-f"]).arg(file).arg("-P").arg(pid);
    let log = File::create(sandbox.path("miniupnpd.log")).expect("a log");
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let router = Ended(command.spawn().expect("miniupnpd starts"));
    let listens = |log: &str| log.contains("NAT-PMP/PCP traffic") || log.contains("HTTP listening");
    until(SOON, "the router answers", || {
        let log = sandbox.read("miniupnpd.log");
        assert!(!log.contains("xiting"), "{log}");
        listens(&log)
    });
    router
}

/// What `ddns addresses` prints of the source.
fn shown(source: &str) -> Run {
    Sandbox::new().run(&["addresses", "--wide", "--index4", source, &format!("shell:echo {NEXT}"), "--index6", "false"])
}

/// On a busy machine the router may answer too late: it may be asked three times.
#[track_caller]
fn gives(source: &str, expected: &str) {
    let mut said = String::new();
    let is_said = (0..3).any(|_| {
        said = shown(source).expect(0).stdout;
        said.contains(expected)
    });
    assert!(is_said, "{source}: {expected}: {said}");
}

#[test]
fn f9_a_real_router_tells_its_outer_address() {
    let Some(_) = needed("miniupnpd") else { return };
    let Some(()) = inside(HOME) else { return };
    let sandbox = Sandbox::new();
    let both = "enable_natpmp=yes\nenable_upnp=yes";
    let router = line(&sandbox, both);
    gives("router", "5.145.0.7 would be sent");
    gives("router", "the router 192.168.77.1 said so by NAT-PMP");
    gives("router:192.168.77.1", "by NAT-PMP");
    gives("quorum:2(router, shell:echo 5.145.0.7)", "5.145.0.7 would be sent");
    drop(router);
    for version in ["yes", "no"] {
        let router = line(&sandbox, &format!("enable_natpmp=no\nenable_upnp=yes\nforce_igd_desc_v1={version}"));
        gives("router", "5.145.0.7");
        gives("router", "the router 192.168.77.1 said so by UPnP");
        drop(router);
    }
    let begun = Instant::now();
    gives("router", "the router 192.168.77.1 answers neither by NAT-PMP nor by UPnP");
    gives("router", &format!("{NEXT} would be sent"));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    // Behind another NAT, by either way: the next source counts.
    sh("ip -n r addr del 5.145.0.7/24 dev wan0; ip -n r addr add 100.64.3.4/24 dev wan0");
    for more in [both, "enable_natpmp=no\nenable_upnp=yes"] {
        let router = line(&sandbox, more);
        gives("router", "the router is behind another NAT");
        gives("router", &format!("{NEXT} would be sent"));
        drop(router);
    }
    sh("ip route del default");
    gives("router", "there is no default route; `router:ADDRESS` names a router");
}

#[test]
fn f9_k_an_announcement_of_the_router_is_a_hint_to_ask_it() {
    let Some(_) = needed("miniupnpd") else { return };
    let Some(()) = inside(HOME) else { return };
    let (files, sandbox, endpoint) = (Sandbox::new(), host(), Endpoint::new());
    let _router = line(&files, "enable_natpmp=yes\nenable_upnp=yes");
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({"index4": "router", "interval": "1h"})));
    assert_eq!(endpoint.wait(1, SOON).ip(), "5.145.0.7");
    watch.prints("accepted");
    // Somebody else in the house says what the router should say.
    let forge = "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); \
                 s.bind((\"192.168.77.66\", 0)); \
                 s.sendto(bytes([0,128,0,0,0,0,0,9,198,51,100,66]), (\"192.168.77.2\", 5350))'";
    if tool("python3").is_some() {
        sh(&format!("ip netns exec r {forge}"));
    }
    let begun = Instant::now();
    sh("ip -n r addr del 5.145.0.7/24 dev wan0; ip -n r addr add 5.145.0.99/24 dev wan0");
    assert_eq!(endpoint.wait(2, Duration::from_secs(30)).ip(), "5.145.0.99", "{}", watch.log());
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert_eq!(endpoint.ips(), ["5.145.0.7", "5.145.0.99"]);
}

/// `ddns init` asks the router when it comes to the question, and offers it where it has a public address.
#[test]
fn f9_m_init_offers_the_router_where_it_answers() {
    let Some(_) = needed("miniupnpd") else { return };
    let Some(()) = inside(HOME) else { return };
    // No name is known here: no service on the internet is asked.
    sh("mount --bind /dev/null /etc/resolv.conf");
    let init = |more: &[&str]| {
        let sandbox = Sandbox::new();
        let args = ["init", "--id", "http://127.0.0.1:1/?ip=__IP__", "--token", "", "--index6", "none"];
        let mut command = sandbox.command(&[&args, more].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        child.stdin.take().expect("a pipe").write_all(b"home.example.com\n\n\n").expect("it reads");
        let run = Run::of(&child.wait_with_output().expect("it ends")).expect(0);
        (run.stdout.split_whitespace().collect::<Vec<_>>().join(" "), sandbox.read("config.json"))
    };
    let files = Sandbox::new();
    for (more, how) in [("enable_natpmp=yes\nenable_upnp=no", "NAT-PMP"), ("enable_natpmp=no\nenable_upnp=yes", "UPnP")]
    {
        let router = line(&files, more);
        let (said, config) = init(&[]);
        let given = format!("IPv4: 5.145.0.7 from router: the router 192.168.77.1 said so by {how}");
        for part in ["Your router has the address 5.145.0.7.", "router to ask your router for it", "[router]:", &given]
        {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(config.contains("\"index4\": [\"router\"]"), "{config}");
        drop(router);
    }
    // Nothing is offered that gives no address, or that nobody asked.
    sh("ip -n r addr del 5.145.0.7/24 dev wan0; ip -n r addr add 100.64.3.4/24 dev wan0");
    let _router = line(&files, "enable_natpmp=yes\nenable_upnp=yes");
    let offline: &[&str] = &["--offline"];
    for more in [&[], offline] {
        let (said, config) = init(more);
        assert!(said.contains("[public]:") && !said.contains("your router"), "{said}");
        assert!(config.contains("\"index4\": [\"public\"]"), "{config}");
    }
}

/// A router at this address that answers a search with `location`, and requests with what `pages` says.
fn scripted(
    address: &str,
    location: String,
    pages: impl Fn(&str) -> String + Send + Sync + 'static,
) -> Arc<AtomicUsize> {
    let search = UdpSocket::bind((address, 1900)).expect("the port for searches");
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((_, from)) = search.recv_from(&mut buffer) {
            let _ = search.send_to(format!("HTTP/1.1 200 OK\r\nLOCATION: {location}\r\n\r\n").as_bytes(), from);
        }
    });
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let listener = TcpListener::bind((address, 5000)).expect("the port for pages");
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            count.fetch_add(1, Ordering::Relaxed);
            let mut buffer = [0; 4096];
            let length = stream.read(&mut buffer).unwrap_or(0);
            let head = String::from_utf8_lossy(&buffer[..length]).into_owned();
            let _ = stream.write_all(pages(head.lines().next().unwrap_or_default()).as_bytes());
        }
    });
    asked
}

fn page(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

const DESCRIPTION: &str = "<root><service><serviceType>urn:schemas-upnp-org:service:WANIPConnection:1</serviceType>\
                           <controlURL>/ctl</controlURL></service></root>";

fn told(ip: &str) -> String {
    page(&format!("<a><NewExternalIPAddress>{ip}</NewExternalIPAddress></a>"))
}

#[test]
fn f9_e_f_g_nothing_that_a_router_answers_leads_elsewhere() {
    let Some(()) = inside(LOOPBACK) else { return };
    let serving =
        |call: String| move |line: &str| if line.starts_with("GET") { page(DESCRIPTION) } else { call.clone() };
    let at = |number: u8| format!("127.0.9.{number}");
    let own = |number: u8| format!("http://127.0.9.{number}:5000/d.xml");
    scripted(&at(1), own(1), serving(told("5.145.0.7")));
    gives("router:127.0.9.1", "5.145.0.7 would be sent");
    let victim = TcpListener::bind("127.0.9.99:5000").expect("a port");
    victim.set_nonblocking(true).expect("a socket");
    for (number, location) in
        ["http://127.0.9.99:5000/d.xml", "http://localhost:5000/d", "http://u@127.0.9.99:5000/"].iter().enumerate()
    {
        let number = 10 + u8::try_from(number).expect("a small number");
        let asked = scripted(&at(number), (*location).to_owned(), |_| page(DESCRIPTION));
        gives(&format!("router:{}", at(number)), "answers neither by NAT-PMP nor by UPnP");
        assert_eq!(asked.load(Ordering::Relaxed), 0, "{location}");
    }
    let elsewhere = "HTTP/1.1 302 Found\r\nLocation: http://127.0.9.99:5000/\r\nContent-Length: 0\r\n\r\n";
    scripted(&at(20), own(20), move |_| elsewhere.to_owned());
    gives("router:127.0.9.20", "no address");
    scripted(&at(21), own(21), |line| {
        let other = DESCRIPTION.replace("/ctl", "http://127.0.9.99:5000/ctl");
        if line.starts_with("GET") { page(&other) } else { told("5.145.0.7") }
    });
    gives("router:127.0.9.21", "has no service that knows its address");
    scripted(&at(22), own(22), |_| page(&("<x>".repeat(50_000))));
    gives("router:127.0.9.22", "no address");
    for (number, call) in [
        told(""),
        told("&#53;.145.0.7"),
        told("<!-- -->5.145.0.7"),
        told("0.0.0.0"),
        told("10.9.8.7"),
        told("192.0.0.2"),
        "HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n".to_owned(),
    ]
    .into_iter()
    .enumerate()
    {
        let number = 30 + u8::try_from(number).expect("a small number");
        scripted(&at(number), own(number), serving(call));
        gives(&format!("router:{}", at(number)), &format!("{NEXT} would be sent"));
    }
    let second = DESCRIPTION.replace("WANIP", "WANPPP").replace("/ctl", "/ppp");
    scripted(&at(40), own(40), move |line| match line {
        _ if line.starts_with("GET") => page(&format!("{DESCRIPTION}{second}")),
        _ if line.contains("/ppp") => told("5.145.0.20"),
        _ => told("0.0.0.0"),
    });
    gives("router:127.0.9.40", "5.145.0.20 would be sent");
    assert!(victim.accept().is_err(), "nobody else was asked");
}

#[test]
fn f9_a_router_is_for_ipv4_alone_and_is_named_by_its_address() {
    refused(6, &json!("router")).prints("`index6`: router gives only IPv4 addresses").prints("use `default`");
    refused(6, &json!("quorum:1(router, default)")).prints("gives only IPv4 addresses");
    refused(4, &json!("router:fritz.box")).prints("needs the IPv4 address of a router");
    refused(4, &json!("ruoter")).prints("did you mean `router`?");
}
