//! `ddns init --recipe` for services with requests of their own kind, and secrets in files of their own (H12, H13).

use crate::support::fakes::PEM;
use crate::support::{Receiver, Response, Sandbox, mode};

#[test]
fn h12_a_recipe_may_choose_method_and_headers() {
    let receiver = Receiver::responding(|request| match request.line.split(' ').next() {
        Some("GET") => Response::with_body(200, r#"{"rrsets": []}"#),
        _ => Response::status(204),
    });
    let sandbox = Sandbox::new();
    let (base, index4) = (format!("base={}", receiver.url("/")), receiver.index4());
    let args = ["init", "--recipe", "powerdns", "--ipv4", "home.example.com", "--index4", &index4, "--set", &base];
    let more = ["--set", "key=S3cret-of-mine", "--set", "zone=example.com"];
    let run = sandbox.run(&[&args[..], &more].concat()).expect(0).never_prints("S3cret");
    assert!(run.stdout.contains("PATCH /api/v1/servers/localhost/zones/example.com. "), "{}", run.stdout);
    assert_eq!(mode(&sandbox.path("config.json")), 0o600);
    assert!(sandbox.read("config.json").contains("from the recipe `powerdns`"));
    sandbox.run(&["check"]).expect(0).never_prints("warning:");
    sandbox.run(&[]).expect(0).never_prints("warning");
    let [_, sent] = &receiver.callbacks()[..] else { panic!("two requests") };
    assert_eq!(sent.line, "PATCH /api/v1/servers/localhost/zones/example.com. HTTP/1.1");
    assert_eq!(sent.header("X-API-Key"), Some("S3cret-of-mine"));
    assert_eq!(sent.json()["rrsets"][0]["records"][0]["content"], "203.0.113.7");
}

#[test]
fn h13_secrets_of_a_recipe_can_have_files_of_their_own() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let (base, index4) = (format!("base={}", receiver.url("/")), receiver.index4());
    let args = ["init", "--recipe", "gotify", "--ipv4", "home.example.com", "--index4", &index4, "--set", &base];
    sandbox
        .run(&[&args[..], &["--set", "token=s3cret-of-mine", "--secrets", "keys"]].concat())
        .expect(0)
        .never_prints("s3cret");
    assert!(!sandbox.read("config.json").contains("s3cret"));
    assert_eq!(sandbox.read("keys/token"), "s3cret-of-mine\n");
    assert_eq!((mode(&sandbox.path("keys")), mode(&sandbox.path("keys/token"))), (0o700, 0o600));
    sandbox.run(&[]).expect(0).never_prints("s3cret");
    assert_eq!(receiver.only().header("X-Gotify-Key"), Some("s3cret-of-mine"));
}

/// A key that the service gave as a file is used where it is: only its path is written.
#[test]
fn h12_h13_a_key_file_stays_where_it_is() {
    let sandbox = Sandbox::new();
    let init = |path: &str| {
        let key = format!("key={path}");
        let set = ["--set", "login=me", "--set", "zone=example.com", "--set", &key];
        let domain = ["--ipv4", "home.example.com", "--index4", "shell:echo 203.0.113.7"];
        sandbox.run(&[&["init", "--recipe", "transip"], &domain[..], &set].concat())
    };
    init("no.pem").expect(2).prints("no.pem does not exist");
    sandbox.write("bad.pem", "s3cret");
    init("bad.pem").expect(2).prints("is not in PEM form").never_prints("s3cret");
    sandbox.write("key.pem", PEM);
    init("key.pem").expect(0);
    let text = sandbox.read("config.json");
    let path = sandbox.path("key.pem").canonicalize().expect("a path").display().to_string();
    assert!(text.contains(&path) && !text.contains("-----"), "{text}");
    assert!(sandbox.run(&["check"]).expect(0).stdout.contains("every user on this host can read the file"));
}
