//! Signs with an RSA key, using the library that TLS needs anyway.

use ddns_core::callback::RsaDigest;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RSA_PKCS1_SHA512, RsaKeyPair};

/// Signs a text with a private key in PKCS #8; `None` if it is no such key.
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

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

    use super::*;

    const PEM: &str = include_str!("../tests/support/rfc7515.pem");

    fn key() -> Vec<u8> {
        let coded: String = PEM.lines().filter(|line| !line.starts_with('-')).collect();
        STANDARD.decode(coded).expect("base64")
    }

    /// The token of RFC 7515, A.2, and one of a service account that another library signed.
    #[test]
    fn h11a_tokens_are_signed_as_the_standard_has_it() {
        for token in [
            concat!(
                "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlL",
                "mNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7",
                "AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWz",
                "O75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZES",
                "c6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlU",
                "PQGe77Rw"
            ),
            concat!(
                "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6IjAxMjM0NTY3ODlhYmNkZWYifQ.eyJpc3MiOiJkZG5zQGV",
                "4YW1wbGUuaWFtLmdzZXJ2aWNlYWNjb3VudC5jb20iLCJzdWIiOiJkZG5zQGV4YW1wbGUuaWFtLmdzZXJ2aWNlYWNjb",
                "3VudC5jb20iLCJhdWQiOiJodHRwczovL2Rucy5nb29nbGVhcGlzLmNvbS8iLCJpYXQiOjE3MDAwMDAwMDAsImV4cCI",
                "6MTcwMDAwMzYwMH0.a_TqlhW1bordzTVJADS-Z_7TTD7wOjJ-iK66z--NnQvChYvwcRPF73OccT1uIJWZHAK62M311",
                "yr4WaIIS8Jc5x92veKk5LbgZXiy403le-gBHrHA-GrK4_sNoszgnIGugbP0G79TFeqQMN5nwW0cN7J-UVEwIWBnoCM",
                "dkZ9tUYc-OIiEiFCAw-7O82WdxMJy7tpuCZN_NaOl6OavJh4hdtjvMigACh75hImd1FbnVmHS_k4r4Y8oBCTtNY8_9",
                "o5rmuukLhOlEtKfm9J2-53U-LTRQiUEif4E5Vl9zyBOTBaxfLLsPrM_mbOFSKM-7K5bHos5YhvcgenA99113UmN5g"
            ),
        ] {
            let (text, expected) = token.rsplit_once('.').expect("three parts");
            let signature = sign(&key(), RsaDigest::Sha256, text.as_bytes()).expect("a signature");
            assert_eq!(URL_SAFE_NO_PAD.encode(signature), expected);
        }
    }

    #[test]
    fn h11a_a_body_is_signed_as_other_libraries_do() {
        let body = concat!(
            "{\"login\":\"me\",\"nonce\":\"1700000000.000001\",\"read_only\":false,\"expiration_time\":\"30 minutes\"",
            ",\"label\":\"ddns 1700000000.000001\",\"global_key\":true}"
        );
        let expected = concat!(
            "MgTdCtoJrMzj9PxpNx15B97NpEKiMDXmjyF8oZT7xjMDR2Dj1O7O92AwuP1zyHa1ILdfrtG9q34ChB/y3CLCsvSNj9",
            "K4Nm9PAC8JzB+0o4GG1cxfY3cz9eFRZlJ+pQ9rvCT9eV25jUB2tJElkO2OtoDdHcvR4n2uMsTEjy/LNoaRIYAuGh1K",
            "vcNdVBXwHAxpvGWs5JkBOmhSoutmUCeeUlSAHZpYThV34CsrwpKZHLn7DvQrlBWwMnJ/4gXLNJfhicvNXLlZwFcvli",
            "/gHGuQW1cIaXSpImzsHG5FaxLMf6//0mkvL9K0XCCXZAEgRx5+dfI+qADik0sYPQyxp0PUKA=="
        );
        let signature = sign(&key(), RsaDigest::Sha512, body.as_bytes()).expect("a signature");
        assert_eq!(STANDARD.encode(signature), expected);
        assert!(sign(&key()[..100], RsaDigest::Sha512, b"").is_none());
    }
}
