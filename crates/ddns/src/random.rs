//! Random numbers, from the system alone.

use std::io;

/// The salt of a new cache. Without a source of randomness its hashes are still one-way; two caches would merely share a salt.
pub(crate) fn new_salt() -> Vec<u8> {
    random::<16>().unwrap_or_default().to_vec()
}

pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| io::Error::other("the system has no random numbers"))?;
    Ok(bytes)
}
