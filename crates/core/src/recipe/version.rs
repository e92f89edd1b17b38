//! Which recipe a configuration was written from, and whether that one was right (H23).

use super::named;
use crate::config::fields::{Field, Key};
use crate::config::raw::FileLayers;
use crate::text::diagnostic::Diagnostic;

/// Warnings about the recipes that a configuration names.
pub fn outdated(written: &FileLayers) -> Vec<Diagnostic> {
    let settings = written.layers().filter_map(|layer| layer.get(Key::Recipe));
    let warning = |setting: &crate::config::raw::Setting| {
        let (message, hint) = doubt(setting.node.value.text()?.trim())?;
        let place = setting.place(Field::of(Key::Recipe), setting.node.span);
        Some(Diagnostic::warning(place, format!("`recipe`: {message}")).hint_if_any(hint))
    };
    settings.filter_map(warning).collect()
}

/// What is doubtful about `NAME@VERSION`, and the way out.
fn doubt(text: &str) -> Option<(String, Option<String>)> {
    let (name, version) = text.rsplit_once('@').unwrap_or((text, "1"));
    let recipe = match named(name) {
        Ok(recipe) => recipe,
        Err(wrong) => return wrong.into_iter().next().map(|wrong| (wrong.message, wrong.hint)),
    };
    let Ok(version) = version.parse::<u32>() else {
        return Some(("it is a name and a version".to_owned(), Some(format!("\"{name}@{}\"", recipe.version))));
    };
    let (_, why) = recipe.wrong.iter().find(|(wrong, _)| *wrong == version)?;
    let message = format!("version {version} of `{name}` is known to be wrong: {why}");
    Some((message, Some(format!("`ddns init --recipe {name}` writes a new configuration: give it the same answers"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::raw::{self, Document};

    #[test]
    fn h23_a_recipe_that_was_wrong_or_is_none_is_worth_a_warning() {
        let warned = |recipe: &str| {
            let text = format!("{{\"recipe\": \"{recipe}\"}}");
            let written = raw::read(&Document::local("c.json", &text)).expect("JSON");
            outdated(&written).iter().map(Diagnostic::one_line).collect::<String>()
        };
        assert!(warned("cloudflare@1").contains("version 1 of `cloudflare` is known to be wrong: it "));
        assert!(warned("cloudflare@1").contains("`ddns init --recipe cloudflare`"));
        assert!(warned("cloudflair@2").contains("did you mean `cloudflare`?"));
        assert!(warned("hetzner@1").contains("use `hetzner-cloud`"));
        assert!(warned("cloudflare@x").contains("a name and a version"));
        for right in ["cloudflare@2", "cloudflare@99", "duckdns", "duckdns@1"] {
            assert_eq!(warned(right), "", "{right}");
        }
    }
}
