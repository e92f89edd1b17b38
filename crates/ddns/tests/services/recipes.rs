//! H12: recipes of the program, with a receiver in the place of the service.

use std::fs;
use std::path::Path;

use crate::support::{Receiver, Response, Run, Sandbox};

/// Writes what a recipe makes, its service replaced by the receiver.
pub fn init(sandbox: &Sandbox, receiver: &Receiver, (recipe, host): (&str, &str), args: &[&str]) -> Run {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../recipes/{recipe}.json"));
    let text = fs::read_to_string(path).expect("a recipe").replace("https://", "http://");
    assert!(text.contains(host), "{recipe}");
    sandbox.write("my.json", text.replace(host, &format!("127.0.0.1:{}", receiver.port())));
    sandbox.run(&[&["init", "--recipe", "./my.json"], args].concat())
}

pub const IPV4: [&str; 4] = ["--ipv4", "home.example.com", "--index4", "shell:echo 203.0.113.7"];
const IPV6: [&str; 3] = ["--ipv6", "home.example.com", "--index6"];

#[test]
fn h12_h7_inwx_gets_both_addresses_in_one_request_or_none() {
    let receiver = Receiver::responding(|_| Response::with_body(200, "good"));
    let answers = ["--set", "user=u", "--set", "password=p"];
    for (index6, code, sent) in [("shell:echo 2001:db8::7", 0, 1), ("shell:false", 1, 0)] {
        let sandbox = Sandbox::new();
        let args = [&IPV4[..], &IPV6, &[index6], &answers].concat();
        let shown = init(&sandbox, &receiver, ("inwx", "dyndns.inwx.com"), &args).expect(0);
        assert_eq!(shown.stdout.matches("What is sent for").count(), 1, "{}", shown.stdout);
        sandbox.run(&[]).expect(code);
        let seen: Vec<String> = receiver.take().iter().map(|request| request.target().to_owned()).collect();
        assert_eq!(seen, vec!["/nic/update?myip=203.0.113.7&myipv6=2001:db8::7"; sent]);
    }
    // The account has one host: two entries would change its records in turn.
    let args = [&IPV4[..], &["--ipv6", "www.example.com"], &answers].concat();
    let run = init(&Sandbox::new(), &receiver, ("inwx", "dyndns.inwx.com"), &args).expect(2);
    run.prints("give the same domains for IPv4 and IPv6");
    let strato = [&IPV4[..], &["--ipv6", "www.example.com", "--index6", "shell:false"], &answers].concat();
    init(&Sandbox::new(), &receiver, ("strato", "dyndns.strato.com"), &strato).expect(0);
}

/// C6 encodes an `=` in a value, and the service wants it as it is: the key is no value, it is written into the address.
#[test]
fn h12_c6_g2_a_key_of_freedns_is_sent_as_it_is_typed_and_is_not_shown() {
    let receiver = Receiver::responding(|_| Response::with_body(200, "Updated"));
    let freedns = ("freedns", "freedns.afraid.org");
    let keys = ["VmRDUGRDNjAxOjE0MDA4NjA=", "U0dYbm9vYlpSQU1qMTpXYw==", "QWJjREVGMTIzNDU2Nzg5MHh5"];
    let sandbox = Sandbox::new();
    let set = |name: &str, key: &str| format!("key.{name}={key}");
    let [home, www, home6] =
        [set("A.home.example.com", keys[0]), set("A.www.example.com", keys[1]), set("AAAA.home.example.com", keys[2])];
    let domains = ["--ipv4", "home.example.com", "www.example.com", "--index4", "shell:echo 203.0.113.7"];
    let answers = ["--set", &home, "--set", &www, "--set", &home6];
    let args = [&domains[..], &IPV6, &["shell:echo 2001:db8::7"], &answers].concat();
    let shown = init(&sandbox, &receiver, freedns, &args).expect(0);
    let runs = [
        sandbox.run(&["preview"]),
        sandbox.run(&["check", "--wide"]).expect(0),
        sandbox.run(&["--debug"]).expect(0),
        sandbox.run(&["status"]),
        shown,
    ];
    for run in runs {
        keys.iter().fold(run, |run, key| run.never_prints(key.trim_end_matches('=')));
    }
    let mut seen: Vec<String> = receiver.take().iter().map(|request| request.target().to_owned()).collect();
    seen.sort();
    let path = "/dynamic/update.php";
    let mut expected = [
        format!("{path}?{}&address=203.0.113.7", keys[0]),
        format!("{path}?{}&address=203.0.113.7", keys[1]),
        format!("{path}?{}&address=2001:db8::7", keys[2]),
    ];
    expected.sort();
    assert_eq!(seen, expected);
    // Nothing that is typed can add a parameter.
    for key in ["key=a&b=c", "key=a#b", "key=a b", "key=a=b", "key=a%26"] {
        let args = [&IPV4[..], &["--set", key]].concat();
        init(&Sandbox::new(), &receiver, freedns, &args)
            .expect(2)
            .prints("does not look like the key of the record")
            .prints("e.g. --set key=…");
    }
}

/// H5: the login that failed is the only one.
#[test]
fn h12_h5_dnspod_is_asked_once_with_a_wrong_token() {
    let receiver = Receiver::responding(|_| Response::with_body(200, r#"{"status":{"code":"-1"}}"#));
    let sandbox = Sandbox::new();
    let names = ["a.example.com", "b.example.com", "c.example.com"];
    let answers = ["token=1,wrong", "zone=example.com", "contact=me@example.com"];
    let answers: Vec<&str> = answers.iter().flat_map(|answer| ["--set", answer]).collect();
    let args = [&["--ipv4"], &names[..], &["--index4", "shell:echo 203.0.113.7"], &answers].concat();
    init(&sandbox, &receiver, ("dnspod", "dnsapi.cn"), &args).expect(0);
    sandbox.run(&[]).expect(1).prints("2 stopped");
    sandbox.run(&[]).expect(1).prints("3 stopped");
    let sent = receiver.only();
    assert_eq!(sent.header("User-Agent"), Some("ddns-callback/1 (me@example.com)"));
}

/// The API behind it is gone, and what is in its place answers everything with 200.
#[test]
fn h12_e7_a_recipe_of_a_service_that_has_ended_names_the_other() {
    let sandbox = Sandbox::new();
    for args in [&["init", "--recipe", "hetzner", "--ipv4", "home.example.com"][..], &["recipes", "show", "Hetzner"]] {
        sandbox.run(args).expect(2).prints("the recipe `hetzner` was removed").prints("use `hetzner-cloud`");
    }
    let found = sandbox.run(&["recipes", "hetzner"]).expect(0).stdout;
    assert!(found.contains("  hetzner-cloud ") && !found.contains("  hetzner "), "{found}");
    assert!(!sandbox.path("config.json").exists());
}
