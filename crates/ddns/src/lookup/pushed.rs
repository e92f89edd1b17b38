//! `push`: the address that another host pushed last (F10).

use ddns_core::address::observation::Choice;
use ddns_core::address::pushed::PushMemory;
use ddns_core::address::source::PushSource;
use ddns_core::net::family::Family;

use crate::clock::unix_time;
use crate::store::recall;

pub(super) fn ask(source: &PushSource, family: Family) -> Result<Choice, String> {
    let memory = match &source.file {
        Some(file) => recall(file).map_err(|why| format!("what was pushed {why}"))?,
        None => PushMemory::default(),
    };
    memory.choice(source, family, unix_time().seconds)
}
