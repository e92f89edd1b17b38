//! *Configuration* on the page: what a browser sees of a file, and what an edit may do (I2).

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::json;

use crate::support::mode;
use crate::support::page::{Answer, Page, Visitor, address, decoded, encoded};
use crate::support::watching::{Endpoint, SOON, Watch, host, until};

const SECRET: &str = "s3cret-key-of-mine";

/// A service whose page may change its file `name`, which holds this text. `ID` and `SOURCE` in it are those of an endpoint.
fn editable(name: &str, text: &str) -> Page {
    let (endpoint, sandbox) = (Endpoint::new(), host());
    let id = format!("{}&key={SECRET}", endpoint.id());
    sandbox.write(name, text.replace("ID", &id).replace("SOURCE", &endpoint.receiver.index4()));
    let watch = Watch::run(sandbox.command(&["watch", "-c", name]));
    let address = address(&watch);
    Page { endpoint, sandbox, watch, address }
}

const PLAIN: &str = r#"// mine
{
  "dns": "callback", "web": {"listen": "127.0.0.1:0", "allow_edit": true},
  "id": "ID",  // the address
  "ipv4": ["home.example.com"],
  "index4": "SOURCE",
  "ttl": 300 # seconds
}
"#;

/// The editor as a browser has it.
struct Editor<'a> {
    page: &'a Page,
    visitor: Visitor,
    text: String,
    version: String,
    file: usize,
}

fn value_of(answer: &Answer, name: &str) -> String {
    let (_, rest) =
        answer.body.split_once(&format!("name=\"{name}\" value=\"")).unwrap_or_else(|| panic!("{}", answer.body));
    decoded(rest.split('"').next().unwrap_or_default())
}

fn text_of(answer: &Answer) -> String {
    let (_, rest) = answer.body.split_once("<textarea").unwrap_or_else(|| panic!("{}", answer.body));
    let (_, rest) = rest.split_once(">\n").expect("the text");
    // A browser knows one kind of line end.
    decoded(rest.split("</textarea>").next().unwrap_or_default()).replace("\r\n", "\n")
}

impl<'a> Editor<'a> {
    fn open(page: &'a Page, file: usize) -> Self {
        let answer = page.get(&format!("/configuration?file={file}")).expect(200);
        let visitor = Visitor { cookie: crate::support::page::cookie_of(&answer), token: answer.token() };
        assert!(!answer.body.contains(SECRET), "{}", answer.body);
        Self { page, visitor, text: text_of(&answer), version: value_of(&answer, "version"), file }
    }

    /// Sends the text with this change, as a browser does: lines end in CRLF.
    fn send(&self, (from, to): (&str, &str), step: &str) -> Answer {
        assert!(self.text.contains(from), "{from}\n{}", self.text);
        self.post(&self.text.replacen(from, to, 1), step)
    }

    fn post(&self, text: &str, step: &str) -> Answer {
        let text = encoded(&text.replace('\n', "\r\n"));
        let fields = format!("text={text}&version={}&file={}&step={step}", encoded(&self.version), self.file);
        let reviewed =
            |answer: &Answer| answer.body.contains("name=\"reviewed\"").then(|| value_of(answer, "reviewed"));
        let answer = self.page.post("/configuration", &self.visitor, &fields);
        match reviewed(&answer).filter(|_| step == "save" && answer.status == 200) {
            // Saving shows first what would change.
            Some(reviewed) => self.page.post("/configuration", &self.visitor, &format!("{fields}&reviewed={reviewed}")),
            None => answer,
        }
    }
}

#[test]
fn i2_a_configuration_is_shown_without_its_secrets() {
    let page = editable("config.json", &PLAIN.replace(", \"allow_edit\": true", ""));
    let answer = page.get("/configuration").expect(200);
    let text = text_of(&answer);
    assert_eq!(text.matches("***").count(), 1, "{text}");
    for part in ["// mine\n", "// the address\n", "&key=***", "# seconds"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!answer.body.contains(SECRET));
    // Where `allow_edit` is not set, nothing can be changed.
    assert!(answer.body.contains(" readonly") && answer.body.contains("web.allow_edit"), "{}", answer.body);
    let visitor = Visitor { cookie: crate::support::page::cookie_of(&answer), token: page.visitor("/").token };
    let before = page.sandbox.read("config.json");
    let fields = format!("text={}&version={}&file=0&step=save", encoded(&text), value_of(&answer, "version"));
    for visitor in [&page.visitor("/"), &visitor] {
        page.post("/configuration", visitor, &fields).expect(403);
    }
    assert_eq!(page.sandbox.read("config.json"), before);
}

#[test]
fn i2_saving_keeps_secrets_comments_mode_and_line_ends() {
    let page = editable("real/config.json", &PLAIN.replace('\n', "\r\n"));
    page.endpoint.wait(1, SOON);
    let file = page.sandbox.path("real/config.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("the mode is set");
    let before = page.sandbox.read("real/config.json");
    let editor = Editor::open(&page, 0);
    let answer = editor.send(("home.example.com", "nas.example.com"), "save").expect(200);
    assert!(answer.body.contains("Saved. The service runs on it now."), "{}", answer.body);
    assert_eq!(page.sandbox.read("real/config.json"), before.replace("home.", "nas."));
    assert_eq!(mode(&file), 0o640);
    assert_eq!(fs::read_dir(page.sandbox.path("real")).expect("the folder").count(), 1, "nothing is left beside it");
    let arrival = page.endpoint.wait(2, SOON);
    assert_eq!(arrival.name(), "nas.example.com");
    assert!(arrival.target.contains(SECRET), "{}", arrival.target);
}

#[test]
fn i2_a_link_leads_to_the_file_that_is_replaced() {
    let (endpoint, sandbox) = (Endpoint::new(), host());
    let text = PLAIN.replace("ID", &endpoint.id()).replace("SOURCE", &endpoint.receiver.index4());
    sandbox.write("elsewhere/real.json", &text);
    symlink("elsewhere/real.json", sandbox.path("config.json")).expect("a link");
    let watch = Watch::run(sandbox.command(&["watch", "-c", "config.json"]));
    let address = address(&watch);
    let page = Page { endpoint, sandbox, watch, address };
    Editor::open(&page, 0).send(("300", "600"), "save").expect(200);
    assert!(fs::symlink_metadata(page.sandbox.path("config.json")).is_ok_and(|metadata| metadata.is_symlink()));
    assert_eq!(page.sandbox.read("elsewhere/real.json"), text.replace("300", "600"));
}

#[test]
fn i2_an_edit_shows_first_what_it_would_send() {
    let page = editable("config.json", PLAIN);
    page.endpoint.wait(1, SOON);
    let (before, editor) = (page.sandbox.read("config.json"), Editor::open(&page, 0));
    let fields = |text: &str| format!("text={}&version={}&file=0&step=save", encoded(text), encoded(&editor.version));
    let changed = editor.text.replace("home.", "nas.");
    // Not even "save" saves before it was shown.
    let answer = page.post("/configuration", &editor.visitor, &fields(&changed)).expect(200);
    for part in ["New: nas.example.com A", "No longer sent: home.example.com A", "key=***"] {
        assert!(answer.body.contains(part), "{part}: {}", answer.body);
    }
    // Nor does it save another text than the one that was shown.
    let reviewed = value_of(&answer, "reviewed");
    let other = format!("{}&reviewed={reviewed}", fields(&editor.text.replace("home.", "evil.")));
    assert!(page.post("/configuration", &editor.visitor, &other).expect(200).body.contains("New: evil.example.com A"));
    assert_eq!(page.sandbox.read("config.json"), before);
    assert_eq!(page.endpoint.count(), 1);
}

#[test]
fn i2_an_edit_cannot_take_more_than_the_page_gives() {
    let page = editable("config.json", PLAIN);
    page.endpoint.wait(1, SOON);
    let other = Endpoint::new();
    let (before, editor) = (page.sandbox.read("config.json"), Editor::open(&page, 0));
    let port = format!(":{}/", page.endpoint.receiver.port());
    let elsewhere = format!(":{}/", other.receiver.port());
    let made = page.sandbox.path("made").display().to_string();
    let source = format!("\"{}\"", page.endpoint.receiver.index4());
    let (cmd, shell) = (format!("\"cmd:touch {made}\""), format!("[\"shell:touch {made}\"]"));
    let log = format!("\"log\": {{\"file\": \"{made}\"}}");
    let cases: [(&str, &str, &str); 10] = [
        (&port, &elsewhere, "what is behind this `***` was for"),
        ("\"ttl\": 300", "\"proxy\": \"http://127.0.0.1:9\"", "would reach somebody else"),
        (&source, &cmd, "cannot be added in a browser"),
        (&source, &shell, "cannot be added in a browser"),
        ("\"ttl\": 300", &log, "cannot be added in a browser"),
        ("\"ttl\": 300", "\"cache\": \"/etc/cron.d/x\"", "cannot be added in a browser"),
        ("\"ttl\": 300", "\"ssl\": \"/etc/passwd\"", "cannot be added in a browser"),
        ("\"ttl\": 300", "\"extra\": {\"__A__\": {\"file\": \"/etc/passwd\"}}", "cannot be added in a browser"),
        ("\"allow_edit\": true", "\"allow_edit\": true, \"hosts\": [\"evil.example\"]", "`web` cannot be changed"),
        ("\"ttl\": 300", "\"headers\": {\"X\": \"***\"}", "nothing is behind this `***`"),
    ];
    for (from, to, expected) in cases {
        for step in ["review", "save"] {
            let answer = editor.send((from, to), step).expect(422);
            assert!(decoded(&answer.body).contains(expected), "{to}: {}", answer.body);
            assert!(!answer.body.contains(SECRET));
        }
        let fields = format!("text={}&file=0", encoded(&editor.text.replacen(from, to, 1)));
        let checked = page.post("/configuration/check", &editor.visitor, &fields).expect(200);
        assert!(decoded(&checked.body).contains(expected), "{to}: {}", checked.body);
    }
    assert_eq!(page.sandbox.read("config.json"), before);
    assert!(!page.sandbox.path("made").exists() && other.count() == 0);
    // Typed again, the secret may go elsewhere.
    let text = editor.text.replacen(&port, &elsewhere, 1).replacen("***", "another-key", 1);
    editor.post(&text, "save").expect(200);
    assert!(other.wait(1, SOON).target.contains("another-key"));
}

#[test]
fn i2_errors_stand_at_their_line_while_typing() {
    let page = editable("config.json", PLAIN);
    let editor = Editor::open(&page, 0);
    let fields = |from: &str, to: &str| format!("text={}&file=0", encoded(&editor.text.replacen(from, to, 1)));
    let answer = page.post("/configuration/check", &editor.visitor, &fields("300", "\"soon\"")).expect(200);
    let shown = decoded(&answer.body);
    for part in [
        "line 7",
        "`ttl` must be a whole number of seconds, not `soon`",
        "  \"ttl\": \"soon\" # seconds\n         ^^^^^^<",
        "The value of `__TTL__`",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let answer = page.post("/configuration/check", &editor.visitor, &fields("300 #", "300 300 #")).expect(200);
    assert!(decoded(&answer.body).contains("not valid JSON"), "{}", answer.body);
    let answer = page.post("/configuration/check", &editor.visitor, &fields("300", "301")).expect(200);
    assert!(!answer.body.contains("<li"), "{}", answer.body);
}

#[test]
fn i2_a_file_that_changed_meanwhile_is_not_overwritten() {
    let page = editable("config.json", PLAIN);
    page.endpoint.wait(1, SOON);
    let editor = Editor::open(&page, 0);
    let others = page.sandbox.read("config.json").replace("300", "301");
    page.sandbox.write("config.json", &others);
    let answer = editor.send(("home.", "nas."), "save").expect(409);
    assert!(answer.body.contains("changed on the host") && text_of(&answer).contains("nas."), "{}", answer.body);
    assert_eq!(page.sandbox.read("config.json"), others);
}

/// The name leaves no room for that of a new file beside it: as on a full disk, nothing is half done.
#[test]
fn i2_a_file_that_cannot_be_written_stays_as_it_is() {
    let name = format!("{}.json", "n".repeat(245));
    let page = editable(&name, PLAIN);
    page.endpoint.wait(1, SOON);
    let before = page.sandbox.read(&name);
    let answer = Editor::open(&page, 0).send(("home.", "nas."), "save").expect(500);
    assert!(answer.body.contains("Nothing was saved") && text_of(&answer).contains("nas."), "{}", answer.body);
    assert_eq!(page.sandbox.read(&name), before);
    // Updates go on.
    page.endpoint.receiver.set_ip("203.0.113.9");
    page.sandbox.run(&["sync", "-c", &name]).expect(0);
    assert_eq!(page.endpoint.wait(2, SOON).ip(), "203.0.113.9");
}

#[test]
fn i2_each_of_several_files_is_edited_by_itself() {
    let (endpoint, sandbox) = (Endpoint::new(), host());
    let mut first = endpoint.config(&json!({"ipv4": ["a.example.com"]}));
    first["web"] = json!({"listen": "127.0.0.1:0", "allow_edit": true});
    sandbox.write("a.json", first.to_string());
    let second = endpoint.config(&json!({"ipv4": ["b.example.com"], "headers": {"X-Key": SECRET}})).to_string();
    sandbox.write("b.json", &second);
    let watch = Watch::run(sandbox.command(&["watch", "-c", "a.json", "-c", "b.json"]));
    let address = address(&watch);
    let page = Page { endpoint, sandbox, watch, address };
    page.endpoint.wait(2, SOON);
    let before = page.sandbox.read("a.json");
    let editor = Editor::open(&page, 1);
    editor.send(("b.example.com", "c.example.com"), "save").expect(200);
    assert_eq!(page.sandbox.read("b.json"), second.replace("b.example", "c.example"));
    assert_eq!(page.sandbox.read("a.json"), before);
    until(SOON, "the new name", || page.endpoint.arrivals().iter().any(|arrival| arrival.name() == "c.example.com"));
}

#[test]
fn i2_a_file_that_is_not_json_shows_nothing_and_is_mended_on_the_host() {
    let page = editable("config.json", PLAIN);
    page.endpoint.wait(1, SOON);
    let visitor = Editor::open(&page, 0).visitor;
    page.sandbox.write("config.json", format!("{{\"token\": {SECRET} \"x\" 1 // {SECRET}"));
    let answer = page.get("/configuration").expect(200);
    assert!(!answer.body.contains(SECRET) && answer.body.contains("mend it on the host"), "{}", answer.body);
    let fields = format!("text=%7B%7D&version={}&file=0&step=save", encoded(&value_of(&answer, "version")));
    page.post("/configuration", &visitor, &fields).expect(422);
}
