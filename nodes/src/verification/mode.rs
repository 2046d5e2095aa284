//! The strictness of verifications.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Score;

/// The strictness of a verification: it changes the threshold.
///
/// ```
/// use superstep_nodes::verification::{Score, VerificationMode};
///
/// let threshold = Score::new(0.7)?;
/// assert_eq!(VerificationMode::Strict.threshold(threshold), Score::new(0.8)?);
/// assert_eq!("lenient".parse(), Ok(VerificationMode::Lenient));
/// # Ok::<_, superstep_nodes::verification::NoScore>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerificationMode {
    /// The threshold is 0.1 higher.
    Strict,
    /// The threshold is as it was set.
    #[default]
    Standard,
    /// The threshold is 0.1 lower.
    Lenient,
}

/// A name of no [`VerificationMode`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a verification mode; use strict, standard or lenient")]
pub struct UnknownMode(pub String);

/// By how much a mode moves the threshold.
const STEP: f64 = 0.1;

impl VerificationMode {
    /// All of them, the strictest first.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Standard, Self::Lenient];

    /// Returns the score that a response needs. A threshold that is moved is rounded to two decimals, and stays from 0
    /// to 1.
    #[must_use]
    pub fn threshold(self, threshold: Score) -> Score {
        let moved = |by: f64| Score::nearest(((threshold.get() + by) * 100.0).round() / 100.0);
        match self {
            Self::Strict => moved(STEP),
            Self::Standard => threshold,
            Self::Lenient => moved(-STEP),
        }
    }

    /// Returns the name, as it is in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Standard => "standard",
            Self::Lenient => "lenient",
        }
    }
}

impl fmt::Display for VerificationMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for VerificationMode {
    type Err = UnknownMode;

    fn from_str(name: &str) -> Result<Self, UnknownMode> {
        let mode = Self::ALL.into_iter().find(|mode| mode.as_str() == name);
        mode.ok_or_else(|| UnknownMode(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn s0_041_strict_asks_for_no_less_than_standard_and_that_for_no_less_than_lenient(threshold in 0.0..=1.0_f64) {
            let threshold = Score::new(threshold).unwrap();
            let [strict, standard, lenient] = VerificationMode::ALL.map(|mode| mode.threshold(threshold));
            prop_assert!(strict >= standard && standard >= lenient);
            prop_assert_eq!(standard, threshold);
        }
    }

    #[test]
    fn a_mode_moves_the_threshold_by_a_tenth_within_0_and_1() {
        let moved = |threshold, mode: VerificationMode| mode.threshold(Score::new(threshold).unwrap()).get();
        assert_eq!(moved(0.7, VerificationMode::Strict), 0.8);
        assert_eq!(moved(0.7, VerificationMode::Lenient), 0.6);
        assert_eq!(moved(0.95, VerificationMode::Strict), 1.0);
        assert_eq!(moved(0.05, VerificationMode::Lenient), 0.0);
        assert_eq!(moved(0.333, VerificationMode::Strict), 0.43);
    }

    #[test]
    fn a_mode_is_read_by_its_name_and_no_other() {
        for mode in VerificationMode::ALL {
            assert_eq!(mode.to_string().parse(), Ok(mode));
            assert_eq!(serde_json::to_string(&mode).unwrap(), format!("\"{mode}\""));
        }
        for other in ["", "Strict", "strict ", "harsh"] {
            assert_eq!(other.parse::<VerificationMode>(), Err(UnknownMode(other.to_owned())));
        }
    }
}
