//! A request and its answer.

use std::error::Error;

use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Client, Method, Response, StatusCode, Url};
use serde_json::json;
use superstep_nodes::__private::hosts::Hosts;
use superstep_nodes::__private::media_type;
use superstep_nodes::message::{Content, Part};
use superstep_nodes::tool::{ToolFailure, ToolOutput};

use crate::picture::picture;
use crate::read_file::ReadFile;

/// The maximum number of redirects followed.
const MOST_REDIRECTS: usize = 5;

/// The headers of an answer that a model is shown.
const SHOWN: [&str; 8] =
    ["content-type", "content-length", "date", "etag", "last-modified", "link", "location", "retry-after"];

/// One request, with all that has to be known to make it.
pub(super) struct Exchange<'a> {
    pub(super) client: &'a Client,
    pub(super) hosts: &'a Hosts,
    pub(super) method: Method,
    pub(super) url: Url,
    /// Those of the model.
    pub(super) headers: HeaderMap,
    /// Those of the program, each with the host that it is for.
    pub(super) secret: &'a [(String, HeaderMap)],
    pub(super) body: Option<String>,
    pub(super) most_bytes: usize,
}

impl Exchange<'_> {
    /// Makes the request, follows redirects of one that only looks, and reads the answer.
    pub(super) async fn run(mut self) -> Result<ToolOutput, ToolFailure> {
        for _ in 0..=MOST_REDIRECTS {
            let host = self.hosts.check(&self.url)?;
            let answer = self.send(&host).await?;
            match self.redirected(&answer)? {
                Some(url) => {
                    if url.origin() != self.url.origin() {
                        // What was meant for one server is no other's business.
                        self.headers.clear();
                    }
                    self.url = url;
                }
                None => return self.read(answer).await,
            }
        }
        Err(ToolFailure::new(format!("there were more than {MOST_REDIRECTS} redirects")))
    }

    async fn send(&self, host: &str) -> Result<Response, ToolFailure> {
        let mut request =
            self.client.request(self.method.clone(), self.url.clone()).headers(self.headers.clone());
        // A secret is sent over TLS, or where the program allows it.
        if self.url.scheme() == "https" || self.hosts.is_internal(host) {
            for (_, headers) in self.secret.iter().filter(|(known, _)| known == host) {
                request = request.headers(headers.clone());
            }
        }
        if let Some(body) = &self.body {
            request = request.body(body.clone());
        }
        request.send().await.map_err(|error| ToolFailure::new(format!("`{host}`: {}", root(&error))))
    }

    /// Returns the target of a redirect, if it is followed.
    fn redirected(&self, answer: &Response) -> Result<Option<Url>, ToolFailure> {
        const MOVED: [StatusCode; 5] = [
            StatusCode::MOVED_PERMANENTLY,
            StatusCode::FOUND,
            StatusCode::SEE_OTHER,
            StatusCode::TEMPORARY_REDIRECT,
            StatusCode::PERMANENT_REDIRECT,
        ];
        let looks = matches!(self.method, Method::GET | Method::HEAD);
        let Some(to) = answer.headers().get(LOCATION).filter(|_| looks && MOVED.contains(&answer.status()))
        else {
            return Ok(None);
        };
        let to = to.to_str().ok().and_then(|to| self.url.join(to).ok());
        to.map(Some).ok_or_else(|| ToolFailure::new("the server redirects to what is no address"))
    }

    async fn read(&self, mut answer: Response) -> Result<ToolOutput, ToolFailure> {
        let status = answer.status();
        let mut head = format!("HTTP {status}\n{}\n", self.url);
        for (name, value) in answer.headers().iter().filter(|(name, _)| SHOWN.contains(&name.as_str())) {
            head.push_str(&format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes())));
        }
        let kind = answer
            .headers()
            .get(CONTENT_TYPE)
            .map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
        let (mut bytes, mut complete) = (Vec::new(), true);
        while complete {
            let more = answer.chunk().await;
            let Some(more) =
                more.map_err(|error| ToolFailure::new(format!("the answer broke off: {}", root(&error))))?
            else {
                break;
            };
            let room = self.most_bytes - bytes.len();
            complete = more.len() <= room;
            bytes.extend_from_slice(&more[..room.min(more.len())]);
        }
        let data = json!({
            "status": status.as_u16(), "url": self.url.as_str(), "content_type": kind,
            "bytes": bytes.len(), "complete": complete,
        });
        let note = match complete {
            true => String::new(),
            false => {
                format!("\n[the answer is longer than {} bytes; the rest was not read]", self.most_bytes)
            }
        };
        Ok(ToolOutput::from(body(head, &bytes, &note, complete)).with_data(data))
    }
}

/// Returns the content of a response for the model.
fn body(head: String, bytes: &[u8], note: &str, complete: bool) -> Content {
    if let Some(media_type) =
        media_type(bytes).filter(|_| complete && bytes.len() <= ReadFile::MAX_IMAGE_BYTES)
    {
        let mut content = Content::text(head + "\n");
        picture("the answer", media_type, bytes).parts().iter().for_each(|part| content.push(part.clone()));
        return content;
    }
    if bytes.contains(&0) {
        return Content::text(format!("{head}\n[{} bytes that are no text]{note}", bytes.len()));
    }
    let text = String::from_utf8_lossy(bytes);
    Content::from(Part::text(format!("{head}\n{text}{note}")))
}

/// Returns the root cause of an error. The errors above it only say that a request failed.
fn root(error: &reqwest::Error) -> String {
    let mut error: &dyn Error = error;
    while let Some(cause) = error.source() {
        error = cause;
    }
    error.to_string()
}
