//! The sources that an answer names.

use serde::{Deserialize, Serialize};

use super::answer::{NO_SENTENCE_MATCHES, SEE_ALSO};

/// A place that an answer quotes, or names as near.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The file, relative to the folder that was searched.
    pub path: String,
    /// Its lines, as `12` or `12-15`.
    pub lines: String,
}

/// Reads the sources back from an answer of [`Extractive`](super::Extractive), the best first; none from any
/// other text.
///
/// ```
/// use superstep_knowledge::extractive::{NOT_ANSWERED, sources};
///
/// let answer = "The documents say:\n\n> A fork copies nothing.\n\nSources:\n- forks.md:3 (Forks)";
/// assert_eq!(sources(answer)[0].path, "forks.md");
/// assert!(sources(NOT_ANSWERED).is_empty());
/// ```
#[must_use]
pub fn sources(answer: &str) -> Vec<Source> {
    answer.rsplit_once("\nSources:\n").map_or_else(Vec::new, |(_, list)| listed(list))
}

/// Reads back the places that [`Extractive`](super::Extractive) has named beside its quotes, or where it had nothing to
/// quote, the nearest first; none from any other text.
///
/// ```
/// use superstep_knowledge::extractive::{nearest, sources};
///
/// let answer = "No sentence matches; the nearest pages are:\n- forks.md:3 (Forks)";
/// assert_eq!(nearest(answer)[0].path, "forks.md");
/// assert!(sources(answer).is_empty());
/// ```
#[must_use]
pub fn nearest(answer: &str) -> Vec<Source> {
    let list = answer.strip_prefix(NO_SENTENCE_MATCHES);
    let list = list.or_else(|| answer.rsplit_once(SEE_ALSO).map(|(_, list)| list));
    list.map_or_else(Vec::new, |list| listed(list.trim_start()))
}

fn listed(list: &str) -> Vec<Source> {
    list.lines().map_while(source).collect()
}

fn source(line: &str) -> Option<Source> {
    let place = line.strip_prefix("- ")?;
    let place = place.split_once(" (").map_or(place, |(place, _)| place);
    let (path, lines) = place.rsplit_once(':')?;
    Some(Source { path: path.to_owned(), lines: lines.to_owned() })
}
