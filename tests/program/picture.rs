//! The picture of the demo in the documentation: a screen of a real run, drawn as SVG.

use std::fs;
use std::path::Path;

use vt100::{Cell, Color, Screen};

use crate::desk::Desk;
use crate::pseudo_terminal::Terminal;

const COLUMNS: u16 = 92;

/// The width and the height of a cell, in pixels, and the space around the text.
const CELL: (f32, u32) = (8.4, 19);
const MARGIN: u32 = 16;

/// Returns the colour of a cell in the picture.
fn fill(cell: &Cell) -> &'static str {
    match cell.fgcolor() {
        _ if cell.dim() => "#8b949e",
        Color::Idx(1 | 9) => "#ff7b72",
        Color::Idx(2 | 10) => "#56d364",
        Color::Idx(3 | 11) => "#e3b341",
        Color::Idx(4 | 12) => "#79c0ff",
        Color::Idx(5 | 13) => "#d2a8ff",
        Color::Idx(6 | 14) => "#76e3ea",
        _ => "#e6edf3",
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Draws a screen. What differs from run to run is replaced.
fn svg(screen: &Screen, replaced: &[(String, &str)]) -> String {
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    let mut drawn: Vec<Vec<(String, String)>> = Vec::new();
    for row in 0..rows {
        let mut runs: Vec<(String, String)> = Vec::new();
        for cell in (0..columns).filter_map(|column| screen.cell(row, column)) {
            let weight = if cell.bold() { " font-weight=\"bold\"" } else { "" };
            let style = format!("fill=\"{}\"{weight}", fill(cell));
            let text = if cell.contents().is_empty() { " " } else { cell.contents() };
            match runs.last_mut().filter(|run| run.0 == style) {
                Some(run) => run.1.push_str(text),
                None => runs.push((style, text.to_owned())),
            }
        }
        drawn.push(runs);
    }
    let is_empty = |runs: &Vec<(String, String)>| runs.iter().all(|(_, text)| text.trim().is_empty());
    let used = drawn.iter().rposition(|runs| !is_empty(runs)).map_or(0, |last| last + 1);
    let height = 2 * MARGIN + CELL.1 * u32::try_from(used).unwrap();
    let width = 2 * MARGIN + (f32::from(COLUMNS) * CELL.0) as u32;
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"14\">\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#0d1117\"/>\n"
    );
    for (row, runs) in (0_u32..).zip(&drawn[..used]) {
        let spans: String =
            runs.iter().map(|(style, text)| format!("<tspan {style}>{}</tspan>", escaped(text))).collect();
        let y = MARGIN + CELL.1 * row + 14;
        picture.push_str(&format!("<text x=\"{MARGIN}\" y=\"{y}\" xml:space=\"preserve\">{spans}</text>\n"));
    }
    picture.push_str("</svg>\n");
    replaced.iter().fold(picture, |picture, (from, to)| picture.replace(from, to))
}

/// The picture is made again with `SUPERSTEP_PICTURE=write`.
#[test]
fn the_picture_of_the_documentation_shows_the_demo() {
    let mut desk = Desk::new();
    // The name of the folder is as long in each run, so lines break at the same places.
    desk.set("TMPDIR", "/tmp");
    let terminal = Terminal::start(&desk, COLUMNS, &["--demo"]);
    terminal.until("Allow edit_file?");
    terminal.press("y");
    terminal.until("I changed only that sign.");
    terminal.until_prompt();
    let shown = terminal.screen();
    let folder = shown.split_whitespace().find(|word| word.starts_with("/tmp/superstep-demo-")).unwrap();
    let folder = folder.trim_end_matches(',').to_owned();
    let session = shown.split_whitespace().skip_while(|word| *word != "session").nth(1).unwrap().to_owned();
    let replaced = [(folder.clone(), "/tmp/superstep-demo-1ced8623"), (session, "s74f131ac")];
    let picture = terminal.with_screen(|screen| svg(screen, &replaced));
    assert_eq!(terminal.quit(), 0);
    fs::remove_dir_all(&folder).unwrap();

    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/agent.svg");
    if std::env::var_os("SUPERSTEP_PICTURE").is_some_and(|wish| wish == "write") {
        fs::write(&file, &picture).unwrap();
    }
    assert!(
        fs::read_to_string(&file).is_ok_and(|drawn| drawn == picture),
        "docs/agent.svg is out of date: run this test with SUPERSTEP_PICTURE=write, and look at it\n{shown}"
    );
}
