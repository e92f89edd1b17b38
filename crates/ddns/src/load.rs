//! Turns files, environment and command line into valid configurations. Finds and reads them; the core validates them.
//! Everything is loaded before anything is sent.

mod file;
mod variables;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf, absolute};
use std::rc::Rc;
use std::sync::Arc;

use ddns_core::config::fields::{FIELDS, Field, FieldScope, Key, file_variables};
use ddns_core::config::files;
use ddns_core::config::files::FileContents;
use ddns_core::config::pushes::resolve_pushes;
use ddns_core::config::raw::{self, Document, Raw};
use ddns_core::config::validate::{Surroundings, Valid, validate};
use ddns_core::config::{Cache, Entry, starter};
use ddns_core::net::ssl::Ssl;
use ddns_core::text::diagnostic::{Diagnostic, Place, has_errors, without_repeats};

use self::file::LoadedFile;
pub(crate) use self::file::{cannot, read_text, text_of};
use self::variables::{CONFIG, configured_files};
use crate::cli::CliSettings;
use crate::environment::Environment;
use crate::http::{Client, read_ca};
use crate::open_file::{Identity, beside, identity};
use crate::output::complain;
use crate::rsa;
use crate::store::pushed_beside;

/// The name of a configuration without a file.
pub(crate) const OUTSIDE: &str = "environment and options";

/// Everything that was read, and the result.
pub(crate) struct Examined {
    /// The files that could be read, in the order in which they are run.
    pub(crate) documents: Vec<Rc<Document>>,
    pub(crate) around: Surroundings,
    pub(crate) result: LoadResult,
}

/// Every configuration to run, or everything that is wrong.
pub(crate) type LoadResult = Result<Vec<Valid>, Vec<Diagnostic>>;

/// Loads what a run needs: configurations, environment and a client. Prints errors, and fails with the exit status.
pub(crate) async fn begin(settings: CliSettings) -> Result<(Vec<Valid>, Environment, Client), u8> {
    let (environment, client) = (Environment::read(), Client::default());
    match load(settings, &environment, &client).await {
        Ok(configs) => Ok((configs, environment, client)),
        Err(wrong) => Err(complain(&wrong)),
    }
}

/// Loads every configuration to run, at least one; fails with everything that is wrong.
pub(crate) async fn load(settings: CliSettings, environment: &Environment, client: &Client) -> LoadResult {
    let loaded = examine(settings, environment, client).await.result?;
    if loaded.is_empty() { Err(vec![no_configuration(environment)]) } else { Ok(loaded) }
}

/// The same, and returns what was read, too. The result is empty if nothing is set.
pub(crate) async fn examine(
    CliSettings { files: named, options, .. }: CliSettings,
    environment: &Environment,
    client: &Client,
) -> Examined {
    let mut diagnostics = Vec::new();
    let mut around = around(options, environment, &mut diagnostics);
    let named_outside = around.named_files();
    read_files(&mut around.files, named_outside, environment);
    let found = diagnostics.len();
    let files = files_here(named, environment, &mut diagnostics);
    let is_unnamed = diagnostics.len() > found;
    if files.is_empty() && around.options.is_empty() && around.environment.is_empty() && !has_errors(&diagnostics) {
        return Examined { documents: Vec::new(), around, result: Ok(Vec::new()) };
    }
    let (mut valid, mut documents) = (Vec::new(), Vec::new());
    let mut identities = Vec::new();
    for file in &files {
        let loaded = match file::read(file, client, &around).await {
            Ok(LoadedFile { document, identity, warnings }) => {
                identities.extend(identity);
                diagnostics.extend(warnings);
                let document = Rc::new(document);
                documents.push(document.clone());
                let written = raw::read(&document).map_err(|error| vec![error]);
                written.and_then(|written| {
                    read_files(&mut around.files, files::named_in(&written), environment);
                    validate(&document.name, Some(written), &around)
                })
            }
            Err(errors) => Err(errors),
        };
        match loaded {
            Ok(config) => valid.push(config),
            Err(wrong) => diagnostics.extend(wrong),
        }
    }
    if files.is_empty() && !is_unnamed {
        match validate(OUTSIDE, None, &around) {
            Ok(config) => valid.push(config),
            Err(wrong) => diagnostics.extend(wrong),
        }
    }
    diagnostics.extend(resolve_pushes(&mut valid, |entry| push_path(entry, environment)));
    diagnostics.extend(missing_authorities(&valid));
    diagnostics.extend(overwritten_inputs(&valid, &identities, environment));
    let result = if has_errors(&diagnostics) {
        Err(without_repeats(diagnostics))
    } else {
        if let Some((_, warnings)) = valid.first_mut() {
            warnings.splice(0..0, diagnostics);
        }
        Ok(valid)
    };
    Examined { documents, around, result }
}

/// The files of a run (B12): those of `-c`, else those of the environment, else the first of the default places.
fn files_here(named: Vec<String>, environment: &Environment, diagnostics: &mut Vec<Diagnostic>) -> Vec<String> {
    let mut files = if named.is_empty() { configured_files(environment, diagnostics) } else { named };
    for file in &mut files {
        if let Some(path) = file.strip_prefix("file://") {
            *file = path.to_owned();
        }
    }
    if files.is_empty() { default_file(environment).into_iter().collect() } else { files }
}

/// The same by their full names, which is how a service reports its files. Empty if a run here would use no file.
pub(crate) fn names_here(settings: &CliSettings, environment: &Environment) -> Vec<String> {
    files_here(settings.files.clone(), environment, &mut Vec::new()).iter().map(|file| full_name(file)).collect()
}

/// The real path of a file, or the name of a configuration from the network.
pub(crate) fn full_name(name: &str) -> String {
    match file::address(name) {
        Some(Ok(url)) => file::name_of(&url),
        None if name != OUTSIDE => {
            let path = fs::canonicalize(name).or_else(|_| absolute(name));
            path.map_or_else(|_| name.to_owned(), |path| path.display().to_string())
        }
        _ => name.to_owned(),
    }
}

/// What files are combined with: options, environment and proxies.
fn around(options: Raw, environment: &Environment, diagnostics: &mut Vec<Diagnostic>) -> Surroundings {
    Surroundings {
        options,
        environment: variables::settings(environment, diagnostics),
        proxies: Arc::new(environment.proxies()),
        files: FileContents::default(),
        rsa: Some(rsa::sign),
    }
}

/// The same for a text that is only checked: errors in the environment were reported before.
pub(crate) fn surroundings(settings: &CliSettings, environment: &Environment) -> Surroundings {
    around(settings.options.clone(), environment, &mut Vec::new())
}

/// Where to write the first configuration; `None` unless a page is wanted and there is nothing else to run.
pub(crate) fn set_up_target(settings: &CliSettings, environment: &Environment) -> Option<PathBuf> {
    let around = surroundings(settings, environment);
    let is_set = |key| around.options.get(key).is_some() || around.environment.get(key).is_some();
    let is_entry = |field: &&Field| field.scope == FieldScope::Entry;
    if !is_set(Key::Web) || FIELDS.iter().filter(is_entry).any(|field| is_set(field.key)) {
        return None;
    }
    let named = match settings.files.as_slice() {
        [] => configured_files(environment, &mut Vec::new()),
        files => files.to_vec(),
    };
    let path = match named.as_slice() {
        [] if default_file(environment).is_none() => PathBuf::from("config.json"),
        [only] if !only.contains("://") => PathBuf::from(only),
        _ => return None,
    };
    let is_missing = fs::symlink_metadata(&path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    is_missing.then(|| absolute(&path).unwrap_or(path))
}

/// The page of a service that has no configuration yet; examples replace the other settings.
pub(crate) fn before_set_up(settings: &CliSettings, environment: &Environment) -> LoadResult {
    let mut around = around(starter::completed(&settings.options), environment, &mut Vec::new());
    let named = around.named_files();
    read_files(&mut around.files, named, environment);
    validate(OUTSIDE, None, &around).map(|valid| vec![valid])
}

/// Validates a new configuration without options and environment, except for the proxies of this host. Reads the files
/// that it names.
pub(crate) fn validate_new(name: &str, text: &str, environment: &Environment) -> Result<Valid, Vec<Diagnostic>> {
    let written = raw::read(&Document::local(name, text)).map_err(|error| vec![error])?;
    let proxies = Arc::new(environment.proxies());
    let mut around = Surroundings { proxies, rsa: Some(rsa::sign), ..Surroundings::default() };
    read_files(&mut around.files, files::named_in(&written), environment);
    validate(name, Some(written), &around)
}

/// Reads the files that hold values (H13), each once.
fn read_files(files: &mut FileContents, paths: Vec<String>, environment: &Environment) {
    for path in paths {
        if !files.has(&path) {
            let text = file::read_text(&environment.path(&path).display().to_string());
            files.add(path, text);
        }
    }
}

/// The CA files, and the names of their configurations.
fn authorities(valid: &[Valid]) -> impl Iterator<Item = (&String, &String)> {
    let used = valid.iter().flat_map(|(config, _)| {
        let of_notify = config.notify.iter().map(|notification| &notification.ssl);
        config.entries.iter().map(|entry| &entry.ssl).chain(of_notify).map(|ssl| (&config.name, ssl))
    });
    used.filter_map(|(name, ssl)| if let Ssl::Ca(path) = ssl { Some((name, path)) } else { None })
}

/// An unusable CA file is an error in the configuration, not a failure of the network.
fn missing_authorities(valid: &[Valid]) -> Vec<Diagnostic> {
    let wrong = |(name, path): (&String, &String)| {
        let why = read_ca(path).err()?;
        Some(Diagnostic::error(Place::file(name), format!("`ssl`: {why}")))
    };
    authorities(valid).filter_map(wrong).collect()
}

/// Where pushed addresses of an entry are remembered (F10): beside its cache or, if that is off, beside the standard
/// cache.
fn push_path(entry: &Entry, environment: &Environment) -> PathBuf {
    pushed_beside(&environment.cache_of(&entry.cache).unwrap_or_else(|| environment.standard_cache()))
}

/// Why a log must not go there, while entries may share it as their cache.
const CACHE: &str = "is the cache";

/// Files that belong to a cache, by the ends of their names.
const BESIDE_CACHE: [&str; 5] = [".history", ".history.old", ".new", ".push", ".watch"];

/// Refuses `--cache config.json` with `-c config.json`: the cache, or the log, would overwrite a configuration, a secret
/// or each other.
fn overwritten_inputs(valid: &[Valid], files: &[Identity], environment: &Environment) -> Vec<Diagnostic> {
    let mut written: Vec<(&str, &String)> = Vec::new();
    for (config, _) in valid {
        written.extend(config.log.file.iter().map(|path| ("log.file", path)));
        written.extend(config.entries.iter().filter_map(|entry| match &entry.cache {
            Cache::File(path) => Some(("cache", path)),
            _ => None,
        }));
    }
    written.dedup();
    let Some((_, first)) = written.first() else { return Vec::new() };
    // The usual configuration: nothing but one cache is written.
    let is_alone = written.iter().all(|(field, path)| *field == "cache" && path == first);
    // A file that is not there yet is told by its path; a device, such as /dev/null, may be used twice.
    let place = |path: &Path, found: io::Result<fs::Metadata>| match found {
        Ok(metadata) => metadata.is_file().then(|| Ok(identity(&metadata))),
        Err(_) => Some(Err(absolute(path).unwrap_or_default())),
    };
    let there = |path: &Path| place(path, fs::metadata(path));
    // What ddns writes for itself goes through no link, so that a planted one stops nobody.
    let own = |path: &Path| place(path, fs::symlink_metadata(path));
    let entries = valid.iter().flat_map(|(config, _)| &config.entries).filter(|_| !is_alone);
    let caches: BTreeSet<PathBuf> = entries.filter_map(|entry| environment.cache_of(&entry.cache)).collect();
    let of_variables = file_variables().filter_map(|(_, variable)| environment.get(variable));
    let read = valid.iter().flat_map(|(config, _)| &config.files).map(String::as_str).chain(of_variables);
    let read = read.chain(authorities(valid).map(|(_, path)| path.as_str())).map(|path| environment.path(path));
    let beside_caches = caches.iter().flat_map(|cache| BESIDE_CACHE.map(|ending| beside(cache, ending)));
    // The last word about a file counts.
    let mut taken: BTreeMap<_, &str> = BTreeMap::new();
    taken.extend(caches.iter().filter_map(|path| Some((own(path)?, CACHE))));
    taken.extend(beside_caches.filter_map(|path| Some((own(&path)?, "belongs to the cache"))));
    taken.extend(read.filter_map(|path| Some((there(&path)?, "is part of a configuration"))));
    taken.extend(files.iter().map(|file| (Ok(*file), "is a configuration")));
    let wrong = written.into_iter().filter_map(|(field, path)| {
        let what = *taken.get(&there(&environment.path(path))?)?;
        let message = format!("`{field}` is {path}, which {what}: it would be overwritten");
        let wrong = Diagnostic::error(Place::Nowhere, message).hint(format!("name another file as `{field}`"));
        (field != "cache" || what != CACHE).then_some(wrong)
    });
    wrong.collect()
}

/// Where ddns looks for a configuration without `-c` (B12).
pub(crate) fn default_places(environment: &Environment) -> impl Iterator<Item = String> {
    let in_home = |name| environment.home().map(|home| home.join(name).display().to_string());
    let home = [".ddns/config.json", ".ddns.json"].into_iter().filter_map(in_home);
    let etc = ["/etc/ddns/config.json", "/etc/ddns.json"].map(str::to_owned);
    ["config.json".to_owned()].into_iter().chain(home).chain(etc)
}

/// Whether a run without `-c` uses a file.
pub(crate) fn has_file(environment: &Environment) -> bool {
    environment.get(CONFIG).is_some() || default_file(environment).is_some()
}

pub(crate) fn default_file(environment: &Environment) -> Option<String> {
    default_places(environment).find(|path| fs::metadata(path).is_ok_and(|metadata| !metadata.is_dir()))
}

/// The error if there is no configuration at all.
pub(crate) fn no_configuration(environment: &Environment) -> Diagnostic {
    let places = default_places(environment).collect::<Vec<_>>().join("\n    ");
    let message = format!("no configuration found. Looked for:\n    {places}");
    let hint = r#"`ddns init` writes one; `ddns demo` needs none. The smallest config.json:
    {
      "dns": "callback",
      "id": "https://example.com/update?name=__DOMAIN__&ip=__IP__",
      "ipv4": ["home.example.com"]
    }"#;
    Diagnostic::error(Place::Nowhere, message).hint(hint)
}
