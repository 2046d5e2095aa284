//! What must hold of a value, as it is written on the command line.

use std::str::FromStr;

use regex::Regex;
use serde_json::Value;

/// `exists`, `missing`, `= JSON`, `!= JSON`, `< N`, `<= N`, `> N`, `>= N`, `~ REGEX`, `!~ REGEX`.
#[derive(Clone, Debug)]
pub(super) enum Predicate {
    Exists,
    Missing,
    Equals(Value),
    Differs(Value),
    Compares(Comparison, f64),
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

impl Predicate {
    /// Whether it holds of what is there. Of what is not there only `missing` and `!=` hold.
    pub(super) fn holds(&self, value: Option<&Value>) -> bool {
        match self {
            Self::Exists => value.is_some(),
            Self::Missing => value.is_none(),
            Self::Equals(other) => value == Some(other),
            Self::Differs(other) => value != Some(other),
            Self::Compares(how, limit) => {
                let held = value.and_then(|value| match value {
                    Value::Array(items) => Some(items.len() as f64),
                    other => other.as_f64(),
                });
                held.is_some_and(|held| match how {
                    Comparison::Less => held < *limit,
                    Comparison::AtMost => held <= *limit,
                    Comparison::More => held > *limit,
                    Comparison::AtLeast => held >= *limit,
                })
            }
            Self::Matches(pattern) => value.is_some_and(|value| matches(pattern, value)),
            Self::Lacks(pattern) => value.is_some_and(|value| !matches(pattern, value)),
        }
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
            || serde_json::from_str(operand).map_err(|error| format!("{operand:?} is no JSON: {error}"));
        let compares = |how| {
            let number = operand.parse().map_err(|_| format!("{operand:?} is no number"))?;
            Ok(Self::Compares(how, number))
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

    #[test]
    fn predicates_hold_of_what_they_say() {
        let holds = |predicate: &str, value: Option<Value>| {
            predicate.parse::<Predicate>().expect("a predicate").holds(value.as_ref())
        };
        assert!(holds("exists", Some(json!(null))) && !holds("exists", None));
        assert!(holds("missing", None) && !holds("missing", Some(json!(0))));
        assert!(holds(r#"= {"a": 1}"#, Some(json!({"a": 1}))) && !holds("= 1", None));
        assert!(holds("!= 1", Some(json!(2))) && holds("!=1", None) && !holds("!= 1", Some(json!(1))));
        assert!(
            holds("> 3", Some(json!(3.5))) && !holds("> 3", Some(json!(3))) && holds(">=3", Some(json!(3)))
        );
        assert!(holds("< 3", Some(json!([1, 2]))) && !holds("<= 3", Some(json!("2"))));
        assert!(holds("~ ^par.s$", Some(json!("paris"))) && holds("~ 2,3", Some(json!([1, 2, 3]))));
        assert!(!holds("~ .", None) && !holds("!~ .", None));
        assert!(holds("!~ ^par.s$", Some(json!("porto"))) && !holds("!~ 2,3", Some(json!([1, 2, 3]))));
    }

    #[test]
    fn what_is_no_predicate_is_said() {
        let error = |text: &str| text.parse::<Predicate>().expect_err("it is none");
        assert!(error("is 3").starts_with("\"is 3\" is none of: exists"));
        assert!(error("= x").starts_with("\"x\" is no JSON"));
        assert_eq!(error("> x"), "\"x\" is no number");
        assert!(error("~ (").contains("unclosed group"));
    }
}
