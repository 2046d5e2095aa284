//! Commands in sessions on a terminal.

use serde_json::json;

use crate::desk::{Desk, call, say, write};
use crate::pseudo_terminal::{TAB, Terminal};
use crate::streaming::Model;

#[test]
fn a_session_is_taken_back_with_its_files_and_forth_again() {
    let read = call("c0", "read_file", json!({ "path": "a.txt" }));
    let script = [say("Hello."), read, write("c1", "a.txt", "new\n"), say("Written.")];
    let desk = Desk::with_script(json!(script));
    desk.write("a.txt", "old\n");
    let terminal = Terminal::start(&desk, 80, &["Greet.", "--allow", "write_file"]);
    terminal.until("Hello.");
    terminal.enter("Write.");
    terminal.until("Written.");
    terminal.enter("/rewind");
    terminal.until("before: Write.");
    terminal.until_prompt();
    let screen = terminal.screen();
    let row = screen.lines().find(|line| line.contains("before: Write.")).unwrap();
    let step = row.split_whitespace().next().unwrap();
    terminal.enter(&format!("/rewind {step}"));
    terminal.until("~ a.txt");
    terminal.until("y  rewind");
    assert_eq!(desk.read("a.txt").as_deref(), Some("new\n"));
    terminal.press("y");
    terminal.until("Done. Restored files:");
    // The message is ready to be changed and sent again.
    terminal.until_screen("message", |screen| screen.trim_end().ends_with("› Write."));
    assert_eq!(desk.read("a.txt").as_deref(), Some("old\n"));
    terminal.press("\u{15}/rewind redo\r");
    terminal.until_screen("second restore", |screen| screen.matches("Restored files:").count() == 2);
    assert_eq!(desk.read("a.txt").as_deref(), Some("new\n"));
    assert_eq!(terminal.quit(), 0);
}

#[test]
fn every_command_works_on_the_session() {
    let todo = json!({ "call": [{ "id": "c1", "name": "todo", "input": { "items": [
        { "task": "Read it", "status": "done" }, { "task": "Mend it", "status": "in_progress" },
    ] } }] });
    let desk = Desk::with_script(json!([todo, say("Planned."), say("In mode plan.")]));
    desk.write("AGENTS.md", "Write short sentences.\n");
    desk.write(
        ".superstep/commands/review.md",
        "---\ndescription: Reviews a change.\n---\nReview $ARGUMENTS.\n",
    );
    desk.write(".superstep/memory/tests.md", "Run them with sh.\n");
    let terminal = Terminal::start(&desk, 100, &["Plan."]);
    terminal.until("Planned.");
    let commands = [
        ("/help", "/rewind [STEP | redo]"),
        ("/todo", "[~] Mend it"),
        ("/memory", "Write short sentences."),
        ("/memory tests", "Run them with sh."),
        ("/context", "compactions"),
        ("/cost", "total"),
        ("/agents", "No agent runs in the background."),
        ("/mcp", "No MCP server is connected."),
        // The mode itself is also in the first line of the session.
        ("/permissions", "everything else is asked about"),
        ("/model", "script:"),
        ("/mode accept-edits", "mode accept_edits: reading and editing files need no consent"),
        ("/plan", "There is no plan."),
        ("/resume", "Plan."),
        ("/hlep", "There is no command /hlep."),
    ];
    for (command, text) in commands {
        terminal.enter(command);
        terminal.until(text);
    }
    terminal.until("/review");
    terminal.enter("/fork ../other");
    terminal.until("continue with: cd");
    assert!(desk.beside("other").join("AGENTS.md").is_file());
    terminal.enter("/plan Go.");
    terminal.until("mode plan: only reading is allowed");
    terminal.until("In mode plan.");
    terminal.enter("/compact");
    terminal.until("is compacted before the next request");
    assert_eq!(terminal.quit(), 0);
    let state = desk.superstep("show", &[&desk.session(), "--json"]).json();
    assert_eq!(state["state"]["mode"], "plan", "{state}");
}

#[test]
fn commands_and_files_are_completed_and_the_history_is_kept() {
    let desk = Desk::with_script(json!([say("Read.")]));
    desk.write("src/parser.rs", "");
    desk.write(".gitignore", "secret.rs\n");
    desk.write("src/secret.rs", "");
    let terminal = Terminal::start(&desk, 80, &[]);
    terminal.until_prompt();
    terminal.press("/hel");
    terminal.until("› /hel");
    terminal.press(TAB);
    terminal.until("› /help");
    terminal.press("\u{15}read @pars");
    terminal.until("› read @pars");
    terminal.press(TAB);
    terminal.until("› read @src/parser.rs");
    terminal.press("\r");
    terminal.until("Read.");
    terminal.until_prompt();
    terminal.press("look at @secret");
    terminal.until("› look at @secret");
    terminal.press(TAB);
    terminal.press("\u{15}");
    terminal.until_prompt();
    assert!(!terminal.screen().contains("secret.rs"), "{}", terminal.screen());
    assert_eq!(terminal.quit(), 0);
    let terminal = Terminal::start(&desk, 80, &["-c"]);
    terminal.until_prompt();
    terminal.press("\u{1b}[A\u{1b}[A");
    terminal.until("› read @src/parser.rs");
    terminal.press("\u{15}");
    assert_eq!(terminal.quit(), 0);
}

#[test]
fn a_message_has_several_lines() {
    let desk = Desk::with_script(json!([say("Two lines.")]));
    let terminal = Terminal::start(&desk, 80, &[]);
    terminal.until_prompt();
    terminal.press("one\u{1b}\rtwo");
    terminal.until("  two");
    terminal.press("\u{1b}[200~ and\nthree\u{1b}[201~");
    terminal.until("  three");
    terminal.press("\r");
    terminal.until("Two lines.");
    assert_eq!(terminal.quit(), 0);
    let state = desk.superstep("show", &[&desk.session(), "--json"]);
    assert!(state.out.contains(r"one\ntwo and\nthree"), "{}", state.out);
}

#[test]
fn an_agent_works_beside_the_session_and_its_answer_is_a_message() {
    let mut desk = Desk::new();
    let model = Model::of(&mut desk);
    let terminal = Terminal::start(&desk, 100, &["Find it, and wait."]);
    model.asked();
    let task = json!({ "kind": "explore", "task": "Find the parser.", "background": true });
    model.calls("agent", &task);
    // The session and the agent ask in either order.
    let mut is_idle = false;
    loop {
        let request = model.asked();
        let answer = match request.contains("You search a project") {
            true => "It is in parser.rs.",
            false if request.contains("It is in parser.rs.") => break,
            false => "The agent works.",
        };
        if is_idle {
            terminal.enter("/agents");
            terminal.until("explore · works");
        }
        model.says(answer);
        model.ends();
        is_idle |= answer == "The agent works.";
    }
    model.says("Found: parser.rs.");
    model.ends();
    terminal.until("has ended.");
    terminal.until("Found: parser.rs.");
    assert_eq!(terminal.quit(), 0);
}

/// The mode of `--mode` came back with each message, whatever the user had set meanwhile.
#[test]
fn the_mode_of_the_arguments_counts_until_the_user_sets_another() {
    let desk = Desk::with_script(json!([say("Hello."), write("c1", "a.txt", "1\n"), say("Denied.")]));
    let terminal = Terminal::start(&desk, 80, &["Hi.", "--mode", "accept_edits"]);
    terminal.until("Hello.");
    terminal.enter("/mode default");
    terminal.until("mode default:");
    terminal.enter("Write.");
    terminal.until("Allow write_file?");
    assert_eq!(desk.read("a.txt"), None);
    terminal.press("y");
    terminal.until("Denied.");
    assert_eq!(terminal.quit(), 0);
}

#[test]
fn another_session_is_resumed_with_its_question() {
    let desk = Desk::with_script(json!([write("c1", "a.txt", "1\n"), say("Written.")]));
    assert_eq!(desk.agent(&["-p", "Write."]).code, 3);
    let session = desk.session();
    let terminal = Terminal::start(&desk, 80, &[]);
    terminal.enter("/resume");
    terminal.until("waits for an answer · Write.");
    terminal.enter(&format!("/resume {session}"));
    terminal.until("This session waits for an answer (1 open).");
    terminal.until("y  allow it once");
    terminal.press("y");
    terminal.until("Written.");
    assert_eq!(terminal.quit(), 0);
    assert_eq!(desk.read("a.txt").as_deref(), Some("1\n"));
    assert_eq!(desk.rows().len(), 1);
}

/// The program ended, and the present session with it.
#[test]
fn a_session_that_another_terminal_works_on_is_not_resumed() {
    let mut desk = Desk::new();
    let model = Model::of(&mut desk);
    let first = Terminal::start(&desk, 80, &["Tell a story."]);
    model.asked();
    model.says("Once.\n\n");
    first.until("Once.");
    let session = desk.session();
    let second = Terminal::start(&desk, 80, &[]);
    second.enter(&format!("/resume {session}"));
    second.until(&format!("Session {session} is in use by"));
    second.enter("/todo");
    second.until("The list of tasks is empty.");
    assert_eq!(second.quit(), 0);
    model.ends();
    assert_eq!(first.quit(), 0);
}

#[test]
fn the_model_is_changed_for_the_next_request() {
    let desk = Desk::with_script(json!([say("From the first."), say("Never said.")]));
    let other = desk.beside("other.json");
    let script = json!({ "turns": [say("Never said."), say("From the second.")], "by_replies": true });
    std::fs::write(&other, script.to_string()).unwrap();
    let terminal = Terminal::start(&desk, 120, &["Who?"]);
    terminal.until("From the first.");
    terminal.enter("/model nothing:x");
    terminal.until("unknown model `nothing:x`");
    terminal.enter(&format!("/model script:{}", other.display()));
    terminal.until("The next request goes to script:");
    terminal.enter("And now?");
    terminal.until("From the second.");
    assert_eq!(terminal.quit(), 0);
}

#[test]
fn a_conversation_is_compacted_before_the_next_request() {
    let mut desk = Desk::new();
    let model = Model::of(&mut desk);
    let terminal = Terminal::start(&desk, 100, &["Tell a long story."]);
    model.asked();
    model.says(&format!("{}The end.", "It went on and on.\n".repeat(2_000)));
    model.ends();
    terminal.until("The end.");
    // The last messages stay unchanged.
    for message in ["What was that?", "And before?"] {
        terminal.enter(message);
        model.asked();
        model.says(&format!("The answer to: {message}"));
        model.ends();
        terminal.until(&format!("The answer to: {message}"));
    }
    terminal.enter("/compact");
    terminal.until("is compacted before the next request");
    terminal.enter("And then?");
    assert!(model.asked().contains("It went on and on."));
    model.says("A long story was told.");
    model.ends();
    let request = model.asked();
    assert!(
        request.contains("A long story was told.") && !request.contains("It went on and on."),
        "{request}"
    );
    model.says("Nothing more.");
    model.ends();
    terminal.until("compacted");
    terminal.until("Nothing more.");
    terminal.enter("/context");
    terminal.until("are not behind a summary");
    assert_eq!(terminal.quit(), 0);
    let state = desk.superstep("show", &[&desk.session(), "--json"]).json();
    assert_eq!(state["state"]["compactions"].as_array().unwrap().len(), 1, "{state}");
}
