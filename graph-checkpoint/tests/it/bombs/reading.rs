//! The reading of a bomb by another process, and the report of that process.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use superstep_checkpoint::portable::{Export, NoExport, export};
use superstep_checkpoint::{CheckpointFile, CheckpointReader, SqliteReader, SqliteSaver, maintenance};
use superstep_core::checkpoint::{At, Checkpointer, CheckpointerExt, Loaded, StoreError};
use superstep_core::state::{Excess, Json, SizeLimits};

use crate::material::*;

/// A reader with its limits or without them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    Limited,
    /// The mutant.
    Lifted,
}

impl Reader {
    fn limits(self) -> SizeLimits {
        match self {
            Self::Limited => SizeLimits::default().bytes(n(SizeLimits::BYTES)).values(n(SizeLimits::VALUES)),
            Self::Lifted => SizeLimits::default().bytes(1 << 40).values(1 << 40),
        }
    }
}

/// The given size in a night run, and a sixteenth of it in the gate.
pub(crate) fn n(number: usize) -> usize {
    match std::env::var_os("SUPERSTEP_TORTURE") {
        Some(_) => number,
        None => number / 16,
    }
}

/// Returns the number of MiB that a record may have.
pub(crate) fn most_mib() -> u64 {
    n(SizeLimits::BYTES) as u64 >> 20
}

/// The report of a process.
#[derive(Debug)]
pub(crate) struct Told {
    /// The kinds of errors that refused something, each once: `Bytes`, `Values`, `Depth`, `Row`, `Corrupt`, `Decode`, …
    pub(crate) refused: BTreeSet<String>,
    /// The same in full.
    pub(crate) messages: Vec<String>,
    /// The most memory that it ever took, in MiB.
    pub(crate) peak: u64,
}

/// The bomb that the process reads, if it is a reader of bombs.
const BOMB: &str = "SUPERSTEP_BOMB";

/// Reads a bomb in another process.
pub(crate) fn in_a_process(path: &Path, reader: Reader) -> Told {
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "bombs::reading::reads_a_bomb", "--nocapture", "--test-threads=1"])
        .env(BOMB, path)
        .env("SUPERSTEP_LIFTED", (reader == Reader::Lifted).to_string())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "the process came to a bad end: {}\n{said}\n{error}", done.status);
    let mut told = Told { refused: BTreeSet::new(), messages: Vec::new(), peak: 0 };
    for line in said.lines() {
        if let Some((_, refusal)) = line.split_once("refused: ") {
            let (kind, message) = refusal.split_once(' ').unwrap();
            told.refused.insert(kind.to_owned());
            told.messages.push(message.to_owned());
        } else if let Some((_, peak)) = line.split_once("peak: ") {
            told.peak = peak.parse::<u64>().unwrap() / 1024;
        }
    }
    assert!(told.peak > 0, "{said}\n{error}");
    told
}

/// Does nothing when it is one of the tests.
#[test]
fn reads_a_bomb() {
    let Some(path) = std::env::var_os(BOMB) else { return };
    let reader = match std::env::var("SUPERSTEP_LIFTED").as_deref() {
        Ok("true") => Reader::Lifted,
        _ => Reader::Limited,
    };
    let path = Path::new(&path);
    match path.extension().and_then(|kind| kind.to_str()) {
        Some("db") => run(read_file(path, reader)),
        Some("export") => read_export(path, reader),
        _ => read_value(path, reader),
    }
    println!("\npeak: {}", most_memory());
}

/// The most memory that this process ever took, in KiB.
fn most_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").to_owned()
}

fn kind_of(error: &StoreError) -> String {
    match error {
        StoreError::TooLarge { excess, .. } => excess_of(*excess),
        StoreError::Corrupt { .. } => "Corrupt".into(),
        other => format!("{other:?}").split([' ', '(', '{']).next().unwrap_or_default().to_owned(),
    }
}

fn excess_of(excess: Excess) -> String {
    let excess = format!("{excess:?}");
    excess.split('(').next().unwrap_or_default().to_owned()
}

/// One line, even if it quotes a long value.
fn tell(kind: &str, message: &dyn std::fmt::Display) {
    let message = message.to_string();
    assert!(!message.contains('\n'), "an error is one line: {message}");
    println!("\nrefused: {kind} {}", message.chars().take(200).collect::<String>());
}

fn look<T>(read: Result<T, StoreError>) -> Option<T> {
    read.map_err(|error| tell(&kind_of(&error), &error)).ok()
}

/// Everything that can be asked of a file.
async fn read_file(path: &Path, reader: Reader) {
    let limits = reader.limits();
    let file = || CheckpointFile::at(path).size_limits(limits);
    if let Some(open) = look(SqliteReader::open(file())) {
        let t = thread("t");
        if let Some(Some(loaded)) = look(open.load(&t, &At::Head)) {
            decode(&loaded);
        }
        look(open.history(&t, &At::Head, 100));
        look(open.steps(&t, &At::Head, 100));
        look(open.threads());
        if reader == Reader::Limited {
            look(export(&open, &t));
        }
    }
    if reader == Reader::Lifted {
        return;
    }
    if let Ok(report) = maintenance::verify(file()) {
        println!("\nverify: {}", if report.is_sound() { "sound" } else { "not sound" });
    }
    if let Some(saver) = look(SqliteSaver::options().size_limits(limits).open(path).await) {
        let head = look(saver.read(&thread("t"), At::Head).await);
        if let Some(Some(loaded)) = head {
            look(saver.commit(commit_of("t", &step(Some(&loaded.checkpoint), [extend(0, "[3]")]))).await);
        }
    }
}

/// Decodes the values like a program that keeps values of any form.
fn decode(loaded: &Loaded) {
    for held in &loaded.values {
        if let Err(error) = held.value.decode::<serde_json::Value>() {
            tell("Decode", &error);
        }
    }
}

fn read_export(path: &Path, reader: Reader) {
    let text = std::fs::read_to_string(path).unwrap();
    match Export::parse_within(&text, reader.limits()) {
        Ok(_) => {}
        Err(NoExport::TooLarge(excess)) => tell(&excess_of(excess), &NoExport::TooLarge(excess)),
        Err(error) => {
            let kind = format!("{error:?}");
            tell(kind.split(['(', ' ', '{']).next().unwrap_or_default(), &error);
        }
    }
}

fn read_value(path: &Path, reader: Reader) {
    let text = std::fs::read_to_string(path).unwrap();
    match Json::parse_within(text, reader.limits()) {
        Ok(json) => {
            if let Err(error) = json.decode::<serde_json::Value>() {
                tell("Decode", &error);
            }
        }
        Err(error) => match error.excess() {
            Some(excess) => tell(&excess_of(excess), &error),
            None => tell("NoJson", &error),
        },
    }
}
