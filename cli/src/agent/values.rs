//! The values of settings.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use superstep_assistant::permission::PermissionMode;
use superstep_names::ModelName;

/// An amount of US dollars.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64")]
pub(crate) struct Usd(f64);

/// A duration in seconds. In text it may end with `s`, `m` or `h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Time(pub(crate) u64);

/// The keys that edit the input on a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EditMode {
    #[default]
    Emacs,
    Vi,
}

/// The rights and the place of commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Commands {
    pub(crate) sandbox: Sandbox,
    /// `true` if commands reach the network.
    pub(crate) network: bool,
    /// Files and folders outside of the workspace that commands may read.
    pub(crate) readable: Vec<PathBuf>,
    /// Files and folders outside of the workspace that commands may write.
    pub(crate) writable: Vec<PathBuf>,
    /// Variables of their environment. The model can read them.
    #[serde(skip_serializing)]
    pub(crate) variables: BTreeMap<String, String>,
    /// The machine that they run on, over ssh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ssh: Option<String>,
    /// The folder on that machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ssh_folder: Option<String>,
}

/// The sandbox of commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sandbox {
    /// Commands are refused where there is none.
    #[default]
    Required,
    /// Commands run without one where there is none.
    WhereThereIsOne,
    None,
}

/// A value of a variable of the environment or of an argument.
pub(crate) trait FromText: Sized {
    fn from_text(text: &str) -> Result<Self, String>;
}

impl FromText for String {
    fn from_text(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }
}

impl FromText for ModelName {
    fn from_text(text: &str) -> Result<Self, String> {
        text.parse().map_err(|error: superstep_names::UnknownModel| error.to_string())
    }
}

impl FromText for PermissionMode {
    fn from_text(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|mode| mode.as_str() == text.replace('-', "_"));
        found.ok_or_else(|| {
            format!("unknown mode `{text}`; the modes are {}", Self::ALL.map(Self::as_str).join(", "))
        })
    }
}

impl FromText for u64 {
    fn from_text(text: &str) -> Result<Self, String> {
        crate::arguments::count(text).map_err(str::to_owned)
    }
}

impl FromText for NonZeroU32 {
    fn from_text(text: &str) -> Result<Self, String> {
        let number = crate::arguments::count(text).map_err(str::to_owned)?;
        Self::new(number).ok_or_else(|| "the number must be at least 1".to_owned())
    }
}

impl FromText for Usd {
    fn from_text(text: &str) -> Result<Self, String> {
        let usd =
            f64::from_str(text).map_err(|_| format!("`{text}` is not an amount of dollars, such as 2.50"))?;
        Self::try_from(usd)
    }
}

impl FromText for Time {
    fn from_text(text: &str) -> Result<Self, String> {
        let (digits, factor) = match text.char_indices().next_back() {
            Some((end, 's')) => (&text[..end], 1),
            Some((end, 'm')) => (&text[..end], 60),
            Some((end, 'h')) => (&text[..end], 3_600),
            _ => (text, 1),
        };
        let number: u64 = crate::arguments::count(digits)
            .map_err(|_| format!("`{text}` is not a duration, such as 90, 30m or 2h"))?;
        number.checked_mul(factor).map(Self).ok_or_else(|| "the duration is too long".to_owned())
    }
}

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::from_text(&text)
    }
}

impl TryFrom<f64> for Usd {
    type Error = String;

    fn try_from(usd: f64) -> Result<Self, String> {
        match usd.is_finite() && (0.0..1e12).contains(&usd) {
            true => Ok(Self(usd)),
            false => Err(format!("`{usd}` is not an amount of dollars, such as 2.50")),
        }
    }
}

impl Usd {
    /// Returns the amount in millionths.
    pub(crate) fn micro(self) -> u64 {
        // It is neither negative nor above 10^18.
        (self.0 * 1e6).round() as u64
    }
}
