//! The programs of `docs/tutorial.md`. Each runs as with `cargo run`, as a process in a folder of its own, and prints
//! the output on the page.

mod a_graph;
mod a_real_model;
mod an_agent;
mod approval;
mod memory;
mod tokens;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs a program of the tutorial in a folder, and returns what it prints.
fn run(program: &str, folder: &Path, input: &str) -> String {
    let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["--ignored", "--exact", "--nocapture", &format!("tutorial::{program}::program")])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program can be started again");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(input.as_bytes()).expect("the program reads its input");
    drop(stdin);
    let output = child.wait_with_output().expect("the program ends");
    let printed = String::from_utf8(output.stdout).expect("the program prints text");
    assert!(output.status.success(), "{program} failed:\n{printed}");
    assert!(printed.contains("1 passed"), "there is no program {program}:\n{printed}");
    printed
}

/// Checks that a program prints the last text block below a heading of the page, without the typed lines.
fn prints_what_the_page_says(heading: &str, program: &str, input: &str) {
    let page = include_str!("../../../../docs/tutorial.md");
    let section = page.split("\n## ").find(|section| section.starts_with(heading)).expect("the page has it");
    let (_, block) = section.rsplit_once("```text\n").expect("it shows what is printed");
    let lines = block.lines().take_while(|line| *line != "```").filter(|line| *line != input.trim());
    let expected = lines.collect::<Vec<_>>().join("\n");
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let printed = run(program, folder.path(), input);
    assert!(printed.contains(&expected), "{program} prints\n{printed}\nand the page says\n{expected}");
}

#[test]
fn a_first_graph_answers() {
    prints_what_the_page_says("A first graph", "a_graph", "");
}

#[test]
fn an_agent_calls_a_tool() {
    prints_what_the_page_says("An agent with tools", "an_agent", "");
}

#[test]
fn tokens_are_printed_as_they_come() {
    prints_what_the_page_says("Streamed tokens", "tokens", "");
}

#[test]
fn a_conversation_knows_of_another() {
    prints_what_the_page_says("Memory", "memory", "");
}

#[test]
fn a_conversation_continues_in_the_next_process() {
    let folder = tempfile::tempdir().unwrap();
    run("memory", folder.path(), "");
    let again = run("memory", folder.path(), "");
    assert_eq!(again.matches("human: What fruit shall I buy?").count(), 2, "{again}");
    assert_eq!(again.matches("system: ").count(), 1, "{again}");
}

#[test]
fn a_person_approves_an_order() {
    prints_what_the_page_says("A human approval", "approval", "y\n");
}

#[test]
fn a_person_refuses_an_order() {
    let folder = tempfile::tempdir().unwrap();
    let printed = run("approval", folder.path(), "n\n");
    assert!(printed.contains("tool order failed: The user did not approve this.\n"), "{printed}");
    assert!(!printed.contains("ordered: "), "{printed}");
}
