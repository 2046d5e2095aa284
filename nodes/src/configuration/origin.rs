//! The source of a setting's value.

use std::fmt;
use std::path::PathBuf;

/// The source of a setting's value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The setting has its default value.
    #[default]
    Default,
    /// A file.
    File(PathBuf),
    /// The environment.
    Environment,
    /// The program.
    Code,
    /// A name that a program gives, such as `the profile canary`.
    Named(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("the defaults"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment => f.write_str("the environment"),
            Self::Code => f.write_str("the program"),
            Self::Named(name) => f.write_str(name),
        }
    }
}
