//! The names of services in other clients, and the recipes for them.

const ROWS: &str = include_str!("providers.txt");

/// The names of all recipes, one on each line.
const RECIPES: &str = include_str!(concat!(env!("OUT_DIR"), "/recipes.names"));

/// The names of each service in other clients, and its recipe; or why it has none or needs none.
pub fn providers() -> impl Iterator<Item = (std::str::Split<'static, char>, Result<&'static str, &'static str>)> {
    let rows = ROWS.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(' '));
    rows.map(|(names, served)| (names.split(','), served.strip_prefix("- ").map_or(Ok(served), Err)))
}

/// The recipe for a service as another client names it, or why it has none or needs none; `None` if the name is unknown.
pub fn served(provider: &str) -> Option<Result<&'static str, &'static str>> {
    let is_it = |name: &str| name.eq_ignore_ascii_case(provider.trim());
    providers().find(|(names, _)| names.clone().any(is_it)).map(|(_, served)| served)
}

/// The hint for a configuration that names a service as another client or a recipe does; `None` if the name is unknown.
pub(super) fn way_out(provider: &str) -> Option<String> {
    let recipe = || RECIPES.lines().find(|name| name.eq_ignore_ascii_case(provider.trim())).map(Ok);
    let served = served(provider).or_else(recipe)?;
    Some(served.map_or_else(str::to_owned, |recipe| {
        let import = "`ddns import FILE new.json` takes the whole file over";
        format!("`ddns init --recipe {recipe}` writes a configuration for this service; {import}")
    }))
}
