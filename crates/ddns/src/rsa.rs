//! Signatures with an RSA key, by the library that TLS has anyway.

use ddns_core::callback::RsaDigest;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RSA_PKCS1_SHA512, RsaKeyPair};

/// The signature of a text by a private key in PKCS #8; none where it is no such key.
pub(crate) fn sign(key: &[u8], digest: RsaDigest, text: &[u8]) -> Option<Vec<u8>> {
    let key = RsaKeyPair::from_pkcs8(key).ok()?;
    let mut signature = vec![0; key.public().modulus_len()];
    let encoding = match digest {
        RsaDigest::Sha256 => &RSA_PKCS1_SHA256,
        RsaDigest::Sha512 => &RSA_PKCS1_SHA512,
    };
    key.sign(encoding, &SystemRandom::new(), text, &mut signature).ok()?;
    Some(signature)
}
