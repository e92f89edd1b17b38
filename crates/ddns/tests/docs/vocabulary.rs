//! A state and an event have one key and one word, wherever they are shown: in the API, metrics, the style sheet and the pages.

use std::collections::BTreeSet;
use std::fs;

use ddns_core::journal::{EventKind, RecordKind, Status, UpdateState};
use ddns_core::lease::status::Role;
use ddns_core::metrics::{self, Counts, ServiceTime};
use ddns_core::notify::NotifyEvent;
use ddns_core::text::own_json;
use serde_json::{Value, json};

use crate::support::pages::root;

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).expect(path)
}

/// What stands between backticks in a row of a table, behind its first cell.
fn listed(page: &str, row: &str) -> Vec<String> {
    let text = text(page);
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("| `{row}` |")));
    line.expect("the row").split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn description() -> Value {
    serde_json::from_str(&text("crates/ddns/src/web/openapi.json")).expect("JSON")
}

/// Every list of values that is described, anywhere.
fn enums(value: &Value, found: &mut Vec<Vec<String>>) {
    if let Some(words) = value.get("enum").and_then(Value::as_array) {
        found.push(words.iter().filter_map(|word| Some(word.as_str()?.to_owned())).collect());
    }
    match value {
        Value::Object(members) => members.values().for_each(|member| enums(member, found)),
        Value::Array(items) => items.iter().for_each(|item| enums(item, found)),
        _ => {}
    }
}

/// The metrics of a service that has an update in each state, in a group.
fn exposed() -> String {
    let row = |state: UpdateState| json!({"domain": state.key(), "type": "A", "state": state.key()});
    let group = json!({
        "name": "home", "member": "a", "role": "holder", "holder": "a", "held_for": 3, "lease_left": 9, "members": [],
        "store_error": null, "not_ready": null, "trouble": null,
    });
    let updates = UpdateState::ALL.map(row);
    let status = json!({"configurations": [], "errors": [], "updates": updates, "group": group});
    let status: Status = own_json::read(&status.to_string()).expect("a status");
    assert!(status.group.is_some());
    metrics::text(&Counts::default(), &status, ServiceTime { at: 0, started: 0, version: "" })
}

#[test]
fn i3_i6_a_state_has_one_key_and_one_word_everywhere() {
    let mut described = Vec::new();
    enums(&description(), &mut described);
    assert!(described.contains(&UpdateState::ALL.map(|state| state.key().to_owned()).to_vec()), "{described:?}");
    let (style, page, exposed) =
        (text("crates/ddns/src/web/assets/style.css"), text("docs/running-as-a-service.md"), exposed());
    let sprite = text("crates/ddns/src/web/assets/sprite.svg");
    let told = listed("docs/metrics.md", "ddns_records");
    for state in UpdateState::ALL {
        let (key, word) = (state.key(), state.word());
        assert!(style.contains(&format!(".state.{key}")), "{key} has no colour");
        assert!(sprite.contains(&format!("id=\"i-{key}\"")), "{key} has no sign");
        assert!(page.contains(&format!("\n| {word} | `{key}` |")), "{key} is not told");
        // Of these two, only a cache knows.
        let is_of_service = !matches!(state, UpdateState::Accepted | UpdateState::InDoubt);
        assert_eq!(exposed.contains(&format!("ddns_records{{state=\"{key}\"}} 1\n")), is_of_service, "{exposed}");
        assert_eq!(told.iter().any(|known| known == key), is_of_service, "{told:?}");
    }
    let coloured = style.split(".state.").skip(1).map(|rest| rest.split([' ', ',', '{']).next().unwrap_or_default());
    for key in coloured {
        assert!(UpdateState::parse(key).is_some(), "{key} is no state");
    }
}

#[test]
fn i3_i4_i5_an_event_and_a_role_have_one_key_everywhere() {
    let keys = EventKind::ALL.map(EventKind::key);
    assert_eq!(listed("docs/history.md", "event"), keys);
    let mut described = Vec::new();
    enums(&description(), &mut described);
    assert!(described.contains(&keys.map(str::to_owned).to_vec()), "{described:?}");
    assert!(described.contains(&Role::ALL.map(|role| role.key().to_owned()).to_vec()), "{described:?}");
    assert!(described.contains(&RecordKind::ALL.map(|kind| kind.key().to_owned()).to_vec()), "{described:?}");
    for role in Role::ALL {
        assert_eq!(own_json::line(&role), format!("\"{}\"", role.key()));
    }
    let exposed = exposed();
    let counted = exposed.lines().filter_map(|line| line.strip_prefix("ddns_updates_total{outcome=\""));
    let counted: Vec<&str> = counted.filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(counted, EventKind::OUTCOMES.map(EventKind::key));
    assert_eq!(listed("docs/metrics.md", "ddns_updates_total")[1..], *counted);
    let words: BTreeSet<&str> = EventKind::ALL.into_iter().map(EventKind::word).collect();
    assert_eq!(words.len(), EventKind::ALL.len(), "a word of its own for each");
    assert_eq!(listed("docs/notifications.md", "on"), NotifyEvent::ALL.map(NotifyEvent::key));
}
