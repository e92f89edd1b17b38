//! Who may open the page.

use crate::config::web::{PushRule, Web};

/// Why a page is not opened: a sentence, and the way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRefusal {
    /// Names the field.
    pub why: String,
    /// What to do.
    pub hint: &'static str,
}

fn refusal<T>(why: impl Into<String>, hint: &'static str) -> Result<T, AccessRefusal> {
    Err(AccessRefusal { why: why.into(), hint })
}

/// Refuses a page that everybody could open, and one whose files cannot be used.
pub fn judge(web: &Web) -> Result<(), AccessRefusal> {
    let files = [("certificate", &web.certificate), ("key", &web.key)];
    for (name, held) in files {
        if let Some((held, Err(why))) = held.as_ref().map(|held| (&held.shown, &held.text)) {
            return refusal(format!("`web.{name}`: {held} {why}"), "name a PEM file that this user can read");
        }
    }
    password(web)?;
    token(web)?;
    web.push.iter().try_for_each(|rule| push_key(rule).map(drop))?;
    let open = match &web.password {
        None if !web.listen.ip().is_loopback() => Some(format!("`web` listens on {}", web.listen)),
        None if !web.hosts.is_empty() => Some("`web.hosts` names other hosts".to_owned()),
        None if !web.proxies.is_empty() => Some("`web.proxies` names proxies".to_owned()),
        _ => None,
    };
    match open {
        None => Ok(()),
        Some(how) => refusal(
            format!("{how}, so that others reach the page, and it has no password"),
            "make one with `ddns password > FILE` and name it in `web.password_file`, or keep it on 127.0.0.1",
        ),
    }
}

/// The hash of the password; `None` if no password is configured.
pub fn password(web: &Web) -> Result<Option<&str>, AccessRefusal> {
    const HINT: &str = "write it anew: `ddns password > FILE`";
    let Some(held) = &web.password else { return Ok(None) };
    let file = &held.shown;
    match held.text.as_deref().map(str::trim) {
        Err(why) => refusal(format!("`web.password_file`: {file} {why}"), HINT),
        Ok("") => refusal(format!("`web.password_file`: {file} is empty"), HINT),
        Ok(hash) if hash.starts_with("$argon2id$") && !hash.contains(char::is_whitespace) => Ok(Some(hash)),
        Ok(_) => refusal(format!("`web.password_file`: {file} does not contain a hash made by `ddns password`"), HINT),
    }
}

/// What programs send as a bearer token; `None` if no token is configured.
pub fn token(web: &Web) -> Result<Option<&str>, AccessRefusal> {
    /// A shorter one can be guessed.
    const MIN_TOKEN_BYTES: usize = 16;
    const HINT: &str = "write a long random text: `head -c 24 /dev/urandom | base64 > FILE`";
    let Some(held) = &web.token else { return Ok(None) };
    let file = &held.shown;
    match held.text.as_deref().map(str::trim) {
        Err(why) => refusal(format!("`web.token_file`: {file} {why}"), HINT),
        Ok(token) if token.len() < MIN_TOKEN_BYTES => {
            refusal(format!("`web.token_file`: {file} holds fewer than {MIN_TOKEN_BYTES} characters"), HINT)
        }
        Ok(token) if token.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Some(token)),
        Ok(_) => refusal(format!("`web.token_file`: {file} must hold one line of ASCII without blanks"), HINT),
    }
}

/// What a host that pushes must know (F10b).
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PushKey<'a> {
    /// The password itself.
    Plain(&'a str),
    /// Its hash, made by `ddns password`.
    Hash(&'a str),
}

/// What a host must know that pushes.
pub fn push_key(rule: &PushRule) -> Result<PushKey<'_>, AccessRefusal> {
    const MIN_PASSWORD_CHARS: usize = 16;
    const HINT: &str = "write a long random text: `head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \\n' > FILE`";
    let wrong =
        |why: &str| refusal(format!("`web.push.{}.password_file`: {} {why}", rule.name, rule.password.shown), HINT);
    match rule.password.text.as_deref().map(str::trim) {
        Err(why) => wrong(why),
        Ok(hash) if hash.starts_with("$argon2id$") && !hash.contains(char::is_whitespace) => Ok(PushKey::Hash(hash)),
        Ok(text) if text.contains(char::is_control) => wrong("must hold one line"),
        Ok(text) if text.chars().count() < MIN_PASSWORD_CHARS => wrong("holds fewer than 16 characters"),
        Ok(text) => Ok(PushKey::Plain(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::web::SecretFile;

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
        for (text, is_good) in [
            (Ok("0123456789abcdef\n"), true),
            (Ok("four words with spaces"), true),
            (Ok("$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2g\n"), true),
            (Ok("0123456789abcde"), false),
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
