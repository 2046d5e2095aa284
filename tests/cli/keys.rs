//! Encrypted files on the command line.

use std::path::PathBuf;

use superstep::cli::{Exit, Look};

use crate::program::{Written, written};
use crate::{Said, said};

const KEY: &str = "first c2f4a1f0b1d0e6a7a3f3e1c65d0f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b\n";
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

/// The words of a verb that reads, and that the answer is the same for an encrypted file.
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
        // Sealed texts are longer, which is told.
        if !["threads", "gc"].iter().any(|verb| line.starts_with(verb)) {
            assert_eq!(with.out, plain, "{line}");
        }
    }
    let without = keyed.says("verify FILE");
    assert_eq!(without.exit, Exit::Fine);
    assert!(without.out.contains("it is encrypted: without its keys"), "{}", without.out);
    assert!(!keyed.says("verify FILE KEYS").out.contains("without"));
    for line in ["delete FILE zig KEYS", "fork FILE rust copy KEYS", "edit FILE rust KEYS --json"] {
        let told = keyed.says(line);
        assert!(!told.err.contains("encrypted"), "{line}: {}", told.err);
    }
}

#[tokio::test]
async fn keys_are_exchanged_and_taken_away() {
    let keyed = Keyed::new(KEY).await;
    let none = keyed.says("rekey FILE");
    assert_eq!(none.exit, Exit::Unusable);
    assert!(none.err.starts_with("error: it takes keys: name the file that has them"), "{}", none.err);
    assert_eq!(keyed.says("rekey FILE KEYS").exit, Exit::Fine);
    std::fs::write(&keyed.keys, [NEWER, KEY].concat()).unwrap();
    let told = keyed.says("rekey FILE KEYS");
    assert!(told.out.contains("not needed any more: first"), "{} {}", told.out, told.err);
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
