//! `ddns sync`: requests a synchronization of the running service, and waits for its result.

use std::io;

use ddns_core::journal::SyncResult;
use ddns_core::text::own_json::read;
use ddns_core::text::screen;

use crate::cli::ParsedArgs;
use crate::environment::Environment;
use crate::output::{Ended, fail, print};
use crate::watch::{Command, meant, name, note_closed_folder, request};

/// Exits with 0 if everything was accepted or up to date; with 1 if not, or if no service responds.
pub(crate) async fn run(given: ParsedArgs) -> Ended {
    let environment = Environment::read();
    let mut code = 0;
    let services = meant(&given, &environment).await?;
    if services.running.is_empty() {
        note_closed_folder(&environment, "sync");
        let way = if services.silent.is_empty() { " `ddns` without a command synchronizes once." } else { "" };
        return Err(fail(&(services.silence() + way)));
    }
    if !services.silent.is_empty() {
        code = fail(&services.silence());
    }
    for (path, status) in services.running {
        let command = if given.has("retry-stopped") { Command::RetryStopped } else { Command::Synchronize };
        let response = request(&path, command).await;
        let Some(SyncResult { good, text }) = response.as_deref().ok().and_then(read) else {
            let is_hung = response.is_err_and(|error| error.kind() == io::ErrorKind::TimedOut);
            let how = if is_hung { "no longer responds" } else { "stopped before the synchronization was done" };
            code = fail(&format!("process {} {how}", status.process.unwrap_or_default()));
            continue;
        };
        let is_named = given.has("all") || services.is_unnamed;
        let head = if is_named { format!("{}: ", name(&status)) } else { String::new() };
        code = code.max(u8::from(!good)).max(print(&format!("{head}{}\n", screen::line(&text))));
    }
    Ok(code)
}
