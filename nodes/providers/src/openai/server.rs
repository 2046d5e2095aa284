//! A server of OpenAI's protocols.

use std::fmt;

use reqwest::header::{AUTHORIZATION, HeaderMap};
use serde_json::Value;

use crate::base_url::BaseUrl;
use crate::transport::{Call, Transport, header, secret_header};
use crate::{ApiKey, ProviderError, TransportOptions};

/// A server of OpenAI's protocols: where it is, and how it is reached.
#[derive(Clone)]
pub(crate) struct OpenAiServer {
    pub(crate) transport: Transport,
    key: Option<ApiKey>,
    base: BaseUrl,
    headers: HeaderMap,
}

impl OpenAiServer {
    pub(crate) const BASE_URL: &'static str = "https://api.openai.com/v1";
    pub(crate) const KEY_VARIABLE: &'static str = "OPENAI_API_KEY";
    pub(crate) const BASE_URL_VARIABLE: &'static str = "OPENAI_BASE_URL";

    /// The environment variables of the organisation and the project that a key with several is used for, and the
    /// header of each.
    const ACCOUNTS: [(&'static str, &'static str); 2] =
        [("OPENAI_ORG_ID", "openai-organization"), ("OPENAI_PROJECT_ID", "openai-project")];

    /// A server that wants no key.
    pub(crate) fn open(url: &str) -> Result<Self, ProviderError> {
        Ok(Self {
            transport: Transport::new(&TransportOptions::default())?,
            key: None,
            base: BaseUrl::parse(url)?,
            headers: HeaderMap::new(),
        })
    }

    /// The server that the environment names, or else OpenAI's own, which wants a key.
    pub(crate) fn from_env() -> Result<Self, ProviderError> {
        let said = |variable: &str| std::env::var(variable).ok().filter(|value| !value.trim().is_empty());
        let url = said(Self::BASE_URL_VARIABLE);
        let mut server = Self::open(url.as_deref().unwrap_or(Self::BASE_URL))?;
        match ApiKey::from_env(Self::KEY_VARIABLE) {
            Some(key) => server = server.key(key)?,
            None if url.is_none() => return Err(ProviderError::NoKey { variable: Self::KEY_VARIABLE }),
            None => {}
        }
        for (variable, name) in Self::ACCOUNTS {
            if let Some(value) = said(variable) {
                server = server.header(name, value.trim())?;
            }
        }
        Ok(server)
    }

    pub(crate) fn key(mut self, key: ApiKey) -> Result<Self, ProviderError> {
        self.headers.insert(AUTHORIZATION, secret_header(&format!("Bearer {}", key.expose()))?);
        self.key = Some(key);
        Ok(self)
    }

    pub(crate) fn at(mut self, url: &str) -> Result<Self, ProviderError> {
        self.base = BaseUrl::parse(url)?;
        Ok(self)
    }

    pub(crate) fn reached(mut self, options: &TransportOptions) -> Result<Self, ProviderError> {
        self.transport = Transport::new(options)?;
        Ok(self)
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Result<Self, ProviderError> {
        let (name, value) = header(name, value)?;
        self.headers.insert(name, value);
        Ok(self)
    }

    pub(crate) fn call(&self, path: &str, body: Value) -> Call {
        Call { url: self.base.join(path), headers: self.headers.clone(), body, key: self.key.clone() }
    }
}

impl fmt::Debug for OpenAiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.base.fmt(f)
    }
}
