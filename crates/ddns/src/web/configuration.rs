//! The view *Configuration*: the files of the service, without their secrets.

use super::pages::{GONE, frame};
use super::reply::{PageRequest, Reply};
use super::site::{Ask, Site};
use super::views::configuration::page;
use super::views::layout::Tab;

/// Shows a file, or says why it cannot be shown.
pub(super) async fn show(site: &Site, request: &PageRequest) -> Reply {
    let Some(configured) = site.ask(Ask::Configured).await else { return Reply::text(503, GONE) };
    let number = request.queried("file").and_then(|text| text.parse().ok()).unwrap_or(0);
    let text = match configured.file(number) {
        None => Err("It is set by options and variables of the environment: there is no file to show.".to_owned()),
        Some(name) if name.contains("://") => Err("It is fetched from another host.".to_owned()),
        Some(name) => site.masked(name).await.map_err(|why| format!("{name} {why}.")),
    };
    let mut frame = frame(request, "Configuration", Some(Tab::Configuration));
    frame.is_live = false;
    Reply::page(200, frame.around(&page(&configured.names, number, text.as_deref())))
}
