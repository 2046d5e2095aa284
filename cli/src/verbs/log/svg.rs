//! Draws the branches of a thread, with a strip of the time above them, as an SVG picture.

use std::fmt::Write as _;

use superstep_inspect::Activity;

use crate::lines::nodes;
use crate::page::{Page, plain};
use crate::time::lasted;
use crate::topology_svg::{cut, escaped};

use super::strip::{Span, Strip};
use super::{Drawn, History, source_name};

/// The width of the strip.
pub(super) const STRIP_WIDTH: u32 = 640;

/// The height of a row.
const ROW: usize = 24;

/// The distance of two lanes.
const LANE: usize = 16;

/// The space around the picture, and between the lanes and the texts.
const MARGIN: usize = 16;

/// The height of the strip with its text.
const TOP: usize = 56;

const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#1c2430}.dim{fill:#4a5568}\
    .lane{fill:none;stroke:#5b6b83;stroke-width:2}.point{fill:#f4f6fa;stroke:#1c2430;stroke-width:2}\
    .work{fill:#2f6f4f}.wait{fill:#c98a1b}.queue{fill:#9aa5b5}";

pub(super) fn show(history: &History, strip: &Strip, page: &mut Page) {
    // A drawing is for another program, so none of it is cut.
    page.look.width = None;
    picture(history, strip).lines().for_each(|line| page.line([plain(line)]));
}

fn picture(history: &History, strip: &Strip) -> String {
    let lanes = history.checkpoints.iter().map(width).max().unwrap_or(1);
    let left = MARGIN + lanes * LANE + MARGIN;
    let (width, height) =
        (STRIP_WIDTH as usize + 2 * MARGIN, TOP + history.checkpoints.len() * ROW + 2 * MARGIN);
    let name = history.name.as_deref().unwrap_or(history.thread.as_str());
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n",
        escaped(name)
    );
    let mut push = |line: std::fmt::Arguments<'_>| {
        writeln!(text, "{line}").expect("a text takes what is written to it");
    };
    for Span { from, to, kind, .. } in &strip.spans {
        // The kinds also differ in height, for readers who do not see colours.
        let (class, high) = match kind {
            Activity::Work => ("work", 20),
            Activity::Wait => ("wait", 12),
            Activity::Queue => ("queue", 4),
        };
        let (x, y, wide) = (MARGIN as u32 + from, MARGIN + 20 - high, to - from);
        push(format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{high}\"/>"
        ));
    }
    push(format_args!("<text class=\"dim\" x=\"{MARGIN}\" y=\"{}\">{}</text>", MARGIN + 38, strip.told()));
    let (x, y) = (|lane: usize| MARGIN + lane * LANE + LANE / 2, |row: usize| MARGIN + TOP + row * ROW);
    let mut above: Vec<usize> = Vec::new();
    for (row, drawn) in history.checkpoints.iter().enumerate() {
        let Some(lanes) = &drawn.lanes else { continue };
        let (top, middle, bottom) = (y(row), y(row) + ROW / 2, y(row) + ROW);
        let here = x(lanes.lane);
        let mut line = |from: (usize, usize), to: (usize, usize)| {
            push(format_args!("<path class=\"lane\" d=\"M{} {}L{} {}\"/>", from.0, from.1, to.0, to.1));
        };
        if above.contains(&lanes.lane) {
            line((here, top), (here, middle));
        }
        if lanes.goes_on {
            line((here, middle), (here, bottom));
        }
        lanes.passing.iter().for_each(|lane| line((x(*lane), top), (x(*lane), bottom)));
        lanes.branches.iter().for_each(|lane| line((x(*lane), top), (here, middle)));
        above = lanes.passing.clone();
        above.extend(lanes.goes_on.then_some(lanes.lane));
        push(format_args!("<circle class=\"point\" cx=\"{here}\" cy=\"{middle}\" r=\"5\"/>"));
        push(format_args!("<text x=\"{left}\" y=\"{}\">{}</text>", middle + 4, label(drawn)));
    }
    text + "</svg>\n"
}

/// Returns the number of lanes in a row.
fn width(drawn: &Drawn) -> usize {
    let lanes = drawn.lanes.iter().flat_map(|row| row.passing.iter().chain(&row.branches).chain([&row.lane]));
    lanes.max().map_or(1, |last| last + 1)
}

/// Returns the text beside a checkpoint.
fn label(drawn: &Drawn) -> String {
    let line = &drawn.line;
    let ran = if line.ran.is_empty() { source_name(line.source).to_owned() } else { nodes(&line.ran) };
    let heads: Vec<&str> = line.head_of.iter().map(|head| head.as_str()).collect();
    let heads = if heads.is_empty() { String::new() } else { format!("({})", heads.join(", ")) };
    let names: Vec<&str> = line.names.iter().map(|name| name.as_str()).collect();
    let took = line.took_ms.map(lasted).unwrap_or_default();
    let parts = [line.step.to_string(), cut(&ran), took, names.join(", "), cut(&heads)];
    let parts = parts.iter().filter(|part| !part.is_empty()).map(|part| escaped(part));
    parts.collect::<Vec<_>>().join("  ")
}
