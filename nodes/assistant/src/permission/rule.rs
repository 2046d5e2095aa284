//! Permission rules, and the places that they come from.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_nodes::tool::Pattern;

/// A permission rule, `tool` or `tool(pattern)`: about all calls of a tool, or about those that match a pattern. The
/// tool defines what its patterns mean.
///
/// ```
/// use superstep_assistant::permission::Rule;
///
/// let rule: Rule = "bash(cargo test*)".parse()?;
/// assert_eq!((rule.tool(), rule.pattern()), ("bash", Some("cargo test*")));
/// assert_eq!("read_file".parse::<Rule>()?.pattern(), None);
/// # Ok::<(), superstep_assistant::permission::RuleError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Rule {
    tool: String,
    pattern: Option<Pattern>,
}

/// An error in the text of a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// The name of the tool is missing or has other characters than names of tools have. Write `tool` or
    /// `tool(pattern)`.
    #[error("the rule `{rule}` does not begin with the name of a tool; write `tool` or `tool(pattern)`")]
    Tool {
        /// The text.
        rule: String,
    },
    /// The pattern is empty, or its last bracket is missing. Write `tool(pattern)`, and `tool` for all calls.
    #[error(
        "the rule `{rule}` has no pattern in its brackets; write `tool(pattern)`, or `tool` for all calls"
    )]
    Pattern {
        /// The text.
        rule: String,
    },
}

impl Rule {
    /// Makes a rule about all calls of a tool.
    ///
    /// # Errors
    ///
    /// Fails if the name has other characters than names of tools have.
    pub fn of_tool(tool: impl Into<String>) -> Result<Self, RuleError> {
        let tool = tool.into();
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        match !tool.is_empty() && tool.bytes().all(letter) {
            true => Ok(Self { tool, pattern: None }),
            false => Err(RuleError::Tool { rule: tool }),
        }
    }

    /// Makes a rule about the calls of a tool that match a pattern.
    ///
    /// # Errors
    ///
    /// Fails if the name has other characters than names of tools have, or the pattern is empty.
    pub fn of_pattern(tool: impl Into<String>, pattern: impl Into<String>) -> Result<Self, RuleError> {
        let (rule, pattern) = (Self::of_tool(tool)?, pattern.into());
        match pattern.trim().is_empty() {
            true => Err(RuleError::Pattern { rule: format!("{}({pattern})", rule.tool) }),
            false => Ok(Self { pattern: Some(Pattern::new(pattern)), ..rule }),
        }
    }

    /// Returns the name of the tool.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the pattern; `None` for a rule about all calls of the tool.
    pub fn pattern(&self) -> Option<&str> {
        self.pattern.as_ref().map(Pattern::as_str)
    }

    /// Returns the pattern for comparisons with calls.
    pub(crate) fn parsed_pattern(&self) -> Option<&Pattern> {
        self.pattern.as_ref()
    }
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(rule: &str) -> Result<Self, RuleError> {
        let rule = rule.trim();
        let named = || RuleError::Tool { rule: rule.to_owned() };
        match rule.split_once('(') {
            None => Self::of_tool(rule).map_err(|_| named()),
            Some((tool, rest)) => {
                let no_pattern = || RuleError::Pattern { rule: rule.to_owned() };
                let pattern = rest.strip_suffix(')').ok_or_else(no_pattern)?;
                Self::of_pattern(tool, pattern).map_err(|error| match error {
                    RuleError::Tool { .. } => named(),
                    RuleError::Pattern { .. } => no_pattern(),
                })
            }
        }
    }
}

impl TryFrom<String> for Rule {
    type Error = RuleError;

    fn try_from(rule: String) -> Result<Self, RuleError> {
        rule.parse()
    }
}

impl From<Rule> for String {
    fn from(rule: Rule) -> Self {
        rule.to_string()
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            None => f.write_str(&self.tool),
            Some(pattern) => write!(f, "{}({})", self.tool, pattern.as_str()),
        }
    }
}

/// The effect of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleKind {
    /// Calls that it covers are not asked about.
    Allow,
    /// Calls that it is about are asked about.
    Ask,
    /// Calls that it is about are denied.
    Deny,
}

/// The source of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleSource {
    /// The program that uses the library.
    Program,
    /// An argument of the command line.
    CommandLine,
    /// The user's settings.
    User,
    /// The settings in the folder of the project.
    Project,
    /// An answer of a person, for this session.
    Session,
}

/// A rule and the place where it is written.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct RulePlace {
    /// The rule.
    pub rule: Rule,
    /// The source of the rule.
    pub source: RuleSource,
    /// The file of the rule, if it is in one.
    pub file: Option<String>,
    /// The line in the file, from 1.
    pub line: Option<u32>,
}

impl RulePlace {
    /// Makes a rule that is in no file.
    pub const fn new(rule: Rule, source: RuleSource) -> Self {
        Self { rule, source, file: None, line: None }
    }

    /// Sets the file and the line.
    #[must_use]
    pub fn at(mut self, file: impl Into<String>, line: u32) -> Self {
        self.file = Some(file.into());
        self.line = Some(line);
        self
    }
}

impl fmt::Display for RulePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.rule)?;
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, " ({file}:{line})"),
            (Some(file), None) => write!(f, " ({file})"),
            (None, _) => Ok(()),
        }
    }
}

/// The trust in the settings of a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Trust {
    /// The project's rules may ask and deny, and not allow.
    #[default]
    Untrusted,
    /// The project's rules may allow, too.
    Trusted,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_a_tool_and_perhaps_a_pattern() {
        for (text, tool, pattern) in [
            ("bash", "bash", None),
            (" bash(rm*) ", "bash", Some("rm*")),
            ("bash(echo (a))", "bash", Some("echo (a)")),
            ("http_request(GET https://a.org/*)", "http_request", Some("GET https://a.org/*")),
        ] {
            let rule: Rule = text.parse().unwrap();
            assert_eq!((rule.tool(), rule.pattern()), (tool, pattern));
            assert_eq!(rule.to_string(), text.trim());
            let json = serde_json::to_value(&rule).unwrap();
            assert_eq!(json, text.trim());
            assert_eq!(serde_json::from_value::<Rule>(json).unwrap(), rule);
        }
        for text in ["", "(rm)", "ba sh", "*", "bash(x)y"] {
            assert!(text.parse::<Rule>().is_err(), "{text}");
        }
        for text in ["bash()", "bash( )", "bash(rm"] {
            assert!(matches!(text.parse::<Rule>(), Err(RuleError::Pattern { .. })), "{text}");
        }
        let error = "ba sh(x)".parse::<Rule>().unwrap_err().to_string();
        assert!(error.starts_with("the rule `ba sh(x)` does not begin with the name of a tool"), "{error}");
    }
}
