//! The request that follows a redirect (D3).

use super::header;
use super::request::{Method, Request};
use crate::net::url::{Url, UrlError, split_scheme};

/// How many redirects are followed; more are considered a loop.
pub const MAX_REDIRECTS: usize = 10;

impl Request {
    /// The request that follows a response; `None`: the response is final. 301, 302, 307 and 308 keep method and body, because a POST
    /// that silently became a GET would be a lost update; 303 asks for a GET. Another origin gets no credentials, and only those
    /// headers of the user that contain no secret (H2). Redirects of signed requests are not followed (H11). The error is a phrase that
    /// says why the redirect is not followed; it contains origins only, because the rest of a URL may contain keys.
    pub fn redirected(&self, status: u16, location: Option<&str>) -> Option<Result<Self, String>> {
        let (method, body) = match status {
            301 | 302 | 307 | 308 => (self.method, self.body.clone()),
            303 => (Method::Get, None),
            _ => return None,
        };
        if self.is_signed {
            return None;
        }
        let mut url = match join(&self.url, location?.trim()) {
            Ok(url) => url,
            Err(why) => return Some(Err(format!("redirects to an address that {why}"))),
        };
        // The body contains the user's keys: it must not be sent in clear text.
        if self.url.secure && !url.secure {
            return Some(Err(format!("redirects from https to {}, which is not followed", url.origin())));
        }
        let is_same = url.origin() == self.url.origin();
        if self.stays && !is_same {
            return Some(Err(format!("redirects to {}, which is not followed", url.origin())));
        }
        url.credentials = self.url.credentials.clone().filter(|_| is_same);
        // A GET that replaces a request with a body has no content.
        let is_lost = |name: &str| name == "Content-Type" && self.body.is_some() && body.is_none();
        let stays = |name: &str| (is_same || header::is_public(name)) && !is_lost(name);
        let headers = self.headers.iter().filter(|(name, _)| stays(name)).cloned().collect();
        Some(Ok(Self { url, method, headers, body, format: self.format, is_signed: false, stays: self.stays }))
    }

    /// Why the redirect of a signed request is final, for a warning; `None`: it is none.
    pub fn unfollowed(&self, status: u16, location: Option<&str>) -> Option<String> {
        let is_redirect = self.is_signed && matches!(status, 301 | 302 | 303 | 307 | 308);
        let to = join(&self.url, location?.trim()).ok().filter(|_| is_redirect)?.origin();
        Some(format!("{} redirects to {to}: a signed request does not follow", self.url.origin()))
    }
}

/// Resolves a reference against a base URL (RFC 3986, 5.2).
fn join(base: &Url, reference: &str) -> Result<Url, UrlError> {
    let path = base.path.split('?').next().unwrap_or_default();
    let text = if split_scheme(reference).is_some() {
        return Url::parse(reference);
    } else if let Some(scheme) = scheme_alone(reference) {
        let scheme = scheme.to_ascii_lowercase();
        let is_ours = ["http", "https"].contains(&scheme.as_str());
        return Err(if is_ours { UrlError::Host(String::new()) } else { UrlError::Scheme(scheme) });
    } else if reference.starts_with("//") {
        format!("{}:{reference}", base.scheme())
    } else if reference.starts_with('/') {
        format!("{}{}", base.origin(), without_dots(reference))
    } else if reference.is_empty() || reference.starts_with('#') {
        base.to_string()
    } else if reference.starts_with('?') {
        format!("{}{path}{reference}", base.origin())
    } else {
        let folder = &path[..path.rfind('/').map_or(0, |at| at + 1)];
        format!("{}{}", base.origin(), without_dots(&format!("{folder}{reference}")))
    };
    Url::parse(&text)
}

/// The scheme of a reference without `//`, such as `mailto:`; `None`: the colon is part of a path (RFC 3986, 4.2).
fn scheme_alone(reference: &str) -> Option<&str> {
    let (scheme, _) = reference.split_once(':')?;
    let is_scheme = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.');
    (scheme.starts_with(|letter: char| letter.is_ascii_alphabetic()) && scheme.chars().all(is_scheme)).then_some(scheme)
}

/// Resolves the `.` and `..` segments of a path; keeps query and fragment.
fn without_dots(reference: &str) -> String {
    let (path, rest) = reference.split_at(reference.find(['?', '#']).unwrap_or(reference.len()));
    let mut segments: Vec<&str> = Vec::new();
    let mut parts = path.split('/').skip(1).peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        match part {
            "." => segments.extend(is_last.then_some("")),
            ".." => {
                segments.pop();
                segments.extend(is_last.then_some(""));
            }
            _ => segments.push(part),
        }
    }
    format!("/{}{rest}", segments.join("/"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn request(url: &str) -> Request {
        Request::new(Url::parse(url).expect("an address"), Some("{}".to_owned()))
    }

    fn next(url: &str, status: u16, location: &str) -> Option<Result<Request, String>> {
        request(url).redirected(status, Some(location))
    }

    #[test]
    fn d3_locations_are_resolved() {
        let cases = [
            ("https://other.example/x?y", "https://other.example/x?y"),
            ("//other.example/x", "https://other.example/x"),
            ("/x", "https://h:8443/x"),
            ("/a/../b/./c/..", "https://h:8443/b/"),
            ("x", "https://h:8443/a/x"),
            ("../x?q=1", "https://h:8443/x?q=1"),
            ("../../../x", "https://h:8443/x"),
            ("?q=2", "https://h:8443/a/b?q=2"),
            ("", "https://h:8443/a/b?k=1"),
            ("#part", "https://h:8443/a/b?k=1"),
            ("./", "https://h:8443/a/"),
        ];
        for (location, expected) in cases {
            let next = next("https://h:8443/a/b?k=1", 307, location).expect("followed").expect("an address");
            assert_eq!(next.url.to_string(), expected, "{location}");
        }
    }

    #[test]
    fn d3_method_and_body_are_kept_but_for_303() {
        for status in [301, 302, 307, 308] {
            assert!(next("http://h/", status, "/x").expect("followed").expect("a request").body.is_some(), "{status}");
        }
        assert!(next("http://h/", 303, "/x").expect("followed").expect("a request").body.is_none());
        for status in [200, 204, 300, 304, 305, 306, 400, 500] {
            assert!(next("http://h/", status, "/x").is_none(), "{status}");
        }
        assert!(request("http://h/").redirected(302, None).is_none());
    }

    #[test]
    fn d3_another_scheme_is_no_path() {
        for location in ["mailto:a@b.example", "javascript:alert(1)", "data:text/plain,x", "ftp:x"] {
            let error = next("https://h/a", 302, location).expect("a redirection").expect_err(location);
            let scheme = location.split(':').next().expect("a scheme");
            let expected = UrlError::Scheme(scheme.to_owned());
            assert_eq!(error, format!("redirects to an address that {expected}"), "{location}");
        }
        for location in ["http:x", "HTTP:/x", "https:"] {
            let error = next("https://h/a", 302, location).expect("a redirection").expect_err(location);
            let expected = UrlError::Host(String::new());
            assert_eq!(error, format!("redirects to an address that {expected}"), "{location}");
        }
        for location in ["./mailto:x", "a/b:c", "?x:y", "1:2"] {
            assert!(next("https://h/a", 302, location).expect("a redirection").is_ok(), "{location}");
        }
    }

    #[test]
    fn d3_from_https_to_http_is_not_followed() {
        let error = next("https://h/", 302, "http://h/x").expect("a redirection").expect_err("refused");
        assert_eq!(error, "redirects from https to http://h, which is not followed");
        assert!(next("http://h/", 302, "https://h/x").expect("a redirection").is_ok());
    }

    #[test]
    fn d3_credentials_stay_with_their_origin() {
        let credentials = |location: &str| {
            next("https://user:pw@h/", 308, location).expect("followed").expect("a request").url.credentials
        };
        assert!(credentials("/x").is_some() && credentials("https://h:443/x").is_some());
        for other in ["https://h:444/x", "https://g/x", "https://a:b@g/x"] {
            assert!(credentials(other).is_none(), "{other}");
        }
    }

    #[test]
    fn h11_a_signed_request_is_not_redirected() {
        let signed = Request { is_signed: true, ..request("http://h/") };
        for status in [301, 302, 303, 307, 308] {
            assert!(signed.redirected(status, Some("/x")).is_none(), "{status}");
        }
    }

    #[test]
    fn h2_another_origin_gets_no_header_that_may_hold_a_key() {
        let mut first = request("https://h/");
        first.method = Method::Put;
        for name in ["Authorization", "X-Api-Key", "User-Agent", "Accept", "Content-Type"] {
            first.headers.push((name.to_owned(), "v".to_owned()));
        }
        let after = |status, location| {
            let next = first.redirected(status, Some(location)).expect("followed").expect("a request");
            let names: Vec<String> = next.headers.into_iter().map(|(name, _)| name).collect();
            (next.method, names.join(" "))
        };
        let all = "Authorization X-Api-Key User-Agent Accept Content-Type";
        assert_eq!(after(307, "/x"), (Method::Put, all.to_owned()));
        assert_eq!(after(308, "https://h:443/x"), (Method::Put, all.to_owned()));
        for other in ["https://h:444/", "https://g/", "//h.example/"] {
            assert_eq!(after(302, other), (Method::Put, "User-Agent Accept Content-Type".to_owned()), "{other}");
        }
        assert_eq!(after(303, "/x"), (Method::Get, "Authorization X-Api-Key User-Agent Accept".to_owned()));
    }

    proptest! {
        #[test]
        fn d3_no_location_panics_or_leaves_https(location in any::<String>(), tail in "[./?#a-z:@\\[\\]]{0,20}") {
            for location in [location.as_str(), tail.as_str()] {
                if let Some(Ok(next)) = next("https://h/a/b?c", 301, location) {
                    prop_assert!(next.url.secure && next.url.path.starts_with('/'));
                }
            }
        }
    }
}
