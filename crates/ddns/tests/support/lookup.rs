//! One lookup by the built program: the address that is then sent, or the configuration that is refused.

use serde_json::{Value, json};

use crate::support::{Receiver, Response, Run, Sandbox};

/// How a synchronization with one list of sources ended.
pub struct LookedUp {
    /// The address in the request; `None` where the run ended with 1 and nothing was sent.
    pub sent: Option<String>,
    pub run: Run,
}

/// A configuration that takes one family's address from `sources` and sends it to `id`.
pub fn lookup_config(family: u8, sources: &Value, id: &str) -> Value {
    let (domains, index) = if family == 4 { ("ipv4", "index4") } else { ("ipv6", "index6") };
    let mut config = json!({"dns": "callback", "id": id, "timeout": 3});
    config[domains] = json!(["home.example.com"]);
    config[index] = sources.clone();
    config
}

/// Looks up and sends; fails the test where the configuration is refused or the program crashes.
#[track_caller]
pub fn look_up(family: u8, sources: &Value) -> LookedUp {
    look_up_in(&Sandbox::new(), family, sources)
}

#[track_caller]
pub fn look_up_in(sandbox: &Sandbox, family: u8, sources: &Value) -> LookedUp {
    let receiver = Receiver::responding(|_| Response::status(204));
    let run = sandbox.sync(&lookup_config(family, sources, &receiver.url("/__IP__")));
    let seen = receiver.callbacks();
    let sent = match run.code {
        0 => Some(receiver.only().target()[1..].to_owned()),
        1 => None,
        other => panic!("IPv{family} from {sources}: exit {other}:\n{}", run.stderr),
    };
    assert!(sent.is_some() || seen.is_empty(), "IPv{family} from {sources}: sent without an address: {seen:?}");
    LookedUp { sent, run }
}

/// The configuration is wrong: exit 2, the field is named, nothing is sent, nothing crashes.
#[track_caller]
pub fn refused(family: u8, sources: &Value) -> Run {
    let receiver = Receiver::new();
    let run = Sandbox::new().sync(&lookup_config(family, sources, &receiver.url("/__IP__")));
    let (code, printed) = (run.code, &run.stderr);
    assert_eq!(code, 2, "IPv{family} from {sources}: exit status, having sent {:?}\n{printed}", receiver.callbacks());
    assert!(printed.contains(&format!("index{family}")), "{sources}: the field is not named:\n{printed}");
    assert!(!printed.contains("panicked"), "{sources}: a crash:\n{printed}");
    assert_eq!(receiver.callbacks().len(), 0, "{sources}: something was sent");
    run
}

/// The N of `character N` in a message about a source: a place in the source's text (or just behind it), from 1.
#[track_caller]
pub fn character(run: &Run, source: &str) -> usize {
    let printed = &run.stderr;
    let behind = printed.split("character ").nth(1).unwrap_or_else(|| panic!("{source}: no `character N`:\n{printed}"));
    let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
    let at = digits.parse().unwrap_or_else(|_| panic!("{source}: no number behind `character`:\n{printed}"));
    assert!((1..=source.chars().count() + 1).contains(&at), "{source}: there is no character {at}:\n{printed}");
    at
}
