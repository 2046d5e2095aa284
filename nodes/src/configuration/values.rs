//! Settings of a type, with the source of each value.

use std::collections::BTreeMap;
#[cfg(feature = "configuration-files")]
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
#[cfg(feature = "configuration-files")]
use std::path::Path;
use std::path::PathBuf;
use std::str::FromStr;

#[cfg(feature = "configuration-files")]
use super::dotenv;

/// Settings that are read source by source: later sources override earlier ones. The usual order is a file, `.env`, the
/// environment, so that the environment has the last word; see the [module](super).
///
/// Its `Display` is a line for each setting: the name, the value, and its source. There are no secrets among settings:
/// keys of models are variables of their own.
#[derive(Clone, Debug)]
pub struct Configuration<S> {
    settings: S,
    origins: BTreeMap<&'static str, Origin>,
}

impl<S: Configurable> Default for Configuration<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Configurable> Configuration<S> {
    /// Takes the defaults.
    pub fn new() -> Self {
        Self { settings: S::default(), origins: BTreeMap::new() }
    }

    /// Takes these settings instead of the defaults, as set in a program. A value that equals its default counts as a
    /// default.
    pub fn of(settings: S) -> Self {
        Self::of_origin(settings, &Origin::Code)
    }

    /// Takes these settings instead of the defaults, as [`of`](Self::of) does, and records this origin for them:
    /// `Origin::Named("the profile canary".to_owned())`.
    pub fn of_origin(settings: S, origin: &Origin) -> Self {
        let default = S::default();
        let is_said = |key: &&Key<S>| (key.show)(&settings) != (key.show)(&default);
        let origins = S::KEYS.iter().filter(is_said).map(|key| (key.name, origin.clone())).collect();
        Self { settings, origins }
    }

    /// Reads the environment. A blank variable is ignored.
    ///
    /// # Errors
    /// If a variable has a value that its setting may not have.
    pub fn environment(self) -> Result<Self, ConfigurationError> {
        self.variables(|name| std::env::var_os(name))
    }

    /// Takes what variables say that are looked up like this, as if they were the environment.
    ///
    /// # Errors
    /// If a variable has a value that its setting may not have.
    pub fn variables(
        mut self,
        look_up: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, ConfigurationError> {
        for key in S::KEYS {
            if let Some(value) = look_up(key.name) {
                self.take(key, &value.to_string_lossy(), &Origin::Environment)?;
            }
        }
        Ok(self)
    }

    /// Sets the setting of this name in the program, from a text.
    ///
    /// # Errors
    /// When there is no such setting, or the value is not allowed.
    pub fn set(mut self, name: &str, value: &str) -> Result<Self, ConfigurationError> {
        let key = known::<S>(name, &Origin::Code)?;
        self.take(key, value, &Origin::Code)?;
        Ok(self)
    }

    /// Reads a file in TOML, with the names of the settings in small letters: `compaction_threshold = 6000`.
    ///
    /// # Errors
    /// When it cannot be read, or contains a setting that does not exist or a value that is not allowed.
    #[cfg(feature = "configuration-files")]
    pub fn file(mut self, path: impl AsRef<Path>) -> Result<Self, ConfigurationError> {
        let path = path.as_ref();
        let failed = |reason: String| ConfigurationError::File { path: path.to_owned(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        let table: toml::Table =
            text.parse().map_err(|error: toml::de::Error| failed(error.message().to_owned()))?;
        let origin = Origin::File(path.to_owned());
        let mut said = BTreeSet::new();
        for (name, value) in table {
            let key = known::<S>(&name, &origin)?;
            if !said.insert(key.name) {
                return Err(failed(format!("it sets `{}` twice", key.name.to_ascii_lowercase())));
            }
            let text = match value {
                toml::Value::String(text) => text,
                toml::Value::Integer(number) => number.to_string(),
                toml::Value::Float(number) => number.to_string(),
                toml::Value::Boolean(value) => value.to_string(),
                other => return Err(refused(key, other.type_str(), &origin)),
            };
            if text.trim().is_empty() {
                return Err(refused(key, &text, &origin));
            }
            self.take(key, &text, &origin)?;
        }
        Ok(self)
    }

    /// Reads a file of variables, such as `.env`: lines like `COMPACTION_THRESHOLD=6000`. Other variables in it are
    /// ignored. A file that does not exist sets nothing.
    ///
    /// # Errors
    /// When it exists and cannot be read, or sets a setting to a value that is not allowed. A line that is not a
    /// setting is reported by its number and not quoted, as such files hold keys.
    #[cfg(feature = "configuration-files")]
    pub fn dotenv(mut self, path: impl AsRef<Path>) -> Result<Self, ConfigurationError> {
        let path = path.as_ref();
        if !path.exists() {
            return Ok(self);
        }
        let failed = |reason: String| ConfigurationError::File { path: path.to_owned(), reason };
        let file = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
        let origin = Origin::File(path.to_owned());
        for (name, value) in dotenv::variables(&file).map_err(failed)? {
            if let Some(key) = S::KEYS.iter().find(|key| key.name == name) {
                self.take(key, &value, &origin)?;
            }
        }
        Ok(self)
    }

    /// Returns the settings.
    ///
    /// # Errors
    /// When a value is not allowed, or two of them do not fit together.
    pub fn settings(&self) -> Result<&S, ConfigurationError> {
        let mut read = S::default();
        for key in S::KEYS {
            let shown = (key.show)(&self.settings);
            if (key.read)(&mut read, &shown).is_none() {
                return Err(refused(key, &shown, self.origin(key.name)));
            }
        }
        self.settings.check().map(|()| &self.settings).map_err(|(name, allowed)| {
            let key = S::KEYS.iter().find(|key| key.name == name);
            ConfigurationError::Value {
                key: name.to_owned(),
                value: key.map_or_else(String::new, |key| (key.show)(&self.settings)),
                origin: self.origin(name).clone(),
                allowed,
            }
        })
    }

    /// Returns where the setting of this name came from.
    pub fn origin(&self, name: &str) -> &Origin {
        self.origins.get(name).unwrap_or(&Origin::Default)
    }

    /// Returns the settings: the name of each, its value, and its source.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, String, &Origin)> {
        S::KEYS.iter().map(|key| (key.name, (key.show)(&self.settings), self.origin(key.name)))
    }

    fn take(&mut self, key: &'static Key<S>, value: &str, origin: &Origin) -> Result<(), ConfigurationError> {
        let value = value.trim();
        if value.is_empty() {
            return Ok(());
        }
        (key.read)(&mut self.settings, value).ok_or_else(|| refused(key, value, origin))?;
        self.origins.insert(key.name, origin.clone());
        Ok(())
    }
}

fn refused<S>(key: &Key<S>, value: &str, origin: &Origin) -> ConfigurationError {
    ConfigurationError::Value {
        key: key.name.to_owned(),
        value: value.to_owned(),
        origin: origin.clone(),
        allowed: key.allowed.to_owned(),
    }
}

/// The setting of a name, in letters of any size.
fn known<S: Configurable>(name: &str, origin: &Origin) -> Result<&'static Key<S>, ConfigurationError> {
    S::KEYS.iter().find(|key| key.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let names: Vec<_> = S::KEYS.iter().map(|key| key.name.to_ascii_lowercase()).collect();
        ConfigurationError::Unknown { key: name.to_owned(), origin: origin.clone(), known: names.join(", ") }
    })
}

impl<S: Configurable> fmt::Display for Configuration<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<_> = self.values().collect();
        let names = shown.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
        let values = shown.iter().map(|(_, value, _)| value.chars().count()).max().unwrap_or(0);
        for (name, value, origin) in shown {
            writeln!(f, "{name:names$}  {value:values$}  {origin}")?;
        }
        Ok(())
    }
}

/// A type of settings, whose defaults are those of the type.
pub trait Configurable: Default + 'static {
    /// The settings, in the order in which they are shown.
    const KEYS: &'static [Key<Self>];

    /// Checks the settings against each other.
    ///
    /// # Errors
    /// When two values do not fit together: the name of the key that is to be changed, and a description of its allowed
    /// values.
    fn check(&self) -> Result<(), (&'static str, String)> {
        Ok(())
    }
}

/// One thing that can be set.
pub struct Key<S> {
    /// The name: that of a variable, and in small letters that in a file.
    pub name: &'static str,
    /// A description of the allowed values.
    pub allowed: &'static str,
    /// Reads it; nothing if it may not be that.
    pub read: fn(&mut S, &str) -> Option<()>,
    /// Shows it, in a form that can be read.
    pub show: fn(&S) -> String,
}

impl<S> fmt::Debug for Key<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("name", &self.name)
            .field("allowed", &self.allowed)
            .finish_non_exhaustive()
    }
}

/// Reads a value into its place, if it has the form and is one of those that may be.
pub(crate) fn read_into<T: FromStr>(place: &mut T, text: &str, may_be: impl Fn(&T) -> bool) -> Option<()> {
    *place = text.parse().ok().filter(may_be)?;
    Some(())
}

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

/// An error in settings. No setting has been applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigurationError {
    /// A value is not one that the setting may have; for a default, because of the other settings.
    #[error("{key} is `{value}` {}; say {allowed}", standing(origin))]
    Value {
        /// The setting.
        key: String,
        /// The refused value.
        value: String,
        /// The source of the value.
        origin: Origin,
        /// A description of the allowed values.
        allowed: String,
    },
    /// A file sets something that cannot be set.
    #[error("`{key}` in {origin} is not a setting; the settings are {known}")]
    Unknown {
        /// The name in the file.
        key: String,
        /// The file.
        origin: Origin,
        /// The names of the settings.
        known: String,
    },
    /// A file cannot be read.
    #[error("the settings in {} cannot be read: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
}

/// Describes where a refused value is set. A default is set nowhere: the text says that the setting has to be set, too,
/// as another setting made the default invalid.
fn standing(origin: &Origin) -> String {
    match origin {
        Origin::Default => "by default, and has to be set, too".to_owned(),
        origin => format!("in {origin}"),
    }
}
