//! `ddns import`: turns another client's configuration into one for ddns (section L). Finds and reads files, asks,
//! writes and reports; the core decides what the files mean. Sends nothing.

mod places;

use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::absolute;

use ddns_core::import::{
    Detected, Import, ImportNote, NotePart, PeerClient, PeerSurroundings, detected, exposed, rows, why_left_out,
};
use ddns_core::object;
use ddns_core::text::diagnostic::{Diagnostic, Place, nearest};
use ddns_core::text::shell;
use ddns_core::web::controls::in_words;

use self::places::{PeerText, is_running, near, source};
use crate::cli::ParsedArgs;
use crate::commands::new_file::NewFile;
use crate::environment::{Environment, any_variable};
use crate::hidden_prompt::ask;
use crate::load::validate_new;
use crate::output::layout::{beside, broken, width_of};
use crate::output::{complain, json, print, put, refuse};

/// The column in which the text of a row begins.
const COLUMN: usize = 12;

/// Exits with 0 if everything that sends was taken over, with 1 if something was left out, with 2 if nothing was
/// written.
pub(crate) fn run(given: &ParsedArgs) -> u8 {
    import(given).unwrap_or_else(|code| code)
}

fn import(given: &ParsedArgs) -> Result<u8, u8> {
    let environment = Environment::read();
    let target = given.second().unwrap_or("config.json");
    let is_dry = given.has("dry-run");
    let new = if is_dry {
        None
    } else {
        let other = format!("name another file: `ddns import {} new.json`", given.word().unwrap_or("FILE"));
        let hints = ["name a file: `ddns import FILE TARGET`", &other];
        Some(NewFile::named(target, hints, &environment).or(Err(2))?)
    };
    let from = given.value("from").map(peer).transpose()?;
    let source = source(given.word(), from, &environment)?;
    let name = source.name.as_str();
    let peer = match from.map_or_else(|| detected(&source.text), Detected::Other) {
        Detected::Other(peer) => peer,
        Detected::Own if given.has("json") => {
            let none: [(); 0] = [];
            return Ok(print(&json(&object! {
                client: "ddns", file: name, written: false, taken_over: none, taken_over_in_another_way: none, not_taken_over: none
            })));
        }
        Detected::Own => {
            return Ok(print(&format!(
                "{name} is a configuration of ddns: nothing to import. `ddns check -c {}` checks it.\n",
                given.word().unwrap_or(name)
            )));
        }
        Detected::Refused(why) => {
            return Err(complain(&[Diagnostic::error(Place::Nowhere, format!("{name}: {why}"))]));
        }
        Detected::Unknown(why) => {
            return Err(refuse(format!("{name}: {why}"), format!("--from NAME chooses the client: {}", peers())));
        }
    };
    let read = |path: &str| near(name, path);
    let around = PeerSurroundings { file: name, read: &read, variable: &any_variable };
    let mut import = Import::read(peer, &source.text, &around).map_err(|error| {
        let place = if error.line > 0 { format!(", line {}", error.line) } else { String::new() };
        refuse(
            format!("{name}{place} is not understood: {}", error.message),
            format!("it was read as {}; --from NAME chooses another client", peer.word()),
        )
    })?;
    answers(&mut import, given)?;
    let may_ask = !given.has("json") && !is_dry && io::stdin().is_terminal() && io::stdout().is_terminal();
    let mut left: Vec<Option<String>> = Vec::new();
    for place in 0..import.entries.len() {
        left.push(judge(&mut import, place, name, may_ask, &environment)?);
    }
    let chosen: Vec<usize> = (0..left.len()).filter(|place| left[*place].is_none()).collect();
    if chosen.is_empty() {
        report(given, &import, &source, &left, None, None, &environment);
        return Err(refuse(
            "nothing can be taken over: no file is written",
            "the report above says why, and what to do",
        ));
    }
    let cannot = |why: String| {
        refuse(format!("the configuration cannot be made: {why}"), "please report this, without your secrets")
    };
    let whole = import.document(&chosen, None, name).map_err(cannot)?;
    validate_new("the imported configuration", &whole.text, &environment).map_err(|wrong| complain(&wrong))?;
    let mut secrets = None;
    if let Some(new) = new {
        let folder = given.value("secrets").map(|folder| absolute(environment.path(folder))).transpose();
        let folder = folder
            .map_err(|error| refuse(format!("the folder for secrets cannot be used ({error})"), "name another one"))?;
        let folder = folder.map(|folder| folder.to_string_lossy().into_owned());
        let filled = import.document(&chosen, folder.as_deref(), name).map_err(cannot)?;
        new.write(&filled).or(Err(2))?;
        let files: Vec<String> = filled.secrets.into_iter().map(|(path, _)| path).collect();
        secrets = folder.map(|_| SecretsReport { files, exposed: exposed(&import, &chosen) });
    }
    report(given, &import, &source, &left, Some(target), secrets.as_ref(), &environment);
    let is_whole = left.iter().all(Option::is_none) && import.notes.iter().all(|note| note.part != NotePart::LeftOut);
    Ok(u8::from(!is_whole))
}

/// What became of the secrets, with `--secrets`.
struct SecretsReport {
    files: Vec<String>,
    /// The fields that may still contain secrets.
    exposed: Vec<String>,
}

impl SecretsReport {
    fn text(&self, folder: &str) -> String {
        let files = match self.files.as_slice() {
            [] => format!("Nothing was written to {folder}: the configuration names no secret that can be in a file."),
            _ => format!("Secrets are in files of their own in {folder}: keep it with the configuration."),
        };
        let rest = match self.exposed.as_slice() {
            [] => String::new(),
            fields => format!(" The configuration may still contain secrets, in {}.", fields.join(", ")),
        };
        files + &rest
    }
}

/// The values of --from.
fn peers() -> String {
    PeerClient::ALL.map(PeerClient::key).join(", ")
}

fn peer(name: &str) -> Result<PeerClient, u8> {
    PeerClient::parse(name).ok_or_else(|| {
        let near = nearest(name, PeerClient::ALL.map(PeerClient::key));
        let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        refuse("--from: the import does not know this client", format!("{near}It knows {}", peers()))
    })
}

/// Applies the answers of --set.
fn answers(import: &mut Import, given: &ParsedArgs) -> Result<(), u8> {
    if import.entries.is_empty() {
        // The report says why.
        return Ok(());
    }
    for assignment in given.values("set") {
        let (name, value) = assignment.split_once('=').unwrap_or((assignment, ""));
        let (number, name) = name.split_once('.').unwrap_or(("", name));
        let count = import.entries.len();
        let entry = number.parse::<usize>().ok().and_then(|number| import.entries.get_mut(number.checked_sub(1)?));
        let hint = "e.g. --set 1.zone=example.com; the report of --dry-run has the numbers";
        let entry = entry
            .ok_or_else(|| refuse(format!("--set needs the number of an entry, from 1 to {count}, and a dot"), hint))?;
        entry.answer(name, value).map_err(|why| refuse(format!("--set: {why}"), hint))?;
    }
    Ok(())
}

/// Why an entry is left out; `None` if it can be written. Asks for missing answers if `may_ask`.
fn judge(
    import: &mut Import,
    place: usize,
    name: &str,
    may_ask: bool,
    environment: &Environment,
) -> Result<Option<String>, u8> {
    let missing = match import.entries[place].missing() {
        Ok(missing) => missing,
        Err(why) => return Ok(Some(why)),
    };
    if !missing.is_empty() && !may_ask {
        return Ok(Some(why_left_out(place + 1, &missing)));
    }
    for it in missing {
        let about = &import.entries[place];
        let about = format!("\nEntry {}, {} in line {}. Enter leaves it out.\n", place + 1, about.service, about.line);
        let help = match &it.refused {
            Some(why) => format!("The file has a value that cannot be right: {why}.\n"),
            None if it.help.is_empty() => String::new(),
            None => format!("{}: {}.\n", it.label, it.help),
        };
        loop {
            let Some(answer) = asked(&format!("{about}{help}{}: ", it.label), it.secret)? else {
                return Ok(Some(format!("left out, because this is missing: {}", it.label)));
            };
            match import.entries[place].answer(&it.name, &answer) {
                Ok(()) => break,
                Err(why) => {
                    let why = why.strip_prefix(&format!("`{}`: ", it.name)).unwrap_or(&why);
                    drop(put(&format!("  {}\n", in_words(why, None))));
                }
            }
        }
    }
    let text = import.document(&[place], None, name).map(|filled| filled.text);
    let valid = text.map(|text| validate_new("entry", &text, environment));
    Ok(match valid {
        Ok(Ok(_)) => None,
        Ok(Err(wrong)) => Some(wrong.iter().map(|wrong| wrong.message.clone()).collect::<Vec<_>>().join("; ")),
        Err(why) => Some(why),
    })
}

/// An answer; `None` if it is empty. Fails at the end of the input.
fn asked(question: &str, is_secret: bool) -> Result<Option<String>, u8> {
    match ask(question, is_secret) {
        Ok(Some(line)) => Ok(Some(line.trim().to_owned()).filter(|line| !line.is_empty())),
        _ => Err(refuse(
            "the input ended before the last question: nothing was written",
            "use --set, or --dry-run to see the report",
        )),
    }
}

/// Prints the report and, if a configuration was written, the next steps.
fn report(
    given: &ParsedArgs,
    import: &Import,
    from: &PeerText,
    left: &[Option<String>],
    target: Option<&str>,
    secrets: Option<&SecretsReport>,
    environment: &Environment,
) {
    let (parts, is_dry, name) = (rows(import, left), given.has("dry-run"), &from.name);
    if given.has("json") {
        let [taken, changed, not_taken] = parts.each_ref().map(|rows| {
            let row = |row: &ImportNote| {
                // Only if it was not taken over: whether updates are missing.
                let sends = matches!(row.part, NotePart::Dropped | NotePart::LeftOut);
                let sends = sends.then_some(row.part == NotePart::LeftOut);
                let (what, text) = (row.what.clone(), row.text.clone());
                object! { line: row.line, what: what, text: text; entry: row.entry, sends: sends }
            };
            rows.iter().map(row).collect::<Vec<_>>()
        });
        print(&json(&object! {
            client: import.peer.key(), file: name, written: target.is_some() && !is_dry, taken_over: taken,
            taken_over_in_another_way: changed, not_taken_over: not_taken; target: target,
            secret_files: secrets.map(|secrets| &secrets.files), may_hold_secrets: secrets.map(|secrets| &secrets.exposed),
            file_is_open: from.is_open.then_some(true), still_running: (target.is_some() && is_running(import.peer)).then_some(true)
        }));
        return;
    }
    let width = width_of(io::stdout());
    let wide = |text: String| broken(&text, 0, width);
    let mut text = wide(format!("{name} is a configuration of {}.", import.peer.word()));
    let headings = ["Taken over", "Taken over in another way", "Not taken over"];
    for (heading, rows) in headings.iter().zip(&parts).filter(|(_, rows)| !rows.is_empty()) {
        text += &format!("\n{heading}\n");
        for ImportNote { entry, line, what, text: about, .. } in rows {
            let (place, line) = match (entry, line) {
                (Some(entry), 0) => (format!("entry {entry}"), String::new()),
                (Some(entry), line) => (format!("entry {entry}"), format!(" (line {line})")),
                (None, 0) => Default::default(),
                (None, line) => (format!("line {line}"), String::new()),
            };
            text += &beside(&format!("  {place}"), &format!("{what}{line}: {about}"), COLUMN, width);
        }
    }
    if from.is_open {
        text += "\n";
        text += &wide(format!("Everybody can write to {name}: `chmod go-w` it, or delete it when you are done."));
    }
    if let Some(target) = target.filter(|_| is_dry) {
        text += "\n";
        text += &if fs::symlink_metadata(environment.path(target)).is_ok() {
            let file = given.word().unwrap_or("FILE");
            wide(format!(
                "Nothing was written (--dry-run). {target} already exists: name another file, e.g. `ddns import {file} new.json`."
            ))
        } else {
            format!("Nothing was written (--dry-run). Without it: {target}\n")
        };
    } else if let Some(target) = target {
        text += &next(import.peer, name, target, width);
        if let Some((secrets, folder)) = secrets.zip(given.value("secrets")) {
            text += "\n";
            text += &wide(secrets.text(folder));
        }
    }
    print(&text);
}

fn next(peer: PeerClient, name: &str, target: &str, width: usize) -> String {
    let file = if target == "config.json" { String::new() } else { format!(" -c {}", shell::quote(target)) };
    let mut text = format!("\nWrote {target}: only you can read it.\n");
    if peer == PeerClient::NewFuture && name == "config.json" {
        text +=
            &format!("To swap the two: mv config.json config.old.json && mv {0} config.json\n", shell::quote(target));
    }
    if is_running(peer) {
        let word = peer.word();
        text += &broken(
            &format!("{word} is still running: stop it before ddns sends, or both will send updates."),
            0,
            width,
        );
    }
    let stop = |command: &str| {
        let what = if command.contains("NAME") { "stop the container NAME" } else { "stop the old client" };
        (command.to_owned(), what)
    };
    let mut rows = vec![
        (format!("ddns check{file}"), "check it"),
        (format!("ddns preview{file}"), "show every request, send none"),
    ];
    rows.extend(peer.stop().map(stop));
    rows.push((format!("ddns service install{file}"), "run ddns as a service"));
    // The command for a container is too long for a column of its own.
    let short = rows.iter().map(|(command, _)| command.chars().count()).filter(|count| *count < 50);
    let column = short.max().unwrap_or(0);
    text += "\nNext:\n";
    text.extend(rows.iter().map(|(command, what)| format!("  {command:<column$}   {what}\n")));
    text
}
