//! Sources that use pushed addresses (F10): who pushes them, how long they count, and which file remembers them.

use std::path::PathBuf;

use super::Entry;
use super::fields::{Field, Key};
use super::validate::Valid;
use super::web::{PushRule, Web};
use crate::address::source::PushSource;
use crate::net::family::Family;
use crate::text::diagnostic::{Diagnostic, Place};

/// Completes each `push` source of these configurations, which run together: who pushes its address, how long the
/// address counts, and which file remembers it. Returns the errors.
pub fn resolve_pushes(configs: &mut [Valid], file_of: impl Fn(&Entry) -> PathBuf) -> Vec<Diagnostic> {
    let webs = configs.iter().filter_map(|(config, _)| config.web.as_ref());
    let rules: Vec<PushRule> = webs.flat_map(|web: &Web| web.push.iter().cloned()).collect();
    let mut wrong = Vec::new();
    for (config, _) in configs {
        for entry in &mut config.entries {
            let file = file_of(entry);
            let domains = entry.domains[Family::V6.index()].len();
            let has_ids = !entry.interface_ids.is_empty();
            let is_mixed = (1..domains).contains(&entry.interface_ids.len());
            for family in Family::ALL {
                let field = Field::of(if family == Family::V4 { Key::Index4 } else { Key::Index6 }).name;
                for source in entry.sources[family.index()].iter_mut().flat_map(|source| source.pushes_mut()) {
                    source.file = Some(file.clone());
                    source.is_prefix = family == Family::V6 && has_ids;
                    let mut complain = |message: String, hint: &str| {
                        let place = Place::file(&config.name);
                        wrong.push(Diagnostic::error(place, format!("`{field}`: {message}")).hint(hint));
                    };
                    if let Err((message, hint)) = complete(source, &rules) {
                        complain(message, &hint);
                    }
                    if family == Family::V6 && is_mixed {
                        let message = format!(
                            "some domains have an `interface_id`, others do not, and {source} gives one address"
                        );
                        complain(message, "put them into separate entries of `providers`");
                    }
                }
            }
        }
    }
    wrong
}

/// Without `web.push`, another service receives the address, and this run uses what that service remembered (F10l).
fn complete(source: &mut PushSource, rules: &[PushRule]) -> Result<(), (String, String)> {
    let quoted = || rules.iter().map(|rule| format!("`push:{}`", rule.name)).collect::<Vec<_>>().join(", ");
    let rule = match &source.name {
        _ if rules.is_empty() => return Ok(()),
        None if rules.iter().any(|rule| rule.name != rules[0].name) => {
            return Err(("`push` does not say whose address it is".to_owned(), format!("use one of {}", quoted())));
        }
        None => Some(&rules[0]),
        Some(name) => rules.iter().find(|rule| rule.name == *name),
    };
    let Some(rule) = rule else {
        return Err((format!("`web.push` has no name for {source}"), format!("use one of {}", quoted())));
    };
    (source.name, source.max_age) = (Some(rule.name.clone()), rule.max_age);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::validate::validate_text;

    fn resolved(files: &[&str]) -> (Vec<Valid>, String) {
        let text =
            |more: &&str| format!(r#"{{"dns": "callback", "id": "https://h.example/", "ipv4": "a.example", {more}}}"#);
        let mut configs: Vec<Valid> = files
            .iter()
            .map(|more| validate_text("c.json", &text(more)).unwrap_or_else(|wrong| panic!("{more}: {wrong:?}")))
            .collect();
        let wrong = resolve_pushes(&mut configs, |_| PathBuf::from("/cache.push"));
        (configs, wrong.iter().map(Diagnostic::one_line).collect())
    }

    #[test]
    fn f10a_each_push_knows_its_rules() {
        let one = r#""web": {"push": {"r": {"password_file": "/p", "max_age": "12h"}}}"#;
        let two = r#""web": {"push": {"r": {"password_file": "/p"}, "s": {"password_file": "/q"}}}"#;
        let source = |files: &[&str]| {
            let (configs, wrong) = resolved(files);
            assert_eq!(wrong, "", "{files:?}");
            configs[0].0.entries[0].sources[0][0].pushes()[0].clone()
        };
        let half = Some(Duration::from_secs(12 * 3600));
        let file = Some(PathBuf::from("/cache.push"));
        let named = PushSource { name: Some("r".to_owned()), max_age: half, file, is_prefix: false };
        assert_eq!(source(&[&format!(r#""index4": "push", {one}"#)]), named);
        assert_eq!(source(&[r#""index4": "quorum:1(push:r, public)""#, one]), named, "`web` may stand in another file");
        assert_eq!(source(&[r#""index4": "push:r""#]).max_age, None);
        for (files, expected) in [
            (vec![r#""index4": "push""#, two], "use one of `push:r`, `push:s`"),
            (vec![r#""index4": "push:x""#, one], "no name for push:x"),
            (
                vec![r#""index6": "push:r", "ipv6": [{"name": "b.example", "interface_id": "::1"}, "c.example"]"#, one],
                "some domains have an `interface_id`",
            ),
        ] {
            let (_, wrong) = resolved(&files);
            assert!(wrong.contains(expected), "{files:?}: {wrong}");
        }
    }
}
