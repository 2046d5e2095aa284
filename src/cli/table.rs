//! Columns under each other.

use super::page::{DIM, Page, Span, plain, span};

/// Which side of a column the texts begin at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// Rows of as many cells as there are columns; the last column may be as long as it likes.
#[derive(Debug)]
pub(super) struct Table {
    columns: Vec<(&'static str, Side)>,
    rows: Vec<Vec<Span>>,
}

impl Table {
    pub(super) fn new<const N: usize>(columns: [(&'static str, Side); N]) -> Self {
        Self { columns: columns.into(), rows: Vec::new() }
    }

    pub(super) fn row<const N: usize>(&mut self, cells: [Span; N]) {
        self.rows.push(cells.into());
    }

    /// Shows it, with what the columns are called unless that says nothing.
    pub(super) fn show(self, page: &mut Page) {
        let titles: Vec<Span> = self.columns.iter().map(|(title, _)| span(DIM, title)).collect();
        let width = |column: usize| {
            let cells = self.rows.iter().chain([&titles]).map(|row| row[column].text.chars().count());
            cells.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let titled = titles.iter().any(|title| !title.text.is_empty());
        for row in [titles].into_iter().filter(|_| titled).chain(self.rows) {
            let last = self.columns.len() - 1;
            let mut spans = Vec::new();
            for (at, cell) in row.into_iter().enumerate() {
                let blank = plain(" ".repeat(widths[at] - cell.text.chars().count()));
                match self.columns[at].1 {
                    Side::Right => spans.extend([blank, cell]),
                    Side::Left => spans.extend([cell, blank]),
                }
                if at < last && widths[at] > 0 {
                    spans.push(plain("  "));
                }
            }
            page.line(spans);
        }
    }
}
