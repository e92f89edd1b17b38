//! *Recipes*, and set-up without a configuration (I1): every step by plain forms.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::thread;

use serde_json::json;

use crate::support::page::{Answer, Page, Visitor, address, cookie_of, decoded, encoded};
use crate::support::tools::{LOOPBACK, inside, sh, skipped, tool};
use crate::support::watching::{Endpoint, SOON, Watch, host, ms};
use crate::support::{Response, Sandbox, mode};

const SECRET: &str = "s3cret-key-of-mine";

/// A service in an empty folder.
fn empty(args: &[&str]) -> Page {
    empty_in(host(), args)
}

fn empty_in(sandbox: Sandbox, args: &[&str]) -> Page {
    let endpoint = Endpoint::new();
    let watch = Watch::run(sandbox.command(&[&["watch"], args].concat()));
    let address = address(&watch);
    Page { endpoint, sandbox, watch, address }
}

fn form(fields: &[(&str, &str)]) -> String {
    let pairs: Vec<String> =
        fields.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
    pairs.join("&")
}

fn visitor(answer: &Answer) -> Visitor {
    Visitor { cookie: cookie_of(answer), token: answer.token() }
}

#[test]
fn i1_set_up_leads_from_an_empty_folder_to_the_first_update() {
    let page = empty(&["--web", "127.0.0.1:0"]);
    page.watch.prints("there is no configuration yet: open the page to create");
    assert_eq!(page.get("/").expect(303).header("location"), Some("/setup"));
    let list = page.get("/setup?find=duck").expect(200);
    assert!(list.body.contains("Where is your domain?") && list.body.contains("?name=duckdns"), "{}", list.body);
    assert!(!list.body.contains("?name=cloudflare") && list.body.find("?name=own") < list.body.find("?name=duckdns"));
    let visitor = visitor(&page.get("/setup?name=own").expect(200));
    let id = format!("{}&key={SECRET}", page.endpoint.id());
    let source = page.endpoint.receiver.index4();
    let fields = [
        ("name", "own"),
        ("id", &id),
        ("body", ""),
        ("domains", "home.example.com"),
        ("index6", "none"),
        ("index4", &source),
    ];

    let missing = page.post("/setup", &visitor, &form(&[("name", "own"), ("id", "h.example/x"), ("domains", "")]));
    let missing = decoded(&missing.expect(422).body);
    for part in
        ["The URL must start with http:// or https://: did you mean https://h.example/x ?", "Please enter a value."]
    {
        assert!(missing.contains(part), "{part}: {missing}");
    }
    assert!(!missing.contains("`id`") && !missing.contains("endpoint"), "{missing}");
    let program =
        page.post("/setup", &visitor, &form(&[&fields[..5], &[("index4", "cmd:touch made")]].concat())).expect(422);
    let program = decoded(&program.body);
    let (_, behind) = program.split_once("name=\"index4\"").expect("the field");
    let (at_field, _) = behind.split_once("name=\"index6\"").expect("the next one");
    assert!(at_field.contains("A program (cmd:, shell:) cannot be added in a browser"), "{program}");

    let shown = page.post("/setup", &visitor, &form(&fields)).expect(200);
    for part in ["203.0.113.7", "the first IPv4 address in its response", "key=***", "Send it once", "Save and run"] {
        assert!(decoded(&shown.body).contains(part), "{part}: {}", shown.body);
    }
    assert_eq!(page.endpoint.count(), 0, "nothing is sent before somebody says so");
    assert!(!page.sandbox.path("config.json").exists() && !page.sandbox.path("made").exists());

    let sent = page.post("/setup", &visitor, &form(&[&fields[..], &[("step", "send")]].concat())).expect(200);
    assert!(sent.body.contains("accepted: ") && sent.body.contains("204 No Content"), "{}", sent.body);
    assert!(!sent.body.contains("(no text)"), "what was accepted needs no text: {}", sent.body);
    assert!(page.endpoint.wait(1, SOON).target.contains(SECRET));
    assert!(!page.sandbox.path("config.json").exists());

    let saved =
        page.post("/setup", &visitor, &form(&[&fields[..], &[("web", "keep"), ("step", "save")]].concat())).expect(303);
    assert_eq!(saved.header("location"), Some("/"));
    let text = page.sandbox.read("config.json");
    assert!(text.contains(SECRET) && mode(&page.sandbox.path("config.json")) == 0o600, "{text}");
    assert!(text.contains("\"web\": \"127.0.0.1:0\""), "the page is kept: {text}");
    // The same service runs on, with the same page. What was accepted is not sent again.
    page.watch.prints("there is a configuration now");
    let overview = page.get("/").expect(200);
    assert_eq!(page.endpoint.count(), 1, "it was sent again");
    assert!(overview.body.contains("home.example.com"), "{}", overview.body);
    assert_eq!(page.get("/setup").expect(303).header("location"), Some("/"));
    page.watch.stop();
}

/// An empty body is what `ddns init` suggests for that URL: none where it contains the address.
#[test]
fn i7_set_up_suggests_a_body_only_for_a_url_without_the_address() {
    let page = empty(&["--web", "127.0.0.1:0"]);
    let first = page.get("/setup?name=own").expect(200);
    assert!(!decoded(&first.body).contains("value=\"{"), "{}", first.body);
    let (visitor, source) = (visitor(&first), page.endpoint.receiver.index4());
    let posted = |id: &str, body: &str| {
        let rest = [("name", "own"), ("id", id), ("body", body), ("domains", "a.example"), ("index6", "none")];
        page.post("/setup", &visitor, &form(&[&rest[..], &[("index4", source.as_str())]].concat()))
    };
    for (id, method) in [("https://h.example/u?ip=__IP__", "GET /u"), ("https://h.example/u", "POST /u")] {
        let shown = decoded(&posted(id, "").expect(200).body);
        assert!(shown.contains(method), "{method}: {shown}");
        assert!(!shown.contains("notice warn"), "{shown}");
    }
    let typo = decoded(&posted("https://h.example/u?d=__DOMIAN__&ip=__IP__", "").expect(200).body);
    assert!(typo.contains("notice warn") && typo.contains("Did you mean __DOMAIN__?"), "{typo}");
    let wrong = decoded(&posted("https://h.example/u", "{").expect(422).body);
    assert!(wrong.contains("The body is not JSON") && !wrong.contains("token is"), "{wrong}");
    // Of a URL that is wrong nobody knows yet.
    let url = decoded(&posted("h.example/u", "").expect(422).body);
    assert!(url.contains("must start with http://") && !url.contains("Please enter a value"), "{url}");
    page.watch.stop();
}

/// Another service of this user has the cache: the page says so, and stays.
#[test]
fn i1_set_up_says_that_another_service_runs_and_saves_nothing() {
    let page = empty(&["--web", "127.0.0.1:0"]);
    let (id, source) = (page.endpoint.id(), page.endpoint.receiver.index4());
    page.sandbox
        .write("other.json", json!({"dns": "callback", "id": id, "ipv4": "o.example", "index4": source}).to_string());
    let other = Watch::run(page.sandbox.command(&["watch", "-c", "other.json"]));
    page.endpoint.wait(1, SOON);
    let visitor = visitor(&page.get("/setup?name=own").expect(200));
    let fields = [("name", "own"), ("id", &id), ("body", ""), ("domains", "home.example.com"), ("index6", "none")];
    let fields = form(&[&fields[..], &[("index4", &source), ("web", "keep"), ("step", "save")]].concat());
    let refused = decoded(&page.post("/setup", &visitor, &fields).expect(422).body);
    assert!(refused.contains("Nothing was saved: ") && refused.contains("already uses the cache"), "{refused}");
    assert!(!page.sandbox.path("config.json").exists());
    other.stop();
    page.post("/setup", &visitor, &fields).expect(303);
    page.watch.prints("there is a configuration now");
    page.watch.stop();
}

/// A family without an address: its request shows an example, and nothing of it is sent.
#[test]
fn a8_set_up_sends_no_address_that_no_source_gave() {
    let page = empty(&["--web", "127.0.0.1:0"]);
    let visitor = visitor(&page.get("/setup?name=own").expect(200));
    let (id, source) = (page.endpoint.id(), page.endpoint.receiver.index4());
    let fields = [
        ("name", "own"),
        ("id", &id),
        ("body", ""),
        ("domains", "home.example.com"),
        ("index4", &source),
        ("index6", "url:http://127.0.0.1:9/"),
    ];
    let shown = page.post("/setup", &visitor, &form(&fields)).expect(200);
    assert!(shown.body.contains("An example: 2001:db8::1 (IPv6) is in place of an address"), "{}", shown.body);
    let sent = page.post("/setup", &visitor, &form(&[&fields[..], &[("step", "send")]].concat())).expect(200);
    assert!(sent.body.contains("accepted: 204 No Content"), "{}", sent.body);
    assert!(sent.body.contains("not sent: there is no IPv6 address here<"), "{}", sent.body);
    assert!(page.endpoint.wait(1, SOON).target.contains("203.0.113.7"));
    // It can be left out, by a button.
    assert!(sent.body.contains("value=\"without IPv6\""), "{}", sent.body);
    let left = page.post("/setup", &visitor, &form(&[&fields[..], &[("step", "without IPv6")]].concat())).expect(200);
    assert!(!left.body.contains("2001:db8::1") && left.body.contains("203.0.113.7"), "{}", left.body);
    // None at all: nothing is sent, and nothing pretends to be.
    let none = [&fields[..4], &[("index4", "url:http://127.0.0.1:9/"), fields[5], ("step", "send")]].concat();
    let none = page.post("/setup", &visitor, &form(&none)).expect(200);
    assert!(none.body.contains("not sent: there is no IPv4 address here") && !none.body.contains("Send it once"));
    assert_eq!(page.endpoint.count(), 1, "an example was sent");
}

#[test]
fn i2_set_up_takes_so_many_domains_and_no_more() {
    let page = empty(&["--web", "127.0.0.1:0"]);
    let visitor = visitor(&page.get("/setup?name=own").expect(200));
    let many = (0..101).map(|at| format!("d{at}.example")).collect::<Vec<_>>().join(",");
    let fields = form(&[("name", "own"), ("id", &page.endpoint.id()), ("domains", &many)]);
    assert!(page.post("/setup", &visitor, &fields).expect(422).body.contains("Name 100 domains at most"));
}

#[test]
fn i1_without_a_configuration_every_view_of_it_leads_to_set_up() {
    let page = empty(&["--web", "127.0.0.1:0"]);
    for path in ["/", "/addresses", "/requests", "/update?domain=a.example&type=A"] {
        assert_eq!(page.get(path).expect(303).header("location"), Some("/setup"), "{path}");
    }
}

#[test]
fn i1_a_recipe_asks_its_questions_and_shows_what_it_would_send() {
    let page = empty(&["--web", "127.0.0.1:0"]);
    let questions = page.get("/setup?name=cloudflare").expect(200);
    assert!(
        questions.body.contains("type=\"password\"") && questions.body.contains("name=\"cloudflare.token\""),
        "{}",
        questions.body
    );
    let visitor = visitor(&questions);
    let fields = [
        ("name", "cloudflare"),
        ("domains", "home.example.com"),
        ("index4", "default"),
        ("index6", "none"),
        ("cloudflare.zone", "example.com"),
    ];
    let again = page.post("/setup", &visitor, &form(&[&fields[..], &[("cloudflare.token", "")]].concat())).expect(422);
    assert!(again.body.contains("Please enter a value."), "{}", again.body);
    let done =
        page.post("/setup", &visitor, &form(&[&fields[..], &[("cloudflare.token", SECRET)]].concat())).expect(200);
    let shown = decoded(&done.body);
    assert!(shown.contains("Send it once") && shown.contains("PATCH /client/v4/zones/"), "{shown}");
    for part in
        ["*** hides what may be a password or key.", "ddns asks the service for __ZONE_ID__ and __RECORD_ID__ first."]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // The rules come after the questions, and the script finds a service by what people call it.
    let (form, rules) = (questions.body.find("cloudflare.token"), questions.body.find("About Cloudflare"));
    assert!(form.is_some() && form < rules, "{}", questions.body);
    assert!(decoded(&page.get("/setup").expect(200).body).contains("data-find=\"no-ip No-IP noip ddns.net"));
    // What was typed goes on inside of the form, and nowhere else.
    assert_eq!(shown.matches(SECRET).count(), 1, "{shown}");
    assert!(!done.head.contains(SECRET) && !page.watch.log().contains(SECRET));
    assert!(page.post("/setup", &visitor, "name=nonsense").expect(404).body.contains("there is no recipe nonsense."));
    assert!(page.get("/setup?name=hetzner").expect(404).body.contains("use hetzner-cloud"));
    let with_file = page.get("/setup?name=transip").expect(404);
    assert!(with_file.body.contains("run ddns init --recipe transip on the host"), "{}", with_file.body);
}

/// Back leads to the questions and to the list, and what was typed goes along: the secret is kept, and never shown.
#[test]
fn i1_back_loses_nothing_that_was_typed() {
    let page = empty(&["--web", "127.0.0.1:0"]);
    let visitor = visitor(&page.get("/setup?name=desec").expect(200));
    let fields =
        [("name", "desec"), ("domains", "myhome"), ("index4", "default"), ("index6", "none"), ("desec.token", SECRET)];
    let post = |more: &[(&str, &str)]| page.post("/setup", &visitor, &form(&[&fields[..], more].concat()));
    let review = post(&[]).expect(200);
    assert!(review.body.contains("Does this look right?") && review.body.contains("value=\"back\""), "{}", review.body);
    assert!(decoded(&review.body).contains("&myipv6=preserve"), "what the recipe says is no secret: {}", review.body);
    let back = decoded(&post(&[("step", "back")]).expect(200).body);
    assert!(!back.contains("desec.zone"), "the name is not asked for twice: {back}");
    for part in ["value=\"myhome\"", "It is set. Leave this empty to keep it.", "name=\"kept.desec.token\""] {
        assert!(back.contains(part), "{part}: {back}");
    }
    // The field of the secret is empty, and what was kept counts.
    let kept = [&fields[..4], &[("desec.token", ""), ("kept.desec.token", SECRET)]].concat();
    assert!(page.post("/setup", &visitor, &form(&kept)).expect(200).body.contains("Does this look right?"));
    // To the list, and to another service with the same domain.
    let list = post(&[("step", "list"), ("find", "no ip")]).expect(200);
    assert!(
        list.body.contains("value=\"no-ip\"") && list.body.contains("name=\"domains\" value=\"myhome\""),
        "{}",
        list.body
    );
    let other = page.post("/setup", &visitor, &form(&[("domains", "myhome.ddns.net"), ("name", "no-ip")])).expect(200);
    assert!(other.body.contains("value=\"myhome.ddns.net\"") && other.body.contains("no-ip.user"), "{}", other.body);
    // The other service does not get the secret: it is asked for.
    let dynv6 = [&fields[1..], &[("domains", "myhome.dynv6.net"), ("name", "dynv6")]].concat();
    let asked = page.post("/setup", &visitor, &form(&dynv6)).expect(200).body;
    assert!(asked.contains("name=\"dynv6.token\"") && !asked.contains("It is set."), "{asked}");
    let short = page.post("/setup", &visitor, &form(&[("domains", "myhome"), ("name", "no-ip")])).expect(422);
    assert!(decoded(&short.body).contains("myhome is not a whole name"), "{}", short.body);
}

/// Those who look at another service find the answers to the first one again, and a box that they unchecked.
#[test]
fn i1_another_service_and_back_loses_nothing_either() {
    let page = empty(&["--web", "127.0.0.1:0"]);
    let visitor = visitor(&page.get("/setup?name=desec").expect(200));
    let typed = [("domains", "myhome.dedyn.io"), ("desec.token", SECRET), ("web", "none")];
    let post = |more: &[(&str, &str)]| decoded(&page.post("/setup", &visitor, &form(more)).expect(200).body);
    let other = post(&[&typed[..], &[("name", "cloudflare"), ("step", "back")]].concat());
    for part in ["name=\"desec.token\" value=\"s3cret", "name=\"web\" value=\"none\"", "name=\"cloudflare.token\""] {
        assert!(other.contains(part), "{part}: {other}");
    }
    let first = post(&[&typed[..], &[("name", "desec"), ("step", "back")]].concat());
    assert!(first.contains("It is set. Leave this empty to keep it."), "{first}");
    let fields = [("name", "desec"), ("index4", "default"), ("index6", "none")];
    let review = post(&[&typed[..], &fields].concat());
    assert!(review.contains("value=\"keep\">"), "the box stays unchecked: {review}");
    // The Enter key on the box looks again: the first button is none that sends.
    let (_, form) = review.split_once("<form").expect("a form");
    let (_, button) = form.split_once("<button").expect("a button");
    assert!(button.starts_with(" class=\"unseen\""), "{button}");
}

/// Who presses twice sends once, also while the first request is under way.
#[test]
fn i1_pressing_twice_sends_once() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|_| Response::status(204).after(ms(1500)));
    let watch = Watch::run(sandbox.command(&["watch", "--web", "127.0.0.1:0"]));
    let address = address(&watch);
    let page = Page { endpoint, sandbox, watch, address };
    let visitor = visitor(&page.get("/setup?name=own").expect(200));
    let (id, source) = (page.endpoint.id(), page.endpoint.receiver.index4());
    let fields = [("name", "own"), ("id", &*id), ("body", ""), ("domains", "home.example.com"), ("index6", "none")];
    let fields = form(&[&fields[..], &[("index4", &*source), ("step", "send")]].concat());
    let press = || decoded(&page.post("/setup", &visitor, &fields).expect(200).body);
    let said = thread::scope(|both| [both.spawn(press), both.spawn(press)].map(|one| one.join().expect("an answer")));
    assert_eq!(page.endpoint.count(), 1, "{said:?}");
    assert!(said.iter().all(|said| said.contains("accepted")), "{said:?}");
}

/// Another tab, or somebody on the host, was faster: what was typed becomes one more entry.
#[test]
fn i1_a_second_set_up_loses_nothing() {
    let page = empty(&["--web", "127.0.0.1:0"]);
    let visitor = visitor(&page.get("/setup?name=own").expect(200));
    let (id, source) = (page.endpoint.id(), page.endpoint.receiver.index4());
    let fields = |name: &'static str| {
        let fields = [("name", "own"), ("id", &*id), ("body", ""), ("domains", name), ("index4", &*source)];
        form(&[&fields[..], &[("index6", "none"), ("step", "save")]].concat())
    };
    page.post("/setup", &visitor, &fields("first.example.com")).expect(303);
    page.endpoint.wait(1, SOON);
    let answer = page.post("/setup", &visitor, &fields("second.example.com")).expect(409).body;
    for part in ["no longer the first configuration", "action=\"/recipes\"", "value=\"second.example.com\""] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    let fields = fields("second.example.com").replace("step=save", "step=");
    let review = page.post("/recipes", &visitor, &fields).expect(200).body;
    assert!(review.contains("Does this look right?"), "{review}");
    assert!(page.get("/setup").expect(303).header("location") == Some("/"));
}

/// Whoever may read the file may still do so, and nobody else: also where its folder gives new files a list of its own.
#[test]
fn i2_a_saved_file_keeps_its_access_control_list() {
    let Some((setfacl, getfacl)) = tool("setfacl").zip(tool("getfacl")) else { return skipped("acl is not installed") };
    let run = |program: &Path, args: &[&str], path: &Path| {
        let output = Command::new(program).args(args).arg(path).output().expect("the program starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for (file, folder) in
        [(Some("u:daemon:r"), None), (None, Some("d:u:daemon:rw")), (Some("u:daemon:r"), Some("d:u:bin:rw"))]
    {
        let page = Page::with(&json!({"allow_edit": true}), &json!({}));
        page.endpoint.wait(1, SOON);
        let path = page.sandbox.path("config.json");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("the mode is set");
        if let Some(list) = folder {
            run(&setfacl, &["-m", list], &page.sandbox.path(""));
        }
        if let Some(list) = file {
            run(&setfacl, &["-m", list], &path);
        }
        let before = run(&getfacl, &["-cpn"], &path);
        let visitor = visitor(&page.get("/recipes?name=duckdns").expect(200));
        let fields = [
            ("name", "duckdns"),
            ("domains", "mine.duckdns.org"),
            ("index4", "default"),
            ("index6", "none"),
            ("duckdns.token", "12345678-1234-1234-1234-123456789012"),
            ("step", "add"),
        ];
        page.post("/recipes", &visitor, &form(&fields)).expect(303);
        assert!(page.sandbox.read("config.json").contains("mine.duckdns.org"));
        assert_eq!(run(&getfacl, &["-cpn"], &path), before, "{file:?} {folder:?}");
        page.watch.stop();
    }
}

/// The first file on a disk that is really full: a sentence, and no half of a file; what was typed is still there.
#[test]
fn i1_set_up_on_a_full_disk_leaves_no_file() {
    let Some(()) = inside(LOOPBACK) else { return };
    let sandbox = host();
    let disk = sandbox.path("disk").display().to_string();
    sh(&format!("mkdir {disk} && mount -t tmpfs -o size=64k tmpfs {disk}"));
    sh(&format!("dd if=/dev/zero of={disk}/fill bs=4k 2>/dev/null || true"));
    let page = empty_in(sandbox, &["--web", "127.0.0.1:0", "-c", "disk/config.json"]);
    let visitor = visitor(&page.get("/setup?name=own").expect(200));
    let (id, source) = (page.endpoint.id(), page.endpoint.receiver.index4());
    let fields = [("name", "own"), ("id", &id), ("body", ""), ("domains", "a.example"), ("index4", &source)];
    let fields = form(&[&fields[..], &[("index6", "none"), ("step", "save")]].concat());
    let answer = decoded(&page.post("/setup", &visitor, &fields).expect(422).body);
    assert!(
        answer.contains("Nothing was saved")
            && answer.contains("disk/config.json cannot be written (no space left on device)"),
        "{answer}"
    );
    assert!(answer.contains("name=\"domains\" value=\"a.example\""), "{answer}");
    assert!(!page.sandbox.path("disk/config.json").exists());
    sh(&format!("rm {disk}/fill"));
    page.post("/setup", &visitor, &fields).expect(303);
    page.endpoint.wait(1, SOON);
}

#[test]
fn i2_set_up_is_locked_as_everything_else() {
    let sandbox = host();
    sandbox.run(&["watch", "--web", "0.0.0.0:0"]).expect(2).prints("has no password");
    let page = empty(&["--web", "127.0.0.1:0"]);
    let fields =
        form(&[("name", "own"), ("id", "http://127.0.0.1:9/__IP__"), ("domains", "a.example"), ("step", "save")]);
    // Another site, and somebody without a token.
    let origin = ["Origin: http://evil.example", "Content-Type: application/x-www-form-urlencoded"];
    page.request("POST", "/setup", &origin, &fields).expect(403);
    page.post("/setup", &Visitor::default(), &fields).expect(403);
    assert!(!page.sandbox.path("config.json").exists());
}

#[test]
fn i1_a_configuration_that_appears_by_itself_ends_set_up() {
    let page = empty(&["--web", "127.0.0.1:0", "-c", "mine.json"]);
    page.watch.prints("mine.json");
    page.sandbox.write("mine.json", page.endpoint.config(&json!({})).to_string());
    page.endpoint.wait(1, SOON);
    // Set-up never takes the place of a file.
    let page = empty(&["--web", "127.0.0.1:0"]);
    let visitor = visitor(&page.get("/setup?name=own").expect(200));
    fs::create_dir(page.sandbox.path("config.json")).expect("a folder in its place");
    let id = page.endpoint.id();
    let source = page.endpoint.receiver.index4();
    let fields = [("name", "own"), ("id", &id), ("body", ""), ("domains", "a.example"), ("index4", &source)];
    let fields = form(&[&fields[..], &[("index6", "none"), ("step", "save")]].concat());
    let answer = page.post("/setup", &visitor, &fields).expect(422);
    assert!(answer.body.contains("Nothing was saved"), "{}", answer.body);
    std::thread::sleep(ms(50));
    assert!(page.sandbox.path("config.json").is_dir());
}

#[test]
fn i1_a_recipe_becomes_a_text_and_one_more_entry() {
    let page = Page::with(&json!({"allow_edit": true}), &json!({"headers": {"X-Key": SECRET}}));
    page.endpoint.wait(1, SOON);
    let visitor = visitor(&page.get("/recipes?name=duckdns").expect(200));
    let fields = [
        ("name", "duckdns"),
        ("domains", "mine"),
        ("index4", "default"),
        ("index6", "none"),
        ("duckdns.token", "12345678-1234-1234-1234-123456789012"),
    ];
    let shown = page.post("/recipes", &visitor, &form(&fields)).expect(200);
    assert!(
        decoded(&shown.body).contains("https://www.duckdns.org/update")
            && shown.body.contains("Add to the configuration"),
        "{}",
        shown.body
    );
    assert!(!shown.body.contains(SECRET));
    let before = page.sandbox.read("config.json");
    page.post("/recipes", &visitor, &form(&[&fields[..], &[("step", "add")]].concat())).expect(303);
    let after = page.sandbox.read("config.json");
    assert!(
        after.contains("\"providers\"")
            && after.contains("duckdns.org")
            && after.matches(SECRET).count() == 1
            && after.contains("\"index4\": ["),
        "{after}"
    );
    assert_ne!(before, after);
    page.sandbox.run(&["check", "-c", "config.json"]).expect(0);
    let status = page.get("/").expect(200);
    assert!(status.body.contains("mine.duckdns.org"), "{}", status.body);
}
