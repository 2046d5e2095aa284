//! Rules that a response has to keep, and that are checked without a model.

mod breach;
mod citation;
#[cfg(feature = "command-rule")]
mod command;
#[cfg(feature = "schema-validation")]
mod invalid;
mod predicate;
#[cfg(feature = "schema-validation")]
mod regex;
mod rule_trait;
#[cfg(feature = "schema-validation")]
mod schema;

pub use breach::{Breach, RuleError};
pub use citation::CitationRule;
#[cfg(feature = "command-rule")]
pub use command::CommandRule;
#[cfg(feature = "schema-validation")]
pub use invalid::InvalidRule;
pub use predicate::PredicateRule;
#[cfg(feature = "schema-validation")]
pub use regex::RegexRule;
pub use rule_trait::Rule;
#[cfg(feature = "schema-validation")]
pub use schema::SchemaRule;

#[cfg(test)]
mod tests;
