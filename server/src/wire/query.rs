//! The query of a URL: an empty value is absent, and a repeated name is a list.

use super::Failure;
use super::members::{Page, index};

/// The parameters of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Parses the part of a URL after `?`.
    pub(crate) fn parse(query: &str) -> Self {
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        });
        Self(pairs.filter(|(_, value)| !value.is_empty()).collect())
    }

    /// Returns the last value of a parameter.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the names of the parameters.
    #[cfg(feature = "studio")]
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Returns all values of a parameter; `None` if it is absent.
    pub(crate) fn all(&self, name: &str) -> Option<Vec<String>> {
        let values = self.0.iter().filter(|(known, _)| known == name).map(|(_, value)| value.clone());
        let values: Vec<String> = values.collect();
        (!values.is_empty()).then_some(values)
    }

    /// Returns a boolean: `true`, `false`, `1` or `0`, in any case of letters.
    ///
    /// # Errors
    /// Returns status 422 for another text.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Failure> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.to_ascii_lowercase().as_str() {
            "true" | "1" => Ok(Some(true)),
            "false" | "0" => Ok(Some(false)),
            _ => Err(Failure::invalid(format!("{name}: {text:?} is not a boolean"))),
        }
    }

    /// Returns a whole number from 0.
    ///
    /// # Errors
    /// Returns status 422 for another text.
    pub(crate) fn whole(&self, name: &str) -> Result<Option<u64>, Failure> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let wrong = |_| Failure::invalid(format!("{name}: {text:?} is not a whole number from 0"));
        text.parse().map(Some).map_err(wrong)
    }

    /// Returns the page that `limit` and `offset` describe.
    ///
    /// # Errors
    /// Returns status 422 for a limit that is not from 1 to 1,000.
    pub(crate) fn page(&self) -> Result<Page, Failure> {
        let limit = self.whole("limit")?.unwrap_or(Page::DEFAULT_LIMIT);
        if !(1..=Page::MOST).contains(&limit) {
            return Err(Failure::invalid(format!("limit: {limit} is not from 1 to {}", Page::MOST)));
        }
        Ok(Page { limit: index(limit), offset: index(self.whole("offset")?.unwrap_or(0)) })
    }
}

/// Decodes `+` and `%XX`. A `%` without two digits stays.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.filter(|_| byte == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        at += if escaped.is_some() { 3 } else { 1 };
        decoded.push(escaped.unwrap_or(if byte == b'+' { b' ' } else { byte }));
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_value_is_absent_and_a_repeated_name_is_a_list() {
        let query = Query::parse("stream_mode=&select=a&select=b%2Ec&name=x+y&flag=True&bare");
        assert_eq!(query.all("stream_mode"), None);
        assert_eq!(query.all("select"), Some(vec!["a".into(), "b.c".into()]));
        assert_eq!(query.text("name"), Some("x y"));
        assert_eq!((query.flag("flag").unwrap(), query.flag("bare").unwrap()), (Some(true), None));
    }

    #[test]
    fn booleans_have_the_forms_that_clients_send() {
        for (text, flag) in
            [("true", true), ("True", true), ("1", true), ("false", false), ("False", false), ("0", false)]
        {
            assert_eq!(Query::parse(&format!("f={text}")).flag("f").unwrap(), Some(flag));
        }
        assert_eq!(Query::parse("f=yes").flag("f").unwrap_err().status, 422);
        assert_eq!(Query::parse("limit=1001").page().unwrap_err().status, 422);
    }
}
