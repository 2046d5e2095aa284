use std::fs;
use std::sync::Mutex;

use tempfile::TempDir;

use super::*;
use crate::rag::HashEmbedder;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn base(folder: &TempDir) -> KnowledgeBase {
    KnowledgeBase::open(folder.path().join("k.db"), "guides", HashEmbedder::default()).unwrap()
}

const FILES: [(&str, &str); 3] =
    [("a.md", "# Light\n\nSoft light."), ("b/c.txt", "Leading lines."), ("photo.jpg", "\u{0}")];

#[tokio::test]
async fn s3_046_a_folder_is_ingested_and_what_has_not_changed_is_left_alone() {
    let (documents, file) = (folder(&FILES), folder(&[]));
    let base = base(&file);
    let report = base.ingest(documents.path()).run().await.unwrap();
    assert_eq!((report.added, report.replaced, report.unchanged, report.chunks), (2, 0, 0, 2));
    assert_eq!(report.skipped.iter().map(|skipped| skipped.path.as_str()).collect::<Vec<_>>(), ["photo.jpg"]);
    let found = base.search("light", 1).await.unwrap();
    assert_eq!((&*found[0].source, &*found[0].chunk.heading), ("a.md", "Light"));

    fs::write(documents.path().join("b/c.txt"), "Framing.").unwrap();
    let report = base.ingest(documents.path()).run().await.unwrap();
    assert_eq!((report.added, report.replaced, report.unchanged, report.chunks), (0, 1, 1, 1));

    let report = base.ingest(documents.path()).chunker(Chunker::new(10, 0)).run().await.unwrap();
    assert_eq!((report.replaced, report.unchanged), (2, 0));
    assert_eq!(Chunker::default(), Chunker::new(1_000, 200));
}

#[tokio::test]
async fn documents_that_are_gone_are_removed_if_that_is_wanted() {
    let (documents, file) = (folder(&FILES), folder(&[]));
    let base = base(&file);
    base.ingest(documents.path()).run().await.unwrap();
    fs::remove_file(documents.path().join("a.md")).unwrap();
    assert!(base.ingest(documents.path()).run().await.unwrap().removed.is_empty());
    let report = base.ingest(documents.path()).remove_missing().run().await.unwrap();
    assert_eq!(report.removed, ["a.md"]);
    assert_eq!(base.sources().await.unwrap(), ["b/c.txt"]);
}

#[tokio::test]
async fn it_tells_how_far_it_is() {
    let (documents, file) = (folder(&FILES), folder(&[]));
    let told = Mutex::new(Vec::new());
    let tell = |progress: &IngestProgress<'_>| told.lock().unwrap().push(progress.to_string());
    base(&file).ingest(documents.path()).progress(tell).run().await.unwrap();
    let expected = [
        "0 of 2 documents, 0 chunks: a.md",
        "1 of 2 documents, 1 chunks: b/c.txt",
        "2 of 2 documents, 2 chunks",
    ];
    assert_eq!(*told.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_an_error() {
    let file = folder(&[]);
    let error = base(&file).ingest(file.path().join("none")).run().await.unwrap_err();
    assert!(error.to_string().ends_with("is not a folder that can be read"), "{error}");
}

#[test]
fn what_cannot_be_read_is_not_taken_for_gone() {
    let file = |path: &str| TextFile { path: path.into(), language: Language::Prose, text: String::new() };
    let skipped = |path: &str, reason: SkipReason| Skipped { path: path.into(), reason };
    let unreadable = || SkipReason::Unreadable { reason: "permission denied".into() };
    let sources = || ["a", "b", "c", "d"].map(String::from).to_vec();
    let (files, large) = ([file("a")], skipped("b", SkipReason::Binary));
    assert_eq!(gone(sources(), &files, &[large.clone(), skipped("c", unreadable())]), ["b", "d"]);
    assert!(gone(sources(), &files, &[large, skipped("", unreadable())]).is_empty());
}
