//! Encrypted files on the command line.

use std::path::PathBuf;

use superstep::checkpoint::{Checkpointer, KeyRing};
use superstep::cli::{Debugger, Exit, Look};
use superstep::driver::checkpoint::Around;
use superstep::prelude::*;

use crate::debugger::debug;
use crate::program::{Written, essays, written};
use crate::{Said, said};

pub(crate) const KEY: &str = "first c2f4a1f0b1d0e6a7a3f3e1c65d0f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b\n";
const NEWER: &str = "second 0b1c2d3e4f5061728394a5b6c7d8e9fa0b1c2d3e4f5061728394a5b6c7d8e9fa\n";

struct Keyed {
    file: Written,
    keys: PathBuf,
}

impl Keyed {
    /// A plain file, and a key file beside it.
    async fn new(keys: &str) -> Self {
        let file = written().await;
        let path = file.folder.path().join("keys.txt");
        std::fs::write(&path, keys).unwrap();
        Self { file, keys: path }
    }

    fn says(&self, line: &str) -> Said {
        said(
            &self.file.path,
            Look::PIPED,
            &line.replace("KEYS", &format!("--key-file {}", self.keys.display())),
        )
    }
}

/// The words of a reading verb, and whether the answer is the same for an encrypted file.
const READING: [&str; 13] = [
    "threads FILE",
    "interrupts FILE",
    "log FILE rust",
    "show FILE rust",
    "diff FILE rust~1 rust",
    "blame FILE rust facts",
    "why FILE rust@5 write",
    "grep FILE e",
    "graph FILE rust",
    "compare FILE rust zig",
    "export FILE rust",
    "test FILE rust@3",
    "gc FILE --dry-run",
];

#[tokio::test]
async fn every_verb_reads_an_encrypted_file_with_its_keys_and_none_without() {
    let keyed = Keyed::new(KEY).await;
    let plain = READING.map(|line| keyed.says(line).out);
    let told = keyed.says("rekey FILE KEYS --json");
    assert_eq!(told.exit, Exit::Fine, "{}", told.err);
    assert!(told.out.contains("\"purged\": true"), "{}", told.out);
    for (line, plain) in READING.into_iter().zip(plain) {
        let without = keyed.says(line);
        assert_eq!(without.exit, Exit::Unusable, "{line}");
        assert!(
            without.err.contains("is encrypted with the key first: open it with its keys"),
            "{}",
            without.err
        );
        let with = keyed.says(&format!("{line} KEYS"));
        assert_eq!(with.err, "", "{line}");
        // Encrypted texts are longer, which the output shows.
        if !["threads", "gc"].iter().any(|verb| line.starts_with(verb)) {
            assert_eq!(with.out, plain, "{line}");
        }
    }
    let without = keyed.says("verify FILE");
    assert_eq!(without.exit, Exit::Fine);
    assert!(without.out.contains("it is encrypted: without its keys"), "{}", without.out);
    assert!(!keyed.says("verify FILE KEYS").out.contains("without"));
    for line in
        ["fork FILE rust --name copy KEYS", "edit FILE copy --set rounds=3 KEYS", "delete FILE zig KEYS"]
    {
        let told = keyed.says(line);
        assert_eq!((told.exit, &*told.err), (Exit::Fine, ""), "{line}");
    }
}

#[tokio::test]
async fn keys_are_exchanged_and_taken_away() {
    let keyed = Keyed::new(KEY).await;
    let none = keyed.says("rekey FILE");
    assert_eq!(none.exit, Exit::Unusable);
    assert!(none.err.starts_with("error: keys are needed: name the key file"), "{}", none.err);
    assert_eq!(keyed.says("rekey FILE KEYS").exit, Exit::Fine);
    std::fs::write(&keyed.keys, [NEWER, KEY].concat()).unwrap();
    let told = keyed.says("rekey FILE KEYS");
    assert!(told.out.contains("no longer needed: first"), "{} {}", told.out, told.err);
    std::fs::write(&keyed.keys, NEWER).unwrap();
    assert_eq!(keyed.says("rekey FILE KEYS --plain").exit, Exit::Fine);
    assert_eq!(keyed.says("threads FILE").exit, Exit::Fine);
    std::fs::write(&keyed.keys, "second 0b1c").unwrap();
    let wrong = keyed.says("threads FILE KEYS");
    assert!(
        wrong.err.contains("line 1 is not a name and a key") && !wrong.err.contains("0b1c"),
        "{}",
        wrong.err
    );
}

/// The program that wrote the file, with its own keys, started again for each line.
struct Program {
    keyed: Keyed,
    started: u64,
}

impl Program {
    async fn new() -> Self {
        let keyed = Keyed::new(KEY).await;
        assert_eq!(keyed.says("rekey FILE KEYS").exit, Exit::Fine);
        Self { keyed, started: 0 }
    }

    async fn saver(&self) -> SqliteSaver {
        let keys = KeyRing::parse(KEY).unwrap();
        SqliteSaver::options().encrypt(keys).open(&self.keyed.file.path).await.unwrap()
    }

    async fn says(&mut self, line: &str) -> Said {
        self.started += 1;
        let graph = essays(self.saver().await, 1_000 * self.started);
        self.told(superstep::debugger(&[&graph]), line).await
    }

    async fn told(&self, debugger: Debugger, line: &str) -> Said {
        debug(debugger, self.keyed.file.folder.path(), Look::PIPED, line).await
    }
}

#[tokio::test]
async fn the_debugger_of_a_program_reads_its_file_with_its_keys() {
    let mut program = Program::new().await;
    for line in READING {
        let of_superstep = program.keyed.says(&format!("{line} KEYS"));
        let of_debugger = program.says(&line.replace(" FILE", "")).await;
        assert_eq!((&*of_debugger.err, of_debugger.exit), ("", of_superstep.exit), "{line}");
        assert_eq!(of_debugger.out, of_superstep.out, "{line}");
    }
    let verified = program.says("verify").await;
    assert_eq!(verified.exit, Exit::Fine);
    assert!(!verified.out.contains("without"), "{}", verified.out);
    let path = program.keyed.file.path.clone();
    let named = program.says(&format!("log rust --file {}", path.display())).await;
    assert_eq!(named.out, program.says("log rust").await.out, "it is its own file, also where it is named");
}

#[tokio::test]
async fn the_debugger_of_a_program_writes_to_its_file_with_its_keys() {
    let mut program = Program::new().await;
    for (line, exit) in [
        ("tail rust --from start", Exit::Fine),
        ("replay rust", Exit::Fine),
        ("rerun rust@2", Exit::Unfinished),
        ("answer zig '\"good\"'", Exit::Fine),
        ("run new '{\"topic\": \"quick\"}'", Exit::Fine),
        ("resume trouble", Exit::No),
        ("migrate --check", Exit::Fine),
        ("name rust@3 here", Exit::Fine),
        ("fork rust@here --name copy", Exit::Fine),
        ("edit copy --set rounds=3", Exit::Fine),
        ("delete trouble", Exit::Fine),
        ("gc --keep-last 2", Exit::Fine),
        ("vacuum", Exit::Fine),
        ("rekey", Exit::Fine),
        ("backup FOLDER/copy.db", Exit::Fine),
    ] {
        let folder = program.keyed.file.folder.path().to_str().unwrap().to_owned();
        let said = program.says(&line.replace("FOLDER", &folder)).await;
        assert_eq!(said.exit, exit, "{line}: {}{}", said.out, said.err);
    }
    let said = program.says("rekey --plain").await;
    assert_eq!(said.exit, Exit::Unusable);
    assert!(said.err.contains("this program has the file open"), "{}", said.err);
    let threads = program.says("threads").await.out;
    assert!(threads.contains("copy") && threads.contains("new") && !threads.contains("trouble"), "{threads}");
    assert_eq!(program.keyed.says("threads FILE").exit, Exit::Unusable, "the file is encrypted as before");
}

/// A saver around the saver of the file.
struct Behind(SqliteSaver);

impl Around for Behind {
    fn inner(&self) -> &dyn Checkpointer {
        &self.0
    }
}

#[tokio::test]
async fn keys_are_taken_only_from_the_saver_of_the_file() {
    let mut program = Program::new().await;
    let expected = program.says("log rust").await.out;
    let essays = |saver| essays(saver, 5_000);
    let own = essays(program.saver().await);
    let saver = program.saver().await;
    let around = own.clone().shared_checkpointer(std::sync::Arc::new(Behind(saver.clone())));
    assert_eq!(program.told(superstep::debugger(&[&around]).behind(saver), "log rust").await.out, expected);

    // The keys of a program that keeps its threads elsewhere do not apply to this file.
    let path = program.keyed.file.path.display().to_string();
    let keys = program.keyed.keys.display().to_string();
    let elsewhere = program.keyed.file.folder.path().join("elsewhere.db");
    let in_memory = own.clone().checkpointer(MemorySaver::new());
    let other = SqliteSaver::options().encrypt(KeyRing::parse(KEY).unwrap()).open(&elsewhere).await.unwrap();
    let other = own.checkpointer(other);
    for graph in [in_memory, other] {
        let refused = program.told(superstep::debugger(&[&graph]), &format!("log rust --file {path}")).await;
        assert_eq!(refused.exit, Exit::Unusable);
        assert!(
            refused.err.contains("is encrypted with the key first: open it with its keys"),
            "{}",
            refused.err
        );
        let line = format!("log rust --file {path} --key-file {keys}");
        assert_eq!(program.told(superstep::debugger(&[&graph]), &line).await.out, expected);
    }
    // Keys given with the option apply, also for the program's own file.
    std::fs::write(&program.keyed.keys, NEWER).unwrap();
    let refused = program.says(&format!("log rust --key-file {keys}")).await;
    assert_eq!(refused.exit, Exit::Unusable);
    assert!(refused.err.contains("key"), "{}", refused.err);
}
