//! `ddns notify`: sends every notification of the configuration once, with example values, and shows the results.

use std::io;

use ddns_core::config::{Config, Notification};
use ddns_core::notify::NotifyEvent;

use crate::cli::ParsedArgs;
use crate::http::Client;
use crate::load;
use crate::notify::try_example;
use crate::output::layout::{beside, broken, width_of};
use crate::output::{Ended, print, refuse};

/// The column in which the second line of a notification begins.
const COLUMN: usize = 4;

/// Exits with 0 if every notification arrived, with 1 if one did not, with 2 if there is none.
pub(crate) async fn run(given: ParsedArgs) -> Ended {
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
    Err(refuse(message, hint))
}

/// Sends one notification, and describes the result.
async fn tried(config: &Config, notification: &Notification, event: NotifyEvent, client: &Client) -> (String, bool) {
    let Some(tried) = try_example(config, notification, event, client).await else { return (String::new(), true) };
    let width = width_of(io::stdout());
    let head = format!("`{}` to {}: {}", event.key(), tried.origin, tried.message);
    (broken(&head, 0, width) + &beside("  ", &tried.said, COLUMN, width), tried.has_arrived)
}
