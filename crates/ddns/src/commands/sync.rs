//! `ddns sync`: requests a synchronization of the running service, and waits for its result.

use ddns_core::text::json::{Dialect, Value, parse};

use crate::cli::Given;
use crate::environment::Environment;
use crate::output::fail;
use crate::output::print;
use crate::watch::{Command, note_closed_folder, request, services};

/// 0 where everything was accepted or up to date, 1 where not, or where no service runs.
pub(crate) async fn run(given: Given) -> u8 {
    let environment = Environment::read();
    let mut code = 0;
    let services = services(&environment, &given.settings.files).await;
    if services.running.is_empty() {
        note_closed_folder(&environment, "sync");
        if !services.silent.is_empty() {
            return fail(&services.silence());
        }
        return fail("no running service found: `ddns` without a command synchronizes once");
    }
    if !services.silent.is_empty() {
        code = fail(&services.silence());
    }
    for (path, status) in services.running {
        let command = if given.has("retry-stopped") { Command::RetryStopped } else { Command::Synchronize };
        let response = request(&path, command).await.ok();
        let Some((text, is_good)) = response.as_deref().and_then(read) else {
            let process = status.process.unwrap_or_default();
            code = fail(&format!("process {process} ended before the synchronization was done"));
            continue;
        };
        code = code.max(u8::from(!is_good)).max(print(&format!("{text}\n")));
    }
    code
}

/// The result as a sentence, and whether everything is accepted or up to date.
fn read(response: &str) -> Option<(String, bool)> {
    let Value::Object(members) = parse(response, Dialect::STRICT).ok()?.value else { return None };
    let member = |name: &str| members.iter().find(|member| member.key == name).map(|member| &member.node.value);
    let text = member("text")?.text()?.to_owned();
    Some((text, member("good") == Some(&Value::Bool(true))))
}
