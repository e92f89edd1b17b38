//! `ddns sync`: asks the running service to synchronize now, and waits for what comes of it.

use ddns_core::text::json::{Dialect, Value, parse};

use crate::cli::Given;
use crate::environment::Environment;
use crate::output::fail;
use crate::output::print;
use crate::watch::{Question, ask, services};

/// 0 where everything was told or known, 1 where not, or where no service runs.
pub(crate) async fn run(given: Given) -> u8 {
    let environment = Environment::read();
    let mut code = 0;
    let services = super::status::meant(services(&environment).await, &given.settings.files);
    if services.is_empty() {
        return fail("no `ddns watch` runs that could be asked: `ddns` synchronizes once");
    }
    for (path, status) in services {
        let answer = ask(&path, Question::Synchronize).await.ok();
        let Some((text, is_good)) = answer.as_deref().and_then(read) else {
            let process = status.process.unwrap_or_default();
            code = fail(&format!("process {process} ended before it had synchronized"));
            continue;
        };
        code = code.max(u8::from(!is_good)).max(print(&format!("{text}\n")));
    }
    code
}

/// What it came to, and whether that is all.
fn read(answer: &str) -> Option<(String, bool)> {
    let Value::Object(members) = parse(answer, Dialect::STRICT).ok()?.value else { return None };
    let member = |name: &str| members.iter().find(|member| member.key == name).map(|member| &member.node.value);
    let text = member("text")?.text()?.to_owned();
    Some((text, member("good") == Some(&Value::Bool(true))))
}
