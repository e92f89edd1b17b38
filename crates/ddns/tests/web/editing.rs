//! The forms of the configuration and its API (I7, I2): what they change, what they keep, and what they refuse.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::support::page::{Answer, Page, Visitor, address, decoded, encoded};
use crate::support::tools::{LOOPBACK, inside, sh};
use crate::support::watching::{Endpoint, SOON, Watch, host, until};
use crate::support::{Response, Sandbox, mode};

const SECRET: &str = "s3cret-key-of-mine";

const TWO: &str = r#"// mine
{
  "web": {"listen": "127.0.0.1:0", "allow_edit": true, "token_file": "token"}, /* the page */
  "interval": "5m",
  "providers": [
    {"provider": "callback", "id": "ID", "headers": {"X-Key": "KEY"}, "ipv4": ["home.example.com", "www.example.com"], # first
     "index4": "SOURCE", "ttl": 60, "ttl": 300},
    {"provider": "callback", "id": "ID&n=2", "ipv4": ["nas.example.com"], "index4": ["SOURCE"]} // second
  ]
}
"#;

const BEARER: &str = "Authorization: Bearer 0123456789abcdef0123456789abcdef";

fn page_of(name: &str, text: &str) -> Page {
    page_in(host(), name, text)
}

fn page_in(sandbox: Sandbox, name: &str, text: &str) -> Page {
    let endpoint = Endpoint::new();
    sandbox.write("token", "0123456789abcdef0123456789abcdef\n");
    let text = text.replace("ID", &endpoint.id()).replace("SOURCE", &endpoint.receiver.index4()).replace("KEY", SECRET);
    sandbox.write(name, text);
    let watch = Watch::run(sandbox.command(&["watch", "-c", name]));
    let address = address(&watch);
    Page { endpoint, sandbox, watch, address }
}

const EDIT: &str = "/configuration/edit?file=0&entry=0";

/// What a browser sends of the form of the first entry, with these settings changed, and its version.
fn filled(page: &Page, visitor: &Visitor, changed: &[(&str, &str)]) -> String {
    let form = page.get_as(EDIT, visitor).expect(200).body;
    let version = form.split("name=\"version\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let of = form.split("name=\"of\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let mut fields =
        format!("file=0&entry=0&version={}&of={}", version.expect("a version"), of.expect("the mark of the entry"));
    for was in form.split("name=\"was.").skip(1) {
        let (name, rest) = was.split_once("\" value=\"").expect("a value");
        let text = encoded(&decoded(rest.split('"').next().unwrap_or_default()));
        fields += &format!("&was.{name}={text}");
        if changed.iter().all(|(known, _)| *known != name) {
            fields += &format!("&set.{name}={text}");
        }
    }
    for (name, text) in changed {
        fields += &format!("&set.{name}={}", encoded(text));
    }
    fields
}

fn visitor(page: &Page) -> Visitor {
    page.visitor(EDIT)
}

fn step(page: &Page, visitor: &Visitor, fields: &str, step: &str) -> Answer {
    page.post("/configuration/edit", visitor, &format!("{fields}&step={step}"))
}

#[test]
fn i7_a_form_changes_its_fields_and_every_other_byte_stays() {
    let page = page_of("config.json", TWO);
    page.endpoint.wait(3, SOON);
    let file = page.sandbox.path("config.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("the mode is set");
    let (before, visitor) = (page.sandbox.read("config.json"), visitor(&page));
    let changed =
        [("ttl", "600"), ("ipv4.is.www.example.com", "remove"), ("ipv4.add", "new.example.com"), ("line", "")];
    let fields = filled(&page, &visitor, &changed);
    // What would change is seen first, and nothing is saved before.
    let asked = decoded(&step(&page, &visitor, &fields, "check").expect(200).body);
    for part in
        ["Save these changes?", "new.example.com A", "www.example.com A", "Nothing more is sent.", "Save and run"]
    {
        assert!(asked.contains(part), "{part}\n{asked}");
    }
    assert_eq!(page.sandbox.read("config.json"), before);
    assert!(!asked.contains("notice warn"), "{asked}");
    // What may be a mistake is named, before it is saved.
    let typo = [("id", "https://h.example/?d=__DOMIAN__&ip=__IP__"), ("headers", "X-Key: another-one")];
    let typo = filled(&page, &visitor, &typo);
    let typo = decoded(&step(&page, &visitor, &typo, "check").body);
    assert!(typo.contains("Did you mean __DOMAIN__?"), "{typo}");
    // Back to the form, with what was typed.
    let again = step(&page, &visitor, &fields, "edit").expect(200).body;
    assert!(again.contains("value=\"600\"") && again.contains("new.example.com"), "{again}");
    let saved = step(&page, &visitor, &fields, "save").expect(303);
    assert_eq!(saved.header("location"), Some("/configuration?file=0&saved=1"));
    let expected = before
        .replace("\"ttl\": 300", "\"ttl\": 600")
        .replace("\"home.example.com\", \"www.example.com\"", "\"home.example.com\", \"new.example.com\"");
    assert_eq!(page.sandbox.read("config.json"), expected);
    assert_eq!(mode(&file), 0o640);
    until(SOON, "the new domain", || page.endpoint.arrivals().iter().any(|one| one.name() == "new.example.com"));
    // The same form once more changes nothing.
    let fields = filled(&page, &visitor, &[("ttl", "600")]);
    assert!(step(&page, &visitor, &fields, "save").expect(200).body.contains("Nothing was changed."));
    // An entry goes, and the other one stays as it is.
    let form = page.get_as("/configuration/edit?file=0&entry=1", &visitor).expect(200).body;
    let version = form.split("name=\"version\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("one");
    let remove = format!("file=0&entry=1&version={version}&remove=yes");
    assert!(page.post("/configuration/edit", &visitor, &remove).expect(200).body.contains("Remove this entry?"));
    step(&page, &visitor, &remove, "save").expect(303);
    let after = page.sandbox.read("config.json");
    assert!(!after.contains("nas.example.com") && after.contains("// second") && after.contains("# first"), "{after}");
    page.sandbox.run(&["check", "-c", "config.json"]).expect(0);
}

#[test]
fn i7_what_is_wrong_stands_at_its_field_in_words_and_nothing_is_lost() {
    let page = page_of("config.json", TWO);
    let (before, visitor) = (page.sandbox.read("config.json"), visitor(&page));
    let source = format!("index4.is.{}", page.endpoint.receiver.index4());
    for (name, text, expected) in [
        ("ttl", "soon", "TTL must be a whole number of seconds up to 4294967295, not soon."),
        ("id", "update?ip=__IP__", "The URL must start with http:// or https://."),
        ("ipv4.add", "bé..b", "<span>bé..b "),
        ("index4.other", "cmd:reboot", "cannot be set in a browser"),
        ("index4.other", "203.0.113.7", "203.0.113.7 is an address, not a source of one."),
        ("zone", "example.org", ">home.example.com is not below any name in Zone"),
        (&source, "shell:reboot", "cannot be set in a browser"),
        ("ssl", "/etc/passwd", "cannot be set in a browser"),
        ("extra", "{\"__K__\": {\"file\": \"/etc/passwd\"}}", "cannot be set in a browser"),
        ("token", "{", "Body "),
    ] {
        let fields = filled(&page, &visitor, &[(name, text), ("line", "kept as it was typed")]);
        for how in ["check", "save"] {
            let answer = decoded(&step(&page, &visitor, &fields, how).expect(422).body);
            let wrong = answer.split("class=\"wrong\"").nth(1).unwrap_or_else(|| panic!("{name}: {answer}"));
            assert!(wrong[..600.min(wrong.len())].contains(expected), "{name}: {wrong}");
            assert!(answer.contains("kept as it was typed") && !answer.contains(SECRET), "{name}");
        }
    }
    assert_eq!(page.sandbox.read("config.json"), before);
}

#[test]
fn i2_a_secret_is_typed_again_before_another_host_gets_it() {
    let page = page_of("config.json", TWO);
    page.endpoint.wait(3, SOON);
    let (other, visitor) = (Endpoint::new(), visitor(&page));
    let id = other.id();
    let fields = filled(&page, &visitor, &[("id", &id)]);
    let answer = decoded(&step(&page, &visitor, &fields, "save").expect(422).body);
    assert!(answer.contains("Type this again") && !answer.contains(SECRET), "{answer}");
    for (name, text) in [("proxy", "http://127.0.0.1:1"), ("ssl", "false")] {
        step(&page, &visitor, &filled(&page, &visitor, &[(name, text)]), "save").expect(422);
    }
    let fields = filled(&page, &visitor, &[("id", &id), ("headers", "X-Key: another-one")]);
    step(&page, &visitor, &fields, "save").expect(303);
    other.wait(2, SOON);
    let seen: String =
        other.receiver.callbacks().iter().filter_map(|one| one.header("x-key").map(str::to_owned)).collect();
    assert!(seen.contains("another-one") && !seen.contains(SECRET), "{seen}");
}

/// Two tabs, a file that changed underneath, one that cannot be written, one with errors: a sentence, and nothing is lost.
#[test]
fn i7_an_edit_that_cannot_be_saved_loses_nothing() {
    let page = page_of("config.json", TWO);
    let visitor = visitor(&page);
    let (first, second) = (filled(&page, &visitor, &[("ttl", "1")]), filled(&page, &visitor, &[("ttl", "2222")]));
    step(&page, &visitor, &first, "save").expect(303);
    let answer = step(&page, &visitor, &second, "save").expect(409).body;
    assert!(answer.contains("was changed in the meantime") && answer.contains("value=\"2222\""), "{answer}");
    assert!(page.sandbox.read("config.json").contains("\"ttl\": 1}"));
    // A file with errors.
    let right = page.sandbox.read("config.json");
    page.sandbox.write("config.json", right.replace("\"ttl\": 1}", "\"ttl\": \"soon\"}"));
    let shown = page.get("/configuration").expect(200).body;
    assert!(shown.contains("The file has errors.") && shown.contains("Line 7: TTL must be"), "{shown}");
    page.get(EDIT).expect(422);
    page.sandbox.write("config.json", format!("{{\"token\": {SECRET} \"x\" 1 // {SECRET}"));
    assert!(!page.get("/configuration").expect(200).body.contains(SECRET));
    page.sandbox.write("config.json", right);
    // As on a full disk: the name leaves no room for that of a new file beside it.
    let name = format!("{}.json", "n".repeat(245));
    let page = page_of(&name, TWO);
    let visitor = page.visitor(EDIT);
    let before = page.sandbox.read(&name);
    let fields = filled(&page, &visitor, &[("ttl", "7")]);
    let answer = step(&page, &visitor, &fields, "save").expect(500).body;
    assert!(
        answer.contains("Nothing was saved") && answer.contains("value=\"7\"") && !answer.contains("os error"),
        "{answer}"
    );
    assert_eq!(page.sandbox.read(&name), before);
}

/// Somebody else's edit moves domains and entries: what was typed stays with its domain and its entry, and fields that were not
/// touched do not undo it.
#[test]
fn i7_an_edit_stays_with_its_domain_and_its_entry() {
    let page = page_of("config.json", TWO);
    let (visitor, before) = (visitor(&page), page.sandbox.read("config.json"));
    let more = [("ipv4.add", "added.example.com"), ("proxy", "http://u:pr0xypw@127.0.0.1:1")];
    let fields = [&[("ipv4.is.www.example.com", "remove"), ("line", "typed")][..], &more].concat();
    let fields = filled(&page, &visitor, &fields);
    let write = |text: String| page.sandbox.write("config.json", text);
    // A domain comes first, and the TTL is another one: the tick stays at its domain.
    write(before.replace("[\"home.example.com\"", "[\"a.example.com\", \"home.example.com\"").replace("300", "301"));
    let answer = decoded(&step(&page, &visitor, &fields, "check").expect(409).body);
    assert!(answer.contains("name=\"set.ipv4.is.www.example.com\" value=\"remove\" checked"), "{answer}");
    assert_eq!(answer.matches(" checked").count(), 1, "{answer}");
    assert!(answer.contains("value=\"301\"") && answer.contains("value=\"typed\""), "{answer}");
    // An entry comes first.
    let new = "\"providers\": [{\"provider\": \"callback\", \"id\": \"http://127.0.0.1:9/\", \"ipv4\": \"x.example\", \"index4\": \"default\"},";
    let moved = before.replace("\"providers\": [", new);
    write(moved.clone());
    let answer = decoded(&step(&page, &visitor, &fields, "check").expect(409).body);
    assert!(answer.contains("<h1>Entry 2</h1>") && answer.contains("set.ipv4.is.www.example.com"), "{answer}");
    // And the entry was changed as well: nobody knows which one is meant.
    write(moved.replace("\"ttl\": 300", "\"ttl\": 301"));
    let answer = decoded(&step(&page, &visitor, &fields, "save").expect(409).body);
    assert!(answer.contains("is not among them") && answer.contains("added.example.com"), "{answer}");
    assert!(!answer.contains(SECRET) && !answer.contains("pr0xypw"), "{answer}");
    // A file with errors: what was typed is sent again when it is mended.
    write(before.replace("\"ttl\": 300", "\"ttl\": \"soon\""));
    let answer = decoded(&step(&page, &visitor, &fields, "check").expect(422).body);
    assert!(answer.contains("name=\"set.line\" value=\"typed\"") && answer.contains("Send it again"), "{answer}");
    // A tick that a secret is removed is kept.
    write(before);
    let fields = filled(&page, &visitor, &[("unset.headers", "on"), ("ttl", "soon")]);
    let answer = decoded(&step(&page, &visitor, &fields, "check").expect(422).body);
    assert!(answer.contains("name=\"set.unset.headers\" checked"), "{answer}");
}

/// The pages of a long list are parts of one form, and so is a list that is pasted into it.
#[test]
fn i7_turning_a_page_of_domains_keeps_what_was_ticked_and_typed() {
    let names: Vec<String> = (0..95).map(|at| format!("\"h{at:03}.example.com\"")).collect();
    let page = page_of("config.json", &TWO.replace("\"home.example.com\"", &names.join(", ")));
    let visitor = visitor(&page);
    let ticked = [("ipv4.is.h003.example.com", "remove"), ("ttl", "5")];
    let second = decoded(&step(&page, &visitor, &filled(&page, &visitor, &ticked), "page+2").expect(200).body);
    for part in [
        "41–80 of 96",
        "type=\"hidden\" name=\"set.ipv4.is.h003.example.com\"",
        "id=\"ttl\" name=\"set.ttl\" value=\"5\"",
        "value=\"page 3\"",
    ] {
        assert!(second.contains(part), "{part}: {second}");
    }
    let pasted: Vec<String> = (0..1500).map(|at| format!("a{at:05}.added.example.com")).collect();
    let pasted = pasted.join("\n");
    let all = [&ticked[..], &[("ipv4.is.h050.example.com", "remove"), ("ipv4.add", pasted.as_str())]].concat();
    let fields = filled(&page, &visitor, &all);
    assert!(fields.len() > 40_000);
    step(&page, &visitor, &fields, "check").expect(200);
    step(&page, &visitor, &fields, "save").expect(303);
    let text = page.sandbox.read("config.json");
    assert!(!text.contains("h003.") && !text.contains("h050.") && text.contains("h004.") && text.contains("a01499."));
}

/// A disk that is really full, one that is read-only, and a file that nobody may write: a sentence for each, nothing is lost, and
/// what was typed can be saved when there is room again.
#[test]
fn i7_what_cannot_be_written_gives_a_sentence_and_loses_nothing() {
    let Some(()) = inside(LOOPBACK) else { return };
    let (sandbox, file) = (host(), "disk/config.json");
    let disk = sandbox.path("disk").display().to_string();
    sh(&format!("mkdir {disk} && mount -t tmpfs -o size=64k tmpfs {disk}"));
    let page = page_in(sandbox, file, &TWO.replace(", \"token_file\": \"token\"", ""));
    page.endpoint.wait(3, SOON);
    let (before, visitor) = (page.sandbox.read(file), visitor(&page));
    let save = || step(&page, &visitor, &filled(&page, &visitor, &[("ttl", "7")]), "save");
    for (spoil, mend, expected) in [
        (
            format!("dd if=/dev/zero of={disk}/fill bs=4k 2>/dev/null || true"),
            format!("rm {disk}/fill"),
            "cannot be written (no space left on device)",
        ),
        (
            format!("mount -o remount,ro {disk}"),
            format!("mount -o remount,rw {disk}"),
            "cannot be written (read-only file system)",
        ),
        (format!("chmod 444 {disk}/config.json"), format!("chmod 600 {disk}/config.json"), "is read-only"),
    ] {
        sh(&spoil);
        let answer = decoded(&save().expect(500).body);
        let sentence = format!("Nothing was saved: {file} {expected}");
        assert!(answer.contains(&sentence) && answer.contains("value=\"7\""), "{answer}");
        let source = encoded(&page.endpoint.receiver.index4());
        let id = encoded(&page.endpoint.id());
        let fields = format!("name=own&domains=x.example.com&body=&index6=none&id={id}&index4={source}&step=add");
        let answer = decoded(&page.post("/recipes", &visitor, &fields).expect(422).body);
        assert!(answer.contains(&format!("Nothing was added: {file} {expected}")), "{answer}");
        assert!(answer.contains("name=\"domains\" value=\"x.example.com\""), "{answer}");
        sh(&mend);
        assert_eq!(page.sandbox.read(file), before);
        let left = fs::read_dir(page.sandbox.path("disk")).expect("the disk");
        assert_eq!(left.count(), 1, "nothing is left beside it");
    }
    save().expect(303);
    assert!(page.sandbox.read(file).contains("\"ttl\": 7}"));
}

#[test]
fn i7_nothing_is_edited_where_that_is_not_allowed() {
    let page = page_of("config.json", &TWO.replace(", \"allow_edit\": true", ""));
    let before = page.sandbox.read("config.json");
    let shown = page.get("/configuration").expect(200).body;
    assert!(shown.contains("home.example.com") && !shown.contains("/configuration/edit") && !shown.contains(SECRET));
    page.get(EDIT).expect(403);
    page.post("/configuration/edit", &page.visitor("/"), "file=0&entry=0&version=x&set.ttl=5&step=save").expect(403);
    let patch = json!({"version": "x", "operations": []}).to_string();
    page.request("PATCH", "/api/v1/config", &[BEARER], &patch).expect(403);
    assert_eq!(page.sandbox.read("config.json"), before);
}

#[test]
fn i7_programs_edit_by_operations() {
    let page = page_of("config.json", TWO);
    page.endpoint.wait(3, SOON);
    let read = || page.get("/api/v1/config").expect(200).json()[0].clone();
    let patch = |body: &Value| page.request("PATCH", "/api/v1/config", &[BEARER], &body.to_string());
    let (before, shown) = (page.sandbox.read("config.json"), read());
    assert!(!shown.to_string().contains(SECRET) && !shown.to_string().contains("mine"), "{shown}");
    let entry = shown["forms"].as_array().expect("forms").iter().find(|form| form["entry"] == json!(0)).expect("one");
    let control = |name: &str| entry["controls"].as_array().and_then(|all| all.iter().find(|one| one["field"] == name));
    assert_eq!(control("ttl").expect("ttl")["value"], json!("300"));
    assert_eq!(control("headers").expect("headers")["state"], json!("write_only"));
    assert_eq!(control("ipv4").expect("ipv4")["items"], json!(["home.example.com", "www.example.com"]));
    let ops = json!([
        {"op": "set", "entry": 1, "field": "ttl", "value": 60},
        {"op": "add", "entry": 1, "field": "ipv4", "value": "new.example.com"},
        {"op": "remove", "entry": 0, "field": "ipv4", "item": 0},
    ]);
    let dry = patch(&json!({"version": shown["version"], "operations": ops, "dry_run": true})).expect(200).json();
    assert_eq!((&dry["saved"], dry["changes"].as_array().map(Vec::len)), (&json!(false), Some(2)), "{dry}");
    assert_eq!(page.sandbox.read("config.json"), before);
    let saved = patch(&json!({"version": shown["version"], "operations": ops})).expect(200).json();
    assert_eq!(saved, json!({"saved": true, "errors": []}));
    until(SOON, "the new domain", || page.endpoint.arrivals().iter().any(|one| one.name() == "new.example.com"));
    patch(&json!({"version": shown["version"], "operations": ops})).expect(409);
    let version = read()["version"].clone();
    for (op, field) in [
        (json!({"op": "set", "entry": 0, "field": "index4", "value": "cmd:reboot"}), "index4"),
        (json!({"op": "set", "field": "web", "value": true}), "web"),
        (json!({"op": "unset", "field": "notify"}), "notify"),
        (json!({"op": "set", "entry": 0, "field": "id", "value": "https://evil.example/"}), "headers"),
    ] {
        let answer = patch(&json!({"version": version, "operations": [op]})).expect(422).json();
        assert_eq!(answer["findings"][0]["field"], json!(field), "{answer}");
    }
    for wrong in [
        json!([]),
        json!({}),
        json!({"version": version}),
        json!({"version": version, "operations": [{"op": "x"}]}),
        json!({"version": version, "operations": [{"op": "set", "field": "odd", "value": 1}]}),
    ] {
        patch(&wrong).expect(400);
    }
    // No page of another site does this, and nobody without the token.
    let body = json!({"version": version, "operations": []}).to_string();
    page.request("PATCH", "/api/v1/config", &[], &body).expect(403);
    page.request("PUT", "/api/v1/config", &[BEARER], "{}").expect(405);
}

/// Each update is shown with the address of its own sources; one that is not known is an example.
#[test]
fn i7_what_would_be_sent_has_the_address_of_its_own_entry() {
    let page = page_of("config.json", &TWO.replace("[\"SOURCE\"]", "\"shell:echo 198.51.100.9\""));
    page.endpoint.wait(3, SOON);
    let version = page.get("/api/v1/config").expect(200).json()[0]["version"].clone();
    let tried = |ops: Value| {
        let body = json!({"version": version, "operations": ops, "dry_run": true});
        page.request("PATCH", "/api/v1/config", &[BEARER], &body.to_string()).expect(200).json()["changes"].clone()
    };
    for (entry, ip) in [(0, "203.0.113.7"), (1, "198.51.100.9")] {
        let changes = tried(json!([{"op": "add", "entry": entry, "field": "ipv4", "value": "new.example.com"}]));
        assert!(changes[0]["after"].as_str().is_some_and(|text| text.contains(ip)), "{entry}: {changes:#}");
    }
    let changes = tried(json!([{"op": "set", "entry": 1, "field": "index4", "value": ["public"]}]));
    let has = |when: &str, ip: &str| changes[0][when].as_str().is_some_and(|text| text.contains(ip));
    assert!(has("before", "198.51.100.9") && has("after", "192.0.2."), "{changes:#}");
}

/// The service that made the form is gone: the next one knows nothing of its token.
#[test]
fn i7_a_restart_loses_nothing_that_was_typed() {
    let page = page_of("config.json", TWO);
    let mut visitor = visitor(&page);
    let fields = filled(&page, &visitor, &[("ttl", "600"), ("line", "\"typed\"")]);
    let Page { endpoint, sandbox, watch, address } = page;
    watch.stop();
    let text = sandbox.read("config.json").replace("127.0.0.1:0", &address.to_string());
    sandbox.write("config.json", text);
    let watch = Watch::run(sandbox.command(&["watch", "-c", "config.json"]));
    watch.prints("the page is at ");
    let page = Page { endpoint, sandbox, watch, address };
    let kept = step(&page, &visitor, &fields, "check").expect(403);
    for part in ["Send it again?", "name=\"set.ttl\" value=\"600\"", "value=\"&quot;typed&quot;\"", "value=\"check\""] {
        assert!(kept.body.contains(part), "{part}: {}", kept.body);
    }
    visitor.token = kept.token();
    // The file has another version by now.
    let next = step(&page, &visitor, &fields, "check").expect(409).body;
    assert!(next.contains("value=\"600\""), "{next}");
}

/// An update may be more than one request: each that would change is shown.
#[test]
fn i7_a_change_of_the_requests_around_an_update_is_shown() {
    let around = r#""before": {"id": "/find", "take": {"/id": "__REC__"}}, "absent": {"id": "/make"}, "after": {"id": "/done"}, "ttl""#;
    let page = page_of("config.json", &TWO.replacen("\"ttl\"", around, 1));
    let shown = page.get("/api/v1/config").expect(200).json()[0].clone();
    let tried = |field: &str, value: &Value| {
        let op = json!({"op": "set", "entry": 0, "field": field, "value": value});
        let body = json!({"version": shown["version"], "operations": [op], "dry_run": true});
        page.request("PATCH", "/api/v1/config", &[BEARER], &body.to_string()).expect(200).json()["changes"].clone()
    };
    let before = json!({"id": "/other", "take": {"/id": "__REC__"}});
    for (field, value, was, is) in [
        ("before", before, "/find", "/other"),
        ("absent", json!({"id": "/create"}), "/make", "/create"),
        ("after", json!({"id": "/publish"}), "/done", "/publish"),
    ] {
        let changes = tried(field, &value);
        let has = |when: &str, path: &str| changes[0][when].as_str().is_some_and(|text| text.contains(path));
        assert_eq!(changes.as_array().map(Vec::len), Some(2), "{field}: of both domains: {changes:#}");
        assert!(has("before", was) && has("after", is) && !has("after", was), "{field}: {changes:#}");
    }
    assert_eq!(tried("min_interval", &json!("10m")), json!([]), "it changes no request");
}

#[test]
fn i7_a_test_notification_is_sent_and_the_log_is_shown() {
    let (notified, endpoint, sandbox) =
        (Endpoint::new(), Endpoint::responding(|_| Response::with_body(503, "locked\u{202e} by s3cret-words")), host());
    let mut config = endpoint.config(&json!({"token": {"key": "s3cret-words"}}));
    config["notify"] = json!({"id": notified.receiver.url("/n?k=s3cret-notify&m=__MESSAGE__"), "on": "synchronized"});
    let page = Page::start(endpoint, sandbox, &json!({}), config);
    page.endpoint.wait(1, SOON);
    let visitor = page.visitor("/configuration");
    let answer = page.post("/configuration/notify", &visitor, "file=0").expect(200).body;
    assert!(answer.contains("arrived: 204 No Content") && !answer.contains("s3cret"), "{answer}");
    until(SOON, "the test", || notified.count() >= 1);
    let log = decoded(&page.get("/log").expect(200).body);
    assert!(
        log.contains("locked\\u{202e} by ***") && log.contains("home.example.com A") && !log.contains("s3cret"),
        "{log}"
    );
    let details = decoded(&page.get("/update?domain=home.example.com&type=A").expect(200).body);
    assert!(details.contains("Response text") && details.contains("<code>locked\\u{202e} by ***</code>"), "{details}");
}
