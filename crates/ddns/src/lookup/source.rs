//! Asks one source of any kind but `quorum:`.

use ddns_core::address::local;
use ddns_core::address::observation::Choice;
use ddns_core::address::source::Source;

use super::{Query, command, default, dns, interfaces, public, pushed, router, stun, url};
use crate::http::Client;

/// An address of the family with the reason for it, or why there is none.
pub(super) async fn ask(source: &Source, query: Query<'_>, client: &Client) -> Result<Choice, String> {
    let family = query.family;
    match source {
        Source::Default => default::ask(family),
        Source::Public => Box::pin(public::ask(query, client)).await,
        Source::Url(address) => url::ask(address, query, client).await,
        Source::Number(number) => local::nth_interface(*number, family, &interfaces::list()?),
        Source::Interface(name) => local::of_interface(name, family, &interfaces::list()?),
        Source::Pattern(pattern) => local::matching(&pattern.0, family, &interfaces::list()?),
        Source::Command(words) => Box::pin(command::ask(words, family)).await,
        Source::Shell(line) => {
            let words = ["sh".to_owned(), "-c".to_owned(), line.clone()];
            Box::pin(command::ask(&words, family)).await
        }
        Source::Stun(host, port) => Box::pin(stun::ask((host, *port), query, client)).await,
        Source::Router(address) => Box::pin(router::ask(*address, query, client)).await,
        Source::Push(source) => pushed::ask(source, family),
        Source::Dns(server) => Box::pin(dns::ask(server.as_ref(), query, client)).await,
        Source::Quorum(..) => Err("a quorum cannot contain another quorum".to_owned()),
    }
}
