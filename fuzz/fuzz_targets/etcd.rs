//! What the store of a group sends: responses, and the messages of a watch in pieces.
#![no_main]

use ddns_group::etcd::{self, Messages, Problem};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = etcd::page(bytes);
    let _ = etcd::transaction(bytes);
    let _ = etcd::grant(bytes);
    let _ = etcd::renewal(bytes);
    if let Ok(token) = etcd::token(bytes) {
        assert!(token.bytes().all(|byte| byte.is_ascii_graphic()));
    }
    for status in [400, 404, 503] {
        if let Problem::Other(why) | Problem::Unavailable(why) = etcd::problem(status, bytes) {
            assert!(!why.contains(char::is_control));
        }
    }
    let whole = taken(&[bytes]);
    let cut = bytes.first().map_or(0, |first| usize::from(*first).min(bytes.len()));
    let (start, rest) = bytes.split_at(cut);
    assert_eq!(taken(&[start, rest]), whole);
    for message in whole {
        let _ = etcd::watched(&message);
    }
});

fn taken(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut messages = Messages::default();
    let mut taken = Vec::new();
    for piece in pieces {
        messages.add(piece).expect("it is short");
        taken.extend(std::iter::from_fn(|| messages.take()));
    }
    taken
}
