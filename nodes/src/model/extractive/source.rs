//! The sources that an answer names.

use serde::{Deserialize, Serialize};

/// A place that an answer quotes.
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
/// use superstep_nodes::model::extractive::{NOT_ANSWERED, sources};
///
/// let answer = "The documents say:\n\n> A fork copies nothing.\n\nSources:\n- forks.md:3 (Forks)";
/// assert_eq!(sources(answer)[0].path, "forks.md");
/// assert!(sources(NOT_ANSWERED).is_empty());
/// ```
#[must_use]
pub fn sources(answer: &str) -> Vec<Source> {
    let Some((_, list)) = answer.rsplit_once("\nSources:\n") else {
        return Vec::new();
    };
    list.lines().map_while(source).collect()
}

fn source(line: &str) -> Option<Source> {
    let place = line.strip_prefix("- ")?;
    let place = place.split_once(" (").map_or(place, |(place, _)| place);
    let (path, lines) = place.rsplit_once(':')?;
    Some(Source { path: path.to_owned(), lines: lines.to_owned() })
}
