//! The examples as programs, for tests that start them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

/// The program of an example, built as this test was.
pub(crate) fn example(name: &str) -> PathBuf {
    static EXAMPLES: OnceLock<PathBuf> = OnceLock::new();
    EXAMPLES.get_or_init(build).join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

fn build() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its program");
    let built = test.parent().and_then(Path::parent).expect("a test runs in TARGET/PROFILE/deps");
    let target = built.parent().expect("a test runs in TARGET/PROFILE/deps");
    let profile = match built.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let status = Command::new(env!("CARGO"))
        .args([
            "build",
            "--quiet",
            // With the features that the packages have together, as when all of them are tested: so they are built already.
            "--workspace",
            "--examples",
            "--features",
            "cli",
            "--profile",
            profile,
            "--manifest-path",
        ])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the examples build");
    built.join("examples")
}

/// A folder that has a folder `docs` with two documents.
pub(crate) fn documents() -> TempDir {
    let folder = TempDir::new().expect("a folder for the documents");
    let docs = folder.path().join("docs");
    std::fs::create_dir(&docs).expect("a new folder");
    let write = |name: &str, text: &str| std::fs::write(docs.join(name), text).expect("a new file");
    write("forks.md", "# Forks\n\nA fork copies no bytes: it shares its past with the trunk.\n");
    write("storage.md", "# Storage\n\nA checkpoint holds what changed in its superstep.\n");
    folder
}
