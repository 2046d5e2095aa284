//! The rule that sources are named, and are real.

use async_trait::async_trait;

use super::{Breach, Rule};
use crate::prompt::Evidence;
use crate::verification::Submission;

/// The rule that the response names its sources, and that each of them was returned by a tool, in this turn or before.
///
/// The sources are a list behind a line `Sources:`, one a line, as a path or an address, with lines or without:
///
/// ```text
/// Sources:
/// - forks.md:3 (Forks)
/// - https://example.org/forks
/// ```
///
/// A tool returned a source if its output has the path or the address, not as a part of another one, and has it with
/// lines that the named ones are among if it has it with lines at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct CitationRule {
    need: Need,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Need {
    #[default]
    One,
    None,
}

impl CitationRule {
    /// The name of the rule.
    pub const NAME: &'static str = "citations";

    /// Every response has to name a source at least.
    pub const fn new() -> Self {
        Self { need: Need::One }
    }

    /// A response may name no source: only those that it names have to be real.
    #[must_use]
    pub const fn or_none(mut self) -> Self {
        self.need = Need::None;
        self
    }
}

#[async_trait]
impl Rule for CitationRule {
    fn name(&self) -> &str {
        Self::NAME
    }

    async fn check(&self, submission: &Submission) -> Result<(), Breach> {
        let named = named(&submission.response);
        if named.is_empty() && self.need == Need::One {
            return Err(Breach::broken(
                "The response names no source. End it with a line `Sources:` and one `- path:lines` a line.",
            ));
        }
        let all = || submission.sources.iter().chain(&submission.earlier_sources);
        let made_up: Vec<String> = named
            .iter()
            .filter(|place| !all().any(|source| returned(source, place)))
            .map(CitedSource::to_string)
            .collect();
        match made_up.is_empty() {
            true => Ok(()),
            false => Err(Breach::broken(format!(
                "No tool returned what the response names as its source: {}. Name only what the tools returned.",
                made_up.join(", ")
            ))),
        }
    }
}

/// A source as the response names it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CitedSource<'r> {
    pub(super) path: &'r str,
    /// The first line and the last.
    pub(super) lines: Option<(u32, u32)>,
}

impl std::fmt::Display for CitedSource<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.lines {
            None => f.write_str(self.path),
            Some((first, last)) if first == last => write!(f, "{}:{first}", self.path),
            Some((first, last)) => write!(f, "{}:{first}-{last}", self.path),
        }
    }
}

/// The sources that a response names in its last list of sources.
pub(super) fn named(response: &str) -> Vec<CitedSource<'_>> {
    let lines: Vec<&str> = response.lines().map(str::trim).collect();
    let Some(heading) = lines.iter().rposition(|line| is_heading(line)) else { return Vec::new() };
    let list = lines[heading + 1..].iter().skip_while(|line| line.is_empty());
    list.map_while(|line| item(line)).map(place).filter(|place| !place.path.is_empty()).collect()
}

/// Tells whether a line only announces a list of sources, as text or as a heading of Markdown.
fn is_heading(line: &str) -> bool {
    let plain = line.trim_matches(|sign: char| sign.is_whitespace() || "#*_:".contains(sign));
    ["source", "sources", "references"].iter().any(|word| plain.eq_ignore_ascii_case(word))
}

/// Returns the text of a list item; `None` if there is none.
fn item(line: &str) -> Option<&str> {
    let bullet = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
    let numbered = || {
        let rest =
            line.strip_prefix('[').unwrap_or(line).trim_start_matches(|sign: char| sign.is_ascii_digit());
        let is_number = rest.len() < line.len();
        [". ", ") ", "] ", "]: "].iter().find_map(|end| rest.strip_prefix(end)).filter(|_| is_number)
    };
    bullet.or_else(numbered).map(str::trim).filter(|item| !item.is_empty())
}

/// The place that an item names: without a heading in parentheses, and of a link where it leads.
fn place(item: &str) -> CitedSource<'_> {
    let linked = item.split_once("](").and_then(|(_, rest)| rest.split_once(')')).map(|(target, _)| target);
    let place = linked.unwrap_or_else(|| item.split_once(" (").map_or(item, |(place, _)| place));
    let place = place.trim_matches(|sign: char| sign.is_whitespace() || "`<>*_".contains(sign));
    match place.rsplit_once(':').and_then(|(path, lines)| Some((path, span(lines)?))) {
        Some((path, lines)) if !path.is_empty() => CitedSource { path, lines: Some(lines) },
        _ => CitedSource { path: place, lines: None },
    }
}

/// The lines `3` or `3-5`.
fn span(lines: &str) -> Option<(u32, u32)> {
    let (first, last) = lines.split_once(['-', '–']).unwrap_or((lines, lines));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some((first, last))
}

/// Tells whether a tool returned this place.
fn returned(source: &Evidence, named: &CitedSource<'_>) -> bool {
    let lines: Vec<_> = mentions(&source.output, named.path).collect();
    match named.lines {
        Some((first, last)) if lines.iter().any(Option::is_some) => {
            lines.iter().flatten().any(|(from, to)| *from <= first && last <= *to)
        }
        _ => !lines.is_empty(),
    }
}

/// Finds a path in a text, where it is not part of another one; with its lines, if it has any.
fn mentions<'t>(text: &'t str, path: &'t str) -> impl Iterator<Item = Option<(u32, u32)>> + 't {
    let is_part = |sign: char| sign.is_alphanumeric() || "/\\_-.~%".contains(sign);
    text.match_indices(path).filter_map(move |(at, path)| {
        let (before, after) = (&text[..at], &text[at + path.len()..]);
        // A full stop may end the sentence.
        let goes_on = after.trim_start_matches('.').starts_with(is_part);
        if before.ends_with(is_part) || goes_on {
            return None;
        }
        let lines = after
            .strip_prefix(':')
            .and_then(|after| after.split(|it: char| !(it.is_ascii_digit() || it == '-')).next());
        Some(lines.and_then(span))
    })
}
