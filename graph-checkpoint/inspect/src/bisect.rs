//! Finds the first of many states in which a condition holds.

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bisection {
    /// The result.
    pub found: FirstState,
    /// `true` if, among the states that were evaluated, the condition holds in one and not in a later one. Then it
    /// first holds at the position found, or at an earlier one.
    pub flips_back: bool,
    /// The number of states that were evaluated.
    pub evaluated: usize,
}

/// The position at which the condition first holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstState {
    /// It holds at this position, and not at the one before.
    First(usize),
    /// It already holds at the first position.
    Always,
    /// It holds at no position.
    Never,
}

/// The strategy of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Search {
    /// A binary search, with a few more evaluations to detect whether the condition flips back. The result is right if
    /// it does not.
    #[default]
    Halves,
    /// A linear search, whose result is always right.
    Linear,
}

/// The number of additional evaluations at positions where the condition should not hold yet.
const PROBES: usize = 3;

/// Finds the first of `len` states in which a condition holds. `holds` evaluates the condition at a position.
///
/// # Errors
/// Returns the errors of `holds`.
pub fn bisect<E>(
    len: usize,
    search: Search,
    mut holds: impl FnMut(usize) -> Result<bool, E>,
) -> Result<Bisection, E> {
    let mut looked = Vec::new();
    let mut look = |at: usize| -> Result<bool, E> {
        if let Some((_, known)) = looked.iter().find(|(seen, _)| *seen == at) {
            return Ok(*known);
        }
        let result = holds(at)?;
        looked.push((at, result));
        Ok(result)
    };
    match search {
        Search::Linear => {
            for at in 0..len {
                look(at)?;
            }
        }
        Search::Halves if len > 0 => {
            let (mut no, mut yes) = (0, len - 1);
            let at_ends = (look(no)?, look(yes)?);
            if at_ends == (false, true) {
                while yes - no > 1 {
                    let middle = no + (yes - no) / 2;
                    if look(middle)? { yes = middle } else { no = middle }
                }
            } else {
                no = yes;
            }
            for probe in 1..=PROBES {
                look(no * probe / (PROBES + 1))?;
            }
        }
        Search::Halves => {}
    }
    looked.sort_unstable();
    let first = looked.iter().find(|(_, holds)| *holds).map(|(at, _)| *at);
    let flips_back = first.is_some_and(|first| looked.iter().any(|(at, holds)| *at > first && !holds));
    let found = match first {
        None => FirstState::Never,
        Some(0) => FirstState::Always,
        Some(first) => FirstState::First(first),
    };
    Ok(Bisection { found, flips_back, evaluated: looked.len() })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    fn search(states: &[bool], search: Search) -> Bisection {
        bisect(states.len(), search, |at| Ok::<_, Infallible>(states[at])).unwrap()
    }

    #[test]
    fn ten_thousand_states_take_fewer_than_twenty_looks() {
        for first in [1, 2, 4_999, 5_000, 9_998, 9_999] {
            let states: Vec<bool> = (0..10_000).map(|at| at >= first).collect();
            let bisection = search(&states, Search::Halves);
            assert_eq!(bisection.found, FirstState::First(first));
            assert!(bisection.evaluated < 20 && !bisection.flips_back);
        }
    }

    #[test]
    fn a_flip_back_is_reported() {
        let states = [false, true, false, false, true, true];
        let linear = search(&states, Search::Linear);
        assert_eq!((linear.found, linear.flips_back), (FirstState::First(1), true));
        let mut states = vec![false; 100];
        states[20..40].fill(true);
        states[90..].fill(true);
        assert!(search(&states, Search::Halves).flips_back, "a probe saw it");
        assert_eq!(search(&[true, false], Search::Halves).found, FirstState::Always);
        assert!(search(&[true, true, false], Search::Linear).flips_back);
    }

    #[test]
    fn an_error_ends_the_search() {
        assert_eq!(bisect(5, Search::Halves, |at| if at == 4 { Err("no") } else { Ok(false) }), Err("no"));
    }

    proptest! {
        #[test]
        fn halving_agrees_with_a_linear_scan(len in 0..200usize, first in 0..220usize) {
            let states: Vec<bool> = (0..len).map(|at| at >= first).collect();
            let (halves, linear) = (search(&states, Search::Halves), search(&states, Search::Linear));
            prop_assert_eq!(halves.found, linear.found);
            prop_assert!(!halves.flips_back && !linear.flips_back);
        }
    }
}
