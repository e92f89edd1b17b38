//! Section D over https (D6) with a real server: nginx, where it is installed.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, IsCa, date_time_ymd};
use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::authority::{Authority, params_for};
use crate::support::given::{home, with};
use crate::support::tools::{Ended, needed, started};

/// nginx that responds with 204 and logs each request to `access.log`.
fn nginx(program: &Path, sandbox: &Sandbox, (certificate, key): &(String, String), more: &str) -> (Ended, u16) {
    sandbox.write("server.pem", certificate);
    sandbox.write("server.key", key);
    sandbox.write("error.log", "");
    started(|port| {
        let folder = sandbox.path("");
        let folder = folder.display();
        let paths: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {folder}/{name};\n"))
            .concat();
        let text = format!(
            "daemon off;\nmaster_process off;\nworker_processes 1;\npid {folder}/nginx.pid;\nerror_log {folder}/error.log;\n\
             events {{ worker_connections 64; }}\n\
             http {{\n{paths}log_format line '$request $ssl_protocol';\naccess_log {folder}/access.log line;\n\
             server {{\nlisten 127.0.0.1:{port} ssl;\nserver_name localhost;\n\
             ssl_certificate {folder}/server.pem;\nssl_certificate_key {folder}/server.key;\n{more}\n\
             location / {{ return 204; }}\n}}\n}}\n"
        );
        let file = sandbox.write("nginx.conf", text);
        let mut command = Command::new(program);
        command.arg("-p").arg(sandbox.path("")).arg("-c").arg(file).arg("-e").arg(sandbox.path("error.log"));
        command
    })
}

fn secure(port: u16, ssl: &Value) -> Value {
    let id = format!("https://localhost:{port}/hook?ip=__IP__");
    with(&home(&id), &json!({"ssl": ssl, "proxy": "DIRECT", "timeout": 5}))
}

/// The requests in nginx's log, which it writes after it has responded: so many are waited for.
fn requests(sandbox: &Sandbox, count: usize) -> Vec<String> {
    let begun = Instant::now();
    loop {
        let text = fs::read_to_string(sandbox.path("access.log")).unwrap_or_default();
        let seen: Vec<String> = text.lines().filter(|line| line.starts_with("GET")).map(str::to_owned).collect();
        if seen.len() >= count || begun.elapsed() > Duration::from_secs(5) {
            return seen;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn d6_nginx_with_a_private_ca() {
    let Some(program) = needed("nginx") else { return };
    let (own, system) = (Authority::new("own"), Authority::new("system"));
    for protocol in ["TLSv1.2", "TLSv1.3"] {
        let place = Sandbox::new();
        let more = format!("ssl_protocols {protocol};");
        let (_server, port) = nginx(&program, &place, &own.files(&params_for("localhost")), &more);
        let sandbox = system.trusted();
        sandbox.write("ca.pem", &own.pem);
        sandbox.sync(&secure(port, &json!(true))).expect(1).prints("an issuer that this system does not trust");
        // Several requests on one connection.
        let names: Vec<String> = (0..5).map(|number| format!("d{number}.example.com")).collect();
        let config = with(&secure(port, &json!("ca.pem")), &json!({"ipv4": names, "concurrency": 1}));
        sandbox.sync(&config).expect(0).prints("5 accepted").never_prints("warning");
        let seen = requests(&place, 5);
        assert_eq!(seen.len(), 5, "{seen:?}");
        assert_eq!(seen[0], format!("GET /hook?ip=203.0.113.7 HTTP/1.1 {protocol}"));
    }
}

#[test]
fn d6_nginx_with_a_certificate_that_is_wrong() {
    let Some(program) = needed("nginx") else { return };
    let own = Authority::new("own");
    let mut expired = params_for("localhost");
    (expired.not_before, expired.not_after) = (date_time_ymd(2001, 1, 1), date_time_ymd(2002, 1, 1));
    for (params, part) in [(expired, "has expired"), (params_for("other.example.com"), "is for another name")] {
        let place = Sandbox::new();
        let (_server, port) = nginx(&program, &place, &own.files(&params), "");
        for ssl in [json!(true), json!("auto")] {
            own.trusted().sync(&secure(port, &ssl)).expect(1).prints(part);
        }
        assert_eq!(requests(&place, 0), [""; 0], "{part}");
        own.trusted().sync(&secure(port, &json!(false))).expect(0);
        assert_eq!(requests(&place, 1).len(), 1, "{part}");
    }
}

#[test]
fn d6_nginx_with_a_certificate_that_signed_itself() {
    let Some(program) = needed("nginx") else { return };
    let key = rcgen::KeyPair::generate().expect("a key");
    let mut params: CertificateParams = params_for("localhost");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let pem = params.self_signed(&key).expect("a certificate").pem();
    let place = Sandbox::new();
    let (_server, port) = nginx(&program, &place, &(pem.clone(), key.serialize_pem()), "");
    let sandbox = Authority::new("system").trusted();
    sandbox.sync(&secure(port, &json!(true))).expect(1).prints("is self-signed");
    sandbox.sync(&secure(port, &json!("auto"))).expect(0).prints("is trusted unverified");
    sandbox.write("own.pem", pem);
    sandbox.sync(&with(&secure(port, &json!("own.pem")), &json!({"cache": false}))).expect(0).never_prints("warning");
    assert_eq!(requests(&place, 2).len(), 2);
}

#[test]
fn e2_nginx_that_wants_a_clients_certificate_is_reported() {
    let Some(program) = needed("nginx") else { return };
    let own = Authority::new("own");
    let place = Sandbox::new();
    let file = place.write("clients.pem", &own.pem);
    let more = format!("ssl_verify_client on;\nssl_client_certificate {};", file.display());
    let (_server, port) = nginx(&program, &place, &own.files(&params_for("localhost")), &more);
    own.trusted().sync(&secure(port, &json!(true))).expect(1).prints("responded with 400 Bad Request");
}
