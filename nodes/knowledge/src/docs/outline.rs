//! The structure of pages, and what they say of each other.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::Passage;
use crate::text::{units, without_markup};

/// The passages of a page below one heading. A passage without a heading is a section by itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// The number of its page.
    pub(super) page: usize,
    /// The numbers of its passages.
    pub(super) passages: Range<usize>,
}

/// Finds the sections of passages that are in order of path and line. Pages are numbered in that order, too.
pub(super) fn sections(passages: &[Passage]) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for (number, passage) in passages.iter().enumerate() {
        let before = number.checked_sub(1).map(|before| &passages[before]);
        let same_page = before.is_some_and(|before| before.path == passage.path);
        let same_heading = before.is_some_and(|before| before.heading == passage.heading);
        match sections.last_mut() {
            Some(section) if same_page && same_heading && !passage.heading.is_empty() => {
                section.passages.end = number + 1;
            }
            last => {
                let page = last.map_or(0, |last| last.page + usize::from(!same_page));
                sections.push(Section { page, passages: number..number + 1 });
            }
        }
    }
    sections
}

/// Takes out the tables of contents: tables and lists whose rows or items all begin with a link to another page. Such a
/// row answers nothing, but says what that page is about; returns the rows by the path of the page that they lead to.
pub(super) fn take_contents(passages: &mut Vec<Passage>) -> HashMap<String, String> {
    let paths: HashSet<String> = passages.iter().map(|passage| passage.path.clone()).collect();
    let mut said_of: HashMap<String, String> = HashMap::new();
    passages.retain(|passage| {
        let Some(entries) = contents(passage) else { return true };
        if !entries.iter().all(|(path, _)| paths.contains(path)) {
            return true;
        }
        for (path, row) in entries {
            let said = said_of.entry(path).or_default();
            said.push_str(&without_markup(&row));
            said.push('\n');
        }
        false
    });
    said_of
}

/// Reads a table of contents: the page that each row leads to, and the row. A table may have a head.
fn contents(passage: &Passage) -> Option<Vec<(String, String)>> {
    let rows = units(&passage.text);
    let head = usize::from(rows.first().is_some_and(|row| row.starts_with('|') && linked(row).is_none()));
    let entry = |row: &String| {
        let path = resolved(&passage.path, linked(row)?)?;
        (path != passage.path).then(|| (path, row.clone()))
    };
    let entries: Vec<_> = rows.get(head..)?.iter().map(entry).collect::<Option<_>>()?;
    (entries.len() > 1).then_some(entries)
}

/// Returns the target of the link that a row begins with.
fn linked(row: &str) -> Option<&str> {
    let link = row.trim_start_matches(['|', ' ']).strip_prefix('[')?;
    let (_, target) = link.split_once("](")?;
    target.split_once(')').map(|(target, _)| target)
}

/// Returns the path of a link's target, relative to the indexed folder; `None` if it leads out of that.
fn resolved(from: &str, target: &str) -> Option<String> {
    let target = target.split('#').next()?;
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::{PassageKind, markdown};
    use super::*;

    #[test]
    fn a_section_is_what_has_one_heading() {
        let mut passages = markdown::split("a.md", "Before.\n\n# A\n\nOne.\n\n- two\n\n## B\n\nThree.\n");
        passages.extend(markdown::split("b.md", "## B\n\nFour.\n"));
        let section = |page, passages| Section { page, passages };
        assert_eq!(
            sections(&passages),
            [section(0, 0..1), section(0, 1..3), section(0, 3..4), section(1, 4..5)]
        );
    }

    #[test]
    fn a_table_of_contents_speaks_for_the_pages_that_it_leads_to() {
        let table = "# Pages\n\n| page | answers |\n|---|---|\n| [Forks](sub/forks.md) | How is a past shared? |\n\
                     | [Ovens](../ovens.md#heat) | How hot? |\n\n- [Forks](sub/forks.md): again\n- no link\n";
        let mut passages = markdown::split("docs/README.md", table);
        passages.extend(markdown::split("docs/sub/forks.md", "# Forks\n\nA fork."));
        passages.extend(markdown::split("ovens.md", "# Ovens\n\nHot."));
        let said = take_contents(&mut passages);
        assert_eq!(said["docs/sub/forks.md"], "| [Forks] | How is a past shared? |\n");
        assert_eq!(said["ovens.md"], "| [Ovens] | How hot? |\n");
        let kinds: Vec<_> = passages.iter().map(|passage| passage.kind).collect();
        assert_eq!(
            kinds,
            [PassageKind::List, PassageKind::Prose, PassageKind::Prose],
            "the list is no such table"
        );
    }
}
