//! What other clients call services and settings, as data (L18): a text for each of them.
//!
//! ```text
//! * user=login                      what the questions of all recipes are called in the file
//! NAME,NAME [?GUARD] RECIPE [Q=V…]  services, the recipe (`=`: of the same name), and what its questions are called
//! NAME [?GUARD] - WHY               services without a recipe
//! : NAME[=DEFAULT],… WHY            settings that are not taken over; `*`: whatever they say, nobody misses them
//! ! COMMAND                         how to stop the client
//! ```
//!
//! A guard is `?field` (it is set), `?!field` (it is not) or `?field~text` (it contains this). A value is a field, several with
//! `|` (the first that is set), a text with `{field}` in it, `'text'`, or `*`: what follows the first dot of the domain.
//! `name=` makes the name of the domain.

/// The table of one client.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerTable(pub(super) &'static str);

/// What a table says about a service.
#[derive(Debug)]
pub(super) enum ServiceRow {
    /// The recipe, and where the answers to its questions are.
    Recipe(&'static str, Vec<(&'static str, &'static str)>),
    /// Why there is none.
    Nothing(&'static str),
}

impl PeerTable {
    fn lines(self, mark: &'static str) -> impl Iterator<Item = &'static str> {
        self.0.lines().filter_map(move |line| line.strip_prefix(mark)).map(str::trim)
    }

    /// The names of services in each row, and what follows them.
    fn rows(self) -> impl Iterator<Item = (std::str::Split<'static, char>, &'static str)> {
        let rows = self.0.lines().filter(|line| !line.starts_with(['*', ':', '!', '#']));
        rows.filter_map(|line| line.split_once(' ')).map(|(names, rest)| (names.split(','), rest.trim()))
    }

    /// The first row of a service whose guards hold.
    pub(super) fn row<'a>(self, service: &str, field: impl Fn(&str) -> Option<&'a str>) -> Option<ServiceRow> {
        let holds = |guard: &str| match (guard.strip_prefix('!'), guard.split_once('~')) {
            (Some(unset), _) => field(unset).is_none(),
            (_, Some((name, part))) => field(name).is_some_and(|value| value.to_ascii_lowercase().contains(part)),
            _ => field(guard).is_some(),
        };
        self.rows().find_map(|(mut names, mut rest)| {
            let name = names.find(|known| known.eq_ignore_ascii_case(service))?;
            while let Some(guarded) = rest.strip_prefix('?') {
                let (guard, behind) = guarded.split_once(' ')?;
                if !holds(guard) {
                    return None;
                }
                rest = behind.trim();
            }
            if let Some(why) = rest.strip_prefix("- ") {
                return Some(ServiceRow::Nothing(why));
            }
            let mut words = rest.split(' ').filter(|word| !word.is_empty());
            let recipe = words.next().map(|recipe| if recipe == "=" { name } else { recipe })?;
            let everywhere = self.lines("* ").flat_map(|line| line.split(' '));
            Some(ServiceRow::Recipe(recipe, words.chain(everywhere).filter_map(|word| word.split_once('=')).collect()))
        })
    }

    /// The names of all services.
    pub(super) fn services(self) -> impl Iterator<Item = &'static str> {
        self.rows().flat_map(|(names, _)| names)
    }

    /// Why a setting is not taken over; an empty text where it has its default.
    pub(super) fn why_not(self, setting: &str, value: &str) -> Option<&'static str> {
        self.lines(": ").filter_map(|line| line.split_once(' ')).find_map(|(names, why)| {
            let mut names = names.split(',').map(|name| name.split_once('=').unwrap_or((name, "")));
            let matches = |known: &str| match known.strip_suffix('*') {
                Some(start) => setting.starts_with(start),
                None => known == setting,
            };
            let (_, default) = names.find(|(name, _)| matches(name))?;
            let is_default = value.trim().is_empty()
                || default.split('|').any(|word| word == "*" || word.eq_ignore_ascii_case(value));
            Some(if is_default { "" } else { why.trim() })
        })
    }

    /// How to stop the client.
    pub(super) fn stop(self) -> &'static str {
        self.lines("! ").next().unwrap_or_default()
    }
}
