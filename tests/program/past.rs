//! The past of sessions, with their files.

use std::fs;

use serde_json::json;

use crate::desk::{Desk, bash, say, write};

/// A session that has written a file by tool and one by command, for two messages.
fn written() -> Desk {
    let desk = Desk::with_script(json!([
        write("c1", "a.txt", "one"),
        say("First."),
        bash("c2", "echo two > a.txt; echo new > b.txt"),
        say("Second."),
        say("Third."),
    ]));
    for message in ["Write.", "Write more."] {
        let arguments: &[&str] = if message == "Write." { &[] } else { &["-c"] };
        let said =
            desk.agent(&[arguments, &["-p", message, "--allow", "bash", "--mode", "accept_edits"]].concat());
        assert_eq!(said.code, 0, "{}", said.err);
    }
    desk
}

fn files(desk: &Desk) -> [Option<String>; 2] {
    [desk.read("a.txt"), desk.read("b.txt")]
}

fn texts(texts: [Option<&str>; 2]) -> [Option<String>; 2] {
    texts.map(|text| text.map(str::to_owned))
}

const WRITTEN: [Option<&str>; 2] = [Some("two\n"), Some("new\n")];

#[test]
fn a_session_is_taken_back_with_its_files_and_forth_again() {
    let desk = written();
    let session = desk.session();
    let said = desk.agent(&["rewind", &session, "--dry-run"]);
    assert_eq!((said.code, files(&desk)), (0, texts(WRITTEN)));
    assert!(said.out.ends_with(", if you rewind it\n  ~ a.txt\n  - b.txt\n"), "{}", said.out);
    // The latest session is the default.
    assert_eq!(desk.agent(&["rewind"]).code, 0);
    assert_eq!(files(&desk), texts([Some("one"), None]));
    assert_eq!((&desk.rows()[0]["title"], &desk.rows()[0]["status"]), (&json!("Write."), &json!("done")));
    assert_eq!(desk.agent(&["redo"]).code, 0);
    assert_eq!(files(&desk), texts(WRITTEN));
    assert_eq!(desk.agent(&["redo"]).code, 1);
    // Before the first message, by a step.
    assert_eq!(desk.agent(&["rewind", "@1"]).code, 0);
    assert_eq!(files(&desk), [None, None]);
    // It is no session that was cut off.
    assert_eq!(desk.rows()[0]["status"], "rewound");
    let listed = desk.agent(&["sessions"]).out;
    assert!(listed.contains("rewound") && !listed.contains("cut off"), "{listed}");
    assert_eq!(desk.agent(&["rewind", &format!("{session}@999")]).code, 1);
    assert_eq!(desk.agent(&["rewind", &format!("{session}@x")]).code, 2);
}

#[test]
fn only_the_files_or_only_the_conversation_is_taken_back() {
    let desk = written();
    let session = desk.session();
    assert_eq!(desk.agent(&["rewind", &session, "--talk"]).code, 0);
    assert_eq!(files(&desk), texts(WRITTEN));
    assert_eq!(desk.agent(&["-c", "-p"]).out, "First.\n");
    assert_eq!(desk.agent(&["redo"]).code, 0);
    assert_eq!(desk.agent(&["-c", "-p"]).out, "Second.\n");
    assert_eq!(desk.agent(&["rewind", &session, "--files"]).code, 0);
    assert_eq!(files(&desk), texts([Some("one"), None]));
    assert_eq!(desk.agent(&["-c", "-p"]).out, "Second.\n");
    // The next request tells the model.
    assert_eq!(desk.agent(&["-c", "-p", "On."]).out, "Third.\n");
    let state = desk.superstep("show", &[&session, "--json"]).out;
    assert!(state.contains("The user took back changes of files."), "{state}");
}

#[test]
fn a_file_that_another_program_changed_stays_unless_the_user_says_so() {
    let desk = written();
    let session = desk.session();
    desk.write("a.txt", "mine");
    let said = desk.agent(&["rewind", &session]);
    assert!(said.out.contains("stays: a.txt (another program has changed it)"), "{}", said.out);
    assert_eq!(files(&desk), texts([Some("mine"), None]));
    assert_eq!(desk.agent(&["redo"]).code, 0);
    assert_eq!(desk.agent(&["rewind", &session, "--foreign"]).code, 0);
    assert_eq!(files(&desk), texts([Some("one"), None]));
}

#[test]
fn a_fork_continues_in_another_folder_with_the_files_of_then() {
    let desk = written();
    let there = desk.beside("there");
    let said = desk.agent(&["fork", &desk.session(), "--into", there.to_str().unwrap(), "--json"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(fs::read_to_string(there.join("b.txt")).unwrap(), "new\n");
    let said = desk.agent_in(&there, &["-c", "-p", "On."]);
    assert_eq!((said.code, said.out.as_str()), (0, "Third.\n"), "{}", said.err);
    // The steps before the fork can be taken back, too.
    let read =
        || [fs::read_to_string(there.join("a.txt")).ok(), fs::read_to_string(there.join("b.txt")).ok()];
    assert_eq!((desk.agent_in(&there, &["rewind"]).code, read()), (0, texts(WRITTEN)));
    let said = desk.agent_in(&there, &["rewind"]);
    assert_eq!((said.code, read()), (0, texts([Some("one"), None])), "{said:?}");
    assert_eq!((desk.agent_in(&there, &["redo"]).code, read()), (0, texts(WRITTEN)));
    assert_eq!(files(&desk), texts(WRITTEN), "the folder of the first session stays");
    let rows = desk.agent_in(&there, &["sessions", "--json"]).json();
    assert_eq!(rows["folders"][0]["sessions"][0]["title"], "Write.");
    assert_eq!(desk.rows().len(), 1);
    let said = desk.agent(&["fork", &desk.session(), "--into", there.to_str().unwrap()]);
    assert_eq!((said.code, said.err.contains("empty")), (2, true), "{}", said.err);
}

#[test]
fn a_session_replays_without_a_model_or_names_the_first_difference() {
    let mut desk = written();
    // The rules are those of now.
    desk.settings("[permissions]\nallow = [\"bash\"]\n");
    desk.set("SUPERSTEP_MODEL", "script:nowhere.json");
    let said = desk.agent(&["replay"]);
    assert_eq!((said.code, said.out.starts_with("different: 1 of ")), (1, true), "{} {}", said.out, said.err);
    assert!(said.out.contains("node authorize"), "{}", said.out);

    let desk = Desk::with_script(json!([write("c1", "a.txt", "one"), say("First.")]));
    desk.agent(&["-p", "Write.", "--mode", "accept_edits"]);
    let said = desk.agent(&["replay"]);
    assert_eq!((said.code, said.out.starts_with("equal: ")), (0, true), "{}", said.out);
}

#[test]
fn a_transcript_has_a_line_for_each_checkpoint() {
    let desk = written();
    let said = desk.agent(&["transcript"]);
    let log = desk.superstep("log", &[&desk.session(), "--json"]).json();
    assert_eq!(said.out.lines().count(), log["checkpoints"].as_array().unwrap().len());
    assert!(said.lines().iter().all(|line| line["checkpoint"].is_string()));
    let file = desk.beside("session.jsonl");
    for added in [said.out.lines().count(), 0] {
        let said = desk.agent(&["transcript", "--file", file.to_str().unwrap(), "--json"]).json();
        assert_eq!(said["added"], added);
    }
}

#[test]
fn the_verbs_of_the_program_read_the_file_of_the_sessions() {
    let desk = written();
    let session = desk.session();
    let place = format!("{session}@4");
    for (verb, arguments) in [
        ("threads", &[][..]),
        ("log", &[session.as_str()]),
        ("show", &[session.as_str()]),
        ("diff", &[place.as_str(), session.as_str()]),
        ("blame", &[session.as_str(), "messages"]),
        ("why", &[session.as_str(), "finish"]),
        ("bisect", &[session.as_str(), "--path", "turn_count", "--is", "> 0"]),
        ("test", &[place.as_str()]),
        ("verify", &[]),
        ("gc", &[]),
    ] {
        let said = desk.superstep(verb, arguments);
        assert!(said.code < 2 && !said.out.is_empty(), "{verb}: {said:?}");
    }
}

/// A limit on money needs prices, which the past does not.
#[test]
fn a_session_with_a_limit_on_money_is_taken_back_without_its_model() {
    let desk = written();
    desk.settings("[agent]\nlimits = { usd = 2.0 }\n");
    let rewound = desk.agent(&["rewind", &desk.session(), "--dry-run"]);
    assert_eq!(rewound.code, 0, "{rewound:?}");
}

/// The snapshots of deleted sessions were never deleted.
#[test]
fn unreferenced_snapshots_are_deleted_and_the_others_stay() {
    let desk = Desk::with_script(json!([bash("c1", "mv source.txt big.txt"), say("Moved.")]));
    for message in ["One.", "Two."] {
        desk.write("source.txt", &message.repeat(1_000));
        assert_eq!(desk.agent(&["-p", message, "--allow", "bash"]).code, 0);
        fs::remove_file(desk.folder().join("big.txt")).unwrap();
    }
    let rows = desk.rows();
    let name = |row: usize| rows[row]["session"].as_str().unwrap();
    assert_eq!(desk.agent(&["gc", "--json"]).json()["snapshots"], 0);
    assert_eq!(desk.superstep("delete", &[name(1)]).code, 0);
    let gone = desk.agent(&["gc", "--json"]).json();
    assert!(gone["snapshots"].as_u64().unwrap() >= 1 && gone["bytes"].as_u64().unwrap() >= 4_000, "{gone}");
    let said = desk.agent(&["gc"]);
    assert!(said.out.contains("snapshots: deleted 0"), "{}", said.out);
    assert_eq!(desk.agent(&["rewind", name(0)]).code, 0);
    assert_eq!(desk.read("source.txt"), Some("Two.".repeat(1_000)));
}
