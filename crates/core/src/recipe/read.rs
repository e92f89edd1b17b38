//! Reads a recipe from JSON, or reports everything that is wrong with it. Built-in recipes and those of users pass the same checks.

use std::collections::HashMap;

use regex_lite::Regex;

use super::{CERTAINTIES, Each, KINDS, Question, Recipe, template};
use crate::text::diagnostic::{Diagnostic, Place, nearest};
use crate::text::json::{Dialect, Member, Node, Span, Value, parse};

/// The fields of a recipe, and what each means.
pub(super) const OF_RECIPE: [(&str, &str); 23] = [
    ("title", "What people call the service"),
    ("kind", "Under which heading it is listed"),
    ("aliases", "Other words that people type when they look for it"),
    ("about", "What it is, in a sentence"),
    ("documentation", "The address at which the service explains itself"),
    ("sources", "Where the facts come from"),
    ("certainty", "How sure they are"),
    ("checked", "When they were compared with what the recipe sends: a date"),
    ("version", "Counts the changes of the recipe, from 1"),
    ("wrong", "Versions whose configurations are wrong, and why"),
    ("rules", "What the service wants its users to know: sentences"),
    ("suffix", "What a name without a dot ends in: `home` becomes `home.SUFFIX`"),
    ("not_in_dns", "Its names are not in DNS, or lead to a proxy: set-up does not set `verify`"),
    ("one_address", "A name has one address there: it may be in `ipv4` or in `ipv6`, not in both"),
    ("families", "Which addresses it takes; not set: both"),
    ("questions", "What is asked for"),
    ("values", "Texts that differ between IPv4 and IPv6, for `${name}`"),
    ("config", "The fields of the configuration"),
    ("ipv4", "Fields over them for IPv4"),
    ("ipv6", "Fields over them for IPv6"),
    ("both", "Fields over them for domains of both families, which are one entry then"),
    ("domain", "What each domain gets beside its name"),
    ("notify", "The notifications that it makes"),
];

/// The fields of a question, and what each means.
pub(super) const OF_QUESTION: [(&str, &str); 9] = [
    ("name", "`${name}` is replaced with the answer: small letters, digits and `_`"),
    ("ask", "A few words"),
    ("help", "Where to find it"),
    ("secret", "The answer is never shown; it may stand as the whole value of a variable in `extra`, and in `sign`"),
    ("typed", "The answer goes into `id` as it was typed; it needs a `check`"),
    ("file", "The answer is the path of a key file that stays where it is: `{\"file\": \"${name}\"}` in `sign`"),
    ("check", "A regular expression that a right answer fits"),
    ("default", "What an empty answer means"),
    ("each", "Asked for each `domain`, or for each `record`; not set: once"),
];

impl Recipe {
    /// Reads a recipe. Fails with everything that is wrong.
    pub fn read(name: &str, text: &str) -> Result<Self, Vec<Diagnostic>> {
        let mut reader = RecipeReader { name, text, wrong: Vec::new() };
        let root = match parse(text, Dialect::CONFIG) {
            Ok(root) => root,
            Err(error) => {
                reader.error(error.span, format!("not valid JSON: {}", error.message));
                return Err(reader.wrong);
            }
        };
        let recipe = reader.recipe(&root);
        if reader.wrong.is_empty() {
            reader.check(&recipe, &root);
        }
        if reader.wrong.is_empty() { Ok(recipe) } else { Err(reader.wrong) }
    }
}

pub(super) struct RecipeReader<'a> {
    name: &'a str,
    text: &'a str,
    wrong: Vec<Diagnostic>,
}

impl RecipeReader<'_> {
    pub(super) fn error(&mut self, span: Span, message: impl Into<String>) {
        self.wrong.push(Diagnostic::error(Place::in_file(self.name, self.text, span, true), message));
    }

    /// The members of an object, by key. Unknown keys are errors.
    fn object<'n>(&mut self, what: &str, node: &'n Node, known: &[&str]) -> HashMap<&'n str, &'n Node> {
        let Some(members) = node.value.members() else {
            self.error(node.span, format!("{what} must be an object, not {}", node.value.kind()));
            return HashMap::new();
        };
        for member in members.iter().filter(|member| !known.contains(&member.key.as_str())) {
            let near = nearest(&member.key, known.iter().copied()).map(|near| format!(": did you mean `{near}`?"));
            self.error(member.key_span, format!("{what} has no `{}`{}", member.key, near.unwrap_or_default()));
        }
        members.iter().map(|member| (member.key.as_str(), &member.node)).collect()
    }

    fn text(&mut self, what: &str, name: &str, node: Option<&&Node>) -> Option<String> {
        let node = node?;
        let text = node.value.text().filter(|text| !text.chars().any(char::is_control));
        if text.is_none() {
            self.error(node.span, format!("`{name}` of {what} must be a text on one line"));
        }
        text.map(str::to_owned)
    }

    /// A required text.
    fn needed(&mut self, what: &str, name: &str, object: &HashMap<&str, &Node>, span: Span) -> String {
        if !object.contains_key(name) {
            self.error(span, format!("{what} needs `{name}`"));
        }
        self.text(what, name, object.get(name)).unwrap_or_default()
    }

    fn list<'n>(&mut self, name: &str, node: Option<&&'n Node>) -> &'n [Node] {
        match node.map(|node| (&node.value, node.span)) {
            None => &[],
            Some((Value::Array(items), _)) => items,
            Some((other, span)) => {
                self.error(span, format!("`{name}` must be a list, not {}", other.kind()));
                &[]
            }
        }
    }

    fn texts(&mut self, name: &str, node: Option<&&Node>) -> Vec<String> {
        let items = self.list(name, node);
        items.iter().filter_map(|item| self.text("the recipe", name, Some(&item))).collect()
    }

    fn members(&mut self, name: &str, node: Option<&&Node>) -> Option<Vec<Member>> {
        let node = node?;
        let members = node.value.members();
        if members.is_none() {
            self.error(node.span, format!("`{name}` must be an object, not {}", node.value.kind()));
        }
        members.map(<[Member]>::to_vec)
    }

    /// The name of a question. For a secret it becomes part of a file name, so only plain characters are allowed.
    fn name(&mut self, what: &str, object: &HashMap<&str, &Node>, span: Span) -> String {
        let name = self.needed(what, "name", object, span);
        self.check_name(&name, object.get("name").map_or(span, |node| node.span));
        name
    }

    fn check_name(&mut self, name: &str, span: Span) {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if name.is_empty() || !name.bytes().all(is_plain) {
            self.error(span, "a name has small letters, digits and `_`");
        }
    }

    fn one_of(
        &mut self,
        name: &str,
        known: &[(&'static str, &str)],
        root: &HashMap<&str, &Node>,
        span: Span,
    ) -> &'static str {
        let text = self.needed("a recipe", name, root, span);
        if let Some((known, _)) = known.iter().find(|(known, _)| *known == text) {
            return known;
        }
        let all: Vec<&str> = known.iter().map(|(known, _)| *known).collect();
        self.error(
            root.get(name).map_or(span, |node| node.span),
            format!("`{name}` must be one of {}", all.join(", ")),
        );
        known[0].0
    }

    fn flag(&mut self, name: &str, object: &HashMap<&str, &Node>) -> bool {
        match object.get(name).map(|node| (&node.value, node.span)) {
            None => false,
            Some((Value::Bool(flag), _)) => *flag,
            Some((other, span)) => {
                self.error(span, format!("`{name}` must be true or false, not {}", other.kind()));
                false
            }
        }
    }

    fn each(&mut self, node: Option<&&Node>) -> Each {
        match node.map(|node| (node.value.text(), node.span)) {
            None => Each::Once,
            Some((Some("domain"), _)) => Each::Domain,
            Some((Some("record"), _)) => Each::Record,
            Some((_, span)) => {
                self.error(span, "`each` must be `domain` or `record`");
                Each::Once
            }
        }
    }

    fn recipe(&mut self, node: &Node) -> Recipe {
        let span = Span { start: node.span.start, end: node.span.start + 1 };
        let root = self.object("a recipe", node, &OF_RECIPE.map(|(name, _)| name));
        let mut needed = |name| self.needed("a recipe", name, &root, span);
        let (title, about, documentation) = (needed("title"), needed("about"), needed("documentation"));
        let families = self.texts("families", root.get("families"));
        if let (Some(wrong), Some(node)) =
            (families.iter().find(|family| !["ipv4", "ipv6"].contains(&family.as_str())), root.get("families"))
        {
            self.error(node.span, format!("`families`: `{wrong}` is neither `ipv4` nor `ipv6`"));
        }
        let has_entry = root.contains_key("config") || !root.contains_key("notify");
        let takes = |name: &str| has_entry && (families.is_empty() || families.iter().any(|family| family == name));
        Recipe {
            name: self.name.to_owned(),
            title,
            aliases: self.texts("aliases", root.get("aliases")),
            suffix: self.text("a recipe", "suffix", root.get("suffix")),
            is_not_in_dns: self.flag("not_in_dns", &root),
            has_one_address: self.flag("one_address", &root),
            about,
            documentation,
            kind: self.one_of("kind", &KINDS, &root, span),
            certainty: self.one_of("certainty", &CERTAINTIES, &root, span),
            sources: self.texts("sources", root.get("sources")),
            checked: self.text("a recipe", "checked", root.get("checked")).unwrap_or_default(),
            version: root.get("version").map_or(1, |node| self.version(&node.value, node.span)),
            wrong: self.wrong(root.get("wrong")),
            rules: self.texts("rules", root.get("rules")),
            families: [takes("ipv4"), takes("ipv6")],
            questions: self.list("questions", root.get("questions")).iter().map(|node| self.question(node)).collect(),
            values: self.values(root.get("values")),
            config: self.members("config", root.get("config")).unwrap_or_default(),
            own: ["ipv4", "ipv6"].map(|name| self.members(name, root.get(name)).unwrap_or_default()),
            both: self.members("both", root.get("both")),
            domain: self.members("domain", root.get("domain")).unwrap_or_default(),
            notify: self.notify(root.get("notify")),
        }
    }

    /// One object, or a list of objects.
    fn notify(&mut self, node: Option<&&Node>) -> Vec<Vec<Member>> {
        match node.map(|node| &node.value) {
            Some(Value::Array(items)) => items.iter().filter_map(|item| self.members("notify", Some(&item))).collect(),
            _ => self.members("notify", node).into_iter().collect(),
        }
    }

    fn question(&mut self, node: &Node) -> Question {
        let object = self.object("a question", node, &OF_QUESTION.map(|(name, _)| name));
        let question = Question {
            name: self.name("a question", &object, node.span),
            ask: self.needed("a question", "ask", &object, node.span),
            help: self.text("a question", "help", object.get("help")).unwrap_or_default(),
            secret: self.flag("secret", &object),
            is_typed: self.flag("typed", &object),
            is_file: self.flag("file", &object),
            check: self.text("a question", "check", object.get("check")),
            default: self.text("a question", "default", object.get("default")),
            each: self.each(object.get("each")),
        };
        if question.check.as_ref().is_some_and(|check| Regex::new(check).is_err()) {
            self.error(object["check"].span, "`check` is not a regular expression");
        } else if let Some(why) = question.default.as_ref().and_then(|default| question.complaint(default)) {
            self.error(object["default"].span, format!("`default`: {why}"));
        }
        if question.is_file && (question.secret || question.is_typed) {
            self.error(node.span, "the path of a `file` is neither `secret` nor `typed` into an address");
        }
        if question.is_typed && question.check.is_none() {
            self.error(node.span, "`typed` needs a `check`: the answer must not end its part of the address");
        }
        question
    }

    fn version(&mut self, value: &Value, span: Span) -> u32 {
        let number = match value {
            Value::Number(text) | Value::String(text) => text.parse().ok().filter(|number| *number > 0),
            _ => None,
        };
        if number.is_none() {
            self.error(span, "a version is a whole number from 1");
        }
        number.unwrap_or(1)
    }

    /// Reads `wrong`: versions, and why each is wrong.
    fn wrong(&mut self, node: Option<&&Node>) -> Vec<(u32, String)> {
        let members = self.members("wrong", node).unwrap_or_default();
        let mut one = |member: &Member| {
            let version = self.version(&Value::string(member.key.as_str()), member.key_span);
            (version, self.text("`wrong`", &member.key, Some(&&member.node)).unwrap_or_default())
        };
        members.iter().map(&mut one).collect()
    }

    fn values(&mut self, node: Option<&&Node>) -> Vec<(String, [String; 2])> {
        let members = self.members("values", node).unwrap_or_default();
        let mut value = |member: &Member| {
            self.check_name(&member.key, member.key_span);
            let by_family = self.object("a value", &member.node, &["ipv4", "ipv6"]);
            let texts = ["ipv4", "ipv6"].map(|name| self.text("a value", name, by_family.get(name)));
            (member.key.clone(), texts.map(Option::unwrap_or_default))
        };
        members.iter().map(&mut value).collect()
    }
}

impl Question {
    /// Why a text is not a valid answer; `None` if it is.
    pub(super) fn complaint(&self, text: &str) -> Option<String> {
        if text.chars().any(char::is_control) {
            return Some("the answer contains a control character (an arrow key, perhaps)".to_owned());
        }
        // Copied together with the token.
        let is_token = self.secret && self.name != "password";
        let word = text.split_once(' ').map(|(word, _)| word).filter(|_| is_token);
        if let Some(word) = word.filter(|word| ["bearer", "token", "basic"].contains(&word.to_lowercase().as_str())) {
            return Some(format!("enter {} alone, without `{word}`", within_sentence(&self.ask)));
        }
        let check = self.check.as_ref()?;
        // The pattern is valid: it was checked when the recipe was read.
        let is_right = Regex::new(check).is_ok_and(|check| check.is_match(text));
        let hint = if self.help.is_empty() { String::new() } else { format!(": {}", self.help) };
        (!is_right).then(|| format!("this does not look like {}{hint}", within_sentence(&self.ask)))
    }
}

/// A label within a sentence: `Token` becomes `the token`, and `Your name` becomes `your name`. `API token` and `AccessKey ID` keep
/// their capitals.
fn within_sentence(label: &str) -> String {
    let word = label.split(' ').next().unwrap_or_default();
    let is_name = word.chars().skip(1).any(char::is_uppercase) || word.chars().count() < 2;
    let article = if word == "Your" { "" } else { "the " };
    let mut letters = label.chars();
    let first = letters.next().filter(|_| !is_name).into_iter().flat_map(char::to_lowercase);
    let rest = if is_name { label } else { letters.as_str() };
    format!("{article}{}{rest}", first.collect::<String>())
}

impl Recipe {
    /// What ddns appends to a name without a dot.
    pub fn suffix(&self) -> Option<&str> {
        self.suffix.as_deref().or_else(|| self.literal_zone())
    }

    /// Whether its records have a `line` (A3).
    pub(crate) fn has_line(&self) -> bool {
        self.config.iter().any(|member| member.key == "line")
    }

    /// The zone, if it is always the same.
    pub(super) fn literal_zone(&self) -> Option<&str> {
        let zone = self.config.iter().find(|member| member.key == "zone")?.node.value.text()?;
        template::names(zone).next().is_none().then_some(zone)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::recipe::names;

    /// A recipe with the required fields, and these.
    pub(in crate::recipe) fn with(rest: &str) -> String {
        format!(
            r#"{{"title": "T", "kind": "api", "about": "A.", "documentation": "d", "certainty": "official", {rest}}}"#
        )
    }

    #[test]
    fn h12_a_label_inside_of_a_sentence_reads_well() {
        let cases = [
            ("Token", "the token"),
            ("Your mail address", "your mail address"),
            ("API token", "the API token"),
            ("AccessKey ID", "the AccessKey ID"),
            ("Id of the record", "the id of the record"),
            ("A", "the A"),
            ("", "the "),
        ];
        for (label, expected) in cases {
            assert_eq!(super::within_sentence(label), expected);
        }
    }

    #[test]
    fn h12_a_token_that_comes_with_its_scheme_is_refused() {
        let complaint = |recipe: &str, question: &str, text: &str| {
            let recipe = crate::recipe::named(recipe).expect(recipe);
            recipe.questions.iter().find(|it| it.name == question).expect(question).complaint(text)
        };
        for text in ["Bearer abc", "token abc"] {
            let why = complaint("cloudflare", "token", text).expect(text);
            assert!(why.ends_with(" alone, without `Bearer`") || why.ends_with(" alone, without `token`"), "{why}");
        }
        assert_eq!(complaint("cloudflare", "token", "abc"), None);
        // A password may be any words.
        assert_eq!(complaint("no-ip", "password", "basic instinct"), None);
    }

    #[test]
    fn h12_every_recipe_can_be_read() {
        for name in names() {
            if let Err(wrong) = super::super::named(name) {
                panic!("{}", wrong.iter().map(Diagnostic::shown).collect::<Vec<_>>().join("\n"));
            }
        }
        assert!(names().count() >= 60);
    }

    #[test]
    fn h12_what_is_wrong_with_a_recipe_is_named() {
        let question = r#""questions": [{"name": "key", "ask": "Key", "secret": true}]"#;
        let cases = [
            ("[]".to_owned(), "a recipe must be an object"),
            (with(r#""ruels": []"#), "did you mean `rules`?"),
            (with(r#""config": {"id": "${x}"}"#), "nothing here is called `x`"),
            (with(r#""config": {"id": "${domain}"}"#), "`domain` has no single value here"),
            (with(&format!(r#"{question}, "config": {{"id": "${{key}}"}}"#)), "a secret may only be"),
            (with(r#""questions": [{"name": "a", "ask": "A", "check": "("}]"#), "not a regular expression"),
            (with(r#""questions": [{"name": "a", "ask": "A", "check": "^b$", "default": "c"}]"#), "does not look like"),
            (
                with(r#""questions": [{"name": "a", "ask": "A"}, {"name": "a", "ask": "B"}]"#),
                "two things are called `a`",
            ),
            (with(r#""questions": [{"name": "a", "ask": "A", "file": "yes"}]"#), "`file` must be true or false"),
            (with(r#""questions": [{"name": "a", "ask": "A", "file": true, "secret": true}]"#), "neither `secret` nor"),
            (with(r#""version": 0"#), "a version is a whole number from 1"),
            (with(r#""wrong": {"one": "It was."}"#), "a version is a whole number from 1"),
            (with(r#""wrong": {"1": 5}"#), "must be a text on one line"),
            (with(r#""wrong": {"1": "It was."}"#), "the recipe must have a later `version`"),
            (with(r#""rules": []"#), "a recipe needs `config` or `notify`"),
            (
                with(r#""questions": [{"name": "a", "ask": "A"}], "config": {"id": "https://h.example/"}"#),
                "`a` is asked for, but nothing uses it",
            ),
            (r#"{"title": "T"}"#.to_owned(), "a recipe needs `about`"),
            (with(r#""questions": [{"name": "../a", "ask": "A"}]"#), "a name has small letters"),
            (with(r#""values": {"A B": {"ipv4": "1"}}"#), "a name has small letters"),
            (with(r#""values": {"a": {"ipv4": 1}}"#), "must be a text on one line"),
        ];
        for (text, expected) in cases {
            let wrong = Recipe::read("my.json", &text).expect_err(&text);
            assert!(wrong.iter().any(|it| it.shown().contains(expected)), "{expected}: {wrong:#?}");
        }
    }
}
