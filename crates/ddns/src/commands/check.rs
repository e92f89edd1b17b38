//! `ddns check`: shows every effective setting with its origin, and all errors and warnings. With `--online`, also
//! tests whether the addresses are found and the endpoints can be reached. Sends no update.

mod show;

pub(super) use show::findings;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use ddns_core::address::lookup::Lookup;
use ddns_core::callback::Notice;
use ddns_core::config::fields::file_variables;
use ddns_core::config::files;
use ddns_core::config::lint::{lint, sent_twice, unused_pushes};
use ddns_core::config::listing::{Section, holds_secrets, listing};
use ddns_core::config::raw::{self, Document, FileLayers};
use ddns_core::config::validate::{Surroundings, Valid};
use ddns_core::config::{Config, Entry};
use ddns_core::net::family::Family;
use ddns_core::net::url::Url;
use ddns_core::recipe;
use ddns_core::text::diagnostic::{Diagnostic, Place, has_errors, without_repeats};
use futures_util::future::join_all;

use crate::cli::ParsedArgs;
use crate::clock::unix_time;
use crate::environment::Environment;
use crate::http::{BodyUse, Client, How, ProbeStep};
use crate::load::{self, Examined};
use crate::lookup::{self, LookupPair};
use crate::notify;
use crate::output::{Ended, USAGE, complain, print};
use crate::steps;
use crate::watch;

/// How many endpoints of one entry are tried, if a placeholder in the URL makes many.
const MAX_ORIGINS: usize = 20;

/// The result of a check.
#[derive(Default)]
struct CheckReport {
    /// By file; the name is empty if there is no file.
    listings: Vec<(String, Vec<Section>)>,
    diagnostics: Vec<Diagnostic>,
    online: Option<Online>,
    /// Whether the online tests were skipped because of errors.
    is_left_out: bool,
}

/// The results of the online tests.
struct Online {
    addresses: Vec<(Family, Lookup)>,
    origins: Vec<(String, Vec<ProbeStep>)>,
}

/// Exits with 2 if there are errors, with 1 if an online test fails, else with 0.
pub(crate) async fn run(given: ParsedArgs) -> Ended {
    let (form, all, online) = (given.form(), given.has("all"), given.has("online"));
    let (environment, client) = (Environment::read(), Client::default());
    let Examined { documents, around, result } = load::examine(given.into_settings(), &environment, &client).await;
    if result.as_ref().is_ok_and(Vec::is_empty) {
        return Err(complain(&[load::no_configuration(&environment)]));
    }
    let mut report = CheckReport::default();
    let texts: Vec<Option<FileLayers>> = documents.iter().map(|document| raw::read(document).ok()).collect();
    for (document, text) in documents.iter().zip(&texts) {
        let sections = text.as_ref().map(|text| listing(Some(text), &around, all)).unwrap_or_default();
        report.diagnostics.extend(readable(document, &sections));
        report.diagnostics.extend(text.iter().flat_map(|text| readable_values(document, text, &environment)));
        report.listings.push((document.name.clone(), sections));
    }
    if documents.is_empty() {
        report.listings.push((String::new(), listing(None, &around, all)));
    }
    report.diagnostics.extend(readable_secrets(&environment));
    match result {
        Err(wrong) => {
            report.diagnostics.extend(wrong);
            report.is_left_out = online;
        }
        Ok(valid) => {
            report.diagnostics.extend(warnings(&valid, &texts, &around));
            report.diagnostics.extend(watch::refusals(&valid));
            if online {
                let configs: Vec<&Config> = valid.iter().map(|(config, _)| config).collect();
                report.online = Some(look(&configs, &client).await);
            }
        }
    }
    report.diagnostics = without_repeats(report.diagnostics);
    match print(&if form.json { report.json() } else { report.text(form.width) }) {
        0 => Ok(report.exit_code()),
        code => Err(code),
    }
}

/// The warnings about valid configurations; `texts` are the files as written, `None` if one could not be read.
pub(crate) fn warnings(valid: &[Valid], texts: &[Option<FileLayers>], around: &Surroundings) -> Vec<Diagnostic> {
    let mut all = Vec::new();
    let texts = texts.iter().map(Option::as_ref).chain(std::iter::repeat(None));
    for ((config, warnings), text) in valid.iter().zip(texts) {
        all.extend(warnings.iter().cloned());
        all.extend(lint(config, text, around));
        all.extend(text.into_iter().flat_map(|text| recipe::doubts(text, config)));
    }
    let configs: Vec<&Config> = valid.iter().map(|(config, _)| config).collect();
    all.extend(sent_twice(&configs));
    all.extend(unused_pushes(&configs));
    all
}

/// Warns if others can read a file that contains secrets. (If this user reads another user's file as a member of its
/// group, that is intended.)
fn readable(document: &Document, sections: &[Section]) -> Option<Diagnostic> {
    if document.fetched || !holds_secrets(sections) {
        return None;
    }
    let message =
        readers(Path::new(&document.name)).map(|who| format!("the file contains secrets, and {who} can read it"))?;
    let hint = format!("chmod 600 {}", document.name);
    Some(Diagnostic::warning(Place::file(&document.name), message).hint(hint))
}

/// The same for the secret files that a configuration names.
fn readable_values(document: &Document, written: &FileLayers, environment: &Environment) -> Vec<Diagnostic> {
    let named = files::secret_in(written).into_iter();
    named.filter_map(|file| readable_file(Place::file(&document.name), &file, environment)).collect()
}

/// The same for the files that variables such as `DDNS_TOKEN_FILE` name.
fn readable_secrets(environment: &Environment) -> Vec<Diagnostic> {
    let named = file_variables().filter_map(|(_, name)| Some((name, environment.get(name)?)));
    named.filter_map(|(name, file)| readable_file(Place::Environment(name.to_owned()), file, environment)).collect()
}

fn readable_file(place: Place, file: &str, environment: &Environment) -> Option<Diagnostic> {
    let who = readers(&environment.path(file))?;
    let message = format!("{who} can read the file {file}");
    Some(Diagnostic::warning(place, message).hint(format!("chmod 600 {file}")))
}

/// Who else can read a file.
fn readers(path: &Path) -> Option<&'static str> {
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let (own, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    // Any other group than the user's own was set on purpose, for a service for example.
    let is_ours = metadata.uid() == own && metadata.gid() == group;
    match metadata.mode() {
        mode if mode & 0o004 != 0 => Some("every user on this host"),
        mode if mode & 0o040 != 0 && is_ours => Some("its group"),
        _ => None,
    }
}

/// Looks up the addresses, then connects to every endpoint once.
async fn look(configs: &[&Config], client: &Client) -> Online {
    let lookups = lookup::look_up_entries(configs, [None; 2], client).await;
    let entries = configs.iter().flat_map(|config| &config.entries);
    let of_entries = entries.zip(&lookups).flat_map(|(entry, pair)| {
        let how = steps::how(entry, BodyUse::Status);
        endpoints_of(entry, pair).into_iter().map(move |url| (url, how))
    });
    let of_notify = configs.iter().flat_map(|config| &config.notify).filter_map(|notification| {
        let url = notification.callback.url(&Notice::default(), unix_time()).ok()?;
        Some((url, notify::how(notification, notification.timeout)))
    });
    let mut endpoints: Vec<(Url, How<'_>)> = Vec::new();
    for (url, how) in of_entries.chain(of_notify) {
        let is_known = |(known, other): &(Url, How<'_>)| known.origin() == url.origin() && other.ssl == how.ssl;
        if !endpoints.iter().any(is_known) {
            endpoints.push((url, how));
        }
    }
    let origins = join_all(endpoints.into_iter().map(async |(url, how)| (url.origin(), client.probe(&url, how).await)));
    let origins = origins.await;
    let mut addresses: Vec<(Family, Lookup)> = Vec::new();
    for (family, lookup) in lookups.into_iter().flat_map(|pair| Family::ALL.into_iter().zip(pair)) {
        let Some(lookup) = lookup else { continue };
        if !addresses.iter().any(|(other, known)| *other == family && known.has_same_results(&lookup)) {
            addresses.push((family, lookup));
        }
    }
    Online { addresses, origins }
}

/// The URLs that an entry calls, one for each origin. If the origin depends on the update, a family without an address
/// has none.
fn endpoints_of(entry: &Entry, pair: &LookupPair) -> Vec<Url> {
    let has_one = entry.callback.request.target.fixed_part().is_some();
    let mut urls: Vec<Url> = Vec::new();
    for family in Family::ALL {
        let found = pair[family.index()].as_ref().and_then(Lookup::address);
        let spare = || has_one.then(|| family.documentation());
        let Some(ip) = found.or_else(spare) else { continue };
        for domain in entry.domains_of(family).iter().take(if has_one { 1 } else { usize::MAX }) {
            let Ok(url) = entry.callback.url(&entry.update(domain, family, ip), unix_time()) else { continue };
            if urls.len() < MAX_ORIGINS && !urls.iter().any(|known| known.origin() == url.origin()) {
                urls.push(url);
            }
        }
    }
    urls
}

impl Online {
    fn is_fine(&self) -> bool {
        let found_all = self.addresses.iter().all(|(_, lookup)| lookup.address().is_some());
        found_all && self.origins.iter().flat_map(|(_, steps)| steps).all(|step| step.result.is_ok())
    }
}

impl CheckReport {
    fn exit_code(&self) -> u8 {
        match &self.online {
            _ if has_errors(&self.diagnostics) => USAGE,
            Some(online) if !online.is_fine() => 1,
            _ => 0,
        }
    }
}
