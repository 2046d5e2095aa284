//! The checks of values.

use super::RequestValue;
use crate::HttpError;
use crate::endpoint::Vendor;

impl<'a> RequestValue<'a> {
    pub(crate) fn text(&self) -> Result<&'a str, HttpError> {
        self.value.as_str().ok_or_else(|| self.wrong_type("a string"))
    }

    /// A text of at least one letter and at most so many.
    pub(crate) fn text_up_to(&self, most: usize) -> Result<&'a str, HttpError> {
        let text = self.text()?;
        let length = text.chars().count();
        if (1..=most).contains(&length) {
            return Ok(text);
        }
        Err(match (self.vendor, length) {
            (Vendor::Anthropic, 0) => self.refuse("String should have at least 1 character".to_owned()),
            (Vendor::Anthropic, _) => self.refuse(format!("String should have at most {most} characters")),
            (Vendor::OpenAi, 0) => self.invalid("empty_string", "empty string. Expected a string with minimum \
                length 1, but got an empty string instead.".to_owned()),
            (Vendor::OpenAi, _) => self.invalid("string_above_max_length", format!(
                "string too long. Expected a string with maximum length {most}, but got a string with length \
                 {length} instead."
            )),
        })
    }

    /// A name of a tool or a format: letters, digits, `_` and `-`, at most 64 of them.
    pub(crate) fn name(&self) -> Result<&'a str, HttpError> {
        let name = self.text()?;
        match self.vendor {
            Vendor::Anthropic if !is_name(name) || name.is_empty() || name.len() > 64 => {
                Err(self.refuse("String should match pattern '^[a-zA-Z0-9_-]{1,64}$'".to_owned()))
            }
            Vendor::Anthropic => Ok(name),
            Vendor::OpenAi => {
                let name = self.text_up_to(64)?;
                if is_name(name) {
                    return Ok(name);
                }
                Err(self.invalid(
                    "invalid_value",
                    "string does not match pattern. Expected a string that \
                    matches the pattern '^[a-zA-Z0-9_-]+$'."
                        .to_owned(),
                ))
            }
        }
    }

    pub(crate) fn flag(&self) -> Result<bool, HttpError> {
        self.value.as_bool().ok_or_else(|| self.wrong_type("a boolean"))
    }

    /// A whole number that is not below a least one.
    pub(crate) fn whole(&self, least: u64) -> Result<u64, HttpError> {
        let is_whole = self.value.is_u64() || self.value.is_i64();
        let number = self.value.as_u64().unwrap_or(0);
        if !is_whole {
            return Err(self.wrong_type("an integer"));
        }
        if self.value.is_u64() && number >= least {
            return Ok(number);
        }
        Err(match self.vendor {
            Vendor::Anthropic => self.refuse(format!("Input should be greater than or equal to {least}")),
            Vendor::OpenAi => self.invalid(
                "integer_below_min_value",
                format!(
                    "integer below minimum value. Expected a value >= {least}, but got {} instead.",
                    self.value
                ),
            ),
        })
    }

    /// A number between two, which are included.
    pub(crate) fn number(&self, least: f64, most: f64) -> Result<f64, HttpError> {
        let number = self.value.as_f64().ok_or_else(|| self.wrong_type("a number"))?;
        let value = self.value;
        match self.vendor {
            Vendor::Anthropic if number < least => {
                Err(self.refuse(format!("Input should be greater than or equal to {least}")))
            }
            Vendor::Anthropic if number > most => {
                Err(self.refuse(format!("Input should be less than or equal to {most}")))
            }
            Vendor::OpenAi if number < least => Err(self.invalid(
                "decimal_below_min_value",
                format!("decimal below minimum value. Expected a value >= {least}, but got {value} instead."),
            )),
            Vendor::OpenAi if number > most => Err(self.invalid(
                "decimal_above_max_value",
                format!("decimal above maximum value. Expected a value <= {most}, but got {value} instead."),
            )),
            _ => Ok(number),
        }
    }

    /// A text that is one of those.
    pub(crate) fn one_of(&self, known: &[&str]) -> Result<&'a str, HttpError> {
        let text = self.text()?;
        if known.contains(&text) {
            return Ok(text);
        }
        Err(match self.vendor {
            Vendor::Anthropic => self.refuse(format!("Input should be {}", listed(known, " or "))),
            Vendor::OpenAi => self.not_among(text, known),
        })
    }

    /// The tag that says which variant of a union an object is: its member `type`.
    pub(crate) fn tag(&self, known: &[&str]) -> Result<&'a str, HttpError> {
        self.members()?;
        let tag = self.need("type")?;
        let text = tag.text()?;
        if known.contains(&text) {
            return Ok(text);
        }
        Err(match self.vendor {
            Vendor::Anthropic => self.refuse(format!(
                "Input tag '{text}' found using 'type' does not match any of the expected tags: {}",
                listed(known, ", ")
            )),
            Vendor::OpenAi => tag.not_among(text, known),
        })
    }

    fn not_among(&self, text: &str, known: &[&str]) -> HttpError {
        let known = listed(known, if known.len() > 2 { ", and " } else { " and " });
        HttpError::invalid(format!("Invalid value: '{text}'. Supported values are: {known}."))
            .at(&self.path)
            .coded("invalid_value")
    }
}

/// Returns `true` if a text has only letters, digits, `_` and `-`.
pub(crate) fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// `'a', 'b' or 'c'`.
fn listed(names: &[&str], last: &str) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    match quoted.split_last() {
        Some((end, [_, ..])) => format!("{}{last}{end}", quoted[..quoted.len() - 1].join(", ")),
        _ => quoted.concat(),
    }
}
