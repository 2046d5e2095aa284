//! Settings from code, files and the environment, each with its source.
//!
//! ```text
//! defaults ──▶ agentic.toml ──▶ .env ──▶ environment ──▶ Configuration ──▶ settings
//!                  each value replaces the one before      └──Display──▶ what is set, and where
//! ```
//!
//! A type of settings lists its [`Key`]s once: the name, the allowed values, and functions that read and show it.
//! Everything else follows from the list: a [`Configuration`] reads the keys from each source, and an error names the
//! key, the value, its source and the allowed values.
//!
//! ```
//! use superstep_nodes::configuration::Configuration;
//! use superstep_nodes::graphs::AgenticSettings;
//!
//! let variables = [("COMPACTION_THRESHOLD", "6000"), ("VERIFICATION_MODE", "lenient")];
//! let look_up = |name: &str| variables.iter().find(|(held, _)| *held == name).map(|(_, value)| value.into());
//! let configuration = Configuration::<AgenticSettings>::new().variables(look_up)?;
//! assert_eq!(configuration.settings()?.compaction_threshold, 6_000);
//! assert!(configuration.to_string().contains("COMPACTION_THRESHOLD            6000     the environment"));
//!
//! let bad = |_: &str| Some("many".into());
//! let error = Configuration::<AgenticSettings>::new().variables(bad).unwrap_err();
//! assert_eq!(error.to_string(), "ENABLE_CONTEXT_COMPACTION is `many` in the environment; say true or false");
//! # Ok::<(), superstep_nodes::configuration::ConfigurationError>(())
//! ```

#[cfg(feature = "configuration-files")]
mod dotenv;

#[cfg(test)]
mod tests;
mod values;

pub use values::Configuration;
pub use values::ConfigurationError;
pub use values::Origin;
pub(crate) use values::read_into;
pub use values::{Configurable, Key};
