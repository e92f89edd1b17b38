//! Recipes for people: the list of services, and the configuration of a recipe before answers are filled in.

use super::{CERTAINTIES, KINDS, Recipe, built_in};
use crate::net::family::Family;
use crate::text::json::{Member, Value, pretty};

const ABOVE: &str = "\
# Services

`ddns init --recipe NAME` writes a configuration for each of these. A recipe is data: it asks for what the service needs
and fills the fields of an [ordinary configuration](configuration.md), which you can read and change. Ids of zones and records
are looked for when an update is sent, never before. `ddns recipes` lists them, `ddns recipes show NAME` shows one with its rules. A recipe of your own
works as well: `ddns init --recipe ./my.json` ([recipes.md](recipes.md)).

No recipe has been tested against the live service, except those for programs that the tests start (PowerDNS, Node-RED).
*Compared* says which requests and answers were held against the sources, and when. Where the facts come from:

";

const BELOW: &str = "
This page is generated from the files in `recipes/`. A new recipe is one file there and one block in
`crates/core/tests/recipes.txt`.
";

const NOTE: &str = "\
`ddns init --notify-recipe NAME` adds one of these to a configuration: it tells what happens ([notifications.md](notifications.md)).
Those with addresses can also receive the updates themselves: `ddns init --recipe NAME`.

";

/// The text of `docs/services.md`.
pub fn page() -> String {
    let recipes: Vec<Recipe> = built_in().collect();
    let mut text = ABOVE.to_owned();
    for (certainty, meaning) in CERTAINTIES {
        let count = recipes.iter().filter(|recipe| recipe.certainty == certainty).count();
        text += &format!("- *{certainty}*: {meaning} ({count} recipes)\n");
    }
    for (kind, heading) in KINDS {
        let note = if kind == "notification" { NOTE } else { "" };
        text += &format!(
            "\n## {heading}\n\n{note}| service | recipe | addresses | rules of the service | compared | facts |\n|---|---|---|---|---|---|\n"
        );
        for recipe in recipes.iter().filter(|recipe| recipe.kind == kind) {
            text += &row(recipe);
        }
    }
    text + BELOW
}

fn row(recipe: &Recipe) -> String {
    let families: Vec<String> =
        Family::ALL.iter().filter(|family| recipe.takes(**family)).map(ToString::to_string).collect();
    // A `|` would end the cell.
    let cell = |text: &str| text.replace('|', "\\|");
    let sources = cell(&recipe.sources.join("; "));
    let compared = compared(recipe).join(", ");
    let checked = if recipe.checked.is_empty() { "-" } else { &recipe.checked };
    format!(
        "| [{}]({}) | `{}` | {} | {} | {checked}: {compared} | *{}*: {sources} |\n",
        cell(&recipe.title),
        recipe.documentation,
        recipe.name,
        if families.is_empty() { "-".to_owned() } else { families.join(", ") },
        cell(&recipe.rules.join(" ")),
        recipe.certainty,
    )
}

/// The parts of a recipe that were compared with its sources.
fn compared(recipe: &Recipe) -> Vec<&'static str> {
    let entry = recipe.config.iter().chain(recipe.own.iter().flatten()).chain(recipe.both.iter().flatten());
    let all = entry.chain(recipe.notify.iter().flatten());
    let has = |key: &str| all.clone().any(|member| member.key == key);
    let parts = [
        (recipe.has_entry(), "update"),
        (recipe.has_notification(), "notification"),
        (has("before"), "lookup"),
        (has("absent"), "creation"),
        (has("after"), "what follows"),
        (has("expect"), "answers"),
    ];
    parts.into_iter().filter(|(is_there, _)| *is_there).map(|(_, part)| part).collect()
}

/// The configuration that a recipe fills, with `${name}` for each answer, and what differs between the families.
pub fn template(recipe: &Recipe) -> String {
    let shown = |members: &[Member]| pretty(&Value::Object(members.to_vec()));
    let mut text = if recipe.has_entry() { shown(&recipe.config) } else { String::new() };
    let own = [("For IPv4 also:", &recipe.own[0]), ("For IPv6 also:", &recipe.own[1])];
    let both = recipe.both.as_ref().map(|both| ("For domains of both families instead:", both));
    let domain = Some(("Each domain:", &recipe.domain));
    for (heading, members) in own.into_iter().chain(both).chain(domain).filter(|(_, members)| !members.is_empty()) {
        text += &format!("\n{heading}\n{}", shown(members));
    }
    for (at, members) in recipe.notify.iter().enumerate() {
        let heading = if at == 0 { "\nAs `notify`:\n" } else { "" };
        text += &format!("{heading}{}", shown(members));
    }
    text.trim_start().to_owned()
}
