//! Sends the steps of updates for `preview --lookup`: those of an entry share answers, and nothing is remembered.

use std::collections::BTreeMap;

use ddns_core::callback::steps::{Found, Search, StepEnd};
use ddns_core::callback::{Moment, Request, RequestTemplate, SendableBatch};
use ddns_core::config::Entry;
use ddns_core::net::status::with_reason;
use ddns_core::text::json::Value;
use ddns_core::text::secrets::Secrets;
use ddns_core::update::state::Fingerprint;

use crate::http::{AddressFamilies, BodyUse, Client, How};

/// What the steps of an update found.
pub(crate) struct StepResults<'a> {
    /// The request that follows the steps.
    pub(crate) template: &'a RequestTemplate,
    pub(crate) taken: Vec<Option<Value>>,
    /// Whether the service already has the address.
    pub(crate) is_there: bool,
}

/// The pages of each answer that an entry's steps got, each with its status, or why there is none.
pub(crate) type StepAnswers = BTreeMap<Option<Fingerprint>, Vec<Result<(u16, String), String>>>;

/// How requests of an entry are sent.
pub(crate) fn how(entry: &Entry, want: BodyUse) -> How<'_> {
    How { limit: entry.timeout, want, over: AddressFamilies::Any, proxies: &entry.proxies, ssl: &entry.ssl, from: None }
}

/// The secrets that the steps found.
fn found_secrets(entry: &Entry, taken: &[Option<Value>]) -> Secrets {
    let found = taken.iter().cloned().enumerate().filter_map(|(at, value)| Some((at, value?)));
    Secrets::new(entry.callback.secrets_in(&found.collect::<Vec<_>>()), &[])
}

/// Sends a request of a step. The error is a phrase.
async fn answer(request: &Request, entry: &Entry, client: &Client) -> Result<(u16, String), String> {
    let response = client.send(request, how(entry, BodyUse::Answer)).await.map_err(|failure| failure.why)?;
    let is_enough = response.is_whole || !(200..300).contains(&response.status);
    let text = String::from_utf8(response.body).ok().filter(|_| is_enough);
    text.map(|text| (response.status, text)).ok_or_else(|| "the response is incomplete, or not UTF-8".to_owned())
}

/// Sends the steps. The error is a masked phrase.
pub(crate) async fn walk<'a>(
    (entry, secrets): (&'a Entry, &Secrets),
    parcel: &SendableBatch<'_>,
    moment: Moment,
    (client, answers): (&Client, &mut StepAnswers),
) -> Result<StepResults<'a>, String> {
    let callback = &entry.callback;
    let mut walked =
        StepResults { template: &callback.request, taken: vec![None; callback.taken_count()], is_there: false };
    for (number, step) in callback.steps().iter().enumerate() {
        // No message contains a session that a step opened.
        let found = found_secrets(entry, &walked.taken);
        let place = |why: String| {
            let why = secrets.mask(&why);
            format!("before {} of {}: {}", number + 1, callback.steps().len(), found.mask(&why))
        };
        let (mut search, mut page) = (Search::default(), None::<String>);
        let about = (parcel.batch().into(), moment, &walked.taken[..]);
        let pages = answers.entry(callback.ask_key(step, about, false)).or_default();
        let mut number_of_page = 0;
        let found = loop {
            let asks = page.as_deref().and_then(|page| Some((step.next.as_ref()?.1.as_str(), page)));
            let request = callback.render_as(&step.request, (parcel, moment, &walked.taken), asks).map_err(place)?;
            if pages.len() == number_of_page {
                pages.push(answer(&request, entry, client).await);
            }
            let (status, text) = pages[number_of_page].as_ref().map_err(|why| place(why.clone()))?;
            number_of_page += 1;
            match callback.take_page(number, about, false, (*status, text), &mut search) {
                StepEnd::Next(next) => page = Some(next),
                StepEnd::Found(found) => break found,
                StepEnd::Failed(why) => return Err(place(why)),
                StepEnd::Refused(judgement) => {
                    // Mask before cutting: half a secret is not recognized.
                    let is_secret = callback.may_hold_secret(number, *status, text);
                    let words = secrets.mask(if is_secret { "" } else { &judgement.words });
                    let words: String = found.mask(&words).chars().take(500).collect();
                    return Err(place(format!("{}: {words}", with_reason(*status))));
                }
            }
        };
        match found {
            Found::One { is_same, values } => {
                for (at, value) in values {
                    walked.taken[at] = Some(value);
                }
                walked.is_there = is_same;
                if is_same {
                    break;
                }
            }
            Found::Nothing => walked.template = callback.absent().unwrap_or(&callback.request),
        }
    }
    Ok(walked)
}
