//! Files, environment and command line to valid configurations. Finds and reads; what it reads is judged by the core.
//! Everything is loaded before anything is sent.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ddns_core::address::source::split_list;
use ddns_core::callback::Request;
use ddns_core::config::Cache;
use ddns_core::config::fields::{FIELDS, Key};
use ddns_core::config::raw::{self, Document, Origin, Raw};
use ddns_core::config::validate::{Surroundings, Valid, validate};
use ddns_core::net::proxy::{Proxies, System};
use ddns_core::net::ssl::Ssl;
use ddns_core::net::url::Url;
use ddns_core::text::diagnostic::{Diagnostic, Place, has_errors, nearest, without_repeats};
use ddns_core::text::json::{Dialect, Node, Value, parse};

use crate::cli::Settings;
use crate::environment::Environment;
use crate::http::{BODY_LIMIT, Client, How, Over, Want, read_ca};
use crate::output::report;

/// No configuration is larger.
const FILE_LIMIT: u64 = 64 * 1024 * 1024;

/// How long a configuration may take to come over the network.
const FETCH_LIMIT: Duration = Duration::from_secs(30);

/// Everything that was read, and what was made of it.
pub(crate) struct Examined {
    /// The files that could be read, in the order in which they are run.
    pub(crate) documents: Vec<Rc<Document>>,
    pub(crate) around: Surroundings,
    pub(crate) result: Loaded,
}

/// Every configuration that is to be run, or everything that is wrong.
pub(crate) type Loaded = Result<Vec<Valid>, Vec<Diagnostic>>;

/// Loads every configuration that is to be run, at least one, or tells everything that is wrong.
pub(crate) async fn load(settings: Settings, environment: &Environment, client: &Client) -> Loaded {
    let loaded = examine(settings, environment, client).await.result?;
    if loaded.is_empty() { Err(vec![no_configuration(environment)]) } else { Ok(loaded) }
}

/// The same, for somebody who wants to see what it was made of. Nothing where nothing is set.
pub(crate) async fn examine(
    Settings { files: named, options }: Settings,
    environment: &Environment,
    client: &Client,
) -> Examined {
    let mut told = Vec::new();
    let around = Surroundings {
        options,
        environment: variables(environment, &mut told),
        proxies: Arc::new(environment.proxies()),
    };
    let files = if named.is_empty() { configured_files(environment, &mut told) } else { named };
    let files = if files.is_empty() { default_file(environment).into_iter().collect() } else { files };
    if files.is_empty() && around.options.is_empty() && around.environment.is_empty() && !has_errors(&told) {
        return Examined { documents: Vec::new(), around, result: Ok(Vec::new()) };
    }
    let (mut valid, mut documents) = (Vec::new(), Vec::new());
    let mut identities = Vec::new();
    for file in &files {
        let loaded = match read(file, client, &around.proxies).await {
            Ok((document, identity)) => {
                identities.extend(identity);
                let document = Rc::new(document);
                documents.push(document.clone());
                let written = raw::read(&document).map_err(|error| vec![error]);
                written.and_then(|written| validate(&document.name, Some(written), &around))
            }
            Err(error) => Err(vec![error]),
        };
        match loaded {
            Ok(config) => valid.push(config),
            Err(wrong) => told.extend(wrong),
        }
    }
    if files.is_empty() {
        match validate("environment and options", None, &around) {
            Ok(config) => valid.push(config),
            Err(wrong) => told.extend(wrong),
        }
    }
    told.extend(missing_authorities(&valid));
    told.extend(caches_that_are_configurations(&valid, &identities, environment));
    let result = if has_errors(&told) {
        Err(without_repeats(told))
    } else {
        if let Some((_, warnings)) = valid.first_mut() {
            warnings.splice(0..0, told);
        }
        Ok(valid)
    };
    Examined { documents, around, result }
}

/// A CA file that cannot be used is a mistake in the configuration, not a failure of the network.
fn missing_authorities(valid: &[Valid]) -> Vec<Diagnostic> {
    let entries = valid.iter().flat_map(|(config, _)| config.entries.iter().map(|entry| (&config.name, entry)));
    let wrong = entries.filter_map(|(name, entry)| match &entry.ssl {
        Ssl::Ca(path) => read_ca(path).err().map(|why| Diagnostic::error(Place::file(name), format!("`ssl`: {why}"))),
        _ => None,
    });
    wrong.collect()
}

/// `--cache config.json` for `-c config.json`: the cache would take the place of the configuration.
fn caches_that_are_configurations(valid: &[Valid], files: &[Identity], environment: &Environment) -> Vec<Diagnostic> {
    let caches = valid.iter().flat_map(|(config, _)| &config.entries).filter_map(|entry| match &entry.cache {
        Cache::File(path) => Some(path),
        _ => None,
    });
    let is_file = |path: &&String| {
        let there = fs::metadata(environment.path(path)).map(|metadata| identity(&metadata));
        there.is_ok_and(|there| files.contains(&there))
    };
    let mut wrong: Vec<&String> = caches.collect();
    wrong.dedup();
    wrong
        .into_iter()
        .filter(is_file)
        .map(|path| {
            let message = format!("`cache` is {path}, which is a configuration: it would be overwritten");
            Diagnostic::error(Place::Nowhere, message).hint("a configuration is named with -c")
        })
        .collect()
}

/// What tells two files apart: device and number.
type Identity = (u64, u64);

fn identity(metadata: &fs::Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}

/// The places that are looked at without `-c` (B12).
fn default_places(environment: &Environment) -> Vec<String> {
    let in_home = |name: &str| environment.home().map(|home| home.join(name).display().to_string());
    let home = [in_home(".ddns/config.json"), in_home(".ddns.json")].into_iter().flatten();
    let etc = ["/etc/ddns/config.json".to_owned(), "/etc/ddns.json".to_owned()];
    ["config.json".to_owned()].into_iter().chain(home).chain(etc).collect()
}

/// Whether some file is run where no option names one.
pub(crate) fn has_file(environment: &Environment) -> bool {
    environment.get("DDNS_CONFIG").is_some() || default_file(environment).is_some()
}

fn default_file(environment: &Environment) -> Option<String> {
    default_places(environment).into_iter().find(|path| fs::metadata(path).is_ok_and(|metadata| !metadata.is_dir()))
}

/// What to say where nothing at all is set.
pub(crate) fn no_configuration(environment: &Environment) -> Diagnostic {
    let places = default_places(environment).join("\n    ");
    let message = format!("there is no configuration. Looked for:\n    {places}");
    let hint = "`ddns init` writes one; `ddns demo` shows what the program does, without one. The least that config.json needs:\n    \
                { \"dns\": \"callback\", \"id\": \"https://example.com/update?name=__DOMAIN__&ip=__IP__\", \
                \"ipv4\": [\"home.example.com\"] }";
    Diagnostic::error(Place::Nowhere, message).hint(hint)
}

/// `DDNS_CONFIG`: one file, several with separators, or a JSON list.
fn configured_files(environment: &Environment, told: &mut Vec<Diagnostic>) -> Vec<String> {
    let Some(text) = environment.get("DDNS_CONFIG") else { return Vec::new() };
    if !text.trim_start().starts_with('[') {
        return split_list(text).into_iter().map(str::to_owned).collect();
    }
    let items = match parse(text, Dialect::STRICT).map(|node| node.value) {
        Ok(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    let files: Vec<String> = items.iter().filter_map(|item| item.value.text()).map(str::to_owned).collect();
    if files.is_empty() || files.len() < items.len() {
        let place = Place::Environment("DDNS_CONFIG".to_owned());
        told.push(Diagnostic::error(
            place,
            "this must be a file, several with commas between, or a JSON list of files",
        ));
    }
    files
}

/// The settings that the environment makes.
fn variables(environment: &Environment, told: &mut Vec<Diagnostic>) -> Raw {
    let mut raw = Raw::default();
    for name in environment.unreadable() {
        told.push(Diagnostic::error(Place::Environment(name.clone()), "its value is no UTF-8 text"));
    }
    for (name, value) in environment.ours() {
        let place = || Place::Environment(name.to_owned());
        if let Some(field) = FIELDS.iter().find(|field| field.variable == Some(name)) {
            raw.set(field.key, Node::synthetic(Value::string(value)), Origin::Environment(name.to_owned()));
        } else if let Some((key, direct)) = [(Key::Token, "DDNS_TOKEN"), (Key::Id, "DDNS_ID")]
            .into_iter()
            .find(|(_, direct)| name.strip_suffix("_FILE") == Some(direct))
        {
            if environment.get(direct).is_some() {
                let message = format!("{direct} is set too: which of the two counts?");
                told.push(Diagnostic::error(place(), message).hint(format!("unset {direct} or {name}")));
                continue;
            }
            match read_text(&environment.path(value).display().to_string()) {
                Ok(text) if text.trim().is_empty() => {
                    told.push(Diagnostic::warning(place(), format!("the file is empty, and so {direct} is too")));
                }
                Ok(text) => {
                    let text = text.trim_end_matches(['\r', '\n']);
                    raw.set(key, Node::synthetic(Value::string(text)), Origin::Environment(name.to_owned()));
                }
                Err(why) => {
                    // The secret itself may have been put here by mistake.
                    let is_path = !value.contains(['{', '[', '"', '?', '=']);
                    let shown = if is_path { value } else { "that it names" };
                    let hint = format!("it must be the path of a file; the value itself goes into {direct}");
                    told.push(Diagnostic::error(place(), format!("the file {shown} {why}")).hint(hint));
                }
            }
        } else if name != "DDNS_CONFIG"
            && let Some(near) = nearest_variable(name)
        {
            let warning = Diagnostic::warning(place(), "this is no variable of ours: it has no effect");
            told.push(warning.hint(format!("did you mean {near}?")));
        }
    }
    raw
}

/// Only where one is very near: the environment holds other programs' variables too.
fn nearest_variable(name: &str) -> Option<&'static str> {
    let others = ["DDNS_TOKEN_FILE", "DDNS_ID_FILE", "DDNS_CONFIG"];
    let near = nearest(name, FIELDS.iter().filter_map(|field| field.variable).chain(others))?;
    (near.len().abs_diff(name.len()) <= 2).then_some(near)
}

/// A configuration and, where it is a file of this host, which one.
async fn read(name: &str, client: &Client, system: &Arc<System>) -> Result<(Document, Option<Identity>), Diagnostic> {
    let lower = name.to_ascii_lowercase();
    if lower.starts_with("http://") || lower.starts_with("https://") {
        return Box::pin(fetch(name, client, system)).await.map(|document| (document, None));
    }
    let (text, identity) = read_file(name).map_err(|why| {
        // A mistyped address may hold a key.
        let shown = if name.contains("://") { name.split("://").next().unwrap_or_default() } else { name };
        Diagnostic::error(Place::file(shown), format!("the configuration {why}"))
    })?;
    Ok((Document { name: name.to_owned(), text, fetched: false }, identity))
}

/// The text of a file, or why there is none: a sentence that goes on from its name.
fn read_text(path: &str) -> Result<String, String> {
    read_file(path).map(|(text, _)| text)
}

fn read_file(path: &str) -> Result<(String, Option<Identity>), String> {
    let cannot = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => "is not there".to_owned(),
        std::io::ErrorKind::PermissionDenied => "may not be read by this user".to_owned(),
        std::io::ErrorKind::IsADirectory => "is a folder, not a file".to_owned(),
        _ => format!("cannot be read ({error})"),
    };
    let file = fs::File::open(path).map_err(cannot)?;
    let metadata = file.metadata().ok();
    let size = metadata.as_ref().map_or(0, |metadata| metadata.len().min(FILE_LIMIT));
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    file.take(FILE_LIMIT + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > FILE_LIMIT {
        return Err(format!("is larger than {} MiB", FILE_LIMIT >> 20));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].split(|byte| *byte == b'\n').count();
        format!("is no UTF-8 text (line {line}): save it as UTF-8")
    })?;
    Ok((text, metadata.as_ref().map(identity)))
}

/// A configuration over the network (B12), through the environment's proxies. It is named by its origin and path: a query
/// may hold a key.
async fn fetch(address: &str, client: &Client, system: &Arc<System>) -> Result<Document, Diagnostic> {
    let url = Url::parse(address)
        .map_err(|why| Diagnostic::error(Place::Option("-c".to_owned()), format!("the address {why}")))?;
    let name = format!("{}{}", url.origin(), url.path.split('?').next().unwrap_or_default());
    let wrong =
        |why: String| Diagnostic::error(Place::file(&name), format!("the configuration cannot be fetched: {why}"));
    let request = Request { url, body: None };
    let (proxies, ssl) = (&Proxies::system(system), &Ssl::Verify);
    let how = How { limit: FETCH_LIMIT, want: Want::Body, over: Over::Any, proxies, ssl, from: None };
    let answer = client.send(&request, how).await.map_err(|failure| wrong(failure.why))?;
    if !(200..300).contains(&answer.status) {
        return Err(wrong(format!("it answered {}", report::with_reason(answer.status))));
    }
    if !answer.is_whole {
        return Err(wrong(format!("it was cut off, or is larger than {} KiB", BODY_LIMIT >> 10)));
    }
    let text = String::from_utf8(answer.body).map_err(|_| wrong("it is no UTF-8 text".to_owned()))?;
    Ok(Document { name, text, fetched: true })
}
