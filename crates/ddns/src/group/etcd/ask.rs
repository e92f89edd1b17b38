//! One request to one endpoint, with a token where the store has users.

use std::time::Duration;

use ddns_core::callback::Request;
use ddns_core::net::proxy::Proxies;
use ddns_core::net::ssl::Ssl;
use ddns_group::etcd::{self, Problem, path};
use tokio::time::Instant;

use super::{Error, Etcd};
use crate::http::{Failure, How, Over, WANTS_CERTIFICATE, Want};

/// Why an endpoint did not do what it was asked for.
pub(super) enum Refusal {
    /// It did not respond, or cannot serve: another one may.
    Failed { why: String, reached: bool },
    /// Another one would say the same.
    Refused(Error),
}

/// What a request shows of who we are.
#[derive(Default, Clone)]
pub(super) enum Token {
    /// The store was not asked yet.
    #[default]
    Unknown,
    /// The store has no users.
    Needless,
    Given(String),
}

impl Etcd {
    /// Asks one endpoint; the body of its response.
    pub(super) async fn ask(&self, at: usize, path: &str, body: &str, limit: Duration) -> Result<Vec<u8>, Refusal> {
        let end = Instant::now() + limit;
        self.renewing(at, async || {
            let token = self.token(at, end).await?;
            self.post(self.request(at, path, body, token), end).await
        })
        .await
    }

    /// Asks, and once more where another token may help.
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

    /// Whether another token may help. The one that is known is forgotten then.
    fn renews_token(&self, problem: &Problem) -> bool {
        // A watch with an old token is told that it has no permission.
        let helps = matches!(problem, Problem::Token | Problem::NeedsUser | Problem::Permission);
        if helps {
            self.token.take();
        }
        helps && self.login.is_some()
    }

    /// The token for the next request; none where there are no users.
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
            // Nothing was asked for yet.
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
        // It goes nowhere else.
        request.is_signed = true;
        request
    }

    /// The body of a response, or the problem that it tells of.
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

/// How requests to a store are sent. Whom to trust is the client's.
pub(super) fn how(end: Instant) -> How<'static> {
    let limit = end.saturating_duration_since(Instant::now());
    How { limit, want: Want::LongBody, over: Over::Any, proxies: Proxies::DIRECT, ssl: &Ssl::Verify, from: None }
}
