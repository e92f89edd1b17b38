//! `sign`: secrets of Standard Webhooks (H11), or a scheme and its keys (H11a).

use super::super::fields::{Field, Key};
use super::super::files::FileContents;
use super::super::raw::Setting;
use super::EntryBuilder;
use crate::callback::{Header, RsaKey, SIGNATURE_HEADERS, SchemeSigning, SignScheme, Signing, SigningKey, Variables};
use crate::net::url::{split_authority, split_scheme};
use crate::text::diagnostic::Severity;
use crate::text::json::{Member, Node, Value, is_placeholder_name};

/// The largest part of a scheme: a key in PEM, or the file of a service account.
const MAX_PART_BYTES: usize = 16 * 1024;

impl EntryBuilder<'_, '_> {
    /// An invalid key is noted as an error, and never shown.
    pub(super) fn sign(&mut self, headers: &[Header]) -> Option<Signing> {
        let items = self.reader.short_list(Key::Sign);
        let is_array = |setting: &Setting| matches!(setting.node.value, Value::Array(_));
        if items.is_empty() && self.reader.setting(Key::Sign).is_some_and(is_array) {
            self.reader.wrong_whole(Key::Sign, "`sign` is an empty list: nothing would be signed", "leave out `sign`");
        }
        let schemes = items.iter().filter(|item| is_scheme(&item.value)).count();
        let signing = match &items[..] {
            [item] if schemes == 1 => self.scheme(item).map(|scheme| Signing::Scheme(Box::new(scheme))),
            _ if schemes > 0 => {
                let message = "`sign`: a scheme cannot be part of a list";
                self.reader.wrong_whole(Key::Sign, message, "");
                None
            }
            items => {
                let keys: Vec<SigningKey> = items.iter().filter_map(|item| self.webhook_key(item)).collect();
                (!keys.is_empty()).then_some(Signing::Webhooks(keys))
            }
        }?;
        let own: Vec<&str> = match &signing {
            Signing::Webhooks(_) => SIGNATURE_HEADERS.to_vec(),
            Signing::Scheme(scheme) => scheme.own_headers(),
        };
        let is_own = |header: &&Header| own.iter().any(|name| name.eq_ignore_ascii_case(header.name()));
        for header in headers.iter().filter(is_own) {
            let message = format!("`headers` must not set `{}` if `sign` is set", header.name());
            self.reader.wrong_whole(Key::Headers, message, "leave it out: `sign` sets it");
        }
        for key in [Key::Id, Key::Endpoint] {
            let text = self.reader.setting(key).and_then(|setting| setting.node.value.text()).unwrap_or_default();
            let has_user = split_scheme(text.trim()).is_some_and(|(_, rest)| split_authority(rest).0.contains('@'));
            if has_user && own.contains(&"Authorization") {
                let message = format!(
                    "`{}` has a user, but `sign` sets `Authorization`: the user is not sent",
                    Field::of(key).name
                );
                self.reader.warn_whole(key, message, "leave out `USER:PASSWORD@`");
            }
            let has_plus = text.split_once('?').is_some_and(|(_, query)| query.contains('+'));
            if has_plus && matches!(signing, Signing::Scheme(_)) {
                let name = Field::of(key).name;
                let message =
                    format!("`{name}` has a `+` in its query: services that check a signature read it in two ways");
                self.reader.wrong_whole(key, message, "write %20 for a space, %2B for a plus sign");
            }
            // An absolute `id` takes the place of `endpoint` (B3).
            if split_scheme(text.trim()).is_some() {
                break;
            }
        }
        Some(signing)
    }

    fn webhook_key(&mut self, item: &Node) -> Option<SigningKey> {
        let value = self.resolved(Key::Sign, item.span, item.value.clone(), "`sign`")?;
        let Value::String(text) = value else {
            let message = format!("`sign` must be {}, not {}", Field::of(Key::Sign).allowed, value.kind());
            let hint = format!("an object needs a `scheme`: one of {}", schemes());
            let hint = if value.members().is_some() { hint.as_str() } else { "" };
            self.reader.wrong(Key::Sign, item.span, message, hint);
            return None;
        };
        let hint = "a secret is `whsec_` and 24 to 64 random bytes in base64, as the receiver shows it";
        let key = SigningKey::parse(&text).map_err(|why| format!("`sign`: a secret {why}"));
        self.reader.valid(Key::Sign, item.span, key, hint)
    }

    fn scheme(&mut self, item: &Node) -> Option<SchemeSigning> {
        let members = item.value.members().unwrap_or_default();
        let word = members.iter().find(|member| member.key == "scheme")?;
        let scheme = word.node.value.text().and_then(SignScheme::parse);
        let scheme = scheme.ok_or_else(|| "`sign`: unknown `scheme`".to_owned());
        let hint = format!("use one of {}", schemes());
        let scheme = self.reader.valid(Key::Sign, word.node.span, scheme, &hint)?;
        let [needed, further] = scheme.parts();
        let before = self.errors();
        let mut parts: Vec<(&'static str, String)> = Vec::new();
        for member in members.iter().filter(|member| member.key != "scheme") {
            let Some(name) = needed.iter().chain(further).find(|name| **name == member.key) else {
                let known: Vec<String> = needed.iter().chain(further).map(|name| format!("`{name}`")).collect();
                let message = format!("`sign`: the scheme `{}` has no field `{}`", scheme.word(), member.key);
                self.reader.wrong(Key::Sign, member.key_span, message, &format!("it has {}", known.join(", ")));
                continue;
            };
            parts.extend(self.part_of_scheme(name, member).map(|text| (*name, text)));
        }
        for name in needed.iter().filter(|name| members.iter().all(|member| member.key != **name)) {
            let message = format!("`sign`: the scheme `{}` needs `{name}`", scheme.word());
            self.reader.wrong(Key::Sign, item.span, message, "");
        }
        if self.errors() > before {
            return None;
        }
        let key = parts.iter().find(|(name, _)| *name == "key").map(|(_, text)| text.as_str());
        let key = match key.zip(self.around.rsa) {
            Some((text, rsa)) if scheme == SignScheme::Google => Some(RsaKey::from_account(text, rsa)),
            Some((text, rsa)) => Some(RsaKey::from_pem(text, rsa)),
            None => None,
        };
        let hint = "`key` is the whole file that the service gave you, best as `{\"file\": \"path\"}`";
        let key = key.transpose().map_err(|why| format!("`sign`: `key` {why}"));
        Some(SchemeSigning::new(scheme, parts, self.reader.valid(Key::Sign, item.span, key, hint)?))
    }

    /// The text of a part: one line, except for `key`.
    fn part_of_scheme(&mut self, name: &str, member: &Member) -> Option<String> {
        let (span, what) = (member.node.span, format!("`sign`: `{name}`"));
        let has_lines = name == "key";
        let text_of = if has_lines { FileContents::text } else { FileContents::line };
        let value = self.resolved_by(Key::Sign, span, member.node.value.clone(), &what, text_of)?;
        let Value::String(text) = value else {
            let message =
                format!("{what} must be a string, or a file (`{{\"file\": \"path\"}}`), not {}", value.kind());
            self.reader.wrong(Key::Sign, span, message, "");
            return None;
        };
        let text = text.trim();
        if is_placeholder_name(text) {
            let message = format!("{what} is a placeholder, but placeholders are not filled in there");
            let hint = "write the value, or `{\"file\": \"path\"}`";
            self.reader.note(Severity::Warning, Key::Sign, span, &message, hint);
        }
        let (why, hint) = match text {
            "" => ("is empty".to_owned(), ""),
            text if text.len() > MAX_PART_BYTES => ("is larger than 16 KiB".to_owned(), ""),
            text if !has_lines && text.chars().any(|letter| !letter.is_ascii_graphic()) => {
                ("contains a space or a character that no key contains".to_owned(), "")
            }
            text if name == "header" => match Header::new(text, "", &Variables::default(), &mut Vec::new()) {
                Ok(_) => return Some(text.to_owned()),
                Err(mistake) => mistake,
            },
            text => return Some(text.to_owned()),
        };
        self.reader.wrong(Key::Sign, span, format!("{what} {why}"), hint);
        None
    }
}

/// The words of all schemes.
fn schemes() -> String {
    SignScheme::ALL.map(SignScheme::word).join(", ")
}

fn is_scheme(value: &Value) -> bool {
    value.member("scheme").is_some()
}
