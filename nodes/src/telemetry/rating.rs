//! A user's rating of a run.

/// A user's rating of a run: from 0, of no use, to 1, just right.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rating(f64);

/// A number is no rating.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{0} is not a rating: use a number from 0 to 1")]
pub struct InvalidRating(pub f64);

/// The run was rated before, and counts once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the run was rated before")]
pub struct AlreadyRated;

impl Rating {
    /// Makes a rating of a number from 0 to 1.
    ///
    /// # Errors
    /// When the number is out of this range, or no number.
    pub fn new(rating: f64) -> Result<Self, InvalidRating> {
        if (0.0..=1.0).contains(&rating) { Ok(Self(rating)) } else { Err(InvalidRating(rating)) }
    }

    /// Makes a rating of so many stars of so many.
    ///
    /// # Errors
    /// When there are more stars than there can be, or there can be none.
    pub fn stars(stars: u32, of: u32) -> Result<Self, InvalidRating> {
        Self::new(f64::from(stars) / f64::from(of))
    }

    /// Returns the number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rating_is_a_number_from_0_to_1() {
        for rating in [0.0, 0.5, 1.0] {
            assert_eq!(Rating::new(rating).unwrap().get(), rating);
        }
        for number in [-0.1, 1.1, f64::INFINITY, f64::NAN] {
            assert!(Rating::new(number).is_err(), "{number}");
        }
        assert_eq!(Rating::stars(4, 5).unwrap().get(), 0.8);
        for (stars, of) in [(6, 5), (0, 0), (1, 0)] {
            assert!(Rating::stars(stars, of).is_err(), "{stars} of {of}");
        }
    }
}
