//! `ddns notify`: sends every notification of the configuration once, with values that could be, and shows what came back.

use std::io;
use std::time::Instant;

use ddns_core::config::{Config, Notification};
use ddns_core::net::status::with_reason;
use ddns_core::notify::NotifyEvent;
use ddns_core::text::diagnostic::{Diagnostic, Place};

use crate::cli::Given;
use crate::http::Client;
use crate::load;
use crate::notify::{example, how, judged, moment};
use crate::output::layout::{beside, width_of};
use crate::output::{Ended, complain, print};

/// As much of a response is shown.
const SHOWN: usize = 200;

/// The column in which the second line of a notification begins.
const COLUMN: usize = 4;

/// 0 where every notification arrived, 1 where one did not, 2 where there is none.
pub(crate) async fn run(given: Given) -> Ended {
    let event = given.word().and_then(NotifyEvent::parse);
    let (configs, _, client) = load::begin(given.settings).await?;
    let mut count = 0;
    let mut code = 0;
    for (config, _) in &configs {
        for notification in &config.notify {
            let Some(event) = notification.on.iter().find(|own| event.is_none_or(|event| *own == event)) else {
                continue;
            };
            count += 1;
            let (text, has_arrived) = tried(config, notification, event, &client).await;
            code = code.max(u8::from(!has_arrived)).max(print(&text));
        }
    }
    if count > 0 {
        return Ok(code);
    }
    let message = match event {
        Some(event) if configs.iter().any(|(config, _)| !config.notify.is_empty()) => {
            format!("no notification has `{}` in `on`", event.key())
        }
        _ => "the configuration has no `notify`".to_owned(),
    };
    let hint = "e.g. \"notify\": {\"id\": \"https://ntfy.sh/TOPIC/publish?message=__MESSAGE__\"}";
    Err(complain(&[Diagnostic::error(Place::Nowhere, message).hint(hint)]))
}

/// Sends one, and says what came back.
async fn tried(config: &Config, notification: &Notification, event: NotifyEvent, client: &Client) -> (String, bool) {
    let secrets = config.secrets();
    let Some(mut notice) = example(config, notification, event) else { return (String::new(), true) };
    // It arrives where real ones do.
    notice.message.insert_str(0, "an example: ");
    let (origin, result) = match notification.callback.render(&notice, moment()) {
        Err(why) => ("its service".to_owned(), Err(why.to_string())),
        Ok(request) => {
            let began = Instant::now();
            let sent = client.send(&request, how(notification, notification.timeout)).await;
            let result = sent.map_err(|failure| failure.why).and_then(|response| {
                let body: String =
                    String::from_utf8_lossy(&response.body).split_whitespace().collect::<Vec<_>>().join(" ");
                let said = if body.is_empty() { String::new() } else { format!(": {body}") };
                let took = began.elapsed().as_millis();
                judged(notification, &notice, &response)?;
                Ok(format!("{} ({took} ms){said}", with_reason(response.status)))
            });
            (request.url.origin(), result)
        }
    };
    let has_arrived = result.is_ok();
    let line = match result {
        Ok(response) => format!("arrived: {response}"),
        Err(why) => format!("not sent: {why}"),
    };
    let masked: String = secrets.mask(&line).chars().take(SHOWN).collect();
    let width = width_of(io::stdout());
    let head = format!("`{}` to {origin}: {}\n", event.key(), notice.message);
    (beside("", head.trim_end(), 0, width) + &beside("  ", &masked, COLUMN, width), has_arrived)
}
