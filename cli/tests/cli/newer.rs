//! Every verb refuses a file of a newer version, and changes no byte of it.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use superstep::cli::Look;

use crate::program::{Written, written};
use crate::said;

/// Every verb, on FILE.
pub(crate) const LINES: [&str; 31] = [
    "threads FILE",
    "interrupts FILE",
    "log FILE rust",
    "show FILE rust",
    "diff FILE rust",
    "blame FILE rust draft",
    "why FILE rust write",
    "grep FILE x",
    "bisect FILE rust --path draft --is exists",
    "compare FILE rust zig",
    "graph FILE rust",
    "name FILE rust",
    "name FILE rust a",
    "name FILE rust --remove a",
    "fork FILE rust",
    "fork FILE rust --name u",
    "edit FILE rust --set rounds=7",
    "test FILE rust",
    "export FILE rust",
    "import FILE GOOD.json",
    "import FILE GOOD.json --as other",
    "delete FILE rust",
    "release FILE rust",
    "verify FILE",
    "backup FILE COPY",
    "backup GOOD FILE --force",
    "du FILE",
    "migrate FILE",
    "migrate FILE --check",
    "gc FILE --keep-last 1",
    "vacuum FILE",
];

#[tokio::test]
async fn no_verb_touches_it() {
    let Written { path, folder } = written().await;
    let at = |name: &str| folder.path().join(name);
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let [newer, good, copy, export] =
        [at("newer.db"), path, at("copy.db"), at("good.json")].map(|path| text(&path));
    fs::copy(&good, &newer).unwrap();
    let next = superstep::checkpoint::SqliteReader::FORMAT + 1;
    Connection::open(&newer).unwrap().pragma_update(None, "user_version", next).unwrap();
    let export_it = format!("export '{good}' rust -o '{export}'");
    assert_eq!(said(Path::new(&good), Look::PIPED, &export_it).err, "");
    let before = fs::read(&newer).unwrap();
    let beside = || fs::read_dir(folder.path()).unwrap().count();
    let there = beside();
    for line in LINES {
        let line = line.replace("GOOD.json", &export).replace("GOOD", &good).replace("COPY", &copy);
        for line in [line.clone(), format!("{line} --json")] {
            let said = said(Path::new(&newer), Look::PIPED, &line);
            let refused = format!("error: the file has format {next}; this program reads up to {}", next - 1);
            assert!(said.exit as u8 == 2 && said.out.is_empty(), "{line}: {said:?}");
            assert!(said.err.starts_with(&refused), "{line}: {}", said.err);
            assert!(fs::read(&newer).unwrap() == before, "{line} has changed it");
            assert_eq!(beside(), there, "{line} has left something beside it");
        }
    }
}
