//! Sessions in several processes.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::desk::{Desk, bash, call, say, write};
use crate::streaming::Model;

#[test]
fn a_session_is_continued_by_name_and_as_the_latest_one() {
    let desk = Desk::with_script(json!([say("One."), say("Two."), say("Three.")]));
    assert_eq!(desk.agent(&["-p", "Count.\nSlowly."]).out, "One.\n");
    let name = desk.session();
    assert_eq!(desk.agent(&["-c", "-p", "On."]).out, "Two.\n");
    assert_eq!(desk.agent(&["-r", &name[..5], "-p", "On."]).out, "Three.\n");
    let rows = desk.rows();
    assert_eq!((rows.len(), rows[0]["title"].as_str()), (1, Some("Count.")));
    assert_eq!(desk.agent(&["-r", "nothing", "-p", "On."]).code, 1);
    // The response to the last message, again.
    assert_eq!(desk.agent(&["-c", "-p"]).out, "Three.\n");
}

#[test]
fn sessions_belong_to_a_folder_and_are_listed_for_all() {
    let desk = Desk::with_script(json!([say("One.")]));
    let other = desk.beside("other");
    std::fs::create_dir_all(&other).unwrap();
    desk.agent(&["-p", "Here."]);
    assert_eq!(desk.agent_in(&other, &["-c", "-p", "On."]).code, 1);
    desk.agent_in(&other, &["-p", "There."]);
    assert_eq!(desk.rows().len(), 1);
    let all = desk.agent(&["sessions", "--all", "--json"]).json();
    let titles: Vec<_> =
        all["folders"].as_array().unwrap().iter().map(|it| &it["sessions"][0]["title"]).collect();
    assert_eq!(titles, ["There.", "Here."]);
}

#[test]
fn another_process_answers_a_question() {
    let desk = Desk::with_script(json!([
        write("c1", "a.txt", "1"),
        write("c2", "b.txt", "2"),
        bash("c3", "echo 3 > c.txt"),
        say("Done."),
    ]));
    assert_eq!(desk.agent(&["-p", "Write."]).code, 3);
    assert_eq!(desk.agent(&["answer", "perhaps"]).code, 2);
    let session = desk.session();
    assert_eq!(desk.agent(&["answer", &session, "allow"]).code, 3);
    assert_eq!(desk.agent(&["answer", "deny", "not", "this", "one"]).code, 3);
    let said = desk.agent(&["answer", "session", "--json"]);
    assert_eq!((said.code, said.lines().last().unwrap()["exit"].as_str()), (0, Some("completed")));
    assert_eq!([desk.read("a.txt"), desk.read("b.txt")], [Some("1".into()), None]);
    assert_eq!(desk.read("c.txt").as_deref(), Some("3\n"));
    let state = desk.superstep("show", &[&session, "--json"]);
    assert!(state.out.contains("a person denied this call: not this one"), "{}", state.out);
    assert_eq!(desk.agent(&["answer", "allow"]).code, 1);
}

#[test]
fn an_answer_always_is_a_rule_of_the_user_from_then_on() {
    let desk = Desk::with_script(json!([bash("c1", "ls *.txt; true"), say("Done.")]));
    assert_eq!(desk.agent(&["-p", "List."]).code, 3);
    let said = desk.agent(&["answer", "always"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(desk.agent(&["-p", "List."]).code, 0);
    let said = desk.agent(&["explain", "bash", "ls a.txt; true"]);
    assert_eq!(said.code, 0);
    assert!(said.out.contains("always.toml:4)"), "{}", said.out);
    assert!(desk.agent(&["--print-config"]).out.contains("allow bash(ls *)"));
}

#[test]
fn a_plan_and_a_question_to_the_user_are_answered() {
    let desk = Desk::with_script(json!([
        call("c1", "ask_user", json!({ "question": "Which colour?", "options": ["red", "blue"] })),
        call("c2", "present_plan", json!({ "plan": "1. Paint it." })),
        call("c3", "present_plan", json!({ "plan": "1. Paint it twice." })),
        write("c4", "a.txt", "red"),
        say("Painted."),
    ]));
    let said = desk.agent(&["-p", "Paint.", "--mode", "plan"]);
    assert_eq!((said.code, said.err.contains("Which colour?\n  - red\n  - blue")), (3, true), "{}", said.err);
    let said = desk.agent(&["answer", "a", "dark", "red"]);
    assert_eq!(
        (said.code, said.err.contains("carry out this plan?\n1. Paint it.")),
        (3, true),
        "{}",
        said.err
    );
    assert_eq!(desk.agent(&["answer", "revise", "twice"]).code, 3);
    let said = desk.agent(&["answer", "approve", "accept_edits"]);
    assert_eq!((said.code, said.out.as_str()), (0, "Painted.\n"), "{}", said.err);
    assert_eq!(desk.read("a.txt").as_deref(), Some("red"));
}

#[test]
fn a_second_process_does_not_run_a_session_and_may_send_and_stop() {
    let desk = Desk::with_script(json!([bash("c1", "sleep 1000"), say("Two."), say("Three.")]));
    let running = desk.start(&["-p", "Wait.", "--allow", "bash"]);
    running.until_call("bash");
    let session = desk.session();
    assert_eq!(desk.rows()[0]["status"], "working");
    for arguments in [&["-c", "-p", "Me too."][..], &["-c", "-p"], &["rewind", &session]] {
        let said = desk.agent(arguments);
        assert_eq!(said.code, 1, "{}", said.err);
        let holder = format!("is in use by {}, process {}, since ", machine(), running.child.id());
        assert!(said.err.contains(&holder), "{}", said.err);
    }
    assert_eq!(desk.agent(&["send", &session, "Then", "count."]).code, 0);
    let said = desk.agent(&["stop", &session]);
    assert_eq!((said.code, said.out), (0, format!("stopped {session}\n")));
    assert_eq!(running.until("exited")["exit"], "aborted_tools");
    assert_eq!(running.end().code(), Some(130));
    assert_eq!(desk.agent(&["stop", &session]).code, 1);
    // The message that was sent is taken now.
    let said = desk.agent(&["-c", "-p", "--json"]);
    assert!(said.lines().iter().any(|line| line["type"] == "message" && line["text"] == "Then count."));
    assert_eq!(said.code, 0);
}

fn machine() -> String {
    let output = std::process::Command::new("uname").arg("-n").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_killed_session_asks_about_the_call_that_was_cut_off_and_runs_nothing_twice() {
    for (answer, text) in [
        (&["happened", "it", "printed", "1"][..], "The user says that it happened. it printed 1"),
        (&["give-up"], "It was not made again."),
    ] {
        let desk = Desk::with_script(json!([bash("c1", "echo 1 >> count; sleep 1000"), say("Done.")]));
        let running = desk.start(&["-p", "Count.", "--allow", "bash"]);
        running.until_call("bash");
        while desk.read("count").is_none_or(|count| count.is_empty()) {
            std::thread::yield_now();
        }
        running.kill();
        assert_eq!(desk.rows()[0]["status"], "cut_off");
        let said = desk.agent(&["-c", "-p", "--allow", "bash"]);
        assert_eq!(said.code, 3, "{}", said.err);
        assert!(said.err.contains("was cut off: did it happen?\n  changed since: count"), "{}", said.err);
        let said = desk.agent(&[&["answer"], answer].concat());
        assert_eq!((said.code, said.out.as_str()), (0, "Done.\n"), "{}", said.err);
        assert_eq!(desk.read("count").as_deref(), Some("1\n"));
        let state = desk.superstep("show", &[&desk.session(), "--json"]);
        assert!(state.out.contains(text), "{}", state.out);
    }
}

#[test]
fn a_message_to_a_session_that_was_cut_off_comes_after_its_work() {
    let desk = Desk::with_script(json!([bash("c1", "sleep 1000"), say("First."), say("Second.")]));
    let running = desk.start(&["-p", "Wait.", "--allow", "bash"]);
    running.until_call("bash");
    running.kill();
    let said = desk.agent(&["-c", "-p", "And on."]);
    assert_eq!(said.code, 3);
    assert!(said.err.contains("the message was not taken"), "{}", said.err);
    assert_eq!(desk.agent(&["answer", "give-up"]).out, "First.\n");
    assert_eq!(desk.agent(&["-c", "-p", "And on."]).out, "Second.\n");
}

#[test]
fn a_session_keeps_its_mode_in_other_processes_until_another_one_is_named() {
    let desk = Desk::with_script(json!([
        write("c1", "a.txt", "1"),
        say("One."),
        write("c2", "b.txt", "2"),
        say("Two."),
        write("c3", "c.txt", "3"),
        say("Three."),
    ]));
    assert_eq!(desk.agent(&["-p", "Write.", "--mode", "plan"]).code, 0);
    assert_eq!(desk.agent(&["-c", "-p", "Write."]).code, 0);
    assert_eq!([desk.read("a.txt"), desk.read("b.txt")], [None, None]);
    assert_eq!(desk.agent(&["-c", "-p", "Write.", "--mode", "accept_edits"]).code, 0);
    assert_eq!(desk.read("c.txt").as_deref(), Some("3"));
}

#[test]
fn a_damaged_file_hides_no_sessions_of_other_folders() {
    let desk = Desk::with_script(json!([say("One.")]));
    let other = desk.beside("other");
    fs::create_dir_all(&other).unwrap();
    desk.agent(&["-p", "Here."]);
    desk.agent_in(&other, &["-p", "There."]);
    let there = desk.agent_in(&other, &["sessions", "--json"]).json();
    let file = there["folders"][0]["file"].as_str().unwrap();
    fs::write(file, "no checkpoints").unwrap();
    let said = desk.agent(&["sessions", "--all"]);
    assert_eq!((said.code, said.out.contains("Here.")), (1, true), "{said:?}");
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    assert!(said.err.starts_with(&format!("error: {file}: ")), "{}", said.err);
    let folders = desk.agent(&["sessions", "--all", "--json"]).json();
    let errors = folders["folders"].as_array().unwrap().iter().filter(|it| it["error"].is_string());
    assert_eq!(errors.count(), 1, "{folders}");
}

/// The request was left in the file by a turn that had just ended, and was waited for.
#[test]
fn a_stop_returns_when_the_turn_has_ended_by_itself() {
    let desk = Desk::with_script(json!([say("One.")]));
    desk.agent(&["-p", "Hello."]);
    let (session, sessions) = (desk.session(), desk.sessions());
    let file = sessions["folders"][0]["file"].as_str().unwrap();
    let lock = std::path::Path::new(file).with_file_name("running").join(&session);
    let work = fs::File::open(lock).unwrap();
    work.lock().unwrap();
    let stop = desk.start(&["stop", &session]);
    let db = rusqlite::Connection::open(file).unwrap();
    let asked = "select count(*) from item where key = ?1";
    while db.query_row(asked, [&session], |row| row.get::<_, i64>(0)).unwrap_or(0) == 0 {
        std::thread::yield_now();
    }
    drop(work);
    let begun = Instant::now();
    assert_eq!(stop.end().code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn an_answer_for_more_than_one_call_that_has_no_rule_says_that_it_counts_once() {
    for answer in ["session", "always"] {
        let desk = Desk::with_script(json!([write("c1", "a.txt", "1"), say("Done.")]));
        assert_eq!(desk.agent(&["-p", "Write."]).code, 3);
        let said = desk.agent(&["answer", answer]);
        assert_eq!((said.code, said.out.as_str()), (0, "Done.\n"), "{}", said.err);
        assert!(
            said.err.contains("no rule can be made for this call, so it is allowed once"),
            "{}",
            said.err
        );
    }
}

/// A task that an agent begins in the background.
fn begin_agent(model: &Model, kind: &str) {
    model.asked();
    let task = json!({ "kind": kind, "task": "Do the part.", "background": true });
    model.calls("agent", &task);
    model.asked();
    model.says("It is on its way.");
    model.ends();
}

#[test]
fn agents_in_the_background_hold_their_session_and_are_stopped_with_it() {
    let mut desk = Desk::new();
    let model = Model::of(&mut desk);
    let running = desk.start(&["-p", "Begin.", "--allow", "agent"]);
    begin_agent(&model, "explore");
    assert!(model.asked().contains("You search a project"));
    let session = desk.session();
    assert_eq!(desk.rows()[0]["status"], "working");
    let said = desk.agent(&["-c", "-p", "Me too."]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("is in use by"), "{}", said.err);
    assert_eq!(desk.agent(&["stop", &session]).code, 0);
    assert_eq!(running.end().code(), Some(130));
    model.ends();
}

#[test]
fn a_question_of_an_agent_in_the_background_is_answered_by_its_name() {
    let mut desk = Desk::new();
    let model = Model::of(&mut desk);
    let running = desk.start(&["-p", "Begin.", "--allow", "agent"]);
    begin_agent(&model, "helper");
    assert!(model.asked().contains("Do the part."));
    model.calls("write_file", &json!({ "path": "a.txt", "content": "1" }));
    let question = running.until("warning")["text"].as_str().unwrap().to_owned();
    assert!(question.contains("asks: agent helper: allow write_file with"), "{question}");
    let how = running.until("warning")["text"].as_str().unwrap().to_owned();
    let agent = how.split_whitespace().nth(5).unwrap().to_owned();
    assert_eq!(running.end().code(), Some(3));
    assert!(agent.starts_with(&format!("{}/", desk.session())), "{how}");
    assert_eq!(
        (desk.rows()[0]["status"].as_str(), desk.rows()[0]["questions"].as_u64()),
        (Some("asking"), Some(1))
    );
    let nothing = desk.agent(&["answer", &format!("{}/nothing", desk.session()), "allow"]);
    assert_eq!(nothing.code, 1, "{}", nothing.err);
    let running = desk.start(&["answer", &agent, "allow"]);
    assert!(model.asked().contains("a.txt"));
    model.says("The part is done.");
    model.ends();
    assert!(model.asked().contains("The part is done."));
    model.says("All is done.");
    model.ends();
    assert_eq!(running.end().code(), Some(0));
    assert_eq!(desk.read("a.txt").as_deref(), Some("1"));
    assert_eq!((desk.rows().len(), desk.rows()[0]["status"].as_str()), (1, Some("done")));
}
