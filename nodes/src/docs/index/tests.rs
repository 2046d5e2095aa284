use std::fs;

use proptest::prelude::*;
use tempfile::TempDir;

use super::super::{FileKinds, SkipReason, Skipped};
use super::*;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn index(files: &[(&str, &str)]) -> DocIndex {
    DocIndex::build(folder(files).path(), &IndexOptions::default()).unwrap()
}

#[test]
fn what_is_ignored_hidden_or_generated_is_not_read() {
    let folder = folder(&[
        (".gitignore", "secret.md\n"),
        ("secret.md", "word"),
        (".hidden/a.md", "word"),
        ("target/doc/a.md", "word"),
        ("sub/b.md", "word"),
        ("a.md", "word"),
        ("code.rs", "// word"),
        ("picture.png", "word"),
        ("binary.txt", "word\0word"),
        ("large.md", &"word ".repeat(100)),
    ]);
    fs::write(folder.path().join("latin1.txt"), b"w\xf6rd").unwrap();

    let options = IndexOptions::default().with_max_file_bytes(400);
    let index = DocIndex::build(folder.path(), &options).unwrap();
    let found: Vec<_> = index.search("word", 10).unwrap().into_iter().map(|passage| passage.path).collect();
    assert_eq!(found, ["a.md", "sub/b.md"], "equals are in order of their paths");
    let skipped = |path: &str, reason| Skipped { path: path.into(), reason };
    assert_eq!(
        index.report(),
        &IndexReport {
            files: 2,
            passages: 2,
            skipped: vec![
                skipped("binary.txt", SkipReason::Binary),
                skipped("code.rs", SkipReason::Kind),
                skipped("large.md", SkipReason::TooLarge { bytes: 500 }),
                skipped("latin1.txt", SkipReason::Binary),
                skipped("picture.png", SkipReason::Kind),
            ],
        }
    );

    let index = DocIndex::build(folder.path(), &options.with_files(FileKinds::DocumentsAndSource)).unwrap();
    assert_eq!(index.report().files, 3);
}

#[test]
fn a_folder_that_is_none_is_an_error() {
    let folder = folder(&[("a.md", "text")]);
    let error = DocIndex::build(folder.path().join("a.md"), &IndexOptions::default()).unwrap_err();
    assert!(matches!(error, IndexError::NotAFolder { path } if path.ends_with("a.md")));
}

#[test]
fn a_heading_counts_more_than_a_mention() {
    let index = index(&[
        ("a.md", "# Other\n\nForks are mentioned here, among several other things.\n"),
        ("b.md", "# Forks\n\nThey are made here, among several other things.\n"),
    ]);
    assert_eq!(index.search("how is a fork made?", 5).unwrap()[0].path, "b.md");
}

#[test]
fn neighbours_count_more_than_words_apart() {
    let index =
        index(&[("a.md", "The write of a file is pending."), ("b.md", "The file has a pending write.")]);
    assert_eq!(index.search("pending write", 5).unwrap()[0].path, "b.md");
}

#[test]
fn identifiers_are_found_whole_and_by_their_parts() {
    let index = index(&[("a.md", "Use `SqliteSaver::open`.")]);
    for query in ["SqliteSaver", "sqlite", "a saver"] {
        assert_eq!(index.search(query, 5).unwrap().len(), 1, "{query}");
    }
}

#[test]
fn counts_tell_which_words_the_documents_do_not_have() {
    let index = index(&[("a.md", "one checkpoint\n\nmany checkpoints\n\nnothing")]);
    let hits = index.lookup("Is a checkpoint a kangaroo?", 5).unwrap();
    let word = |word: &str, passages| WordCount { word: word.into(), passages };
    assert_eq!(hits.words, [word("checkpoint", 2), word("kangaroo", 0)]);
    assert_eq!(hits.searched, 3);
}

#[test]
fn a_query_without_telling_words_finds_nothing() {
    assert_eq!(index(&[("a.md", "what is it")]).search("what is it?", 5).unwrap(), []);
}

#[test]
fn a_very_long_query_is_searched_by_its_first_words() {
    let index = index(&[("a.md", "the first word0 of many"), ("b.md", "and word4999")]);
    // Words of which some have synonyms, as those make the full-text query longer.
    let words =
        "args begin bench huge pick merge verb parallel config create broken db erase deps dir docs env";
    let numbered: Vec<_> = (0..5_000).map(|number| format!("word{number}")).collect();
    let hits = index.lookup(&format!("{words} {}", numbered.join(" ")), 5).unwrap();
    assert_eq!(hits.passages.iter().map(|passage| &passage.path).collect::<Vec<_>>(), ["a.md"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_query_is_a_syntax_error(query in "(AND|OR|NOT|NEAR|[ -~λ\"*^(){}:\\-]){0,20}") {
        let index = index(&[("a.md", "near and or not a lambda λ")]);
        index.search(&query, 3).unwrap();
    }
}
