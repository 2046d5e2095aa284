//! Tables that fit the width of the terminal.

use super::page::{DIM, Page, Span, plain, span};

/// The side of a column that texts are aligned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// A text in a table.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    whole: Span,
    /// A shorter form of the text.
    short: Option<Span>,
}

impl Cell {
    /// Makes a cell with a shorter form, for where space is short.
    pub(super) fn or(whole: Span, short: Span) -> Self {
        Self { whole, short: Some(short) }
    }
}

impl From<Span> for Cell {
    fn from(whole: Span) -> Self {
        Self { whole, short: None }
    }
}

/// Rows of one cell for each column, and lines of any length between them.
///
/// A table that is wider than the terminal is narrowed step by step until it fits: cells take their short form, long
/// ones are cut to a modest width, columns [give way](Self::giving_way), and finally the cells are cut further.
#[derive(Debug)]
pub(super) struct Table {
    columns: Vec<(&'static str, Side)>,
    /// The columns that can be left out, in the order in which they go.
    giving_way: Vec<&'static str>,
    rows: Vec<Row>,
}

#[derive(Debug)]
enum Row {
    Cells(Vec<Cell>),
    Line(Vec<Span>),
}

/// The width down to which cells are cut before a column is left out.
const MODEST: usize = 24;

/// The minimum width of a cut cell.
const LEAST: usize = 6;

/// The space between two columns.
const GAP: &str = "  ";

impl Table {
    pub(super) fn new<const N: usize>(columns: [(&'static str, Side); N]) -> Self {
        Self { columns: columns.into(), giving_way: Vec::new(), rows: Vec::new() }
    }

    /// Names the columns that are left out where space is short, in this order.
    pub(super) fn giving_way(self, titles: impl Into<Vec<&'static str>>) -> Self {
        Self { giving_way: titles.into(), ..self }
    }

    pub(super) fn row<const N: usize>(&mut self, cells: [impl Into<Cell>; N]) {
        self.rows.push(Row::Cells(cells.into_iter().map(Into::into).collect()));
    }

    /// Adds a line that belongs to the row before it, or introduces the one after it.
    pub(super) fn line(&mut self, spans: impl Into<Vec<Span>>) {
        self.rows.push(Row::Line(spans.into()));
    }

    /// Shows the table, with a header unless the columns have no titles.
    pub(super) fn show(mut self, page: &mut Page) {
        if self.columns.iter().any(|(title, _)| !title.is_empty()) {
            let titles = self.columns.iter().map(|(title, _)| span(DIM, title).into());
            self.rows.insert(0, Row::Cells(titles.collect()));
        }
        let layout = Layout::of(&self, page.look.width.unwrap_or(usize::MAX));
        for row in self.rows {
            match row {
                Row::Line(spans) => page.line(spans),
                Row::Cells(cells) => page.line(layout.spans(&self.columns, cells)),
            }
        }
    }

    fn cells(&self, column: usize) -> impl Iterator<Item = &Cell> {
        self.rows.iter().filter_map(move |row| match row {
            Row::Cells(cells) => cells.get(column),
            Row::Line(_) => None,
        })
    }
}

/// The width of each column, and the form of its cells.
struct Layout {
    widths: Vec<usize>,
    short: Vec<bool>,
}

impl Layout {
    fn of(table: &Table, room: usize) -> Self {
        let columns = 0..table.columns.len();
        let mut gone = Vec::new();
        let mut layout = Self { widths: vec![0; columns.len()], short: vec![false; columns.len()] };
        columns.clone().for_each(|column| layout.measure(table, column));
        for column in columns {
            if layout.total() > room && table.cells(column).any(|cell| cell.short.is_some()) {
                layout.short[column] = true;
                layout.measure(table, column);
            }
        }
        layout.cut(table, room, MODEST);
        for title in &table.giving_way {
            if layout.total() > room
                && let Some(column) = table.columns.iter().position(|(held, _)| held == title)
            {
                layout.widths[column] = 0;
                gone.push(column);
            }
        }
        // The remaining columns may have more space now.
        for column in (0..table.columns.len()).filter(|column| !gone.contains(column)) {
            layout.measure(table, column);
        }
        layout.cut(table, room, LEAST);
        layout
    }

    fn measure(&mut self, table: &Table, column: usize) {
        let lengths = table.cells(column).map(|cell| length(self.form(column, cell)));
        self.widths[column] = lengths.max().unwrap_or(0);
    }

    fn form<'c>(&self, column: usize, cell: &'c Cell) -> &'c Span {
        cell.short.as_ref().filter(|_| self.short[column]).unwrap_or(&cell.whole)
    }

    fn total(&self) -> usize {
        let shown = self.widths.iter().filter(|width| **width > 0);
        let gaps = shown.clone().count().saturating_sub(1) * GAP.len();
        shown.fold(gaps, |sum, width| sum.saturating_add(*width))
    }

    /// Narrows the widest text columns, down to `least`, until the table fits.
    fn cut(&mut self, table: &Table, room: usize, least: usize) {
        let is_text = |column: &usize| table.columns[*column].1 == Side::Left;
        while let Some(excess) = self.total().checked_sub(room).filter(|excess| *excess > 0) {
            let texts = (0..self.widths.len()).filter(is_text);
            let Some(widest) = texts.max_by_key(|column| self.widths[*column]) else { return };
            let others = (0..self.widths.len()).filter(|column| *column != widest).filter(is_text);
            let next = others.map(|column| self.widths[column]).max().unwrap_or(0);
            let width = self.widths[widest];
            if width <= least {
                return;
            }
            // Narrows to the width of the next widest column; two of the same width are narrowed in turns.
            let down_to = next.min(width - 1).max(least).max(width.saturating_sub(excess));
            self.widths[widest] = down_to;
        }
    }

    fn spans(&self, columns: &[(&'static str, Side)], cells: Vec<Cell>) -> Vec<Span> {
        let last = self.widths.iter().rposition(|width| *width > 0).unwrap_or(0);
        let mut spans = Vec::new();
        for (column, cell) in cells.iter().enumerate().filter(|(column, _)| self.widths[*column] > 0) {
            let width = self.widths[column];
            let shown = cut(self.form(column, cell), width);
            let blank = plain(" ".repeat(width - length(&shown)));
            match columns[column].1 {
                Side::Right => spans.extend([blank, shown]),
                Side::Left => spans.extend([shown, blank]),
            }
            if column < last {
                spans.push(plain(GAP));
            }
        }
        spans
    }
}

fn length(span: &Span) -> usize {
    span.text.chars().count()
}

/// Cuts a text to the width.
fn cut(span: &Span, width: usize) -> Span {
    let Span { text, style } = span;
    match length(span) <= width {
        true => span.clone(),
        false => {
            let text = text.chars().take(width.saturating_sub(1)).chain(['…']).collect();
            Span { text, style: *style }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Look;

    fn shown(width: usize) -> Vec<String> {
        let columns =
            [("id", Side::Left), ("source", Side::Left), ("n", Side::Right), ("changed", Side::Left)];
        let mut table = Table::new(columns).giving_way(["source"]);
        let id = |id: &str| Cell::or(plain(id), plain(&id[..4]));
        table.row([id("0a0a0a0a"), plain("loop").into(), plain("12").into(), plain("draft, rounds").into()]);
        table.line([plain("a line between")]);
        table.row([id("0b0b0b0b"), plain("input").into(), plain("3").into(), plain("facts").into()]);
        let mut page = Page::new(Look { width: Some(width), color: false });
        table.show(&mut page);
        page.finish().lines().map(str::to_owned).collect()
    }

    /// At 80 columns, the last columns, which say what happened, were cut off.
    #[test]
    fn what_is_less_important_makes_room_for_what_is_more() {
        assert_eq!(
            shown(40),
            [
                "id        source   n  changed",
                "0a0a0a0a  loop    12  draft, rounds",
                "a line between",
                "0b0b0b0b  input    3  facts"
            ]
        );
        assert_eq!(shown(34)[1], "0a0a  loop    12  draft, rounds");
        assert_eq!(shown(26)[1], "0a0a  12  draft, rounds", "source gives way");
        assert_eq!(shown(21)[1], "0a0a  12  draft, rou…");
    }
}
