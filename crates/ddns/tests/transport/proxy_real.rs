//! Section D, `proxy` with real proxies (D5): tinyproxy and microsocks, where they are installed.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::support::authority::Authority;
use crate::support::given::with;
use crate::support::proxies::by;
use crate::support::tools::{Ended, needed, started};
use crate::support::{Receiver, Sandbox};

fn tinyproxy(program: &Path, sandbox: &Sandbox, more: &str) -> (Ended, u16) {
    started(|port| {
        let file = sandbox.write(
            "tinyproxy.conf",
            format!(
                "Port {port}\nListen 127.0.0.1\nTimeout 10\nMaxClients 20\nLogLevel Critical\nAllow 127.0.0.1\n{more}\n"
            ),
        );
        let mut command = Command::new(program);
        command.arg("-d").arg("-c").arg(file).current_dir(sandbox.path(""));
        command
    })
}

/// The same for http and https through a proxy: delivered with the right login (or where none is needed), reported where
/// there is none or a wrong one.
#[track_caller]
fn delivers(right: &str, wrong: &[(String, &str)]) {
    let authority = Authority::new("known");
    let (plain, secure) = (Receiver::new(), authority.server("localhost"));
    for id in [plain.url("/hook?ip=__IP__").replace("127.0.0.1", "localhost"), secure.url("/hook?ip=__IP__")] {
        for (route, part) in wrong {
            let run = authority.trusted().sync(&with(&by(&id, json!([route])), &json!({"ssl": true}))).expect(1);
            run.prints(part).never_prints("right-word").never_prints("wrong-word");
        }
        assert_eq!(plain.callbacks().len() + secure.seen().len(), usize::from(id.starts_with("https")));
        let config = with(&by(&id, json!([right])), &json!({"ssl": true, "debug": true}));
        authority.trusted().sync(&config).expect(0).prints("through the proxy").never_prints("right-word");
    }
    let seen = plain.only();
    assert_eq!(seen.line, "GET /hook?ip=203.0.113.7 HTTP/1.1");
    assert_eq!((seen.header("proxy-authorization"), secure.seen().len()), (None, 1));
    assert!(!secure.seen()[0].to_lowercase().contains("proxy-authorization"));
}

#[test]
fn d5_tinyproxy_hands_on_and_gives_tunnels() {
    let Some(program) = needed("tinyproxy") else { return };
    let sandbox = Sandbox::new();
    let (_server, port) = tinyproxy(&program, &sandbox, "");
    delivers(&format!("127.0.0.1:{port}"), &[]);
}

#[test]
fn d5_tinyproxy_with_a_login() {
    let Some(program) = needed("tinyproxy") else { return };
    let sandbox = Sandbox::new();
    let (_server, port) = tinyproxy(&program, &sandbox, "BasicAuth right-user right-word");
    let route = |login: &str| format!("http://{login}127.0.0.1:{port}");
    // To a wrong login it responds with 401, as if it were the endpoint.
    let wrong = [
        (route(""), "asks for a user and password (407)"),
        (route("right-user:wrong-word@"), "proxy http://127.0.0.1:"),
    ];
    delivers(&route("right-user:right%2Dword@"), &wrong);
}

#[test]
fn e2_tinyproxy_cannot_get_at_the_endpoint() {
    let Some(program) = needed("tinyproxy") else { return };
    let sandbox = Sandbox::new();
    let (_server, port) = tinyproxy(&program, &sandbox, "");
    let nobody = crate::support::odd_server::refusing();
    for scheme in ["http", "https"] {
        let config = by(&format!("{scheme}://{nobody}/hook"), json!([format!("127.0.0.1:{port}")]));
        Sandbox::new().sync(&config).expect(1).prints(&format!("proxy http://127.0.0.1:{port}"));
    }
}

#[test]
fn d5_microsocks_with_and_without_a_login() {
    let Some(program) = needed("microsocks") else { return };
    let start = |login: &'static [&'static str]| {
        started(|port| {
            let mut command = Command::new(&program);
            command.args(["-i", "127.0.0.1", "-p", &port.to_string()]).args(login);
            command
        })
    };
    let (_open, port) = start(&[]);
    for scheme in ["socks5", "socks5h"] {
        delivers(&format!("{scheme}://127.0.0.1:{port}"), &[]);
    }
    let (_closed, port) = start(&["-u", "right-user", "-P", "right-word"]);
    for scheme in ["socks5", "socks5h"] {
        let route = |login: &str| format!("{scheme}://{login}127.0.0.1:{port}");
        let wrong = [
            (route(""), "asks for a user and password"),
            (route("right-user:wrong-word@"), "does not accept the user and password"),
        ];
        delivers(&route("right-user:right-word@"), &wrong);
    }
    let nobody = crate::support::odd_server::refusing();
    let config = by(&format!("http://{nobody}/"), json!([format!("socks5://right-user:right-word@127.0.0.1:{port}")]));
    Sandbox::new().sync(&config).expect(1).prints("cannot connect to the endpoint: connection refused");
}
