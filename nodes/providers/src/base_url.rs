//! The base URL of a provider.

use std::fmt;

use reqwest::Url;

use super::ProviderError;

/// The base URL of a provider. It may have a query, as URLs of Azure do: `?api-version=…`. It is shown without the
/// query, a name and a password.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct BaseUrl(Url);

impl BaseUrl {
    pub(super) fn parse(text: &str) -> Result<Self, ProviderError> {
        let refused = |reason: String| ProviderError::BaseUrl { url: shown(text), reason };
        let url = Url::parse(text.trim()).map_err(|error| refused(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused("it begins with neither http:// nor https://".into()));
        }
        if url.fragment().is_some() {
            return Err(refused("it has a fragment".into()));
        }
        Ok(Self(url))
    }

    /// The address of `path` below it, whether or not it ends with a slash, and before its query.
    pub(super) fn join(&self, path: &str) -> String {
        let mut url = self.0.clone();
        url.set_path(&format!("{}/{path}", self.0.path().trim_end_matches('/')));
        url.into()
    }
}

/// The address without what may be a secret.
fn shown(text: &str) -> String {
    let text = text.split('?').next().unwrap_or_default();
    match (text.find("://"), text.rfind('@')) {
        (Some(scheme), Some(at)) if scheme < at => format!("{}..{}", &text[..scheme + 3], &text[at..]),
        _ => text.to_owned(),
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(self.0.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_below_whatever_the_address_ends_with() {
        for url in ["http://127.0.0.1:8080/v1", " http://127.0.0.1:8080/v1/ "] {
            assert_eq!(BaseUrl::parse(url).unwrap().join("messages"), "http://127.0.0.1:8080/v1/messages");
        }
    }

    /// They were refused as "a query or a fragment".
    #[test]
    fn a_path_goes_before_the_query_that_addresses_of_azure_have() {
        for (url, expected) in [
            (
                "https://me.openai.azure.com/openai/deployments/gpt-4o?api-version=2024-10-21",
                "https://me.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
            ),
            (
                "https://me.openai.azure.com/openai/v1/?api-version=preview",
                "https://me.openai.azure.com/openai/v1/chat/completions?api-version=preview",
            ),
        ] {
            assert_eq!(BaseUrl::parse(url).unwrap().join("chat/completions"), expected);
        }
        let url = BaseUrl::parse("https://host/v1?key=secret").unwrap();
        assert_eq!(format!("{url:?}"), "https://host/v1");
    }

    #[test]
    fn what_is_no_address_is_refused_and_says_no_password() {
        for url in ["localhost", "ftp://host", "http://host/#a", "http://"] {
            assert!(matches!(BaseUrl::parse(url), Err(ProviderError::BaseUrl { .. })), "{url}");
        }
        let error = BaseUrl::parse("ftp://me:secret@host/v1").unwrap_err().to_string();
        assert!(!error.contains("secret") && error.contains("ftp://..@host/v1"), "{error}");
        assert_eq!(format!("{:?}", BaseUrl::parse("http://me:secret@host/").unwrap()), "http://..@host/");
    }
}
