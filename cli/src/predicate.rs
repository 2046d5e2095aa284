//! Predicates on values, as written on the command line.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use regex::Regex;
use serde_json::{Number, Value};

/// `exists`, `missing`, `= JSON`, `!= JSON`, `< N`, `<= N`, `> N`, `>= N`, `~ REGEX`, `!~ REGEX`.
#[derive(Clone, Debug)]
pub(super) enum Predicate {
    Exists,
    Missing,
    Equals(Value),
    Differs(Value),
    Compares(Comparison, Limit),
    Matches(Regex),
    Lacks(Regex),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Less,
    AtMost,
    More,
    AtLeast,
}

/// The right side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Limit {
    /// The value of a number, the number of items of a list, or of entries of a map.
    Number(Number),
    /// A text, compared character by character; of two times in RFC 3339, the earlier one is less.
    Text(String),
}

/// The error for a comparison that does not fit the type of the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unfit {
    /// The type, with its article.
    pub(super) found: &'static str,
    /// The comparisons that fit it.
    pub(super) advice: &'static str,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "is {}; {}", self.found, self.advice)
    }
}

impl Predicate {
    /// Returns `true` if the predicate holds of a value. For a missing value only `missing` and `!=` hold; comparisons
    /// never hold for null.
    ///
    /// Fails if a comparison does not fit the type of the value.
    pub(super) fn holds(&self, value: Option<&Value>) -> Result<bool, Unfit> {
        Ok(match (self, value) {
            (Self::Exists, value) => value.is_some(),
            (Self::Missing, value) => value.is_none(),
            (Self::Equals(other), value) => value == Some(other),
            (Self::Differs(other), value) => value != Some(other),
            (Self::Compares(..), None | Some(Value::Null)) => false,
            (Self::Compares(comparison, limit), Some(value)) => comparison.accepts(limit.against(value)?),
            (Self::Matches(pattern), value) => value.is_some_and(|value| matches(pattern, value)),
            (Self::Lacks(pattern), value) => value.is_some_and(|value| !matches(pattern, value)),
        })
    }

    /// Returns the reason why `=` and `!=` are meaningless for a value: it has another type, so it can never be equal.
    pub(super) fn never_equal(&self, value: &Value) -> Option<Unfit> {
        let (Self::Equals(other) | Self::Differs(other)) = self else { return None };
        let found = kind(value);
        let is_fit = value.is_null() || other.is_null() || found == kind(other);
        (!is_fit).then_some(Unfit { found, advice: "= and != compare it with JSON of that type" })
    }
}

impl Limit {
    /// Compares a value, or its number of items, with this limit.
    fn against(&self, value: &Value) -> Result<Option<Ordering>, Unfit> {
        let unfit = |advice| Err(Unfit { found: kind(value), advice });
        match (self, value) {
            (Self::Number(limit), Value::Number(value)) => Ok(ordered(value, limit)),
            (Self::Number(limit), Value::Array(items)) => Ok(ordered(&items.len().into(), limit)),
            (Self::Number(limit), Value::Object(entries)) => Ok(ordered(&entries.len().into(), limit)),
            (Self::Text(limit), Value::String(value)) => Ok(Some(value.cmp(limit))),
            (Self::Number(_), Value::String(_)) => {
                unfit("it can be compared with a text in quotes, as in '< \"m\"', or with = and ~")
            }
            (Self::Text(_), Value::Number(_)) => unfit("it can be compared with a number"),
            (Self::Text(_), Value::Array(_) | Value::Object(_)) => {
                unfit("the number of its items can be compared with a number")
            }
            (_, Value::Bool(_) | Value::Null) => unfit("it can be compared with = and !="),
        }
    }
}

impl Comparison {
    fn accepts(self, ordering: Option<Ordering>) -> bool {
        ordering.is_some_and(|ordering| match self {
            Self::Less => ordering.is_lt(),
            Self::AtMost => ordering.is_le(),
            Self::More => ordering.is_gt(),
            Self::AtLeast => ordering.is_ge(),
        })
    }
}

/// Compares two numbers; integers exactly, however large.
fn ordered(a: &Number, b: &Number) -> Option<Ordering> {
    let whole = |number: &Number| number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

/// Returns the type of a value, with its article.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

fn matches(pattern: &Regex, value: &Value) -> bool {
    match value {
        Value::String(text) => pattern.is_match(text),
        other => pattern.is_match(&other.to_string()),
    }
}

impl FromStr for Predicate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let operators = ["!=", "!~", "<=", ">=", "=", "<", ">", "~"];
        let Some(operator) = operators.into_iter().find(|operator| text.starts_with(operator)) else {
            return match text {
                "exists" => Ok(Self::Exists),
                "missing" => Ok(Self::Missing),
                _ => Err(format!(
                    "{text:?} is none of: exists, missing, = JSON, != JSON, < N, <= N, > N, >= N, ~ REGEX, !~ REGEX"
                )),
            };
        };
        let operand = text[operator.len()..].trim();
        let json =
            || serde_json::from_str(operand).map_err(|error| format!("{operand:?} is not JSON: {error}"));
        let compares = |how| match serde_json::from_str(operand) {
            Ok(Value::Number(number)) => Ok(Self::Compares(how, Limit::Number(number))),
            Ok(Value::String(text)) => Ok(Self::Compares(how, Limit::Text(text))),
            _ => Err(format!("{operand:?} is neither a number nor a text in double quotes")),
        };
        match operator {
            "=" => Ok(Self::Equals(json()?)),
            "!=" => Ok(Self::Differs(json()?)),
            "<" => compares(Comparison::Less),
            "<=" => compares(Comparison::AtMost),
            ">" => compares(Comparison::More),
            ">=" => compares(Comparison::AtLeast),
            pattern => {
                let regex = Regex::new(operand).map_err(|error| error.to_string())?;
                Ok(if pattern == "~" { Self::Matches(regex) } else { Self::Lacks(regex) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn looked(predicate: &str, value: Option<Value>) -> Result<bool, Unfit> {
        predicate.parse::<Predicate>().expect("a predicate").holds(value.as_ref())
    }

    #[test]
    fn predicates_hold_of_what_they_say() {
        let holds = |predicate: &str, value| looked(predicate, value).expect("it fits");
        assert!(holds("exists", Some(json!(null))) && !holds("exists", None));
        assert!(holds("missing", None) && !holds("missing", Some(json!(0))));
        assert!(holds(r#"= {"a": 1}"#, Some(json!({"a": 1}))) && !holds("= 1", None));
        assert!(holds("!= 1", Some(json!(2))) && holds("!=1", None) && !holds("!= 1", Some(json!(1))));
        assert!(
            holds("> 3", Some(json!(3.5))) && !holds("> 3", Some(json!(3))) && holds(">=3", Some(json!(3)))
        );
        assert!(holds("> 9007199254740992", Some(json!(9_007_199_254_740_993_u64))), "exact");
        assert!(holds("~ ^par.s$", Some(json!("paris"))) && holds("~ 2,3", Some(json!([1, 2, 3]))));
        assert!(!holds("~ .", None) && !holds("!~ .", None));
        assert!(holds("!~ ^par.s$", Some(json!("porto"))) && !holds("!~ 2,3", Some(json!([1, 2, 3]))));
    }

    /// A comparison that did not fit the type of the value held nowhere, as if it had been looked at.
    #[test]
    fn a_comparison_is_one_of_numbers_lengths_or_texts_and_no_other() {
        let holds = |predicate: &str, value| looked(predicate, Some(value)).expect("it fits");
        assert!(holds("< 3", json!([1, 2])) && holds(">= 2", json!({"a": 1, "b": 2})));
        assert!(!holds(">= 3", json!({"a": 40, "b": 50})), "a map is compared by the number of its entries");
        assert!(holds("< \"2026-02\"", json!("2026-01-31")) && !holds("< \"a\"", json!("b")));
        assert!(!holds("< 3", json!(null)), "an option that is not there yet");
        assert_eq!(looked("< 3", None), Ok(false));
        let unfit = |predicate, value| looked(predicate, Some(value)).expect_err("it does not fit").found;
        assert_eq!(unfit("<= 3", json!("2")), "a text");
        assert_eq!(unfit("> 0", json!(true)), "true or false");
        assert_eq!(unfit("> \"a\"", json!(1)), "a number");
        assert_eq!(unfit("> \"a\"", json!({})), "a map");
    }

    #[test]
    fn equality_with_another_type_is_no_answer() {
        let never = |predicate: &str, value: Value| {
            predicate.parse::<Predicate>().expect("a predicate").never_equal(&value).map(|unfit| unfit.found)
        };
        assert_eq!(never("= 3", json!("3")), Some("a text"));
        assert_eq!(never("!= \"3\"", json!(3)), Some("a number"));
        assert_eq!(never("= 3", json!(4)), None);
        assert_eq!(never("= 3", json!(null)), None, "an option that is not there yet");
        assert_eq!(never("= null", json!(4)), None);
        assert_eq!(never("~ 3", json!(4)), None);
    }

    #[test]
    fn what_is_no_predicate_is_said() {
        let error = |text: &str| text.parse::<Predicate>().expect_err("it is none");
        assert!(error("is 3").starts_with("\"is 3\" is none of: exists"));
        assert!(error("= x").starts_with("\"x\" is not JSON"));
        assert_eq!(error("> x"), "\"x\" is neither a number nor a text in double quotes");
        assert!(error("~ (").contains("unclosed group"));
    }
}
