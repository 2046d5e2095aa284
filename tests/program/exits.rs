//! `-p`: its output and its exit codes.

use std::io::Read;

use serde_json::json;

use crate::desk::{Desk, bash, call, say, write};

#[test]
fn a_response_is_printed_and_the_work_exits_with_0() {
    let desk = Desk::with_script(json!([write("c1", "a.txt", "hello\n"), say("Written.")]));
    let said = desk.agent(&["-p", "Write it.", "--mode", "accept_edits"]);
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "Written.\n", ""));
    assert_eq!(desk.read("a.txt").as_deref(), Some("hello\n"));
}

#[test]
fn each_event_is_a_json_line() {
    let desk = Desk::with_script(json!([write("c1", "a.txt", "hello\n"), say("Written.")]));
    let said = desk.agent(&["-p", "Write it.", "--mode", "accept_edits", "--json"]);
    let types = said.types();
    assert_eq!((types.first().unwrap().as_str(), types.last().unwrap().as_str()), ("session", "exited"));
    let of = |kind: &str| said.lines().into_iter().filter(|line| line["type"] == kind).collect::<Vec<_>>();
    assert!(of("call").iter().any(|line| line["tool"] == "write_file" && line["input"]["path"] == "a.txt"));
    assert!(of("message").iter().any(|line| line["text"] == "Write it."));
    let text: String = of("text").iter().map(|line| line["text"].as_str().unwrap().to_owned()).collect();
    assert_eq!(text, "Written.");
    assert_eq!(said.lines()[0]["folder"], desk.folder().canonicalize().unwrap().to_str().unwrap());
}

#[test]
fn a_text_of_the_model_that_moves_the_cursor_is_escaped() {
    let desk = Desk::with_script(json!([say("a\u{1b}[2Jb\u{202e}c")]));
    let said = desk.agent(&["-p", "Say it."]);
    assert_eq!(said.out, "a\\u{1b}[2Jb\\u{202e}c\n");
    let said = desk.agent(&["-p", "Say it.", "--json"]);
    assert!(!said.out.contains(['\u{1b}', '\u{202e}']), "{}", said.out);
}

#[test]
fn wrong_usage_exits_with_2() {
    let desk = Desk::with_script(json!([]));
    for arguments in [
        &["-p"][..],
        &["-p", " "],
        &["-p", "x", "--mode", "yolo"],
        &["-p", "x", "--max-usd", "-1"],
        &["-p", "x", "--max-time", "soon"],
        &["-p", "x", "--allow", "ba sh"],
        &["-p", "x", "--model", "gemini:x"],
        &["-p", "x", "-c", "-r", "s1"],
    ] {
        let said = desk.agent(arguments);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{arguments:?}: {}", said.err);
        assert!(!said.err.is_empty());
    }
}

#[test]
fn without_a_model_three_lines_say_how_to_get_one() {
    let mut desk = Desk::new();
    // No server listens on a reserved port.
    desk.set("OLLAMA_HOST", "127.0.0.1:1");
    let said = desk.agent(&["-p", "x"]);
    if said.code == 0 {
        return; // A llama.cpp server runs on this machine.
    }
    assert_eq!(said.code, 2, "{}", said.err);
    let lines: Vec<&str> = said.err.lines().collect();
    assert_eq!(lines.len(), 4, "{}", said.err);
    for (line, has) in lines[1..].iter().zip(["ANTHROPIC_API_KEY", "ollama serve", "--model"]) {
        assert!(line.contains(has), "{line}");
    }
}

#[test]
fn a_money_limit_without_a_price_exits_with_2() {
    let desk = Desk::with_script(json!([say("Hi.")]));
    let said = desk.agent(&["-p", "x", "--max-usd", "1"]);
    assert_eq!(said.code, 2);
    let lines: Vec<_> = said.err.lines().map(str::trim).collect();
    assert!(lines[0].contains("needs the price of the model `scripted`; add it to"), "{}", said.err);
    assert_eq!(lines[1..], ["[agent.prices]", r#""scripted" = { input = 3.0, output = 15.0 }"#]);
    desk.settings("[agent.prices.scripted]\ninput = 1.0\noutput = 1.0\n");
    assert_eq!(desk.agent(&["-p", "x", "--max-usd", "1"]).code, 0);
}

#[test]
fn a_question_is_stored_and_the_work_exits_with_3() {
    let desk = Desk::with_script(json!([write("c1", "a.txt", "hello\n"), say("Written.")]));
    let said = desk.agent(&["-p", "Write it."]);
    assert_eq!((said.code, said.out.as_str()), (3, ""));
    assert!(said.err.contains("allow write_file with {"), "{}", said.err);
    assert!(said.err.contains(&format!("superstep agent answer {}", desk.session())), "{}", said.err);
    assert_eq!((desk.read("a.txt"), desk.rows()[0]["status"].as_str()), (None, Some("asking")));
}

#[test]
fn limits_exit_with_4() {
    for (limit, names) in [
        (["--max-turns", "1"], "limit `turns`: 1 of 1 replies to the message are used"),
        (["--max-tokens", "10"], "limit `tokens`: 0 of 10 tokens of the session are used"),
        (["--max-usd", "0.01"], "limit `usd`: $0.00 of $0.01 of the session are spent"),
        (["--max-time", "0"], "limit `time`: the 0 s for a message are over"),
    ] {
        let desk = Desk::with_script(json!([write("c1", "a.txt", "hello\n"), say("Written.")]));
        desk.settings("[agent.prices.scripted]\ninput = 100.0\noutput = 100.0\n");
        let arguments = [&["-p", "Write it.", "--mode", "accept_edits"], &limit[..]].concat();
        let said = desk.agent(&arguments);
        assert_eq!(said.code, 4, "{limit:?}: {}", said.err);
        assert!(said.err.contains(names), "{limit:?}: {}", said.err);
        let said = desk.agent(&[&arguments[..], &["--json"]].concat());
        let last = said.lines().pop().unwrap();
        assert_eq!((said.code, last["type"].as_str()), (4, Some("exited")), "{last}");
        assert!(last["reason"].as_str().unwrap().contains(names), "{last}");
    }
}

#[test]
fn a_command_is_stopped_when_the_time_is_over() {
    let desk = Desk::with_script(json!([bash("c1", "sleep 1000"), say("Done.")]));
    let said = desk.agent(&["-p", "Wait.", "--allow", "bash", "--max-time", "1"]);
    assert_eq!(said.code, 4, "{}", said.err);
}

#[test]
fn a_failed_model_exits_with_5() {
    let desk = Desk::with_script(json!([]));
    let said = desk.agent(&["-p", "x"]);
    assert_eq!(said.code, 5);
    assert!(said.err.contains("the work ended with model_error: "), "{}", said.err);
}

#[test]
fn a_hook_that_objects_exits_with_6() {
    let desk = Desk::with_script(json!([say("1"), say("2"), say("3"), say("4")]));
    desk.settings("[[hooks.stop]]\ncommand = \"false\"\n");
    let said = desk.agent(&["-p", "x"]);
    assert_eq!(said.code, 6, "{}", said.err);
}

#[test]
fn ctrl_c_stops_the_turn_and_exits_with_130() {
    let desk = Desk::with_script(json!([bash("c1", "sleep 1000"), say("Stopped, then.")]));
    let running = desk.start(&["-p", "Wait.", "--allow", "bash"]);
    running.until_call("bash");
    let signalled =
        std::process::Command::new("kill").args(["-INT", &running.child.id().to_string()]).status();
    assert!(signalled.unwrap().success());
    assert_eq!(running.until("exited")["exit"], "aborted_tools");
    assert_eq!(running.end().code(), Some(130));
    assert_eq!(desk.rows()[0]["status"], "done");
}

#[test]
fn a_reader_that_goes_away_leaves_a_session_that_can_be_resumed() {
    let desk = Desk::with_script(json!([bash("c1", "echo 1"), bash("c2", "echo 2"), say("Done.")]));
    let mut child = desk.command(&["-p", "Count.", "--allow", "bash", "--json"]).spawn().unwrap();
    let mut first = [0; 16];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((child.wait().unwrap().code(), err.as_str()), (Some(130), ""));
    let said = desk.agent(&["-c", "-p", "--allow", "bash"]);
    assert_eq!((said.code, said.out.as_str()), (0, "Done.\n"), "{}", said.err);
}

#[test]
fn a_message_comes_from_the_standard_input() {
    let desk = Desk::with_script(json!([say("Read.")]));
    let mut command = desk.command(&["-p", "-", "--json"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"From a pipe.").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains(r#""text":"From a pipe.""#));
}

#[test]
fn an_agent_in_the_background_ends_before_the_work_does() {
    let task = json!({ "kind": "explore", "task": "Find it.", "background": true });
    let mut desk = Desk::new();
    desk.script_of_calls(json!([
        call("c1", "agent", task),
        say("It is on its way."),
        say("It is in lib.rs."),
        say("It was found in lib.rs."),
    ]));
    let said = desk.agent(&["-p", "Find it.", "--allow", "agent(explore)"]);
    assert_eq!((said.code, said.out.as_str()), (0, "It was found in lib.rs.\n"), "{}", said.err);
    assert_eq!(desk.rows().len(), 1);
}

/// It ended silently with 0: the message was never asked for.
#[test]
fn without_a_terminal_a_session_says_how_to_give_a_message() {
    let desk = Desk::with_script(json!([say("Never said.")]));
    for (arguments, names) in
        [(&[][..], "-p - from the standard input"), (&["Do it."], "-p TEXT"), (&["--demo"], "--yes")]
    {
        let said = desk.agent(arguments);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{arguments:?}: {}", said.err);
        assert!(
            said.err.contains("the standard input is not a terminal") && said.err.contains(names),
            "{}",
            said.err
        );
    }
    assert_eq!(desk.rows().len(), 0);
}
