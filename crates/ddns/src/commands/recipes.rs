//! `ddns recipes`: lists the services that `ddns init` can write a configuration for, or shows one in full (H12).

use std::io;

use ddns_core::net::family::Family;
use ddns_core::object;
use ddns_core::recipe::{self, CERTAINTIES, KINDS, Question, Recipe};
use ddns_core::text::diagnostic::{Diagnostic, Place, Severity};
use serde::Serialize;

use super::check::findings;
use crate::cli::ParsedArgs;
use crate::load::read_text;
use crate::output::layout::{beside, broken, width_of};
use crate::output::{complain, fail, json, print, refuse};

/// The column in which the description of a recipe begins.
const COLUMN: usize = 22;

/// Prints the list or one recipe. Exits with 1 if no recipe matches the word, with 2 if the recipe does not exist or is
/// invalid.
pub(crate) fn run(given: &ParsedArgs) -> u8 {
    let wrong = |message: &str| refuse(message, "see `ddns recipes --help`");
    let is_json = given.has("json");
    match (given.word(), given.second()) {
        (Some("show"), Some(name)) => match load(name) {
            Ok(recipe) if is_json => print(&json(&programmatic(&recipe, true))),
            Ok(recipe) => print(&page(&recipe, width_of(io::stdout()))),
            Err(wrong) => complain(&wrong),
        },
        (Some("check"), Some(file)) => check(file, is_json),
        (Some("check"), None) => wrong("`ddns recipes check` needs the file of a recipe"),
        (Some("show"), None) => wrong("`ddns recipes show` needs the name of a recipe"),
        (_, Some(_)) => wrong(
            "`ddns recipes` takes one word; `ddns recipes show NAME` shows a recipe, `ddns recipes check FILE` checks one",
        ),
        (word, None) => list(word, is_json),
    }
}

/// A built-in recipe or, if the name looks like a path, one in a file.
pub(crate) fn load(name: &str) -> Result<Recipe, Vec<Diagnostic>> {
    let is_file = name.contains('/') || name.to_ascii_lowercase().ends_with(".json");
    if !is_file {
        return recipe::named(name);
    }
    read(name).and_then(|text| Recipe::read(name, &text))
}

fn read(file: &str) -> Result<String, Vec<Diagnostic>> {
    read_text(file).map_err(|why| vec![Diagnostic::error(Place::file(file), format!("the recipe {why}"))])
}

/// Reports all errors that `ddns init --recipe FILE` would find, and errors in the configuration that it would write.
fn check(file: &str, is_json: bool) -> u8 {
    let trial = read(file).and_then(|text| Recipe::read(file, &text).map(|recipe| recipe.tried(&text)));
    if is_json {
        let none: &[String] = &[];
        let (found, untested) = match &trial {
            Ok(trial) => (&trial.diagnostics, trial.unanswered.as_slice()),
            Err(wrong) => (wrong, none),
        };
        let errors = findings(found, Severity::Error);
        let code = if errors.is_empty() { 0 } else { 2 };
        let all = object! { errors: errors, warnings: findings(found, Severity::Warning), untested: untested };
        return print(&json(&all)).max(code);
    }
    let trial = match trial {
        Ok(trial) => trial,
        Err(wrong) => return complain(&wrong),
    };
    let code = complain(&trial.diagnostics);
    if trial.is_wrong() {
        return code;
    }
    let rest = match trial.unanswered.join(", ") {
        names if names.is_empty() => String::new(),
        names => format!("; its configuration was not tested: no sample value passes the check of {names}"),
    };
    print(&format!("{file}: a valid recipe{rest}\n"))
}

fn list(word: Option<&str>, is_json: bool) -> u8 {
    let recipes = recipe::search(word.unwrap_or_default());
    if is_json {
        let all = recipes.iter().map(|recipe| programmatic(recipe, false)).collect::<Vec<_>>();
        return print(&json(&all)).max(u8::from(recipes.is_empty()));
    }
    if recipes.is_empty() {
        return fail("no recipe matches this word");
    }
    let width = width_of(io::stdout());
    let mut text = String::new();
    for (kind, heading) in KINDS {
        let of_kind = recipes.iter().filter(|recipe| recipe.kind == kind);
        let rows: String =
            of_kind.map(|recipe| beside(&format!("  {}", recipe.name), &recipe.about, COLUMN, width)).collect();
        text += &if rows.is_empty() { rows } else { format!("{heading}\n{rows}\n") };
    }
    let option =
        if recipes.iter().all(|recipe| recipe.kind == "notification") { "--notify-recipe" } else { "--recipe" };
    print(&format!("{text}`ddns recipes show NAME` explains one, `ddns init {option} NAME` uses it.\n"))
}

/// A recipe as JSON: short for a list, or in full.
fn programmatic(recipe: &Recipe, is_whole: bool) -> impl Serialize {
    let question = |it: &Question| {
        let (name, ask, help, default) = (it.name.clone(), it.ask.clone(), it.help.clone(), it.default.clone());
        let each = match it.each {
            recipe::Each::Once => "once",
            recipe::Each::Domain => "domain",
            recipe::Each::Record => "record",
        };
        object! { name: name, ask: ask, help: help, each: each, secret: it.secret, file: it.is_file, default: default }
    };
    let families = || families(recipe).iter().map(|family| family.to_lowercase()).collect::<Vec<_>>();
    object! {
        name: &recipe.name,
        title: &recipe.title,
        kind: recipe.kind,
        about: &recipe.about,
        documentation: &recipe.documentation,
        certainty: recipe.certainty;
        sources: is_whole.then_some(&recipe.sources),
        rules: is_whole.then_some(&recipe.rules),
        families: (is_whole && recipe.has_entry()).then(families),
        notify: is_whole.then(|| recipe.has_notification()),
        questions: is_whole.then(|| recipe.questions.iter().map(question).collect::<Vec<_>>()),
    }
}

fn families(recipe: &Recipe) -> Vec<String> {
    Family::ALL.into_iter().filter(|family| recipe.takes(*family)).map(|family| family.to_string()).collect()
}

/// The page of one recipe.
fn page(recipe: &Recipe, width: usize) -> String {
    let meaning = CERTAINTIES.iter().find(|(name, _)| *name == recipe.certainty).map_or("", |(_, meaning)| *meaning);
    let mut text = format!("{} (recipe `{}`)\n\n", recipe.title, recipe.name);
    text += &broken(&recipe.about, 0, width);
    text += &format!("{}\n", recipe.documentation);
    if recipe.has_entry() {
        text += &broken(&format!("Addresses: {}.", families(recipe).join(" and ")), 0, width);
    }
    if recipe.has_notification() {
        let how = format!("Notifications: add --notify-recipe {} to `ddns init`.", recipe.name);
        text += &broken(&how, 0, width);
    }
    let sources = recipe.sources.join("; ");
    text += &broken(&format!("Facts: {meaning} ({sources}). Not tested against the live service."), 0, width);
    if !recipe.rules.is_empty() {
        text += "\nRules of the service:\n";
        text.extend(recipe.rules.iter().map(|rule| beside("  -", rule, 4, width)));
    }
    text += if recipe.has_entry() { "\nIt asks for, besides the domains:\n" } else { "\nAsked for:\n" };
    let row = |question: &Question| beside(&format!("  {}", question.name), &asked(question), COLUMN, width);
    text.extend(recipe.questions.iter().map(row));
    text + "\nWrites this configuration:\n\n" + &recipe::template(recipe)
}

fn asked(question: &Question) -> String {
    let mut text = question.ask.clone();
    if !question.help.is_empty() {
        text += &format!(" ({})", question.help);
    }
    match question.each {
        recipe::Each::Once => {}
        recipe::Each::Domain => text += ", for each domain",
        recipe::Each::Record => text += ", for each domain and record type",
    }
    if question.secret {
        text += "; a secret";
    }
    if question.is_file {
        text += "; a file that stays in place";
    }
    text + &question.default.as_ref().map(|default| format!("; {default} by default")).unwrap_or_default()
}
