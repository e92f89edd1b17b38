//! Sends one request to one endpoint, with a token if the store has users.

use std::time::Duration;

use ddns_core::callback::Request;
use ddns_core::net::proxy::Proxies;
use ddns_core::net::ssl::Ssl;
use ddns_group::etcd::{self, Problem, path};
use tokio::time::Instant;

use super::{Error, Etcd};
use crate::http::{AddressFamilies, BodyUse, Failure, How, WANTS_CERTIFICATE};

/// Why an endpoint did not carry out a request.
pub(super) enum Refusal {
    /// The endpoint did not respond, or cannot serve now: another one may.
    Failed { why: String, reached: bool },
    /// Another endpoint would answer the same.
    Refused(Error),
}

/// The token that requests carry.
#[derive(Default, Clone)]
pub(super) enum Token {
    /// A login must show whether the store has users.
    #[default]
    Unknown,
    /// The store has no users.
    Needless,
    Given(String),
}

impl Etcd {
    /// Asks one endpoint. Returns the body of its response.
    pub(super) async fn ask(&self, at: usize, path: &str, body: &str, limit: Duration) -> Result<Vec<u8>, Refusal> {
        let end = Instant::now() + limit;
        self.renewing(at, async || {
            let token = self.token(at, end).await?;
            self.post(self.request(at, path, body, token), end).await
        })
        .await
    }

    /// Asks, and asks once more if a new token may help.
    pub(super) async fn renewing<T>(
        &self,
        at: usize,
        ask: impl AsyncFn() -> Result<Result<T, Problem>, Refusal>,
    ) -> Result<T, Refusal> {
        let mut answer = ask().await?;
        if answer.as_ref().err().is_some_and(|problem| self.renews_token(problem)) {
            answer = ask().await?;
        }
        answer.map_err(|problem| self.refused(at, &problem))
    }

    /// Whether a new token may help. If so, forgets the known one.
    fn renews_token(&self, problem: &Problem) -> bool {
        // To a watch with an old token, etcd answers that it has no permission.
        let helps = matches!(problem, Problem::Token | Problem::NeedsUser | Problem::Permission);
        if helps {
            self.token.take();
        }
        helps && self.login.is_some()
    }

    /// The token for the next request, after a login if necessary. `None`: the store has no users, or no user is configured.
    pub(super) async fn token(&self, at: usize, end: Instant) -> Result<Option<String>, Refusal> {
        let Some((user, password)) = &self.login else { return Ok(None) };
        let known = self.token.borrow().clone();
        match known {
            Token::Given(token) => return Ok(Some(token)),
            Token::Needless => return Ok(None),
            Token::Unknown => {}
        }
        let request = self.request(at, path::AUTHENTICATE, &etcd::authenticate_body(user, &password.0), None);
        let token = match self.post(request, end).await {
            Ok(Ok(body)) => Some(self.read(at, etcd::token(&body))?),
            Ok(Err(Problem::NoUsers)) => None,
            Ok(Err(problem)) => return Err(self.refused(at, &problem)),
            // Only the login failed: the request itself was not sent.
            Err(Refusal::Failed { why, .. }) => return Err(Refusal::Failed { why, reached: false }),
            Err(refused) => return Err(refused),
        };
        self.token.replace(token.clone().map_or(Token::Needless, Token::Given));
        Ok(token)
    }

    pub(super) fn request(&self, at: usize, path: &str, body: &str, token: Option<String>) -> Request {
        let url = ddns_core::net::url::Url { path: path.to_owned(), ..self.endpoints[at].clone() };
        let mut request = Request::new(url, Some(body.to_owned()));
        request.headers.extend(token.map(|token| ("Authorization".to_owned(), token)));
        // The client follows no redirection of a signed request.
        request.is_signed = true;
        request
    }

    /// Sends a request. Returns the body of the response, or the problem that it reports.
    async fn post(&self, request: Request, end: Instant) -> Result<Result<Vec<u8>, Problem>, Refusal> {
        let sent = self.client.send(&request, how(end)).await;
        let response = sent.map_err(|Failure { mut why, reached, .. }| {
            if why.ends_with(WANTS_CERTIFICATE) {
                why += ": set `group.certificate` and `group.key`";
            }
            Refusal::Failed { why, reached }
        })?;
        match response.status {
            200 if response.is_whole => Ok(Ok(response.body)),
            200 => {
                let why = format!("{} cut its response off", request.url.origin());
                Err(Refusal::Failed { why, reached: true })
            }
            status => Ok(Err(etcd::problem(status, &response.body))),
        }
    }
}

/// How requests to a store are sent. The client itself knows which certificates to trust.
pub(super) fn how(end: Instant) -> How<'static> {
    let limit = end.saturating_duration_since(Instant::now());
    How {
        limit,
        want: BodyUse::LongBody,
        over: AddressFamilies::Any,
        proxies: Proxies::DIRECT,
        ssl: &Ssl::Verify,
        from: None,
    }
}
