//! Where the value of a setting came from.

use std::fmt;
use std::path::PathBuf;

/// Where the value of a setting came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Nobody has said anything.
    #[default]
    Default,
    /// A file.
    File(PathBuf),
    /// The environment.
    Environment,
    /// The program.
    Code,
    /// What a program calls so, such as `the profile canary`.
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
