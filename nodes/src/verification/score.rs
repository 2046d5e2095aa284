//! The score of a response.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The quality of a response: a number from 0 (unacceptable) to 1 (nothing to improve). It is never NaN, so scores can
/// be compared and sorted.
///
/// ```
/// use superstep_nodes::verification::Score;
///
/// assert!(Score::new(0.8)? > Score::new(0.7)?);
/// assert!(Score::new(f64::NAN).is_err());
/// assert!(serde_json::from_str::<Score>("7").is_err());
/// # Ok::<_, superstep_nodes::verification::NoScore>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Score(f64);

/// A number that is no [`Score`].
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("the score {0} is not from 0 to 1")]
pub struct NoScore(pub f64);

impl Score {
    /// Unacceptable.
    pub const ZERO: Self = Self(0.0);

    /// Nothing to improve.
    pub const ONE: Self = Self(1.0);

    /// Takes a number.
    ///
    /// # Errors
    /// If it is not from 0 to 1.
    pub fn new(score: f64) -> Result<Self, NoScore> {
        // Adding 0 makes 0 of -0.
        if (0.0..=1.0).contains(&score) { Ok(Self(score + 0.0)) } else { Err(NoScore(score)) }
    }

    /// Returns the number.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Takes the nearest score to a number; 0 for what is no number.
    pub(super) fn nearest(number: f64) -> Self {
        Self(if number.is_nan() { 0.0 } else { number.clamp(0.0, 1.0) + 0.0 })
    }

    /// Returns the mean of scores; `None` of no scores. Scores that are all the same have that as their mean, which
    /// sums of floating-point numbers alone do not promise.
    pub(super) fn mean(scores: impl IntoIterator<Item = Self>) -> Option<Self> {
        let (sum, count) = scores.into_iter().fold((0.0, 0_u32), |(sum, n), score| (sum + score.0, n + 1));
        (count > 0).then(|| Self::nearest((sum / f64::from(count) * MEAN_STEPS).round() / MEAN_STEPS))
    }
}

/// A mean is a multiple of one of so many.
const MEAN_STEPS: f64 = 1e9;

impl Eq for Score {}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl TryFrom<f64> for Score {
    type Error = NoScore;

    fn try_from(score: f64) -> Result<Self, NoScore> {
        Self::new(score)
    }
}

impl From<Score> for f64 {
    fn from(score: Score) -> Self {
        score.0
    }
}

/// Two decimals.
impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", self.0)
    }
}

impl JsonSchema for Score {
    fn schema_name() -> Cow<'static, str> {
        "Score".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "From 0 (unacceptable) to 1 (nothing to improve).",
            "type": "number",
            "minimum": 0,
            "maximum": 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn s0_038_a_number_is_a_score_exactly_if_it_is_from_0_to_1(number in prop::num::f64::ANY) {
            let is_score = (0.0..=1.0).contains(&number);
            prop_assert_eq!(Score::new(number).is_ok(), is_score);
            if let Ok(json) = serde_json::to_string(&number) {
                let read = serde_json::from_str::<Score>(&json);
                prop_assert_eq!(read.is_ok(), is_score, "{}", json);
                if let Ok(score) = read {
                    prop_assert_eq!(score.get(), number);
                    prop_assert_eq!(serde_json::to_string(&score).unwrap().parse::<f64>().unwrap(), number);
                }
            }
            prop_assert!((0.0..=1.0).contains(&Score::nearest(number).get()));
        }

        #[test]
        fn the_mean_lies_between_the_scores_and_is_that_of_equal_ones(
            scores in prop::collection::vec(0.0..=1.0_f64, 1..9),
            same in 0_u32..=100,
        ) {
            let scores: Vec<Score> = scores.into_iter().map(|score| Score::new(score).unwrap()).collect();
            let mean = Score::mean(scores.iter().copied()).unwrap().get();
            let (least, most) = (scores.iter().min().unwrap().get(), scores.iter().max().unwrap().get());
            prop_assert!(least - 1e-9 <= mean && mean <= most + 1e-9);
            let same = Score::new(f64::from(same) / 100.0).unwrap();
            prop_assert_eq!(Score::mean(scores.iter().map(|_| same)), Some(same));
        }
    }

    #[test]
    fn what_is_no_number_is_no_score() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -f64::EPSILON, 1.0 + f64::EPSILON] {
            assert!(Score::new(number).is_err(), "{number}");
        }
        for json in ["null", "\"0.5\"", "1e400", "-0.1", "[0.5]"] {
            assert!(serde_json::from_str::<Score>(json).is_err(), "{json}");
        }
        let error = serde_json::from_str::<Score>("7").unwrap_err().to_string();
        assert!(error.starts_with("the score 7 is not from 0 to 1"), "{error}");
        assert_eq!(Score::new(-0.0).unwrap().get().to_bits(), 0);
    }
}
