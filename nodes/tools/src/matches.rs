//! Lines that were found.

use std::path::Path;

use regex::bytes::Regex;

use super::grep::GrepOutput;
use super::text_file::shortened;
use super::walk::Go;
use super::workspace::display;

/// The maximum number of characters shown of a line.
const MOST_LINE_CHARS: usize = 300;

/// The maximum number of bytes of text shown.
const MOST_BYTES: usize = 40_000;

/// Lines that were found, in the form for a model.
pub(super) struct Matches {
    output: GrepOutput,
    context: usize,
    limit: usize,
    text: String,
    lines: usize,
    files: usize,
    skipped: usize,
    complete: bool,
}

impl Matches {
    pub(super) fn new(output: GrepOutput, context: usize, limit: usize) -> Self {
        Self { output, context, limit, text: String::new(), lines: 0, files: 0, skipped: 0, complete: true }
    }

    /// Searches a file.
    pub(super) fn search(&mut self, path: &Path, bytes: &[u8], expression: &Regex) -> Go {
        let lines = lines_of(bytes);
        let hits = (0..).zip(&lines).filter(|(_, line)| expression.is_match(line));
        let hits: Vec<usize> = hits.map(|(number, _)| number).collect();
        if hits.is_empty() {
            return Go::On;
        }
        match self.output {
            GrepOutput::Files => self.list(path, hits.len()),
            GrepOutput::Lines => self.show(path, &lines, &hits),
        }
    }

    /// Adds a file to a list of files.
    fn list(&mut self, path: &Path, hits: usize) -> Go {
        if self.files == self.limit {
            self.complete = false;
            return Go::NoFurther;
        }
        self.files += 1;
        self.lines += hits;
        self.text.push_str(&format!("{}: {hits}\n", display(path)));
        Go::On
    }

    /// Adds the lines of a file, each with those around it.
    fn show(&mut self, path: &Path, lines: &[&[u8]], hits: &[usize]) -> Go {
        if self.lines == self.limit {
            self.complete = false;
            return Go::NoFurther;
        }
        let (taken, go) = match hits.get(..self.limit - self.lines) {
            Some(taken) if taken.len() < hits.len() => (taken, Go::NoFurther),
            _ => (hits, Go::On),
        };
        self.complete &= go == Go::On;
        self.files += 1;
        self.text.push_str(&format!("{}\n", display(path)));
        // The line after the last that is shown.
        let mut next = 0;
        for hit in taken {
            let from = hit.saturating_sub(self.context).max(next);
            if next > 0 && from > next && self.context > 0 {
                self.text.push_str("--\n");
            }
            let to = (hit + self.context + 1).min(lines.len()).max(next);
            for (number, line) in (from..to).zip(&lines[from..to]) {
                let mark = if hits.binary_search(&number).is_ok() { ':' } else { '-' };
                let line = String::from_utf8_lossy(line);
                self.text.push_str(&format!("{}{mark}{}\n", number + 1, shortened(&line, MOST_LINE_CHARS)));
            }
            next = to;
            self.lines += 1;
            if self.text.len() > MOST_BYTES {
                self.complete = false;
                return Go::NoFurther;
            }
        }
        go
    }

    /// Counts a file that could not be searched.
    pub(super) fn skip(&mut self) {
        self.skipped += 1;
    }

    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    pub(super) fn files(&self) -> usize {
        self.files
    }

    pub(super) fn skipped(&self) -> usize {
        self.skipped
    }

    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    pub(super) fn into_text(mut self) -> String {
        if self.text.is_empty() {
            self.text.push_str("No line fits.\n");
        }
        if !self.complete {
            self.text.push_str("[there are more: search in a folder, or for something rarer]\n");
        }
        if self.skipped > 0 {
            let were = if self.skipped == 1 { "file was" } else { "files were" };
            self.text.push_str(&format!("[{} {were} too large, no text or not readable]\n", self.skipped));
        }
        self.text
    }
}

/// The lines of a file, without their ends.
fn lines_of(bytes: &[u8]) -> Vec<&[u8]> {
    if bytes.is_empty() {
        return Vec::new();
    }
    let lines = bytes.strip_suffix(b"\n").unwrap_or(bytes).split(|byte| *byte == b'\n');
    lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect()
}
