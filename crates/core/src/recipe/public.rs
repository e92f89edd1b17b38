//! Which texts of a recipe's requests may be shown: its own texts, and answers that are not secret.

use super::{Recipe, names, template};
use crate::text::json::Member;

/// The values in these fields are always hidden, so secrets may be part of them.
const HIDDEN: [&str; 2] = ["extra", "sign"];

impl Recipe {
    /// Whether the texts of its requests may be shown: the recipe is built in, and none of the texts contains a secret answer.
    pub(crate) fn has_public_texts(&self) -> bool {
        let is_secret = |name: &str| self.questions.iter().any(|question| question.secret && question.name == name);
        let mut is_public = names().any(|name| name == self.name);
        self.each_text(|keys, text| {
            is_public &= is_hidden(keys) || !template::names(text).any(is_secret);
        });
        is_public
    }

    /// Whether an answer is the beginning of a URL: what the user typed after the host may contain a key.
    pub(crate) fn has_typed_address(&self) -> bool {
        let mut is_typed = false;
        self.each_text(|keys, text| {
            let is_address = matches!(keys.last(), Some(&("id" | "endpoint"))) && !is_hidden(keys);
            is_typed |= is_address && text.starts_with("${");
        });
        is_typed
    }

    /// Calls `see` for every text of its entries, with the keys that lead to it.
    fn each_text(&self, mut see: impl FnMut(&[&str], &str)) {
        let parts: [&[Member]; 5] =
            [&self.config, &self.own[0], &self.own[1], self.both.as_deref().unwrap_or_default(), &self.domain];
        for members in parts {
            template::texts(members, &mut |keys, text, _| see(keys, text));
        }
    }
}

fn is_hidden(keys: &[&str]) -> bool {
    keys.iter().any(|key| HIDDEN.contains(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::built_in;
    use crate::recipe::read::tests::with;

    #[test]
    fn g2_texts_are_public_where_no_secret_answer_is_part_of_them() {
        let without: Vec<String> =
            built_in().filter(|recipe| recipe.has_entry() && !recipe.has_public_texts()).map(|it| it.name).collect();
        assert_eq!(without, ["freedns"], "its key is a part of the address");
        // A recipe of the user may contain anything.
        let own = with(r#""config": {"id": "https://h.example/?key=mine&ip=__IP__"}"#);
        assert!(!Recipe::read("my.json", &own).expect("a recipe").has_public_texts());
        let typed: Vec<String> = built_in().filter(Recipe::has_typed_address).map(|recipe| recipe.name).collect();
        assert!(typed.contains(&"nsupdate".to_owned()) && typed.contains(&"powerdns".to_owned()), "{typed:?}");
        assert!(!typed.contains(&"route53".to_owned()) && !typed.contains(&"slack".to_owned()), "{typed:?}");
    }
}
