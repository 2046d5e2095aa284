//! The demo: a session from the first message to a rewind, without a network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::desk::Desk;

/// The formula with the bug, and without it.
const BROKEN: &str = "echo $(($1 * 9 / 5 - 32))";
const MENDED: &str = "echo $(($1 * 9 / 5 + 32))";

/// Makes a desk whose demos are copied to a folder of its own.
fn desk() -> (Desk, PathBuf) {
    let mut desk = Desk::new();
    let temporary = desk.beside("tmp");
    fs::create_dir(&temporary).unwrap();
    desk.set("TMPDIR", temporary.to_str().unwrap());
    (desk, temporary)
}

fn demo_folder(temporary: &Path) -> Option<PathBuf> {
    fs::read_dir(temporary)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.join("convert.sh").exists())
}

fn formula(folder: &Path) -> String {
    fs::read_to_string(folder.join("convert.sh")).unwrap().lines().last().unwrap().to_owned()
}

#[test]
fn the_demo_mends_a_project_and_is_taken_back_with_its_files() {
    let (desk, temporary) = desk();
    let said = desk.agent(&["--demo", "--yes"]);
    assert_eq!(said.code, 0, "{said:?}");
    for expected in ["› sh test.sh fails", "FAILED: 100 C is 212 F", "ok: 100 C is 212 F", "The test passes."]
    {
        assert!(said.out.contains(expected), "{expected}: {}", said.out);
    }
    assert!(!said.out.contains("Context from"), "context is no message of the user: {}", said.out);
    let folder = demo_folder(&temporary).unwrap();
    assert_eq!(formula(&folder), MENDED);

    // The commands that it names work.
    let named = said.out.lines().find(|line| line.contains("agent rewind")).unwrap();
    let place = named.split_whitespace().nth(3).unwrap();
    let rewound = desk.agent_in(&folder, &["rewind", place]);
    assert_eq!((rewound.code, formula(&folder).as_str()), (0, BROKEN), "{rewound:?}");
    let redone = desk.agent_in(&folder, &["redo"]);
    assert_eq!((redone.code, formula(&folder).as_str()), (0, MENDED), "{redone:?}");
    let replayed = desk.agent_in(&folder, &["replay"]);
    assert_eq!(replayed.code, 0, "{replayed:?}");
}

#[test]
fn a_demo_that_is_killed_at_any_moment_is_continued_to_the_same_files() {
    let kills: u32 = std::env::var("SUPERSTEP_KILLS").map_or(12, |kills| kills.parse().unwrap());
    let begun = Instant::now();
    let (desk, _) = self::desk();
    assert_eq!(desk.agent(&["--demo", "--yes"]).code, 0);
    let whole = begun.elapsed();

    let (mut continued, mut asked) = (0, 0);
    for kill in 0..kills {
        let (desk, temporary) = self::desk();
        let mut command = desk.command(&["--demo", "--yes"]);
        let mut demo = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Spread over the run, in a mixed order.
        let permille = (kill * 389 + 17) % 1_000;
        kill_after(&mut demo, whole * permille / 1_000);
        let Some(folder) = demo_folder(&temporary) else { continue };
        let sessions = desk.agent_in(&folder, &["sessions", "--json"]).json();
        if sessions["folders"][0]["sessions"].as_array().is_none_or(Vec::is_empty) {
            continue;
        }
        continued += 1;
        let mut said = desk.agent_in(&folder, &["-c", "-p"]);
        while said.code == 3 {
            asked += 1;
            assert!(
                said.err.contains("was cut off"),
                "only a call that was cut off is asked about: {said:?}"
            );
            said = desk.agent_in(&folder, &["answer", "again"]);
        }
        assert_eq!((said.code, formula(&folder).as_str()), (0, MENDED), "kill {kill}: {said:?}");
        assert_eq!(edits(&desk, &folder), 1, "kill {kill}: the file is edited once");
    }
    println!("{kills} kills: {continued} sessions continued, {asked} calls asked about");
    assert!(continued * 2 >= kills, "only {continued} of {kills} kills hit a session");
}

fn kill_after(child: &mut Child, time: Duration) {
    let (_keep, never) = channel::<()>();
    assert!(never.recv_timeout(time).is_err());
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Returns the number of results of `edit_file` in the latest session.
fn edits(desk: &Desk, folder: &Path) -> usize {
    let transcript = desk.agent_in(folder, &["transcript"]);
    transcript.out.matches("convert.sh was edited").count()
}
