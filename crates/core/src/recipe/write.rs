//! Turns a form with its answers into a configuration.

use super::check::is_around;
use super::form::{DomainRest, Form, IN_FILE, RecordScope};
use super::{Each, Recipe, names, template};
use crate::config::fields::{Field, Visibility};
use crate::config::starter;
use crate::net::family::Family;
use crate::text::json::{Member, Node, Value};
use crate::update::domain::Domain;

/// The texts to write.
#[derive(Clone, PartialEq, Eq)]
pub struct Filled {
    /// The configuration.
    pub text: String,
    /// The files that the configuration names, and the secret for each.
    pub secrets: SecretFiles,
}

/// Paths, and the secret to write to each.
pub(crate) type SecretFiles = Vec<(String, String)>;

/// One entry of the configuration: the fields that differ from the common ones, and the domains, by [`Family::index`].
struct EntryDraft<'a> {
    over: &'a [Member],
    domains: [Vec<&'a Domain>; 2],
}

impl<'a> EntryDraft<'a> {
    /// The record that the entry is about; empty if there are several.
    fn scope(&self) -> RecordScope<'a> {
        match &self.domains {
            [one, none] if one.len() == 1 && none.is_empty() => {
                RecordScope { domain: Some(one[0]), family: Some(Family::V4) }
            }
            [none, one] if one.len() == 1 && none.is_empty() => {
                RecordScope { domain: Some(one[0]), family: Some(Family::V6) }
            }
            _ => RecordScope::default(),
        }
    }

    /// Splits the entry into one for each record.
    fn records(&self) -> Vec<Self> {
        let [v4, v6] = &self.domains;
        let v4 = v4.iter().map(|domain| [vec![*domain], Vec::new()]);
        let v6 = v6.iter().map(|domain| [Vec::new(), vec![*domain]]);
        v4.chain(v6).map(|domains| Self { over: self.over, domains }).collect()
    }
}

/// Fills in values, and moves secrets to files if there is a folder for them.
struct RecipeWriter<'a, 'b> {
    form: &'b Form<'a>,
    folder: Option<&'b str>,
    /// Precedes the name of each secret's file.
    prefix: &'static str,
    secrets: SecretFiles,
}

impl Form<'_> {
    /// The configuration with the answers. `settings` are other fields that the user set, by name. Secrets go to files in `folder`;
    /// `None`: they stay in the text.
    pub fn configuration(&self, settings: &[(String, Value)], folder: Option<&str>) -> Filled {
        let (mut fields, secrets) = self.fields(folder);
        for (name, value) in settings {
            fields.retain(|(known, _)| known != name);
            fields.push((name.clone(), value.clone()));
        }
        Filled { text: starter::file(&heading(self.recipe), &fields), secrets }
    }

    /// The fields of that configuration, and the files that they name, with the secret for each.
    pub(crate) fn fields(&self, folder: Option<&str>) -> (Vec<(String, Value)>, SecretFiles) {
        let mut writer = RecipeWriter { form: self, folder, prefix: "", secrets: Vec::new() };
        let parts = self.parts();
        let recipe = self.recipe;
        let mut fields = vec![("dns".to_owned(), Value::string("callback"))];
        // A recipe of the user may change, so its name and version would say nothing later.
        if names().any(|name| name == recipe.name) {
            fields.push(("recipe".to_owned(), Value::String(format!("{}@{}", recipe.name, recipe.version))));
        }
        if let [part] = parts.as_slice() {
            fields.extend(writer.whole(part).into_iter().map(pair));
            fields.extend(writer.domains(part));
        } else {
            // A field that one part sets itself is written in every part.
            let is_own = |key: &str| parts.iter().any(|part| has(part.over, key));
            let common = recipe.config.iter().filter(|member| !is_own(&member.key));
            fields.extend(common.map(|member| pair(writer.member(member, RecordScope::default()))));
            let entries: Vec<Value> = parts.iter().map(|part| writer.entry(part, is_own)).collect();
            fields.push(("providers".to_owned(), Value::list(entries)));
        }
        (fields, writer.secrets)
    }

    /// The notification with the answers: the value of `notify`, and the files in `folder` that it names, with the secret for each.
    /// Without a folder, secrets stay in the value.
    pub fn notification(&self, folder: Option<&str>) -> (Value, SecretFiles) {
        let mut writer = RecipeWriter { form: self, folder, prefix: "notify.", secrets: Vec::new() };
        let mut all: Vec<Value> = Vec::new();
        for members in &self.recipe.notify {
            all.push(writer.object(members, RecordScope::default()));
        }
        let value = if all.len() == 1 { all.remove(0) } else { Value::list(all) };
        (value, writer.secrets)
    }

    /// The members of a configuration for each entry, and of one for the notifications. Each field keeps its place in the recipe, so
    /// that errors point there.
    pub(super) fn files(&self) -> Vec<Vec<Member>> {
        let mut writer = RecipeWriter { form: self, folder: None, prefix: "", secrets: Vec::new() };
        let nowhere = |(key, value): (String, Value)| {
            let node = Node::synthetic(value);
            Member { key, key_span: node.span, node }
        };
        let dns = || nowhere(("dns".to_owned(), Value::string("callback")));
        let mut files = Vec::new();
        for part in self.parts() {
            let mut members = writer.whole(&part);
            members.extend(writer.domains(&part).into_iter().map(nowhere));
            members.push(dns());
            files.push(members);
        }
        if !self.recipe.notify.is_empty() {
            let all = self.recipe.notify.iter().map(|members| writer.object(members, RecordScope::default()));
            let rest =
                [("notify", Value::list(all.collect::<Vec<_>>())), ("id", Value::string("https://h.example/__IP__"))];
            let rest = rest.into_iter().chain([("ipv4", Value::string("home.example.com"))]);
            files.push(rest.map(|(name, value)| nowhere((name.to_owned(), value))).chain([dns()]).collect());
        }
        files
    }

    /// The entries of the configuration.
    fn parts(&self) -> Vec<EntryDraft<'_>> {
        let [v4, v6] = &self.domains;
        let [own4, own6] = &self.recipe.own;
        let mut parts = match &self.recipe.both {
            Some(both) => {
                let (shared, alone4): (Vec<_>, Vec<_>) = v4.iter().partition(|domain| v6.contains(domain));
                let alone6 = v6.iter().filter(|domain| !v4.contains(domain)).collect();
                vec![
                    EntryDraft { over: both, domains: [shared.clone(), shared] },
                    EntryDraft { over: own4, domains: [alone4, Vec::new()] },
                    EntryDraft { over: own6, domains: [Vec::new(), alone6] },
                ]
            }
            None if own4.is_empty() && own6.is_empty() => {
                vec![EntryDraft { over: &[], domains: [v4.iter().collect(), v6.iter().collect()] }]
            }
            None => vec![
                EntryDraft { over: own4, domains: [v4.iter().collect(), Vec::new()] },
                EntryDraft { over: own6, domains: [Vec::new(), v6.iter().collect()] },
            ],
        };
        parts.retain(|part| part.domains.iter().any(|domains| !domains.is_empty()));
        // A URL that contains an answer for one domain or record is the URL of only that record.
        if self.recipe.questions.iter().any(|question| question.is_typed && question.each != Each::Once) {
            parts = parts.iter().flat_map(EntryDraft::records).collect();
        }
        parts
    }
}

impl RecipeWriter<'_, '_> {
    /// All fields of an entry except its domains.
    fn whole(&mut self, part: &EntryDraft<'_>) -> Vec<Member> {
        let common = self.form.recipe.config.iter().filter(|member| !has(part.over, &member.key));
        common.chain(part.over).map(|member| self.member(member, part.scope())).collect()
    }

    /// A field with its values, at its place in the recipe.
    fn member(&mut self, member: &Member, scope: RecordScope<'_>) -> Member {
        let is_url = |field: &Field| matches!(field.shown, Visibility::Url | Visibility::BaseUrl);
        let is_url = Field::written(&member.key).is_some_and(is_url);
        let value = match &member.node.value {
            // A request around the update has the same kinds of fields as an entry.
            Value::Array(items) if is_around(&member.key) => {
                let object = |item: &Node| match item.value.members() {
                    Some(members) => Node { span: item.span, value: self.object(members, scope) },
                    None => item.clone(),
                };
                Value::Array(items.iter().map(object).collect())
            }
            Value::Object(members) if is_around(&member.key) => self.object(members, scope),
            value => self.value(value, scope, is_url),
        };
        Member { node: Node { span: member.node.span, value }, ..member.clone() }
    }

    fn object(&mut self, members: &[Member], scope: RecordScope<'_>) -> Value {
        Value::Object(members.iter().map(|member| self.member(member, scope)).collect())
    }

    fn value(&mut self, value: &Value, scope: RecordScope<'_>, is_url: bool) -> Value {
        match value {
            Value::String(text) if is_url => {
                let is_typed = |name: &str| self.form.recipe.is_typed(name);
                Value::String(template::filled_url(text, is_typed, |name| self.form.value(name, scope)))
            }
            Value::String(text) => self.text(text, scope),
            Value::Array(items) => Value::Array(items.iter().map(|item| self.node(item, scope)).collect()),
            Value::Object(members) => {
                let filled = |member: &Member| Member { node: self.node(&member.node, scope), ..member.clone() };
                Value::Object(members.iter().map(filled).collect())
            }
            other => other.clone(),
        }
    }

    fn node(&mut self, node: &Node, scope: RecordScope<'_>) -> Node {
        Node { span: node.span, value: self.value(&node.value, scope, false) }
    }

    /// A text with its values. A secret becomes the name of its file if there is a folder for it.
    fn text(&mut self, text: &str, scope: RecordScope<'_>) -> Value {
        let slot = template::only(text).and_then(|name| self.form.slot(name, scope));
        let secret = slot.filter(|slot| self.form.is_secret(slot));
        let whole = template::filled(text, |name| self.form.value(name, scope));
        if let Some(path) = whole.strip_prefix(IN_FILE) {
            return Value::object([("file", Value::string(path))]);
        }
        let (Some(slot), Some(folder)) = (secret, self.folder) else { return Value::String(whole) };
        let path = format!("{folder}/{}{}", self.prefix, slot.to_string().replace(['*', '/'], "_"));
        let file = (path.clone(), self.form.value(slot.name(), scope));
        if !self.secrets.contains(&file) {
            self.secrets.push(file);
        }
        Value::object([("file", Value::String(path))])
    }

    fn entry(&mut self, part: &EntryDraft<'_>, is_own: impl Fn(&str) -> bool) -> Value {
        let rest = self.form.recipe.config.iter().filter(|member| is_own(&member.key) && !has(part.over, &member.key));
        let mut fields = vec![("provider".to_owned(), Value::string("callback"))];
        for member in part.over.iter().chain(rest) {
            fields.push(pair(self.member(member, part.scope())));
        }
        fields.extend(self.domains(part));
        Value::object(fields)
    }

    fn domains(&mut self, part: &EntryDraft<'_>) -> Vec<(String, Value)> {
        let mut fields = Vec::new();
        for (family, name) in Family::ALL.into_iter().zip(["ipv4", "ipv6"]) {
            let domains = &part.domains[family.index()];
            if !domains.is_empty() {
                fields.push((name.to_owned(), Value::list(domains.iter().map(|domain| self.domain(domain, family)))));
            }
        }
        fields
    }

    fn domain(&mut self, name: &Domain, family: Family) -> Value {
        let scope = RecordScope { domain: Some(name), family: Some(family) };
        let members = self.form.recipe.domain.iter();
        let members = members.map(|member| (member.key.as_str(), self.value(&member.node.value, scope, false)));
        domain(name, family, members.collect(), &self.form.rest)
    }
}

/// A domain with its members and its rest. `interface_id` is only for IPv6.
pub(crate) fn domain(name: &Domain, family: Family, mut members: Vec<(&str, Value)>, rest: &DomainRest) -> Value {
    let rest = rest.iter().find(|(known, _)| known == name).into_iter().flat_map(|(_, rest)| rest);
    members.extend(rest.filter(|(key, _)| *key != "interface_id" || family == Family::V6).cloned());
    let name = Value::string(name.as_str());
    if members.is_empty() { name } else { Value::object([("name", name)].into_iter().chain(members)) }
}

fn pair(member: Member) -> (String, Value) {
    (member.key, member.node.value)
}

fn has(members: &[Member], key: &str) -> bool {
    members.iter().any(|member| member.key == key)
}

/// The comment at the top of the configuration: what it is for, and the rules of the service.
pub(crate) fn heading(recipe: &Recipe) -> String {
    let mut text = format!("Configuration of ddns for {}, from the recipe `{}`.\n", recipe.title, recipe.name);
    text += "What follows // is a comment.\n`ddns preview` shows what it would send, `ddns` sends it.\n";
    text += &format!("{}\n", recipe.documentation);
    for rule in &recipe.rules {
        text += &format!("- {rule}\n");
    }
    text.lines().map(starter::comment).collect()
}
