//! Who may open the page.

use crate::config::web::{PushRule, SecretFile, Web};

/// Why the page is not opened, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRefusal {
    /// The reason; it names the field.
    pub why: String,
    /// What to do.
    pub hint: &'static str,
}

/// Refuses a page that anybody could open, and a page whose files cannot be used.
pub fn judge(web: &Web) -> Result<(), AccessRefusal> {
    for (name, file) in [("certificate", &web.certificate), ("key", &web.key)] {
        file.as_ref().map(|file| held(name, file, "name a PEM file that this user can read", |_| None)).transpose()?;
    }
    password(web)?;
    token(web)?;
    web.push.iter().try_for_each(|rule| push_key(rule).map(drop))?;
    let open = match &web.password {
        None if !web.listen.ip().is_loopback() => format!("`web` listens on {}", web.listen),
        None if !web.hosts.is_empty() => "`web.hosts` names other hosts".to_owned(),
        None if !web.proxies.is_empty() => "`web.proxies` names proxies".to_owned(),
        _ => return Ok(()),
    };
    Err(AccessRefusal {
        why: format!("{open}, so that others reach the page, and it has no password"),
        hint: "make one with `ddns password > FILE` and name it in `web.password_file`, or keep it on 127.0.0.1",
    })
}

/// The content of a file of `web`. `wrong` says why a content cannot be used: a phrase that follows the name of the file.
fn held<'a>(
    name: &str,
    file: &'a SecretFile,
    hint: &'static str,
    wrong: impl Fn(&str) -> Option<&'static str>,
) -> Result<&'a str, AccessRefusal> {
    let refusal = |why: &str| AccessRefusal { why: format!("`web.{name}`: {} {why}", file.shown), hint };
    let text = file.text.as_deref().map_err(|why| refusal(why))?.trim();
    wrong(text).map_or(Ok(text), |why| Err(refusal(why)))
}

fn is_hash(text: &str) -> bool {
    text.starts_with("$argon2id$") && !text.contains(char::is_whitespace)
}

/// The hash of the password; `None` if no password is configured.
pub fn password(web: &Web) -> Result<Option<&str>, AccessRefusal> {
    let wrong = |text: &str| match text {
        "" => Some("is empty"),
        text => (!is_hash(text)).then_some("does not contain a hash made by `ddns password`"),
    };
    let hash = |file| held("password_file", file, "write it anew: `ddns password > FILE`", wrong);
    web.password.as_ref().map(hash).transpose()
}

/// The bearer token of programs; `None` if no token is configured. A short token could be guessed.
pub fn token(web: &Web) -> Result<Option<&str>, AccessRefusal> {
    const HINT: &str = "write a long random text: `head -c 24 /dev/urandom | base64 > FILE`";
    let wrong = |text: &str| match text.len() {
        0..16 => Some("holds fewer than 16 characters"),
        _ if text.bytes().all(|byte| byte.is_ascii_graphic()) => None,
        _ => Some("must be a single line of ASCII without spaces"),
    };
    web.token.as_ref().map(|file| held("token_file", file, HINT, wrong)).transpose()
}

/// The longest password, in bytes.
pub const MAX_PASSWORD_BYTES: usize = 1024;

/// What a host must know to push (F10b).
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PushKey<'a> {
    /// The password itself.
    Plain(&'a str),
    /// Its hash, made by `ddns password`.
    Hash(&'a str),
}

/// The password of a push rule, or its hash.
pub fn push_key(rule: &PushRule) -> Result<PushKey<'_>, AccessRefusal> {
    const HINT: &str = "write a long random text: `head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \\n' > FILE`";
    let wrong = |text: &str| match text {
        hash if is_hash(hash) => None,
        text if text.contains(char::is_control) => Some("must hold one line"),
        text if text.len() > MAX_PASSWORD_BYTES => Some("holds more than 1024 bytes, which no client sends"),
        text => (text.chars().count() < 16).then_some("holds fewer than 16 characters"),
    };
    let text = held(&format!("push.{}.password_file", rule.name), &rule.password, HINT, wrong)?;
    Ok(if is_hash(text) { PushKey::Hash(text) } else { PushKey::Plain(text) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(text: Result<&str, &str>) -> SecretFile {
        SecretFile { path: "f".to_owned(), shown: "f".to_owned(), text: text.map(str::to_owned).map_err(str::to_owned) }
    }

    #[test]
    fn i2_a_page_that_everybody_could_open_is_refused() {
        let hash = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2g\n";
        for (listen, password, is_open) in [
            ("127.0.0.1:1", None, true),
            ("[::1]:1", None, true),
            ("127.9.9.9:1", None, true),
            ("0.0.0.0:1", None, false),
            ("[::]:1", None, false),
            ("192.0.2.1:1", None, false),
            ("[::ffff:127.0.0.1]:1", None, false),
            ("0.0.0.0:1", Some(held(Ok(hash))), true),
            ("127.0.0.1:1", Some(held(Ok(hash))), true),
            ("127.0.0.1:1", Some(held(Ok(""))), false),
            ("127.0.0.1:1", Some(held(Ok(" \n"))), false),
            ("127.0.0.1:1", Some(held(Ok("secret"))), false),
            ("127.0.0.1:1", Some(held(Ok("$argon2i$v=19$m=1,t=1,p=1$a$b"))), false),
            ("127.0.0.1:1", Some(held(Err("does not exist"))), false),
        ] {
            let web = Web { listen: listen.parse().expect(listen), password, ..Web::default() };
            let judged = judge(&web);
            assert_eq!(judged.is_ok(), is_open, "{listen} {judged:?}");
            assert!(!format!("{judged:?}").contains("secret"));
        }
    }

    #[test]
    fn f10b_the_password_of_a_push_is_long_or_a_hash() {
        let long = "x".repeat(1025);
        for (text, is_good) in [
            (Ok("0123456789abcdef\n"), true),
            (Ok("four words with spaces"), true),
            (Ok("$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2g\n"), true),
            (Ok("0123456789abcde"), false),
            (Ok(&long[..1024]), true),
            (Ok(&long), false),
            (Ok("0123456789abcdef\n0123456789abcdef"), false),
            (Ok(""), false),
            (Err("does not exist"), false),
        ] {
            let (name, user) = ("r".to_owned(), "r".to_owned());
            let rule = PushRule { name, user, password: held(text), from: Vec::new(), max_age: None };
            let judged = judge(&Web { push: vec![rule], ..Web::default() });
            assert_eq!(judged.is_ok(), is_good, "{text:?}");
            assert!(!format!("{judged:?}").contains("0123"));
        }
    }

    #[test]
    fn i2_a_token_is_long_and_one_word() {
        for (text, is_good) in [
            (Ok("0123456789abcdef\n"), true),
            (Ok("0123456789abcde"), false),
            (Ok("0123456789 abcdef"), false),
            (Ok("0123456789\nabcdef"), false),
            (Ok(""), false),
            (Err("does not exist"), false),
        ] {
            let web = Web { token: Some(held(text)), ..Web::default() };
            assert_eq!(judge(&web).is_ok(), is_good, "{text:?}");
        }
    }
}
