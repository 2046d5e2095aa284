//! The output of each verb.

use superstep::cli::{Exit, Look};
use superstep::prelude::*;

use crate::program::{Essay, essay, essays, written};
use crate::{golden, said};

#[tokio::test]
async fn every_verb_says_what_it_is_known_to_say() {
    let file = written().await;
    for (name, line) in [
        ("threads", "threads FILE"),
        ("threads_unfinished", "threads FILE --unfinished"),
        ("threads_some", "threads FILE --status waiting --tokens --text ZIG"),
        ("interrupts", "interrupts FILE"),
        ("log", "log FILE rust"),
        ("log_some", "log FILE zig -n 2"),
        ("log_graph", "log FILE rust --graph"),
        ("log_skip", "log FILE rust --skip 2 -n 2"),
        ("log_around", "log FILE rust --graph --around rust@3 -n 3"),
        ("log_strip", "log FILE rust --strip 40"),
        ("log_svg", "log FILE rust --svg -n 6"),
        ("test", "test FILE rust"),
        ("test_step", "test FILE rust@1 --step"),
        ("show", "show FILE rust@1"),
        ("show_waiting", "show FILE zig"),
        ("show_failed", "show FILE trouble"),
        ("show_path", "show FILE rust 'facts[id=\"people\"].text'"),
        ("diff", "diff FILE rust@3"),
        ("diff_two", "diff FILE rust zig"),
        ("diff_secret", "diff FILE rust@2 zig@3"),
        ("diff_same", "diff FILE rust rust"),
        ("diff_first", "diff FILE rust@-1"),
        ("blame", "blame FILE rust ."),
        ("blame_part", "blame FILE zig facts[1]"),
        ("why", "why FILE rust@5 write"),
        ("why_next", "why FILE zig review"),
        ("grep", "grep FILE 'about|broken'"),
        ("grep_none", "grep FILE sesame"),
        ("bisect", "bisect FILE rust --path rounds --is '>= 2'"),
        ("bisect_never", "bisect FILE rust --path draft --is '= \"none\"' --linear"),
        ("compare", "compare FILE rust zig"),
        ("graph", "graph FILE rust"),
        ("graph_mermaid", "graph FILE rust --mermaid"),
        ("graph_dot", "graph FILE rust --dot"),
        ("verify", "verify FILE"),
        ("du", "du FILE"),
        ("du_thread", "du FILE rust"),
        ("migrate", "migrate FILE"),
        ("gc", "gc FILE"),
    ] {
        golden(&file.path, name, line);
    }
}

#[tokio::test]
async fn a_thread_is_deleted_and_what_others_share_with_it_stays() {
    let file = written().await;
    let said = |line: &str| said(&file.path, Look::PIPED, line);
    let zig = said("show FILE zig").out;
    assert_eq!(said("delete FILE rust").out, "deleted rust\n");
    assert_eq!(said("delete FILE trouble --json").out, "{\n  \"deleted\": \"trouble\"\n}\n");
    assert_eq!(said("log FILE rust").exit, Exit::No);
    assert_eq!(said("show FILE zig").out, zig);
}

#[tokio::test]
async fn a_checkpoint_has_many_names() {
    let file = written().await;
    let id = |name: &str| said(&file.path, Look::PIPED, &format!("show FILE {name} --json")).out;
    let head = id("rust");
    let full = head.lines().find_map(|line| line.trim().strip_prefix("\"id\": \"")).unwrap();
    let full = full.trim_end_matches("\",");
    assert_eq!(full.len(), 36);
    assert_eq!(id(full), head);
    assert_eq!(id(&full[28..]), head, "the end of an id");
    assert_eq!(id(&full[..13]), head, "its beginning");
    assert_eq!(id("rust@6~0"), id("rust"));
    assert_eq!(id("rust~2"), id("rust@4"));
    assert_eq!(id("rust@5~"), id("rust@4"));
    assert_eq!(id(&format!("{full}~2")), id("rust@4"));
}

#[tokio::test]
async fn drawings_are_those_of_the_code() {
    let file = written().await;
    let graph = essays(SqliteSaver::in_memory().await.unwrap(), 1);
    let drawn = |form: &str| said(&file.path, Look::PIPED, &format!("graph FILE rust {form}")).out;
    assert_eq!(drawn("--mermaid"), graph.mermaid());
    assert_eq!(drawn("--dot"), graph.dot());
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_tells_what_holds() {
    let file = written().await;
    let told = |test: &str| said(&file.path, Look::PIPED, &format!("bisect FILE rust --test '{test}'"));
    let first = told("grep -q people");
    assert_eq!(first.exit, Exit::Fine);
    assert!(first.out.starts_with("it first holds at rust@2\n"), "{}", first.out);
    assert_eq!(told("true").out.lines().next(), Some("it always holds, from rust@-1"));
    assert_eq!(told("false").exit, Exit::No);
    assert_eq!(told("grep -q sesame").exit, Exit::No, "secrets are not told to commands");
    let broken = told("no-such-command-at-all");
    assert_eq!(broken.exit, Exit::Unusable);
    assert_eq!(broken.err, "error: the command \"no-such-command-at-all\" could not be run\n");
}

#[tokio::test]
async fn no_verb_shows_a_secret() {
    let file = written().await;
    for line in [
        "show FILE rust@-1",
        "show FILE rust@0",
        "show FILE rust",
        "show FILE zig@3",
        "diff FILE rust@-1",
        "diff FILE rust@0",
        "diff FILE rust@2 zig@3",
        "diff FILE zig@3",
        "blame FILE rust .",
        "blame FILE rust token",
        "compare FILE rust zig",
        "grep FILE sesame",
        "grep FILE .",
        "log FILE rust",
        "test FILE rust",
        "test FILE zig@3",
        "bisect FILE rust --path token --is '~ sesame'",
    ] {
        for line in [line.to_owned(), format!("{line} --json")] {
            let said = said(&file.path, Look::PIPED, &line);
            assert!(!said.out.contains("sesame") && !said.out.contains("other\""), "{line}: {}", said.out);
        }
    }
}

#[tokio::test]
async fn a_file_is_looked_into_while_its_program_runs() {
    let file = written().await;
    let essays = essays(SqliteSaver::open(&file.path).await.unwrap(), 1_000);
    for round in 0..3 {
        let thread = essays.thread(format!("quick {round}"));
        let running = tokio::spawn(thread.run(essay("quick")).into_future());
        let seen = said(&file.path, Look::PIPED, "threads FILE");
        assert_eq!(seen.exit, Exit::Fine, "{}", seen.err);
        running.await.unwrap().unwrap().finished().unwrap();
        let seen = said(&file.path, Look::PIPED, &format!("log FILE 'quick {round}'"));
        assert!(seen.out.contains("review"), "{}", seen.out);
        assert_eq!(said(&file.path, Look::PIPED, "grep FILE nothing-of-this-kind").exit, Exit::No);
    }
}

#[tokio::test]
async fn the_past_of_a_deleted_thread_is_shown_as_its() {
    let file = written().await;
    let essays = essays(SqliteSaver::open(&file.path).await.unwrap(), 1_000);
    essays.thread("rust").delete().await.unwrap();
    let log = said(&file.path, Look::PIPED, "log FILE zig --graph");
    assert_eq!(log.exit, Exit::Fine, "{}", log.err);
    assert!(log.out.contains("research ×2"), "{}", log.out);
    let digits = log.out.lines().find(|line| line.contains("research ×2")).unwrap();
    let digits = digits.split_whitespace().nth(2).unwrap();
    let shown = said(&file.path, Look::PIPED, &format!("show FILE {digits}"));
    assert_eq!(shown.exit, Exit::Fine, "{}", shown.err);
    assert_eq!(said(&file.path, Look::PIPED, "grep FILE people").exit, Exit::Fine);
}

#[test]
fn a_long_state_is_cut_on_a_terminal_only() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let file = written().await;
        let essays = essays(SqliteSaver::open(&file.path).await.unwrap(), 1_000);
        let long = Essay::update().topic("quick\nlong".repeat(50));
        essays.thread("rust").edit(long).await.unwrap();
        let on = |look, line| said(&file.path, look, line).out;
        let longest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest(&on(Look { width: Some(60), color: false }, "show FILE rust")) <= 60);
        assert!(longest(&on(Look::PIPED, "show FILE rust")) > 300);
        assert!(on(Look { width: Some(60), color: false }, "show FILE rust").contains('…'));
    });
}
