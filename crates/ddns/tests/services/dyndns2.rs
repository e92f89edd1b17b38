//! H4, H5: the whole table of return codes of dyndns2, over several runs that share a cache.

use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::support::given::{ends, home, with};
use crate::support::{Received, Receiver, Response, Run, Sandbox};

/// What the runs after a return code do.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Next {
    /// Nothing, until the address changes.
    UpToDate,
    /// They send it again.
    Again,
    /// They hold it back for so long, other addresses too.
    HeldBack(&'static str),
    /// They refuse to send it, other addresses too, until somebody says so.
    Stopped,
}

use Next::{Again, HeldBack, Stopped, UpToDate};

const TABLE: [(u16, &str, Next); 46] = [
    (200, "good 203.0.113.7", UpToDate),
    (200, "good 203.0.113.7\r\n", UpToDate),
    (200, "good", UpToDate),
    (202, "good", UpToDate),
    (200, "nochg 203.0.113.7", UpToDate),
    (200, "nochg", UpToDate),
    (200, "good 127.0.0.1", Stopped),
    (200, "nochg 198.51.100.1", Stopped),
    (200, "good 203.0.113.7\ngood 127.0.0.1", Stopped),
    (200, "good 203.0.113.7\ngood 2001:db8::7", UpToDate),
    (200, "badauth", Stopped),
    (401, "badauth", Stopped),
    (200, "badagent", Stopped),
    (403, "badagent", Stopped),
    (200, "abuse", Stopped),
    (403, "abuse", Stopped),
    (200, "nohost", Stopped),
    (404, "nohost", Stopped),
    (200, "notfqdn", Stopped),
    (400, "notfqdn", Stopped),
    (200, "numhost", Stopped),
    (200, "!donator", Stopped),
    (200, "!yours", Stopped),
    (200, "!active", Stopped),
    (200, "badsys", Stopped),
    (200, "badip", Stopped),
    (200, "911", HeldBack("30 min")),
    (500, "911", HeldBack("30 min")),
    (200, "dnserr", HeldBack("30 min")),
    (200, "servererror", HeldBack("30 min")),
    (200, "interror", HeldBack("30 min")),
    (200, "w300s", HeldBack("5 min")),
    (200, "w300", HeldBack("5 min")),
    (200, "w10m", HeldBack("10 min")),
    (200, "w1h", HeldBack("60 min")),
    (200, "badrequest", Again),
    (200, "welcome", Again),
    (200, "goodness", Again),
    (200, "<html>", Again),
    (200, "", Again),
    (204, "", UpToDate),
    (401, "", Again),
    (404, "not found", Again),
    (500, "good 203.0.113.7", Again),
    (500, "", Again),
    (503, "nochg", Again),
];

/// A service that says what it is told to, to whoever asks as dyndns2 wants it.
struct Service {
    receiver: Receiver,
    says: Arc<Mutex<(u16, String)>>,
}

impl Service {
    fn new() -> Self {
        let says = Arc::new(Mutex::new((200, String::new())));
        let said = Arc::clone(&says);
        let receiver = Receiver::responding(move |request| {
            if !is_right(request) {
                return Response::with_body(400, &format!("this is no update: {request:?}"));
            }
            let (status, body) = said.lock().expect("no test thread failed").clone();
            Response::with_body(status, &body)
        });
        Self { receiver, says }
    }

    /// What it says from now on, and the address that the host has.
    fn set(&self, (status, body): (u16, &str), ip: &str) {
        *self.says.lock().expect("no test thread failed") = (status, body.to_owned());
        self.receiver.set_ip(ip);
    }

    /// One run with these options, and how many requests it sent.
    fn run(&self, sandbox: &Sandbox, options: &[&str]) -> (Run, usize) {
        let id = self.receiver.url("/nic/update?hostname=__DOMAIN__&myip=__IP__").replace("//", "//me:Secret123@");
        let more = json!({"index4": self.receiver.index4(), "expect": "dyndns2"});
        sandbox.write("config.json", with(&home(&id), &more).to_string());
        let run = sandbox.run(&[&["-c", "config.json"], options].concat()).never_prints("Secret123");
        (run, self.receiver.take().len())
    }
}

fn is_right(request: &Received) -> bool {
    request.line.starts_with("GET /nic/update?hostname=home.example.com&myip=203.0.113.")
        && request.header("Authorization") == Some("Basic bWU6U2VjcmV0MTIz")
        && request.header("User-Agent").is_some_and(|agent| agent.starts_with("ddns-callback/"))
}

/// What the first run says.
fn sentence(status: u16, body: &str, next: Next) -> String {
    let words = body.trim();
    let response = if words.is_empty() { format!("{status} with no text") } else { format!("{status} `{words}`") };
    match next {
        // Where the status is none of success, it says more than a text that is no return code.
        Again if status >= 300 => format!("failed: the endpoint responded with {status} "),
        UpToDate if words.starts_with("nochg") || words.is_empty() => {
            format!("accepted; the service already had this address ({status}")
        }
        UpToDate => format!("accepted ({status}"),
        Again => format!("failed: the endpoint responded with {response}"),
        HeldBack(_) => format!("failed: the endpoint asks to wait: {response}"),
        Stopped => match words.lines().last().and_then(|line| line.split_once(' ')) {
            Some((code @ ("good" | "nochg"), ip)) => {
                format!("stopped: the endpoint set {ip} instead of 203.0.113.7: {status} `{code} {ip}`")
            }
            _ => format!("stopped: the endpoint refused it permanently: {response}"),
        },
    }
}

/// An exit status, a number of requests, and a part of what is printed.
type Expected = ((i32, usize), String);

/// Fails unless a run went like this.
#[track_caller]
fn check((run, sent): (Run, usize), ((code, requests), said): &Expected, case: &str) {
    ends(&run, *code, case);
    assert_eq!(sent, *requests, "{case}: requests\n{}", run.stderr);
    assert!(run.stderr.contains(said.as_str()), "{case}: {said:?} is missing:\n{}", run.stderr);
}

#[test]
fn h4_every_return_code_of_dyndns2_decides_what_the_next_runs_do() {
    for (status, body, next) in TABLE {
        let (service, sandbox) = (Service::new(), Sandbox::new());
        let case = |number: u8| format!("{status} {body:?}, run {number}");

        service.set((status, body), "203.0.113.7");
        let first = ((i32::from(next != UpToDate), 1), sentence(status, body, next));
        check(service.run(&sandbox, &[]), &first, &case(1));

        // From now on the service accepts everything.
        service.set((200, "good"), "203.0.113.7");
        let accepted = ((0, 1), "accepted (200".to_owned());
        let nothing = ((0, 0), String::new());
        let (same, changed, asked) = match next {
            UpToDate => (nothing.clone(), accepted, nothing.clone()),
            Again => (accepted.clone(), accepted, nothing.clone()),
            HeldBack(time) => {
                let held = ((1, 0), format!("held back for {time}: the service's last answer calls for a wait"));
                (held.clone(), held.clone(), held)
            }
            Stopped => {
                let line = body.lines().last().unwrap_or_default();
                let refused = ((1, 0), format!("the service refused it permanently with `{line}`"));
                (refused.clone(), refused, accepted)
            }
        };
        check(service.run(&sandbox, &[]), &same, &case(2));
        service.receiver.set_ip("203.0.113.8");
        check(service.run(&sandbox, &[]), &changed, &case(3));
        check(service.run(&sandbox, &["--retry-stopped"]), &asked, &case(4));
        let last = if matches!(next, HeldBack(_)) { asked } else { nothing };
        check(service.run(&sandbox, &[]), &last, &case(5));
    }
}

/// A line for each domain: what is said of the one that waits does not name the one that was accepted.
#[test]
fn h7_the_domain_that_waits_is_named_not_the_one_that_was_accepted() {
    let receiver = Receiver::responding(|_| Response::with_body(200, "nochg 203.0.113.7\n911"));
    let sandbox = Sandbox::new();
    let more = json!({"ipv4": ["a.example.com", "b.example.com"], "combine": {"domains": 2}, "expect": "dyndns2",
        "index4": receiver.index4()});
    let config = with(&home(&receiver.url("/?h=__DOMAINS__&ip=__IP__")), &more);
    sandbox.sync(&config).expect(1).prints("a.example.com A 203.0.113.7: accepted");
    let run = sandbox.sync(&config).expect(1).prints("b.example.com A 203.0.113.7: held back for 30 min");
    run.never_prints("a.example.com A 203.0.113.7: held back");
    receiver.set_ip("203.0.113.8");
    sandbox.sync(&config).expect(1).prints("b.example.com A 203.0.113.8: held back for 30 min");
    assert_eq!(receiver.callbacks().len(), 1);
}

/// Fewer lines than domains: nobody can tell which domain was accepted.
#[test]
fn h4_a_refusal_in_fewer_lines_than_domains_is_about_all_of_them() {
    let receiver = Receiver::responding(|_| Response::with_body(200, "good\nbadauth"));
    let sandbox = Sandbox::new();
    let names = ["a.example.com", "b.example.com", "c.example.com"];
    let more = json!({"ipv4": names, "combine": {"domains": 3}, "expect": "dyndns2", "index4": receiver.index4()});
    let config = with(&home(&receiver.url("/?h=__DOMAINS__&ip=__IP__")), &more);
    let mut run = sandbox.sync(&config).expect(1).prints("3 failed").never_prints(": accepted");
    for name in names {
        run = run.prints(&format!("{name} A 203.0.113.7: stopped: the endpoint refused it permanently: 200 `badauth`"));
    }
    sandbox.sync(&config).expect(1).prints("3 stopped");
    assert_eq!(receiver.callbacks().len(), 1);
}

#[test]
fn e8_h4_force_says_why_nothing_is_sent_after_the_third_nochg() {
    let receiver = Receiver::responding(|_| Response::with_body(200, "nochg"));
    let sandbox = Sandbox::new();
    let config = with(&home(&receiver.url("/?ip=__IP__")), &json!({"cache_max_age": 0, "expect": "dyndns2"}));
    for _ in 0..3 {
        sandbox.sync(&config).expect(0);
    }
    sandbox.sync(&config).expect(0).never_prints("not sent");
    let run = sandbox.run(&["-c", "config.json", "--force", "home.example.com"]).expect(0);
    run.prints(
        "home.example.com A 203.0.113.7: not sent: the service said three times in a row that it has this address",
    );
    assert_eq!(receiver.callbacks().len(), 3);
}
