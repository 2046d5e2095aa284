//! Changes of files as differences between lines.

use similar::{ChangeTag, TextDiff};
use superstep_assistant::permission::{Extent, FileChange};
use superstep_assistant::snapshot::{ChangeKind, ChangedFile};

use super::line::Line;
use crate::page::{BAD, DIM, GOOD, NAME, NOTE, Span, plain, span};

/// The number of equal lines around a change.
const CONTEXT: usize = 3;

/// The maximum number of lines of a change, and of files in a list.
const LONGEST: usize = 60;

/// Returns the change of a file as a unified difference. A long one is folded.
pub(crate) fn change(change: &FileChange) -> Vec<Line> {
    let before = change.before.as_deref().unwrap_or_default();
    let diff = TextDiff::from_lines(before, change.after.as_str());
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    let (deleted, inserted) = (count(ChangeTag::Delete), count(ChangeTag::Insert));
    let is_whole = change.extent == Extent::Whole;
    let extent = match (change.extent, &change.before) {
        (Extent::Whole, None) => " (the whole file)",
        (Extent::EveryPlace, _) => " (every place)",
        (Extent::Whole | Extent::OnePlace, _) => "",
    };
    let title = [span(NAME, &change.path), span(DIM, format!("{extent}  +{inserted} -{deleted}"))];
    let mut lines = Vec::new();
    let mut unified = diff.unified_diff();
    unified.context_radius(CONTEXT);
    for hunk in unified.iter_hunks() {
        // Line numbers are known for whole files only.
        match is_whole {
            true => lines.push(Line::new(NOTE, &hunk.header().to_string())),
            false if !lines.is_empty() => lines.push(Line::new(DIM, "…")),
            false => {}
        }
        for change in hunk.iter_changes() {
            let style = match change.tag() {
                ChangeTag::Delete => BAD,
                ChangeTag::Insert => GOOD,
                ChangeTag::Equal => DIM,
            };
            let text: &str = change.value();
            let text = text.strip_suffix('\n').unwrap_or(text);
            lines.push(Line::new(style, &format!("{}{text}", change.tag())));
            if is_whole && change.missing_newline() {
                lines.push(Line::new(DIM, "\\ no newline at the end of the file"));
            }
        }
    }
    let mut lines = folded(lines, "lines");
    lines.insert(0, Line::of(title));
    if change.left_out > 0 {
        lines.push(Line::new(NOTE, &format!("… {} bytes are too long to be shown", change.left_out)));
    }
    lines
}

/// Returns a list of files that differ.
pub(crate) fn changed_files(files: &[ChangedFile]) -> Vec<Line> {
    let line = |file: &ChangedFile| {
        let sign: Span = match file.kind {
            ChangeKind::Created => span(GOOD, "  + "),
            ChangeKind::Modified => span(NOTE, "  ~ "),
            ChangeKind::Deleted => span(BAD, "  - "),
        };
        Line::of([sign, plain(&file.path)])
    };
    folded(files.iter().map(line).collect(), "files")
}

/// Replaces the end of a long list by the number of its lines.
fn folded(mut lines: Vec<Line>, what: &str) -> Vec<Line> {
    let more = lines.len().saturating_sub(LONGEST);
    if more > 1 {
        lines.truncate(LONGEST);
        lines.push(Line::new(DIM, &format!("… {more} more {what}")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(it: &FileChange) -> Vec<String> {
        change(it).iter().map(|line| line.text(false)).collect()
    }

    #[test]
    fn an_edit_is_shown_with_its_context() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let edit = FileChange::new("a.txt", Extent::Whole, Some(before), &before.replace('5', "five"));
        let expected = ["a.txt  +1 -1", "@@ -2,7 +2,7 @@", " 2", " 3", " 4", "-5", "+five", " 6", " 7", " 8"];
        assert_eq!(shown(&edit), expected);
        let edit = FileChange::new("a.txt", Extent::EveryPlace, Some("a"), "b");
        assert_eq!(shown(&edit), ["a.txt (every place)  +1 -1", "-a", "+b"]);
    }

    #[test]
    fn new_and_emptied_files_and_missing_newlines_are_named() {
        let new = FileChange::new("new", Extent::Whole, None, "one\ntwo");
        let expected = [
            "new (the whole file)  +2 -0",
            "@@ -0,0 +1,2 @@",
            "+one",
            "+two",
            "\\ no newline at the end of the file",
        ];
        assert_eq!(shown(&new), expected);
        let emptied = FileChange::new("old", Extent::Whole, Some("one\n"), "");
        assert_eq!(shown(&emptied), ["old  +0 -1", "@@ -1 +0,0 @@", "-one"]);
    }

    #[test]
    fn a_long_change_is_folded_and_cut_texts_are_named() {
        let text: String = (0..200).map(|line| format!("{line}\u{1b}\n")).collect();
        let lines = shown(&FileChange::new("long", Extent::Whole, None, &text));
        assert_eq!((lines.len(), lines[2].as_str()), (LONGEST + 2, "+0\\u{1b}"));
        assert_eq!(lines.last().unwrap(), "… 141 more lines");
        let huge = FileChange::new("huge", Extent::Whole, None, &"x".repeat(FileChange::MAX_BYTES + 5));
        assert_eq!(shown(&huge).last().unwrap(), "… 5 bytes are too long to be shown");
    }

    #[test]
    fn files_are_listed_with_the_kind_of_their_change() {
        let file = |path: &str, kind| ChangedFile { path: path.into(), kind, size_before: 0, size_after: 0 };
        let files =
            [file("a", ChangeKind::Created), file("b", ChangeKind::Modified), file("c", ChangeKind::Deleted)];
        let lines: Vec<_> = changed_files(&files).iter().map(|line| line.text(false)).collect();
        assert_eq!(lines, ["  + a", "  ~ b", "  - c"]);
    }
}
