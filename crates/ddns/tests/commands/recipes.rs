//! `ddns recipes` and `ddns init --recipe`.

use std::fs;

use crate::support::terminal::at_terminal;
use crate::support::{Receiver, Response, Sandbox, mode};

/// A recipe of a user's own: its updates look for their zone first.
const OWN: &str = r#"{
  "title": "My service", "kind": "server", "about": "A service of mine.", "documentation": "https://example.com/",
  "certainty": "unchecked",
  "questions": [
    {"name": "base", "ask": "Address", "check": "^http://"},
    {"name": "token", "ask": "Token", "secret": true, "check": "^[a-z0-9-]+$"},
    {"name": "zone", "ask": "Zone"}
  ],
  "config": {
    "id": "${base}/zones/__ZONE_ID__?name=__DOMAIN__&ip=__IP__&key=__TOKEN__", "zone": "${zone}",
    "before": [{
      "id": "/zones?name=__ZONE__&key=__TOKEN__", "in": "/zones", "where": {"/name": "__ZONE__"}, "take": {"/id": "__ZONE_ID__"}
    }],
    "extra": {"__TOKEN__": "${token}"}
  }
}"#;

/// A service that knows two zones.
fn service() -> Receiver {
    Receiver::responding(|request| match request.target().split(['&', '?']).next() {
        Some("/zones") => {
            Response::with_body(200, r#"{"zones": [{"id": 1, "name": "a.example"}, {"id": 2, "name": "example.com"}]}"#)
        }
        Some("/zones/2") => Response::status(204),
        _ => Response::status(404),
    })
}

fn written(sandbox: &Sandbox) -> usize {
    fs::read_dir(sandbox.path(".")).expect("the folder").count()
}

#[test]
fn h12_recipes_are_listed_found_by_a_word_and_shown() {
    let sandbox = Sandbox::new();
    let all = sandbox.run(&["recipes"]).expect(0).stdout;
    for name in ["  duckdns ", "  cloudflare ", "  powerdns ", "  home-assistant ", "  ntfy "] {
        assert!(all.contains(name), "{name}: {all}");
    }
    assert!(all.lines().all(|line| line.chars().count() <= 80), "{all}");
    for word in ["duckdsn", "Duck DNS", "duck.dns"] {
        assert!(sandbox.run(&["recipes", word]).expect(0).stdout.contains("  duckdns "), "{word}");
    }
    let found = sandbox.run(&["recipes", "HETZNER"]).expect(0).stdout;
    assert!(found.contains("hetzner-cloud") && !found.contains("duckdns"), "{found}");
    let json: serde_json::Value = sandbox.run(&["recipes", "--json", "duck"]).expect(0).json();
    let keys: Vec<&String> = json[0].as_object().expect("an object").keys().collect();
    assert_eq!(json[0]["name"], "duckdns");
    for key in ["name", "title", "kind", "about", "documentation", "certainty"] {
        assert!(keys.iter().any(|known| *known == key), "{json}");
    }
    let shown = sandbox.run(&["recipes", "show", "cloudflare"]).expect(0).stdout;
    for part in ["Zone.DNS Edit", "  token ", "a secret", "\"__ZONE_ID__\"", "\"method\": \"PATCH\""] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn h12_e7_a_recipe_that_does_not_exist_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.run(&["recipes", "show", "duckdn"]).expect(2).prints("did you mean `duckdns`?");
    sandbox
        .run(&["init", "--recipe", "cloudflair", "--ipv4", "a.example"])
        .expect(2)
        .prints("did you mean `cloudflare`?");
    sandbox.run(&["recipes", "show"]).expect(2).prints("needs the name of a recipe");
    sandbox.run(&["recipes", "xyzzyxyzzy"]).expect(1).prints("no recipe matches this word");
    sandbox
        .run(&["init", "--recipe", "./no.json", "--ipv4", "a.example"])
        .expect(2)
        .prints("the recipe does not exist");
    sandbox.write("bad.json", r#"{"title": "Bad", "config": {"id": "${nothing}"}}"#);
    sandbox.run(&["recipes", "show", "./bad.json"]).expect(2).prints("a recipe needs `about`");
    sandbox
        .run(&["init", "--set", "token=S3cret"])
        .expect(2)
        .prints("--set belongs to a recipe")
        .never_prints("S3cret");
    assert_eq!(written(&sandbox), 1);
}

#[test]
fn h12_a_recipe_becomes_a_configuration_that_runs() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let (base, index4) = (format!("base={}", receiver.url("/")), receiver.index4());
    let args =
        ["init", "--recipe", "home-assistant", "--ipv4", "home.example.com", "--index4", &index4, "--set", &base];
    let run = sandbox.run(&[&args[..], &["--set", "webhook=S3cret-of-mine"]].concat()).expect(0).never_prints("S3cret");
    assert!(run.stdout.contains("POST /api/webhook/*** "), "{}", run.stdout);
    assert_eq!(mode(&sandbox.path("config.json")), 0o600);
    assert!(sandbox.read("config.json").contains("`home-assistant`"));
    let checked = sandbox.run(&["check"]).expect(0).stdout;
    assert!(checked.contains("No errors, no warnings."), "{checked}");
    sandbox.run(&[]).expect(0).never_prints("warning");
    let sent = receiver.only();
    assert_eq!(sent.line, "POST /api/webhook/S3cret-of-mine HTTP/1.1");
    assert_eq!(sent.text(), r#"{"domain":"home.example.com","type":"A","ip":"203.0.113.7"}"#);
}

/// The service is asked when an update is sent, each time: nothing is frozen.
#[test]
fn h12_init_asks_the_service_nothing() {
    let (sandbox, service) = (Sandbox::new(), service());
    sandbox.write("my.json", OWN);
    let (base, index4) = (format!("base={}", service.url("/")), service.index4());
    let args = ["init", "--recipe", "./my.json", "--set", &base, "--set", "token=s3cret-of-mine", "--index4", &index4];
    let outside = [&args[..], &["--ipv4", "www.example.net", "--set", "zone=example.com"]].concat();
    sandbox.run(&outside).expect(2).prints("www.example.net is not in the zone example.com");
    assert_eq!(written(&sandbox), 1);
    // Name servers write a zone with a dot at its end.
    let inside = [&args[..], &["--ipv4", "home.example.com", "--set", "zone=example.com."]].concat();
    sandbox.run(&inside).expect(0).never_prints("s3cret").never_prints("--lookup");
    assert!(service.callbacks().is_empty());
    sandbox.run(&[]).expect(0).never_prints("warning");
    let seen: Vec<String> = service.callbacks().iter().map(|request| request.target().to_owned()).collect();
    let update = "/zones/2?name=home.example.com&ip=203.0.113.7&key=s3cret-of-mine";
    assert_eq!(seen, ["/zones?name=example.com&key=s3cret-of-mine", update]);
}

#[test]
fn h12_what_is_missing_or_wrong_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("my.json", OWN.replacen("\"certainty\"", "\"families\": [\"ipv4\"], \"certainty\"", 1));
    let init = |rest: &[&str]| sandbox.run(&[&["init", "--recipe", "./my.json"], rest].concat());
    init(&[]).expect(2).prints("needs --ipv4 or --ipv6");
    let run = init(&["--ipv4", "a.example"]).expect(2);
    run.prints("--set base=… (Address)")
        .prints("--set token=… (Token)")
        .prints("`ddns recipes show ./my.json` explains it");
    init(&["--ipv6", "a.example"]).expect(2).prints("My service takes no IPv6 addresses");
    init(&["--ipv4", "a.example", "--set", "tokn=S3cret"])
        .expect(2)
        .prints("did you mean `token`?")
        .never_prints("S3cret");
    init(&["--ipv4", "a.example", "--id", "https://example.com/"]).expect(2).prints("leave out --id");
    let run = init(&["--ipv4", "a.example", "--set", "token=S3cret!"]).expect(2);
    run.prints("`token`: this does not look like the token").never_prints("S3cret");
    assert_eq!(written(&sandbox), 1);
}

#[test]
fn h12_a_recipe_asks_at_a_terminal_and_says_how_to_go_on() {
    let (sandbox, service) = (Sandbox::new(), service());
    sandbox.write("my.json", OWN);
    let (base, index4) = (service.url("/"), service.index4());
    let program =
        [env!("CARGO_BIN_EXE_ddns"), "init", "--recipe", "./my.json", "--index4", &index4, "--index6", "none"];
    // The domain, then the recipe's questions: one answer is wrong, one is the suggestion.
    let answers = ["home.example.com", &base, "S3cret!", "s3cret", "", "no"];
    let Some(run) = at_terminal(&sandbox, 80, &program, &answers) else { return };
    let run = run.expect(0).never_prints("s3cret").never_prints("S3cret");
    let next = "ddns preview --lookup   ask the service which record would be changed";
    for part in ["Token (not shown): \n", "This does not look like the token.", "Zone [example.com]: ", next] {
        assert!(run.stdout.replace("\n  ", " ").contains(part), "{part}: {}", run.stdout);
    }
    assert!(service.callbacks().is_empty());
}

/// Whether it was answered or broken off.
#[test]
fn h12_a_secret_is_typed_unseen_and_the_terminal_is_as_it_was() {
    let (sandbox, service) = (Sandbox::new(), service());
    sandbox.write("my.json", OWN);
    let line = format!(
        "stty >before; {} init --recipe ./my.json --ipv4 home.example.com --index4 '{}' --set base={}; \
         code=$?; stty >after; exit $code",
        env!("CARGO_BIN_EXE_ddns"),
        service.index4(),
        service.url("/")
    );
    for (answers, code) in [(vec!["s3crex\x7ft", "", "no"], 0), (vec!["s3cr\x03"], 1), (vec!["EOF"], 1)] {
        let Some(run) = at_terminal(&sandbox, 80, &["sh", "-c", &line], &answers) else { return };
        let run = run.expect(code).never_prints("s3cre").shows("Token (not shown): ");
        assert_eq!(sandbox.read("before"), sandbox.read("after"), "{answers:?}");
        if code == 0 {
            assert!(sandbox.read("config.json").contains("s3cret"));
            std::fs::remove_file(sandbox.path("config.json")).expect("it was written");
        } else {
            assert!(run.stdout.contains("nothing was written") && !sandbox.path("config.json").exists());
        }
    }
}

/// The example of the page is a recipe that works: it makes the record, and then changes it.
#[test]
fn h12_the_recipe_of_the_documentation_runs() {
    let page = include_str!("../../../../docs/recipes.md");
    let example = page.split("```jsonc\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let service = Receiver::responding(|request| match request.line.split(' ').next() {
        Some("GET") => Response::with_body(200, r#"{"records": []}"#),
        _ => Response::status(204),
    });
    let sandbox = Sandbox::new();
    sandbox.write("my.json", example);
    let checked = sandbox.run(&["recipes", "check", "my.json"]).expect(0);
    assert_eq!((checked.stdout.as_str(), checked.stderr.as_str()), ("my.json: a valid recipe\n", ""));
    let base = format!("base={}", service.url("").trim_end_matches('/'));
    let args = ["init", "--recipe", "./my.json", "--ipv4", "home.example.com", "--index4", "shell:echo 203.0.113.7"];
    let set = ["--set", &base, "--set", "token=s3cret", "--set", "zone=example.com"];
    sandbox.run(&[&args[..], &set].concat()).expect(0).never_prints("s3cret");
    assert!(!sandbox.read("config.json").contains("\"recipe\""), "a file of one's own has no version");
    sandbox.run(&[]).expect(0);
    let lines: Vec<String> = service.callbacks().iter().map(|request| request.line.clone()).collect();
    let expected =
        ["GET /zones/example.com/records?type=A&name=home HTTP/1.1", "POST /zones/example.com/records HTTP/1.1"];
    assert_eq!(lines, expected);
}

#[test]
fn h12_e7_recipes_check_names_the_place_of_a_mistake() {
    let sandbox = Sandbox::new();
    let check = |text: &str| {
        sandbox.write("my.json", text);
        sandbox.run(&["recipes", "check", "my.json"])
    };
    check(&OWN.replace("\"take\"", "\"tkae\"")).expect(2).prints("my.json:").prints("a recipe does not fill `tkae`");
    let elsewhere =
        check(&OWN.replace("\"/zones?name=__ZONE__&key=__TOKEN__\"", "\"https://evil.example/\"")).expect(2);
    elsewhere
        .prints("my.json:")
        .prints("`before`: step 1 goes to https://evil.example, which is not the origin of `id`");
    let early = check(&OWN.replace("name=__ZONE__&key", "name=__ZONE_ID__&key")).expect(2);
    early.prints("step 1 uses __ZONE_ID__, which no step before it takes").prints(" | ").prints("^");
    check(&OWN.replace("\"title\"", "\"titel\"")).expect(2).prints("did you mean `title`?");
    check(&OWN.replace("\"title\"", "\"families\": [\"IPv4\"], \"title\""))
        .expect(2)
        .prints("`IPv4` is neither `ipv4`");
    check("{").expect(2).prints("not valid JSON");
    sandbox.run(&["recipes", "check"]).expect(2).prints("needs the file of a recipe");
    sandbox.run(&["recipes", "check", "no.json"]).expect(2).prints("the recipe does not exist");
    let schema = sandbox.run(&["schema", "--recipe"]).expect(0).stdout;
    assert_eq!(schema, include_str!("../../../../schema/recipe.schema.json"));
}

#[test]
fn h23_a_configuration_says_its_recipe_and_check_warns_of_one_that_was_wrong() {
    let sandbox = Sandbox::new();
    let args = ["init", "--recipe", "cloudflare", "--ipv4", "home.example.com", "--index4", "shell:echo 203.0.113.7"];
    sandbox.run(&[&args[..], &["--set", "token=s3cret", "--set", "zone=example.com"]].concat()).expect(0);
    let text = sandbox.read("config.json");
    assert!(text.contains("\"recipe\": \"cloudflare@2\","), "{text}");
    sandbox.run(&["check"]).expect(0).never_prints("warning:");
    let keys = sandbox.run(&["preview"]).stdout;
    sandbox.write("config.json", text.replace("cloudflare@2", "cloudflare@1"));
    let checked = || sandbox.run(&["check"]).expect(0).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "version 1 of `cloudflare` is known to be wrong",
        "`ddns init new.json --recipe cloudflare --ipv4 home.example.com`",
    ] {
        assert!(checked().contains(part), "{}", checked());
    }
    assert_eq!(sandbox.run(&["preview"]).stdout, keys, "it has no effect on what is sent");
    sandbox.write("config.json", text.replace("cloudflare@2", "cloudflair@2"));
    assert!(checked().contains("did you mean `cloudflare`?"), "{}", checked());
}
