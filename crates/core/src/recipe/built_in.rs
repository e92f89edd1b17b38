//! The recipes in the program.

use super::Recipe;
use crate::config::served;
use crate::text::diagnostic::{Diagnostic, Place, nearest};

/// The names, one on each line.
const NAMES: &str = include_str!(concat!(env!("OUT_DIR"), "/recipes.names"));

/// The JSON of the recipes, one on each line, in the same order.
const TEXTS: &str = include_str!(concat!(env!("OUT_DIR"), "/recipes.texts"));

/// Removed recipes of services that were shut down: the name, what happened, and what to use instead.
const GONE: [(&str, &str, &str); 1] = [(
    "hetzner",
    "Hetzner shut the old DNS API down in May 2026",
    "use `hetzner-cloud`: zones are in the Hetzner Console now, and a new token of it is needed",
)];

/// The names of all recipes, in alphabetical order.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    NAMES.lines()
}

/// All recipes, in alphabetical order.
pub fn built_in() -> impl Iterator<Item = Recipe> {
    names().zip(TEXTS.lines()).filter_map(|(name, text)| Recipe::read(name, text).ok())
}

/// The recipe with this name. The error suggests a similar name.
pub fn named(name: &str) -> Result<Recipe, Vec<Diagnostic>> {
    if let Some((name, text)) = names().zip(TEXTS.lines()).find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        return Recipe::read(name, text);
    }
    if let Some((gone, why, way_out)) = GONE.iter().find(|(gone, ..)| gone.eq_ignore_ascii_case(name)) {
        let message = format!("the recipe `{gone}` was removed: {why}");
        return Err(vec![Diagnostic::error(Place::Nowhere, message).hint(*way_out)]);
    }
    let error = Diagnostic::error(Place::Nowhere, format!("there is no recipe `{name}`"));
    let is_it = |recipe: &Recipe| recipe.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name));
    let near = match (built_in().find(is_it), served(name)) {
        (Some(recipe), _) => Some(recipe.name),
        (None, Some(Err(why))) => return Err(vec![error.hint(why)]),
        (None, Some(Ok(recipe))) => Some(recipe.to_owned()),
        (None, None) => nearest(name, names()).map(str::to_owned),
    };
    Err(vec![match near {
        Some(near) => error.hint(format!("did you mean `{near}`? `ddns recipes` lists all")),
        None => error.hint("`ddns recipes` lists all; a file is named with its folder: ./my.json"),
    }])
}
