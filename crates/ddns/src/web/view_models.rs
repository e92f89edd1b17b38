//! From what the program knows to what a view shows.

use ddns_core::net::reach::doubtful;
use ddns_core::text::number::grouped;

use super::views::requests::{RequestContent, RequestItem};
use ddns_core::callback::Redacted;
use ddns_core::engine::{Preview, Previews};

/// One update and its request.
pub(super) fn item(preview: &Preview, now: u64) -> RequestItem {
    let from = |source: &Option<String>| source.as_ref().map_or_else(String::new, |source| format!(", from {source}"));
    RequestItem {
        domain: preview.domain.clone(),
        kind: preview.family.record_type().to_owned(),
        verdict: preview.sentence(now),
        address: preview.address.as_ref().map(|(ip, source)| format!("{ip}{}", from(source))),
        warnings: preview.address.as_ref().and_then(|(ip, _)| doubtful(*ip)).into_iter().collect(),
        request: content(preview),
    }
}

fn content(preview: &Preview) -> RequestContent {
    match (preview.redacted(), preview.curl(None)) {
        (Some(_), _) if preview.is_together => RequestContent::Together,
        (Some(request), Some(curl)) => RequestContent::Shown {
            text: shown(preview, request),
            curl: commands(preview, curl),
            endpoint: request.url.origin(),
            proxy: request.proxy.as_ref().map(|proxy| proxy.address.clone()),
        },
        _ => RequestContent::None,
    }
}

/// A request, or all that go around it, in order.
fn shown(preview: &Preview, request: &Redacted) -> String {
    if preview.around.is_empty() {
        return request.lines().join("\n");
    }
    let all = preview.around.iter().map(|(role, request)| format!("{role}:\n{}", request.lines().join("\n")));
    all.collect::<Vec<_>>().join("\n\n")
}

/// The same as commands of curl.
fn commands(preview: &Preview, curl: String) -> String {
    if preview.around.is_empty() {
        return curl;
    }
    let all = preview.around.iter().map(|(role, request)| format!("# {role}:\n{}", preview.command(request, None)));
    all.collect::<Vec<_>>().join("\n")
}

/// How many requests there are, in one sentence.
pub(super) fn closing(previews: &Previews) -> String {
    match (previews.due, previews.total) {
        (0, _) => "Nothing would be sent now: this is what each request would be.".to_owned(),
        (due, total) => format!("{} of {} updates would be sent now.", grouped(due), grouped(total)),
    }
}
