//! Terminals of all kinds, and how sessions on them end.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::Command;

use serde_json::json;

use crate::desk::{Desk, bash, say, write};
use crate::pseudo_terminal::Terminal;
use crate::streaming::Model;

/// A desk whose model says a long line, edits a file and runs a command.
fn colourful() -> Desk {
    let text = "A **bold** text that is much longer than a line of forty columns.\n\n```sh\necho done\n```";
    let desk = Desk::with_script(json!([say(text), bash("c1", "printf 'one\\ntwo\\n'"), say("Ended.")]));
    desk.settings("[permissions]\nallow = [\"bash(printf *)\"]\n");
    desk
}

#[test]
fn a_session_fits_40_80_and_200_columns() {
    for columns in [40, 80, 200] {
        let desk = colourful();
        let terminal = Terminal::start(&desk, columns, &["Say it."]);
        terminal.until("echo done");
        terminal.until_prompt();
        // Words are whole: the terminal broke no line.
        let screen = terminal.screen();
        assert!(screen.contains("longer than a") && screen.contains("forty columns."), "{screen}");
        terminal.enter("/help");
        terminal.until("searches the history");
        terminal.until_prompt();
        let screen = terminal.screen();
        for words in ["show the list of tasks", "searches the history"] {
            assert!(screen.contains(words), "{screen}");
        }
        assert_eq!(terminal.quit(), 0);
    }
}

#[test]
fn a_resized_terminal_gets_lines_and_a_status_of_its_width() {
    let mut desk = Desk::new();
    let model = Model::of(&mut desk);
    let terminal = Terminal::start(&desk, 100, &["Tell a story."]);
    model.asked();
    model.says("A first line.\n\n");
    terminal.until("A first line.");
    terminal.until("Esc stops");
    terminal.resize(40);
    let words = "word ".repeat(30);
    model.says(&format!("{words}\n\nLast words.\n\n"));
    terminal.until("Last words.");
    terminal.until_screen("one status", |screen| screen.matches("Esc stops").count() == 1);
    let screen = terminal.screen();
    assert!(screen.lines().all(|line| line.chars().count() <= 40), "{screen}");
    assert!(screen.contains("A first line."), "{screen}");
    model.ends();
    assert_eq!(terminal.quit(), 0);
}

#[test]
fn with_no_color_nothing_is_coloured() {
    let desk = colourful();
    let variables = [("TERM", "xterm-256color"), ("NO_COLOR", "1")];
    let terminal = Terminal::with(&desk, 80, &["Say it."], &variables);
    terminal.until("**bold**");
    terminal.until_prompt();
    let colours = |text: &str| {
        text.split("\u{1b}[").skip(1).any(|rest| {
            let end = rest.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(0);
            rest[end..].starts_with('m') && !["", "0"].contains(&&rest[..end])
        })
    };
    assert!(!colours(&terminal.written()), "{:?}", terminal.written());
    assert_eq!(terminal.quit(), 0);
}

#[test]
fn a_dumb_terminal_gets_lines_without_control_sequences() {
    let desk = Desk::with_script(json!([write("c1", "a.txt", "1\n"), say("**Written**.")]));
    let terminal = Terminal::with(&desk, 80, &["Write."], &[("TERM", "dumb")]);
    terminal.until("y  allow it once");
    terminal.press("n not today\n");
    terminal.until("**Written**.");
    terminal.until_prompt();
    terminal.press("/cost\n");
    terminal.until("total");
    terminal.until_prompt();
    terminal.press("/quit\n");
    terminal.until("Continue this session");
    assert!(!terminal.written().contains('\u{1b}'), "{:?}", terminal.written());
    assert_eq!(terminal.end(), 0);
    assert_eq!(desk.read("a.txt"), None);
}

/// Starts the program on a terminal with its output in a pipe.
fn with_a_pipe(desk: &Desk, arguments: &[&str]) -> (Terminal, File) {
    let pipe = desk.beside("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let command = desk.command(arguments);
    let mut shell =
        vec!["-c".to_owned(), r#"out=$0; exec "$@" > "$out""#.to_owned(), pipe.display().to_string()];
    shell.push(command.get_program().to_str().unwrap().to_owned());
    shell.extend(command.get_args().map(|argument| argument.to_str().unwrap().to_owned()));
    let terminal = Terminal::of_program(desk, "sh", &shell);
    (terminal, File::open(pipe).unwrap())
}

#[test]
fn an_output_in_a_pipe_has_lines_without_control_sequences() {
    let desk = Desk::with_script(json!([say("Hello."), say("Bye.")]));
    let (terminal, pipe) = with_a_pipe(&desk, &["Hi"]);
    let (mut pipe, mut out) = (BufReader::new(pipe), String::new());
    for (text, keys) in [("Hello.", "And bye\n"), ("Bye.", "/quit\n")] {
        while !out.contains(text) {
            assert_ne!(pipe.read_line(&mut out).unwrap(), 0, "{out}");
        }
        terminal.press(keys);
    }
    pipe.read_to_string(&mut out).unwrap();
    assert!(out.contains("Hello.") && out.contains("Bye.") && !out.contains('\u{1b}'), "{out}");
    // A turn that is left in its last moment is unfinished. The program ends in both cases.
    assert!(matches!(terminal.end(), 0 | 130));
}

#[test]
fn a_closed_pipe_ends_the_program_and_the_session_can_be_resumed() {
    let mut desk = Desk::new();
    let model = Model::of(&mut desk);
    let (terminal, pipe) = with_a_pipe(&desk, &["Tell a story."]);
    model.asked();
    let mut lines = BufReader::new(pipe).lines();
    model.says("Once.\n\n");
    while lines.next().unwrap().unwrap() != "Once." {}
    drop(lines);
    model.says("Upon.\n\nA time.\n\n");
    assert_eq!(terminal.end(), 130);
    model.ends();
    resumes(&desk, &model);
}

/// Continues a session that was left in the middle of a reply.
fn resumes(desk: &Desk, model: &Model) {
    assert_eq!(desk.rows()[0]["status"], "cut_off");
    let terminal = Terminal::start(desk, 80, &["-c"]);
    terminal.until("This session was cut off. It continues");
    assert!(model.asked().contains("Tell a story."));
    model.says("The end.");
    model.ends();
    terminal.until("The end.");
    assert_eq!(terminal.quit(), 0);
    assert_eq!(desk.rows()[0]["status"], "done");
}

#[test]
fn a_closed_terminal_ends_the_program_and_the_session_can_be_resumed() {
    let mut desk = Desk::new();
    let model = Model::of(&mut desk);
    let terminal = Terminal::start(&desk, 80, &["Tell a story."]);
    model.asked();
    model.says("Once.\n\n");
    terminal.until("Once.");
    terminal.close();
    model.ends();
    resumes(&desk, &model);
}

#[test]
fn a_question_survives_its_terminal_and_is_asked_first() {
    let desk = Desk::with_script(json!([write("c1", "a.txt", "1\n"), say("Written.")]));
    let terminal = Terminal::start(&desk, 80, &["Write."]);
    terminal.until("n  deny it");
    terminal.press("n");
    terminal.until("reason (may be empty)");
    terminal.close();
    let terminal = Terminal::start(&desk, 80, &["-c"]);
    terminal.until("This session waits for an answer (1 open).");
    terminal.until("y  allow it once");
    terminal.press("y");
    terminal.until("Written.");
    assert_eq!(terminal.quit(), 0);
    assert_eq!(desk.read("a.txt").as_deref(), Some("1\n"));
}

#[test]
fn a_second_terminal_names_the_first_one_and_sends_it_a_message() {
    let mut desk = Desk::new();
    let model = Model::of(&mut desk);
    let first = Terminal::start(&desk, 80, &["Tell a story."]);
    model.asked();
    model.says("Once.\n\n");
    first.until("Once.");
    let session = desk.session();
    let second = Terminal::start(&desk, 80, &["-r", &session]);
    second.until(&format!("Session {session} is in use by"));
    second.until("process");
    assert_eq!(second.end(), 1);
    assert_eq!(desk.agent(&["send", &session, "Make it short."]).code, 0);
    model.ends();
    assert!(model.asked().contains("Make it short."));
    model.says("The end.");
    model.ends();
    first.until("› Make it short.");
    first.until("The end.");
    assert_eq!(first.quit(), 0);
}

#[test]
fn the_settings_of_a_project_are_trusted_by_key_and_shown_line_by_line() {
    let desk = Desk::with_script(json!([write("c1", "a.txt", "1\n"), say("Written.")]));
    desk.write(".superstep/settings.toml", "[permissions]\nallow = [\"write_file(*.txt)\"]\n");
    let terminal = Terminal::start(&desk, 80, &["Write."]);
    terminal.until("Trust the settings of");
    terminal.until("allow without a question: write_file(*.txt)");
    terminal.press("y");
    terminal.until("Written.");
    assert_eq!(terminal.quit(), 0);
    desk.write(".superstep/settings.toml", "[permissions]\nallow = [\"write_file\"]\n");
    let terminal = Terminal::start(&desk, 80, &[]);
    terminal.until("have changed. Trust them now?");
    terminal.press("n");
    terminal.until("is not trusted");
    assert_eq!(terminal.quit(), 0);
}
