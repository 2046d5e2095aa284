//! The commands of `docs/restate.md`, and what the page says they print.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::server::{Server, target};

const START: &str = "npx @restatedev/restate-server@1.7.12";
const REGISTER: &str = "cargo run --features restate --bin review -- ";

/// Returns the blocks of the page in these languages, with their languages.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let fences: Vec<&str> = page.split("```").collect();
    let blocks = fences.iter().skip(1).step_by(2).map(|block| block.split_once('\n').expect("a language"));
    blocks.filter(|(language, _)| ["sh", "text"].contains(language)).collect()
}

/// Returns `true` if a text is that of the page, which has "…" for what differs.
fn is_shown(shown: &str, text: &str) -> bool {
    let Some((head, tail)) = shown.split_once('…') else { return shown == text };
    let (middle, last) = tail.rsplit_once('…').unwrap_or(("", tail));
    let Some(mut rest) = text.strip_prefix(head).and_then(|rest| rest.strip_suffix(last)) else {
        return false;
    };
    for part in middle.split('…') {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    true
}

#[test]
fn a_text_is_compared_with_its_gaps() {
    assert!(is_shown("a…c", "abc") && is_shown("a", "a") && is_shown("a…b…", "a-b-"));
    assert!(!is_shown("a…c", "ab") && !is_shown("a", "ab") && !is_shown("a…b…c", "acbb"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_the_page_print_what_it_shows() {
    let Some(server) = Server::start().await else { return };
    let program = target().join("debug/review");
    let can_work = Command::new(&program).args(["work", "--help"]).output();
    if !can_work.is_ok_and(|output| output.status.success()) {
        let needed = std::env::var_os("SUPERSTEP_NEEDS_RESTATE").is_some();
        assert!(
            !needed,
            "the example is not built: cargo build -p superstep-examples --features restate --bin review"
        );
        eprintln!("not tested: the example `review` is not built with the feature `restate`");
        return;
    }
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/restate.md");
    let page = std::fs::read_to_string(page).expect("a page of the repository");
    assert!(page.contains(START), "the page starts another version of the server");
    let folder = tempfile::tempdir().expect("a folder");
    let mut worker = None;
    let mut commands = 0;
    let blocks = blocks(&page);
    for (block, next) in blocks.iter().zip(blocks.iter().skip(1)) {
        let ("sh", command) = *block else { continue };
        let command = command.trim_end().replace("http://127.0.0.1:9070", &server.admin());
        let command = command.replace("http://127.0.0.1:8080", &server.ingress());
        let printed = if command == START {
            continue;
        } else if let Some(arguments) = command.strip_prefix(REGISTER) {
            let mut child = Command::new(&program)
                .args(arguments.split(' '))
                .args(["--port", "0"])
                .env("TMPDIR", folder.path())
                .stdout(Stdio::piped())
                .spawn()
                .expect("the example starts");
            let mut line = String::new();
            let output = child.stdout.take().expect("it is piped");
            worker = Some(child);
            BufReader::new(output).read_line(&mut line).expect("it says its address");
            let (said, _) = line.rsplit_once(':').expect("an address");
            format!("{said}:9080\n")
        } else {
            let output = Command::new("sh").args(["-c", &command]).output().expect("a shell");
            String::from_utf8(output.stdout).expect("a text") + "\n"
        };
        commands += 1;
        assert!(is_shown(next.1, &printed), "{command} printed:\n{printed}");
    }
    assert_eq!(commands, 3);
    let mut worker = worker.expect("the page starts the example");
    worker.kill().and_then(|()| worker.wait()).expect("it is a child");
}
