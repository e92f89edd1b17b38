//! A configuration, and operations on it: they are refused, or the result is valid, what none of them names means what it meant, and
//! what was set can be unset again. Nothing that the page shows holds a secret.
#![no_main]

use ddns_core::config::fields::Key;
use ddns_core::config::validate::Surroundings;
use ddns_core::text::json::Value;
use ddns_core::web::check::check;
use ddns_core::web::controls::controls;
use ddns_core::web::edit::{At, Op, apply};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, &str, u8, u8)| {
    let (old, text, entry, item) = input;
    let around = Surroundings::default();
    let Some(before) = check("", old, &around).0 else {
        let _ = controls(old, &around, None);
        return;
    };
    assert_eq!(apply(old, &[], &around).map(|(text, _)| text).ok().as_deref(), Some(old));
    let secrets = before.secrets().longer_than(6);
    for control in controls(old, &around, Some(&before)).iter().flat_map(|form| &form.controls) {
        let shown = format!("{:?} {:?}", control.content, control.elsewhere);
        assert!(secrets.found(&shown).is_empty() || shown.contains("***"), "{shown}");
    }
    let (entry, item) = (usize::from(entry) % before.entries.len().max(1), usize::from(item));
    let at = |key| At { entry: Some(entry), key };
    let ops = [
        Op::Set { at: at(Key::Line), item: None, value: Value::string(text) },
        Op::Set { at: at(Key::Id), item: None, value: Value::string(text) },
        Op::Unset { at: at(Key::Token) },
        Op::Add { list: at(Key::Ipv4), item: Value::string(text) },
        Op::Remove { list: at(Key::Ipv6), item },
        Op::Set { at: at(Key::Index4), item: Some(item), value: Value::string(text) },
        Op::RemoveEntry(item),
        Op::Set { at: At { entry: None, key: Key::LogLevel }, item: None, value: Value::string("DEBUG") },
    ];
    for op in ops {
        let Ok((new, after)) = apply(old, std::slice::from_ref(&op), &around) else { continue };
        assert_eq!((&after.web, &after.group, &after.notify), (&before.web, &before.group, &before.notify));
        assert!(apply(&new, &[], &around).is_ok());
        let removed = if let Op::RemoveEntry(number) = op { Some(number) } else { None };
        let same = before.entries.iter().enumerate().filter(|(at, _)| Some(*at) != removed).map(|(_, same)| same);
        for (number, (old, new)) in same.zip(&after.entries).enumerate() {
            assert!(removed.is_none() && number == entry || old == new, "another entry changed");
        }
    }
});
