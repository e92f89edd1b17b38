//! Adds what a recipe made to a configuration as one more entry. The text stays as it is but for what must move.

use crate::config::fields::{Key, Scope};
use crate::text::json::{Dialect, Member, Node, TokenKind, Value, first_token, parse, pretty};

use super::hide::field;

/// What shapes a request: an entry that inherited it would send something else, or somebody else's secrets.
const SHAPING: [Key; 13] = [
    Key::Id,
    Key::Endpoint,
    Key::Token,
    Key::Method,
    Key::Headers,
    Key::Format,
    Key::Ipv4,
    Key::Ipv6,
    Key::Extra,
    Key::Zone,
    Key::Sign,
    Key::Expect,
    Key::Combine,
];

/// The text with the entries of another configuration behind its own. The error is a phrase that follows the file's name.
pub fn appended(old: &str, addition: &str) -> Result<String, String> {
    let invalid = |_| "is not valid JSON: mend it on the host first".to_owned();
    let (root, new) =
        (parse(old, Dialect::CONFIG).map_err(invalid)?, parse(addition, Dialect::CONFIG).map_err(invalid)?);
    let members = root.value.members().ok_or("is not a JSON object: mend it on the host first")?;
    let entries = entries(new.value.members().unwrap_or_default());
    let text: Vec<String> = entries.iter().map(indented).collect();
    let text = text.join(",\n");
    let Some(providers) = members.iter().rfind(|member| member.key == "providers") else {
        return Ok(wrapped(old, &root, members, &text));
    };
    let Value::Array(items) = &providers.node.value else {
        return Err("has `providers` that are no list: mend it on the host first".to_owned());
    };
    let is_own = |name: &str| entries.iter().all(|entry| entry.iter().any(|(known, _)| known == name));
    let is_inherited = |member: &&Member| field(&member.key).is_some_and(|field| SHAPING.contains(&field.key));
    if let Some(member) = members.iter().filter(is_inherited).find(|member| !is_own(&member.key)) {
        let why = "which the new entry would inherit: move it into the entries first";
        return Err(format!("sets `{}` outside of `providers`, {why}", member.key));
    }
    let (at, before) = match items.last() {
        Some(last) => (last.span.end, ",\n"),
        None => (providers.node.span.start + 1, "\n"),
    };
    Ok(format!("{}{before}{text}{}", &old[..at], &old[at..]))
}

type Entry = Vec<(String, Value)>;

/// The entries of a configuration, each whole.
fn entries(members: &[Member]) -> Vec<Entry> {
    let is_field = |member: &&Member| field(&member.key).is_some_and(|field| field.scope == Scope::Entry);
    let pair = |member: &Member| (member.key.clone(), member.node.value.clone());
    let common: Entry = members.iter().filter(is_field).filter(|member| member.key != "dns").map(pair).collect();
    let whole = |own: Entry| {
        let mut entry = vec![("provider".to_owned(), Value::string("callback"))];
        entry.extend(own.iter().filter(|(name, _)| name != "provider").cloned());
        entry.extend(common.iter().filter(|(name, _)| own.iter().all(|(known, _)| known != name)).cloned());
        entry
    };
    let providers = members.iter().find(|member| member.key == "providers").map(|member| &member.node.value);
    match providers {
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(|item| item.value.members())
            .map(|own| whole(own.iter().map(pair).collect()))
            .collect(),
        _ => vec![whole(Vec::new())],
    }
}

fn indented(entry: &Entry) -> String {
    let text = pretty(&Value::object(entry.iter().map(|(name, value)| (name.as_str(), value.clone()))));
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

/// A file without `providers`: what it holds becomes the first entry; what is for the whole file stays outside.
fn wrapped(old: &str, root: &Node, members: &[Member], added: &str) -> String {
    let mut outside = String::new();
    let mut inside = String::new();
    let mut at = root.span.start;
    for member in members {
        let (start, end) = (member.key_span.start, member.node.span.end);
        let is_whole = member.key == "log" || field(&member.key).is_some_and(|field| field.scope == Scope::File);
        if member.key == "dns" {
            inside += &old[at..start];
            inside += "\"provider\"";
            at = member.key_span.end;
        } else if is_whole {
            inside += &old[at..start];
            outside += &format!("  {},\n", &old[start..end]);
            at = end;
            // Its comma goes with it.
            if let Some(comma) = comma_after(&old[end..]) {
                inside += &old[end..end + comma];
                at = end + comma + 1;
            }
        }
    }
    inside += &old[at..root.span.end];
    let (before, after) = (&old[..root.span.start], &old[root.span.end..]);
    format!("{before}{{\n{outside}  \"providers\": [\n{inside},\n{added}\n  ]\n}}{after}")
}

/// Where the comma stands that follows a value; none where it is the last.
fn comma_after(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let (length, kind) = first_token(&text[at..], true);
        match kind {
            TokenKind::Blank | TokenKind::Comment if length > 0 => at += length,
            TokenKind::Mark if text[at..].starts_with(',') => return Some(at),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::validate::Surroundings;
    use crate::web::check::check;

    const NEW: &str = r#"// From a recipe.
        {"dns": "callback", "id": "https://n.example/__IP__", "headers": {"X": "k3y"}, "ipv4": ["n.example"]}"#;

    fn entries_of(text: &str) -> usize {
        let (config, findings) = check("c", text, &Surroundings::default());
        config.unwrap_or_else(|| panic!("{findings:?}\n{text}")).entries.len()
    }

    #[test]
    fn i2_an_entry_is_added_and_the_rest_stays() {
        let flat = "// mine\n{\n  \"dns\": \"callback\", // one\n  \"interval\": \"5m\", // often\n  \"id\": \"https://o.example/__IP__\", # two\n  \
                    \"ipv4\": \"o.example\",\n  \"log\": {\"level\": \"DEBUG\"}\n}\n// end\n";
        let text = appended(flat, NEW).expect("added");
        assert_eq!(entries_of(&text), 2);
        for part in [
            "// mine",
            "// one",
            "// often",
            "# two",
            "// end",
            "\"provider\": \"callback\", // one",
            "  \"interval\": \"5m\",\n",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let (config, _) = check("c", &text, &Surroundings::default());
        assert!(
            config.is_some_and(|config| config.interval.is_some() && config.entries[1].callback.headers.len() == 1)
        );
        // A second time, to `providers`.
        assert_eq!(entries_of(&appended(&text, &NEW.replace("n.example", "m.example")).expect("added")), 3);
    }

    #[test]
    fn i2_an_added_entry_inherits_no_secret() {
        let old = r#"{"token": {"key": "s3cret"}, "providers": [{"provider": "callback", "id": "https://o.example/__IP__", "ipv4": "o.example"}]}"#;
        assert!(appended(old, NEW).is_err_and(|why| why.contains("`token` outside of `providers`")));
        assert!(appended("{", NEW).is_err() && appended("[]", NEW).is_err());
        assert_eq!(
            entries_of(&appended(&old.replace("\"token\": {\"key\": \"s3cret\"}", "\"ttl\": 5"), NEW).expect("added")),
            2
        );
    }
}
