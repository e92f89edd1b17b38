//! *Configuration* on the page: what a browser sees of a file, and what adding an entry does to it (I2).

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::json;

use crate::support::mode;
use crate::support::page::{Answer, Page, address, decoded, encoded};
use crate::support::watching::{Endpoint, SOON, Watch, host};

const SECRET: &str = "s3cret-key-of-mine";

/// A service whose page may add to its file `name`, which holds this text. `ID` and `SOURCE` in it are those of an endpoint.
fn page_of(name: &str, text: &str) -> Page {
    let (endpoint, sandbox) = (Endpoint::new(), host());
    let id = format!("{}&key={SECRET}", endpoint.id());
    sandbox.write(name, text.replace("ID", &id).replace("SOURCE", &endpoint.receiver.index4()));
    let watch = Watch::run(sandbox.command(&["watch", "-c", name]));
    let address = address(&watch);
    Page { endpoint, sandbox, watch, address }
}

const FLAT: &str = r#"// mine
{
  "dns": "callback", "web": {"listen": "127.0.0.1:0", "allow_edit": true},
  "id": "ID",  // the address
  "ipv4": ["home.example.com"],
  "index4": "SOURCE",
  "ttl": 300 # seconds
}
"#;

/// The same with `providers`; `MORE` stands outside of them.
const ENTRIES: &str = r#"{
  "web": {"listen": "127.0.0.1:0", "allow_edit": true}, MORE
  "providers": [
    {"provider": "callback", "id": "ID", "ipv4": ["home.example.com"], "index4": "SOURCE"} # mine
  ]
}
"#;

/// Adds an entry that calls this address for `nas.example.com`.
fn add(page: &Page, id: &str, source: &str) -> Answer {
    let visitor = page.visitor("/recipes?name=own");
    let fields = format!(
        "name=own&domains=nas.example.com&body=&index6=none&id={}&index4={}&step=add",
        encoded(id),
        encoded(source)
    );
    page.post("/recipes", &visitor, &fields)
}

/// The same to the endpoint of the page.
fn add_own(page: &Page) -> Answer {
    add(page, &page.endpoint.id(), &page.endpoint.receiver.index4())
}

#[test]
fn i2_a_configuration_is_shown_without_its_secrets_and_its_comments() {
    let page = page_of("config.json", FLAT);
    let shown = decoded(&page.get("/configuration").expect(200).body);
    assert!(shown.contains("&key=***") && shown.contains("home.example.com") && shown.contains("300"), "{shown}");
    assert!(!shown.contains(SECRET) && !shown.contains("the address") && !shown.contains("<textarea"), "{shown}");
    page.post("/configuration", &page.visitor("/"), "text=%7B%7D&file=0&step=save").expect(405);
}

#[test]
fn i2_each_of_several_files_is_shown_by_itself() {
    let (endpoint, sandbox) = (Endpoint::new(), host());
    let mut first = endpoint.config(&json!({"ipv4": ["a.example.com"]}));
    first["web"] = json!({"listen": "127.0.0.1:0"});
    sandbox.write("a.json", first.to_string());
    sandbox.write("b.json", endpoint.config(&json!({"ipv4": ["b.example.com"]})).to_string());
    let watch = Watch::run(sandbox.command(&["watch", "-c", "a.json", "-c", "b.json"]));
    let address = address(&watch);
    let page = Page { endpoint, sandbox, watch, address };
    for (path, own, other) in [
        ("/configuration", "a.example.com", "b.example.com"),
        ("/configuration?file=1", "b.example.com", "a.example.com"),
    ] {
        let shown = page.get(path).expect(200).body;
        assert!(shown.contains(own) && !shown.contains(other), "{path}: {shown}");
    }
    assert!(page.get("/configuration?file=2").expect(404).body.contains("There is no file with this number."));
}

/// Behind a link, the file itself is replaced; what is in it keeps its bytes, and the file its mode.
#[test]
fn i2_adding_an_entry_keeps_what_is_there() {
    for text in [FLAT.to_owned(), ENTRIES.replace(" MORE", "").replace('\n', "\r\n")] {
        let page = page_of("real/config.json", &text);
        page.endpoint.wait(1, SOON);
        let file = page.sandbox.path("real/config.json");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("the mode is set");
        let before = page.sandbox.read("real/config.json");
        add_own(&page).expect(303);
        let after = page.sandbox.read("real/config.json");
        for part in ["// mine", "// the address", "# seconds", "# mine"].iter().filter(|part| before.contains(**part)) {
            assert!(after.contains(part), "{part}\n{after}");
        }
        assert_eq!((mode(&file), after.matches(SECRET).count()), (0o640, 1));
        assert_eq!(
            fs::read_dir(page.sandbox.path("real")).expect("the folder").count(),
            1,
            "nothing is left beside it"
        );
        // The first one was accepted before, and is not sent again.
        assert_eq!(page.endpoint.wait(2, SOON).name(), "nas.example.com");
        page.sandbox.run(&["check", "-c", "real/config.json"]).expect(0);
    }
}

#[test]
fn i2_a_link_leads_to_the_file_that_is_replaced() {
    let (endpoint, sandbox) = (Endpoint::new(), host());
    let text = FLAT.replace("ID", &endpoint.id()).replace("SOURCE", &endpoint.receiver.index4());
    sandbox.write("elsewhere/real.json", &text);
    symlink("elsewhere/real.json", sandbox.path("config.json")).expect("a link");
    let watch = Watch::run(sandbox.command(&["watch", "-c", "config.json"]));
    let address = address(&watch);
    let page = Page { endpoint, sandbox, watch, address };
    add_own(&page).expect(303);
    assert!(fs::symlink_metadata(page.sandbox.path("config.json")).is_ok_and(|metadata| metadata.is_symlink()));
    assert!(page.sandbox.read("elsewhere/real.json").contains("nas.example.com"));
}

#[test]
fn i2_a_new_entry_takes_nothing_of_the_host_and_no_secret() {
    let page = page_of("config.json", &ENTRIES.replace("MORE", &format!("\"extra\": {{\"__K__\": \"{SECRET}\"}},")));
    page.endpoint.wait(1, SOON);
    let (before, other) = (page.sandbox.read("config.json"), Endpoint::new());
    let made = page.sandbox.path("made").display().to_string();
    let id = other.receiver.url("/?k=__K__&ip=__IP__");
    for (source, expected) in [
        (page.endpoint.receiver.index4(), "`extra` is outside of `providers`"),
        (format!("cmd:touch {made}"), "cannot be added in a browser"),
        (format!("shell:touch {made}"), "cannot be added in a browser"),
    ] {
        let answer = add(&page, &id, &source).expect(422);
        assert!(decoded(&answer.body).contains(expected), "{source}: {}", answer.body);
        assert!(!answer.body.contains(SECRET));
    }
    assert_eq!(page.sandbox.read("config.json"), before);
    assert!(!page.sandbox.path("made").exists() && other.count() == 0);
}

/// The name leaves no room for that of a new file beside it: as on a full disk, nothing is half done.
#[test]
fn i2_a_file_that_cannot_be_written_stays_as_it_is() {
    let name = format!("{}.json", "n".repeat(245));
    let page = page_of(&name, FLAT);
    page.endpoint.wait(1, SOON);
    let before = page.sandbox.read(&name);
    assert!(add_own(&page).expect(422).body.contains("Nothing was added"));
    assert_eq!(page.sandbox.read(&name), before);
    // Updates go on.
    page.endpoint.receiver.set_ip("203.0.113.9");
    page.sandbox.run(&["sync", "-c", &name]).expect(0);
    assert_eq!(page.endpoint.wait(2, SOON).ip(), "203.0.113.9");
}

/// Without `allow_edit` there is a text to copy.
#[test]
fn i2_nothing_is_added_where_that_is_not_allowed() {
    let page = page_of("config.json", &FLAT.replace(", \"allow_edit\": true", ""));
    let before = page.sandbox.read("config.json");
    assert!(add_own(&page).expect(200).body.contains("Copy the configuration below into a file"));
    assert_eq!(page.sandbox.read("config.json"), before);
}

/// With several files, an entry goes into the one that is open, and the other entries of that file count.
#[test]
fn i7_an_entry_goes_into_its_file_and_a_name_that_is_there_is_told() {
    let (endpoint, sandbox) = (Endpoint::new(), host());
    let source = endpoint.receiver.index4();
    sandbox.write("one.json", FLAT.replace("ID", &endpoint.id()).replace("SOURCE", &source));
    let second = json!({"dns": "callback", "id": endpoint.id(), "ipv4": "second.example.com", "index4": source});
    sandbox.write("two.json", second.to_string());
    let watch = Watch::run(sandbox.command(&["watch", "-c", "one.json", "two.json"]));
    let address = address(&watch);
    let page = Page { endpoint, sandbox, watch, address };
    page.endpoint.wait(2, SOON);
    let file = page.get("/configuration?file=1").expect(200).body;
    assert!(file.contains("href=\"/recipes?file=1\""), "{file}");
    assert!(page.get("/recipes?file=1").expect(200).body.contains("name=\"file\" value=\"1\""));
    let visitor = page.visitor("/recipes?name=own&file=1");
    let post = |step: &str| {
        let (id, source) = (encoded(&page.endpoint.id()), encoded(&source));
        let fields =
            format!("file=1&name=own&domains=second.example.com&body=&index6=none&id={id}&index4={source}&step={step}");
        page.post("/recipes", &visitor, &fields)
    };
    let review = decoded(&post("").expect(200).body);
    for part in ["to two.json, as one more entry", "sends second.example.com A to the same endpoint as entry 1"] {
        assert!(review.contains(part), "{part}: {review}");
    }
    assert_eq!(post("add").expect(303).header("location"), Some("/configuration?file=1"));
    assert!(page.sandbox.read("two.json").contains("providers") && !page.sandbox.read("one.json").contains("second."));
}
