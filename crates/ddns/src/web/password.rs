//! Hashes of passwords: argon2id, in the usual text form. Nothing else is ever stored.

use std::io;

use argon2::password_hash::{PasswordHash, PasswordHasher as _, PasswordVerifier as _, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
pub(crate) use ddns_core::web::access::MAX_PASSWORD_BYTES;

use crate::random::random;

/// The cost of a try: 12 MiB (in KiB) and three passes. That is little for a router, and much for an attacker who guesses.
const MEMORY: u32 = 12 * 1024;
const PASSES: u32 = 3;

/// A hash that asks for more memory would stop a small machine.
const MAX_MEMORY_KIB: u32 = 256 * 1024;
/// A hash that asks for more passes would take too long.
const MAX_PASSES: u32 = 64;

/// The shortest password, in characters: even though a guess costs 12 MiB, shorter ones are soon guessed.
pub(crate) const MIN_PASSWORD_CHARS: usize = 8;

/// The hash of a new password.
pub(crate) fn hash(password: &str) -> io::Result<String> {
    let salt = SaltString::encode_b64(&random::<16>()?);
    let made = Params::new(MEMORY, PASSES, 1, None).ok().zip(salt.ok()).and_then(|(params, salt)| {
        let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        argon.hash_password(password.as_bytes(), &salt).ok().map(|hash| hash.to_string())
    });
    made.ok_or_else(|| io::Error::other("the password cannot be hashed"))
}

/// Whether a hash can be used. The error is a phrase that follows the name of its file.
pub(crate) fn judge(hash: &str) -> Result<(), &'static str> {
    let parsed = PasswordHash::new(hash).map_err(|_| "does not contain a hash made by `ddns password`")?;
    let params = Params::try_from(&parsed).map_err(|_| "contains a hash with meaningless parameters")?;
    if parsed.hash.is_none() || parsed.salt.is_none() {
        return Err("does not contain a complete hash");
    }
    if params.m_cost() > MAX_MEMORY_KIB || params.t_cost() > MAX_PASSES {
        return Err("contains a hash that takes too much memory or time");
    }
    Ok(())
}

/// Whether a password matches a hash. Takes a while, so it must not run on the thread of the event loop.
pub(super) fn is_right(hash: &str, password: &str) -> bool {
    PasswordHash::new(hash).is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i2_a_hash_knows_its_password_alone() {
        let made = hash("correct horse").expect("a hash");
        assert!(made.starts_with("$argon2id$v=19$m=12288,t=3,p=1$"), "{made}");
        assert_eq!(judge(&made), Ok(()));
        assert!(is_right(&made, "correct horse") && !is_right(&made, "correct horsf") && !is_right(&made, ""));
        assert_ne!(hash("correct horse").expect("a hash"), made, "each has a salt of its own");
        for wrong in [
            "$argon2id$",
            "$argon2id$v=19$m=12288,t=3,p=1$c2FsdHNhbHQ",
            "$argon2id$v=19$m=4194304,t=3,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA",
            "$argon2id$v=19$m=12288,t=3000,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA",
            "$argon2id$v=19$m=1,t=0,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA",
            "$argon2id$v=19$m=x$a$b",
        ] {
            assert!(judge(wrong).is_err(), "{wrong}");
        }
    }
}
