//! Section G for the commands that show requests and settings: over many configurations, right and wrong ones, no output
//! holds a secret.

use serde_json::{Map, Value, json};

use crate::support::Sandbox;
use crate::support::given::SOURCE;
use crate::support::secret_forms::base64;

/// Numbers that look as if thrown, the same in every run.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % sides
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.throw(all.len())]
    }
}

/// What every secret begins with, so that it is found in whatever form it comes to light.
const MARK: &str = "Xq7Zk";

/// A secret of any letters; percent-encoded where it is to stand in an address.
fn secret(dice: &mut Dice) -> (String, String) {
    let tail: String = (0..dice.throw(12))
        .map(|_| dice.one_of(&["a", "9", "'", "\"", "\\", "ü", " ", "/", "@", ":", "&", "="]))
        .collect();
    let secret = format!("{MARK}{tail}end");
    let coded = secret.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    (coded.collect(), secret)
}

/// A configuration with secrets in some of the places where one can stand; some are wrong.
fn configuration(dice: &mut Dice, secrets: &mut Vec<String>) -> Value {
    let (coded, plain) = secret(dice);
    let mut config = Map::new();
    let mut set = |name: &str, value: Value| config.insert(name.to_owned(), value);
    set("dns", json!("callback"));
    let user = dice.one_of(&["", "u:SECRET@", "SECRET:p@", "SECRET@"]);
    let path = dice.one_of(&["/", "/SECRETSECRETSECRET/x", "/hook"]);
    let query =
        dice.one_of(&["", "?k=SECRET", "?ip=__IP__&k=SECRET&d=__DOMAIN__", "?SECRET", "?z=__ZONE__&k=xSECRET#SECRET"]);
    let scheme = dice.one_of(&["http://", "https://", "http://", "", "ftp://"]);
    set("id", json!(format!("{scheme}{user}127.0.0.1:9{path}{query}").replace("SECRET", &coded)));
    if dice.throw(4) == 0 {
        set("endpoint", json!(format!("http://u:{coded}@127.0.0.1:9/?k={coded}")));
    }
    match dice.throw(6) {
        0 => set("token", json!({"k": plain, "deep": [{"x": format!("a{plain}__IP__")}], "ip": "__IP__"})),
        1 => set("token", json!(json!({"k": plain, "ttl": "__TTL__"}).to_string())),
        2 => set("token", json!(format!("{{\"k\": \"{MARK}, \"t\": __TTL__"))),
        3 => set("token", json!([plain, "__ZONE__"])),
        _ => None,
    };
    match dice.throw(5) {
        0 | 1 => set("extra", json!({"__ZONE__": plain})),
        2 => set("extra", json!({"note": plain, "__ZONE__": [plain]})),
        _ => None,
    };
    let sources = [
        json!(SOURCE),
        json!([format!("shell:echo {MARK}; exit 3"), SOURCE]),
        json!([format!("url:http://u:{coded}@127.0.0.1:9/?k={coded}"), SOURCE]),
        json!(format!("cmd:echo {MARK}")),
        json!([format!("nonsense:{MARK}"), SOURCE]),
    ];
    set("index4", sources[dice.throw(sources.len())].clone());
    set("ipv4", json!(["home.example.com", "*.example.org"]));
    if dice.throw(5) == 0 {
        set("ttl", json!("no number"));
    }
    secrets.extend([plain.clone(), coded]);
    Value::Object(config)
}

#[test]
fn g2_neither_preview_nor_check_shows_a_secret() {
    let mut dice = Dice(42);
    let (mut valid, mut wrong) = (0, 0);
    for number in 0..40 {
        let mut secrets = Vec::new();
        let config = configuration(&mut dice, &mut secrets);
        let sandbox = Sandbox::new().configure(&config);
        for options in [
            &["preview"][..],
            &["preview", "--wide"],
            &["preview", "--json", "--curl"],
            &["preview", "--curl"],
            &["preview", "--show-secrets"],
            &["preview", "--yes", "--json"],
            &["check", "--all"],
            &["check", "--wide", "--online", "--timeout", "2"],
            &["check", "--json", "--online", "--timeout", "2"],
        ] {
            let run = sandbox.run(options);
            assert!((0..=2).contains(&run.code), "{number}: {options:?}: exit {}\n{}", run.code, run.stderr);
            let printed = format!("{}{}", run.stdout, run.stderr);
            let lower = printed.to_lowercase();
            assert!(!lower.contains(&MARK.to_lowercase()), "{number}: {options:?}\n{config}\n{printed}");
            for secret in &secrets {
                for pair in [secret.clone(), format!("u:{secret}"), format!("{secret}:p"), format!("{secret}:")] {
                    let coded = base64(pair.as_bytes());
                    assert!(
                        !printed.contains(coded.trim_end_matches('=')),
                        "{number}: {options:?}: base64\n{config}\n{printed}"
                    );
                }
            }
        }
        match sandbox.run(&["preview", "--show-secrets", "--yes", "--json"]) {
            run if run.code == 2 => wrong += 1,
            _ => valid += 1,
        }
    }
    assert!(valid >= 10 && wrong >= 5, "{valid} valid and {wrong} wrong ones: enough of each kind");
}
