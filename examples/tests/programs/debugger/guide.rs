//! The page `docs/debugging.md`: each of its commands runs, in order and in one folder, and prints the output on the
//! page. `UPDATE_GOLDEN=1` writes the output of the commands into the page.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use regex::Regex;
use superstep::cli::{Look, Screen, run};

use crate::example;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/debugging.md");

/// Runs a command of the page and returns what it prints, errors last, and its exit code where that is not 0.
fn printed(folder: &Path, line: &str) -> String {
    let (command, into) = match line.split_once(" > ") {
        Some((command, file)) => (command, Some(file)),
        None => (line, None),
    };
    let (code, mut out, err) = match command.strip_prefix("cargo run --bin opening_hours") {
        Some(rest) => of_example(folder, &words(rest.strip_prefix(" -- ").unwrap_or(rest))),
        None => of_superstep(folder, &words(command)),
    };
    if let Some(file) = into {
        fs::write(folder.join(file), &out).expect("a new file");
        out.clear();
    }
    let exit = if code == 0 { String::new() } else { format!("[exit {code}]\n") };
    out + &err + &exit
}

/// Runs the example; returns its exit code, and its output on each stream.
fn of_example(folder: &Path, arguments: &[String]) -> (i32, String, String) {
    let mut program = Command::new(example("opening_hours"));
    let run = program.current_dir(folder).args(arguments).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (run.status.code().expect("it is not killed"), text(run.stdout), text(run.stderr))
}

/// Runs `superstep` within this process, which is in another folder: so paths of files in `folder` are made absolute,
/// and relative again in the output.
fn of_superstep(folder: &Path, line: &[String]) -> (i32, String, String) {
    assert_eq!(line[0], "superstep", "no program of ours");
    let whole = |word: &String| match folder.join(word) {
        path if path.is_file() => path.display().to_string(),
        _ => word.clone(),
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let screen = Screen { out: &mut out, err: &mut err, look: Look::PIPED };
    let exit = run(line.iter().map(whole), &[], screen);
    let within = format!("{}/", folder.display());
    let text = |bytes| String::from_utf8(bytes).expect("text").replace(&within, "");
    (exit as i32, text(out), text(err))
}

/// The words of a command line; words in single quotes may contain spaces.
fn words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    let words = parts.flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

/// The page with the current output of the commands.
fn print_again(page: &str, folder: &Path) -> String {
    let mut told = String::new();
    let mut in_block = false;
    for line in page.lines() {
        match (in_block, line.strip_prefix("$ ")) {
            (true, Some(command)) => told += &format!("{line}\n{}", printed(folder, command)),
            (true, None) if line != "```" => {}
            _ => told += &format!("{line}\n"),
        }
        in_block = if line.starts_with("```") { line == "```console" } else { in_block };
    }
    told
}

/// The text with numbered placeholders for ids and times, in order of appearance, and without their effect on column
/// widths.
fn numbered(text: &str) -> String {
    let changing = Regex::new(
        r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{8}\b|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+Z)?|\d+ ms|\d+\.\d s",
    );
    let mut known: HashMap<String, usize> = HashMap::new();
    let numbered = changing.expect("a pattern").replace_all(text, |found: &regex::Captures<'_>| {
        if found[0].contains(':') {
            return "TIME".to_owned();
        }
        if found[0].ends_with('s') {
            return "DURATION".to_owned();
        }
        // Tables show the end of an id.
        let end = found[0][found[0].len() - 8..].to_owned();
        let next = known.len();
        format!("ID{}", known.entry(end).or_insert(next))
    });
    Regex::new("(?m)(\\S) +").expect("a pattern").replace_all(&numbered, "$1 ").into_owned()
}

#[test]
fn every_command_of_the_page_says_what_the_page_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = fs::read_to_string(PAGE).expect("the page");
    let now = print_again(&page, folder.path());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return fs::write(PAGE, &now).expect("the page is ours");
    }
    let (page, now) = (numbered(&page), numbered(&now));
    is_kept(&folder.path().join("lost_condition.rs"));
    for (line, (told, is)) in page.lines().zip(now.lines()).enumerate() {
        assert_eq!(told, is, "line {} of the page", line + 1);
    }
    assert_eq!(page.lines().count(), now.lines().count());
}

/// The test that the page generates is the one that is kept and run here, with only its one line filled in.
fn is_kept(written: &Path) {
    let open = "let graph = todo!();";
    let filled = "let graph = crate::museum::replies(true).compile()?;";
    let written = fs::read_to_string(written).expect("the page has it written");
    assert!(written.contains(open));
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guide/debugging.rs");
    assert_eq!(fs::read_to_string(kept).expect("it is kept"), written.replace(open, filled));
}

/// The page promises that this is enough to find the step.
#[test]
fn the_step_is_found_within_ten_commands() {
    let page = fs::read_to_string(PAGE).expect("the page");
    let found = page.split("step 8").next().unwrap_or_default();
    let commands = found.lines().filter(|line| line.starts_with("$ superstep ")).count();
    assert!((3..=10).contains(&commands), "{commands}");
}
