//! A configuration of another client: whatever it says, what is written is a configuration of ours, and files of secrets stay in
//! their folder. The first byte chooses the client.
#![no_main]

use ddns_core::import::{Import, PeerClient, PeerSurroundings, detected, rows};
use ddns_core::text::json::{Dialect, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Some(first) = text.chars().next() else { return };
    let peer = PeerClient::ALL[first as usize % PeerClient::ALL.len()];
    let text = &text[first.len_utf8()..];
    let _ = detected(text);
    // Files include themselves.
    let read = |path: &str| if path.len() % 2 == 0 { Ok(text.to_owned()) } else { Err("does not exist".to_owned()) };
    let variable = |name: &str| (name.len() % 2 == 0).then(|| "x".to_owned());
    let around = PeerSurroundings { file: "/etc/ddclient.conf", read: &read, variable: &variable };
    let Ok(mut import) = Import::read(peer, text, &around) else { return };
    for entry in &mut import.entries {
        for missing in entry.missing().unwrap_or_default() {
            let _ = entry.answer(&missing.name, "me@example.com");
        }
    }
    rows(&import, &import.entries.iter().map(|_| None).collect::<Vec<_>>());
    let all: Vec<usize> = (0..import.entries.len()).collect();
    for chosen in [all.as_slice(), &all[..all.len().min(1)]].into_iter().filter(|chosen| !chosen.is_empty()) {
        let Ok(filled) = import.document(chosen, Some("/secrets"), "file\n") else { continue };
        parse(&filled.text, Dialect::CONFIG).expect("JSON of our own");
        for (path, _) in &filled.secrets {
            let name = path.strip_prefix("/secrets/").expect("a file in the folder");
            assert!(!name.split('/').any(|part| part.is_empty() || part.starts_with('.')), "{name:?}");
        }
    }
});
