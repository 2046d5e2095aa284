//! The members of a JSON object of a client, read leniently: an absent member and `null` are the same, unknown members
//! are ignored, and an error names the member.

use serde_json::{Map, Value};

use super::Failure;

/// An object of a client, and its place in the body.
#[derive(Clone, Copy)]
pub(crate) struct Members<'b> {
    object: &'b Map<String, Value>,
    place: &'b str,
}

impl<'b> Members<'b> {
    /// Reads a body, which has to be an object.
    ///
    /// # Errors
    /// Returns status 422 for any other value.
    pub(crate) fn of(body: &'b Value) -> Result<Self, Failure> {
        match body {
            Value::Object(object) => Ok(Self { object, place: "" }),
            other => Err(Failure::invalid(format!("the body is {}, and must be an object", kind(other)))),
        }
    }

    /// Returns a member that is an object, or `None`.
    pub(crate) fn inner(&self, name: &'b str) -> Result<Option<Self>, Failure> {
        Ok(self.object(name)?.map(|object| Self { object, place: name }))
    }

    /// Returns a member that is not `null`.
    pub(crate) fn any(&self, name: &str) -> Option<&'b Value> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    /// Returns a member that is a text.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&'b str>, Failure> {
        self.typed(name, "a string", Value::as_str)
    }

    /// Returns a member that is a text and has to be present.
    pub(crate) fn required(&self, name: &str) -> Result<&'b str, Failure> {
        self.text(name)?.ok_or_else(|| self.missing(name))
    }

    /// Returns a member that is `true` or `false`; `default` if it is absent.
    pub(crate) fn flag(&self, name: &str, default: bool) -> Result<bool, Failure> {
        Ok(self.typed(name, "a boolean", Value::as_bool)?.unwrap_or(default))
    }

    /// Returns a member that is a whole number from 0.
    pub(crate) fn whole(&self, name: &str) -> Result<Option<u64>, Failure> {
        self.typed(name, "a whole number from 0", |value| {
            value.as_u64().or_else(|| {
                let number =
                    value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..1e15).contains(number))?;
                // The number is whole and in range, so no digit is lost.
                number.to_string().parse().ok()
            })
        })
    }

    /// Returns a member that is a number from 0.
    pub(crate) fn number(&self, name: &str) -> Result<Option<f64>, Failure> {
        self.typed(name, "a number from 0", |value| value.as_f64().filter(|number| *number >= 0.0))
    }

    /// Returns a member that is an object.
    pub(crate) fn object(&self, name: &str) -> Result<Option<&'b Map<String, Value>>, Failure> {
        self.typed(name, "an object", Value::as_object)
    }

    /// Returns a copy of a member that is an object; an empty one if it is absent.
    pub(crate) fn object_or_empty(&self, name: &str) -> Result<Map<String, Value>, Failure> {
        Ok(self.object(name)?.cloned().unwrap_or_default())
    }

    /// Returns a member that is a list.
    pub(crate) fn list(&self, name: &str) -> Result<Option<&'b Vec<Value>>, Failure> {
        self.typed(name, "a list", Value::as_array)
    }

    /// Returns a member that is a list of texts.
    pub(crate) fn texts(&self, name: &str) -> Result<Option<Vec<String>>, Failure> {
        self.typed(name, "a list of strings", |value| {
            value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
        })
    }

    /// Returns a member that is one of these texts, as its value.
    pub(crate) fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<Option<T>, Failure> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let chosen = choices.iter().find(|(choice, _)| *choice == text);
        let all: Vec<&str> = choices.iter().map(|(choice, _)| *choice).collect();
        chosen.map(|(_, value)| Some(*value)).ok_or_else(|| {
            self.invalid(name, &format!("{text:?} is not valid; expected one of {}", all.join(", ")))
        })
    }

    /// Returns the size of a page and the number of items before it.
    pub(crate) fn page(&self) -> Result<Page, Failure> {
        let limit = self.whole("limit")?.unwrap_or(Page::DEFAULT_LIMIT);
        if !(1..=Page::MOST).contains(&limit) {
            return Err(self.invalid("limit", &format!("{limit} is not from 1 to {}", Page::MOST)));
        }
        Ok(Page { limit: index(limit), offset: index(self.whole("offset")?.unwrap_or(0)) })
    }

    /// Returns the error of a required member that is absent.
    pub(crate) fn missing(&self, name: &str) -> Failure {
        Failure::invalid(format!("{:?} is a required property", self.path(name)))
    }

    /// Returns the error of a member that is not as it should be.
    pub(crate) fn invalid(&self, name: &str, why: &str) -> Failure {
        Failure::invalid(format!("{}: {why}", self.path(name)))
    }

    fn typed<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl Fn(&'b Value) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        let Some(value) = self.any(name) else { return Ok(None) };
        let wrong = || self.invalid(name, &format!("expected {expected}, found {}", found(value)));
        read(value).map(Some).ok_or_else(wrong)
    }

    fn path(&self, name: &str) -> String {
        match self.place {
            "" => name.to_owned(),
            place => format!("{place}.{name}"),
        }
    }
}

/// A page of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// The maximum number of items.
    pub(crate) limit: usize,
    /// The number of items to skip.
    pub(crate) offset: usize,
}

impl Page {
    /// The number of items without a limit of the client.
    pub(crate) const DEFAULT_LIMIT: u64 = 10;
    /// The largest page.
    pub(crate) const MOST: u64 = 1000;
}

/// Converts a number to a size; a number that no list reaches becomes the largest one.
pub(crate) fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Returns a number, or the kind of another value.
fn found(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        other => kind(other).to_owned(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_is_absent_and_a_wrong_type_names_the_member() {
        let body = json!({ "config": { "tags": 3 }, "flag": null, "limit": 5.0 });
        let members = Members::of(&body).unwrap();
        assert!(members.flag("flag", true).unwrap());
        assert_eq!(members.whole("limit").unwrap(), Some(5));
        let error = members.inner("config").unwrap().unwrap().texts("tags").unwrap_err();
        assert_eq!(
            (error.status, error.detail.as_str()),
            (422, "config.tags: expected a list of strings, found 3")
        );
        let negative = json!({ "limit": -1 });
        let error = Members::of(&negative).unwrap().whole("limit").unwrap_err();
        assert_eq!(error.detail, "limit: expected a whole number from 0, found -1");
        assert_eq!(members.required("graph_id").unwrap_err().detail, "\"graph_id\" is a required property");
        assert_eq!(Members::of(&json!([])).err().unwrap().status, 422);
    }

    #[test]
    fn a_page_has_1_to_1000_items() {
        for (limit, fits) in [
            (json!(0), false),
            (json!(1), true),
            (json!(1000), true),
            (json!(1001), false),
            (json!(-1), false),
        ] {
            let body = json!({ "limit": limit });
            assert_eq!(Members::of(&body).unwrap().page().is_ok(), fits, "{limit}");
        }
        let body = json!({});
        assert_eq!(Members::of(&body).unwrap().page().unwrap(), Page { limit: 10, offset: 0 });
    }
}
