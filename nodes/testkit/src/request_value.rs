//! A value in a request, with the path that its vendor calls it by.

use serde_json::{Map, Value};

use super::HttpError;
use super::endpoint::Vendor;

mod values;

pub(super) use values::is_name;

/// A value in a request. Its errors are worded as its vendor words them.
#[derive(Clone)]
pub(super) struct RequestValue<'a> {
    value: &'a Value,
    path: String,
    vendor: Vendor,
}

impl<'a> RequestValue<'a> {
    /// The body of a request.
    ///
    /// # Errors
    ///
    /// Fails if it is no object.
    pub(super) fn body(value: &'a Value, vendor: Vendor) -> Result<Self, HttpError> {
        match (value, vendor) {
            (Value::Object(_), _) => Ok(Self { value, path: String::new(), vendor }),
            (_, Vendor::Anthropic) => Err(HttpError::invalid("Input should be an object")),
            (_, Vendor::OpenAi) => Err(HttpError::invalid(
                "We could not parse the JSON body of your request. The body must be a JSON object.",
            )),
        }
    }

    pub(super) fn value(&self) -> &'a Value {
        self.value
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The same place, by the variant of a union that it is: Anthropic has that in its paths.
    pub(super) fn tagged(&self, tag: &str) -> Self {
        match self.vendor {
            Vendor::Anthropic => Self { path: format!("{}.{tag}", self.path), ..self.clone() },
            Vendor::OpenAi => self.clone(),
        }
    }

    /// The member of an object. A `null` is a member.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key)?;
        Some(Self { value, path: self.below(key), vendor: self.vendor })
    }

    /// The member of an object, unless it is `null`.
    pub(super) fn get_nullable(&self, key: &str) -> Option<Self> {
        self.get(key).filter(|member| !member.value.is_null())
    }

    pub(super) fn need(&self, key: &str) -> Result<Self, HttpError> {
        self.get(key).ok_or_else(|| {
            let path = self.below(key);
            match self.vendor {
                Vendor::Anthropic => HttpError::invalid(format!("{path}: Field required")),
                Vendor::OpenAi => HttpError::invalid(format!("Missing required parameter: '{path}'."))
                    .at(path)
                    .coded("missing_required_parameter"),
            }
        })
    }

    /// Returns `true` if a member is true.
    pub(super) fn is_set(&self, key: &str) -> bool {
        self.value.get(key) == Some(&Value::Bool(true))
    }

    fn below(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The items of an array.
    pub(super) fn items(&self) -> Result<Vec<Self>, HttpError> {
        let items = self.value.as_array().ok_or_else(|| self.wrong_type("an array"))?;
        let item = |(index, value)| {
            let path = match self.vendor {
                Vendor::Anthropic => format!("{}.{index}", self.path),
                Vendor::OpenAi => format!("{}[{index}]", self.path),
            };
            Self { value, path, vendor: self.vendor }
        };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// The items of an array of at most so many.
    pub(super) fn items_up_to(&self, most: usize) -> Result<Vec<Self>, HttpError> {
        let items = self.items()?;
        if items.len() <= most {
            return Ok(items);
        }
        let count = items.len();
        Err(match self.vendor {
            Vendor::Anthropic => {
                self.refuse(format!("List should have at most {most} items after validation, not {count}"))
            }
            Vendor::OpenAi => self.invalid("array_above_max_length", format!(
                "array too long. Expected an array with maximum length {most}, but got an array with length \
                 {count} instead."
            )),
        })
    }

    /// The items of an array of at least one.
    pub(super) fn items_of_some(&self) -> Result<Vec<Self>, HttpError> {
        let items = self.items()?;
        if !items.is_empty() {
            return Ok(items);
        }
        Err(match self.vendor {
            Vendor::Anthropic => {
                self.refuse("List should have at least 1 item after validation, not 0".to_owned())
            }
            Vendor::OpenAi => self.invalid(
                "empty_array",
                "empty array. Expected an array with minimum length \
                1, but got an empty array instead."
                    .to_owned(),
            ),
        })
    }

    /// An object with no members but those.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), HttpError> {
        match self.members()?.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => Err(self.unknown(key)),
        }
    }

    pub(super) fn unknown(&self, key: &str) -> HttpError {
        let path = self.below(key);
        match self.vendor {
            Vendor::Anthropic => HttpError::invalid(format!("{path}: Extra inputs are not permitted")),
            Vendor::OpenAi => HttpError::invalid(format!("Unknown parameter: '{path}'."))
                .at(path)
                .coded("unknown_parameter"),
        }
    }

    pub(super) fn members(&self) -> Result<&'a Map<String, Value>, HttpError> {
        self.value.as_object().ok_or_else(|| self.wrong_type("an object"))
    }

    /// Returns the error for this place.
    pub(super) fn refuse(&self, message: impl Into<String>) -> HttpError {
        let message = message.into();
        match self.vendor {
            Vendor::Anthropic => HttpError::invalid(format!("{}: {message}", self.path)),
            Vendor::OpenAi => HttpError::invalid(message).at(&self.path),
        }
    }

    /// Returns the error for an invalid value, in OpenAI's form.
    fn invalid(&self, code: &str, what: String) -> HttpError {
        HttpError::invalid(format!("Invalid '{}': {what}", self.path)).at(&self.path).coded(code)
    }

    /// It is not `wanted`, as "a string".
    pub(super) fn wrong_type(&self, wanted: &str) -> HttpError {
        if self.vendor == Vendor::OpenAi {
            let found = match self.value {
                Value::Null => "null",
                Value::Bool(_) => "a boolean",
                Value::Number(number) if number.is_f64() => "a decimal number",
                Value::Number(_) => "an integer",
                Value::String(_) => "a string",
                Value::Array(_) => "an array",
                Value::Object(_) => "an object",
            };
            return HttpError::invalid(format!(
                "Invalid type for '{}': expected {wanted}, but got {found} instead.",
                self.path
            ))
            .at(&self.path)
            .coded("invalid_type");
        }
        let valid = wanted.split_once(' ').map_or(wanted, |(_, noun)| noun);
        match wanted {
            "an object" => self.refuse("Input should be an object"),
            _ => self.refuse(format!("Input should be a valid {valid}")),
        }
    }
}

/// A member that is a text; of anything else an empty one.
pub(super) fn string_of<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
