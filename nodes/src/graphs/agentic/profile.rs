//! Settings for a rollout, step by step.

use std::fmt;
use std::str::FromStr;

use super::settings::AgenticSettings;
use crate::verification::VerificationMode;

/// Settings for a rollout of compaction and verification, step by step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Both, for those who develop.
    Development,
    /// Both for one user in ten, with a lenient verification; neither for the others.
    Canary,
    /// Both for everybody, with the standard verification.
    Full,
}

/// A name of no [`Profile`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a profile; use development, canary or full")]
pub struct UnknownProfile(pub String);

/// A part of all users, the same ones each time.
///
/// Users are selected by a digest of their ids, so no list of users is kept, and a user in a smaller part is in every
/// larger one. A thread continues with the graph that it began with while its user stays in the same part; either graph
/// continues the other's threads once their turns are finished.
///
/// ```
/// use superstep_nodes::graphs::Canary;
///
/// let (some, more) = (Canary::percent(10), Canary::percent(50));
/// assert!((0..100).map(|n| format!("user-{n}")).all(|id| more.includes(&id) || !some.includes(&id)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canary {
    percent: u8,
}

impl Canary {
    /// Takes so many users of a hundred; all, if the number is larger.
    pub const fn percent(percent: u8) -> Self {
        Self { percent }
    }

    /// Tells whether a user is among them.
    pub fn includes(&self, user_id: &str) -> bool {
        let digest = blake3::hash(user_id.as_bytes());
        let mut number = [0; 8];
        number.copy_from_slice(&digest.as_bytes()[..8]);
        u64::from_le_bytes(number) % 100 < u64::from(self.percent)
    }
}

impl Profile {
    /// All profiles, in the order of a rollout.
    pub const ALL: [Self; 3] = [Self::Development, Self::Canary, Self::Full];

    /// The part of the users that the canary is for: 10 of a hundred.
    pub const CANARY: Canary = Canary::percent(10);

    /// Returns the settings for a user. One without an id is in no canary.
    pub fn settings(self, user_id: Option<&str>) -> AgenticSettings {
        let settings = AgenticSettings::default();
        match self {
            Self::Development | Self::Full => settings,
            Self::Canary => {
                let is_in = user_id.is_some_and(|id| Self::CANARY.includes(id));
                AgenticSettings {
                    enable_context_compaction: is_in,
                    enable_verification: is_in,
                    verification_mode: VerificationMode::Lenient,
                    ..settings
                }
            }
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Development => "development",
            Self::Canary => "canary",
            Self::Full => "full",
        })
    }
}

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, UnknownProfile> {
        let profile = Self::ALL.into_iter().find(|profile| profile.to_string() == name);
        profile.ok_or_else(|| UnknownProfile(name.to_owned()))
    }
}
