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
    let found: Vec<_> = index.search("word", 10).into_iter().map(|passage| passage.path).collect();
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

/// Of a whole repository, licences, tables of tests and a changelog were quoted before its documentation.
#[test]
fn of_a_project_only_the_documentation_is_read() {
    let folder = folder(&[
        ("README.md", "word"),
        ("LICENSE", "word"),
        ("CHANGELOG.md", "word"),
        ("tests/TABLE.md", "word"),
        ("docs/a.md", "word"),
        ("docs/sub/b.txt", "word"),
        ("docs/picture.png", "word"),
        ("docs/code.rs", "// word"),
    ]);
    let index = |kinds| DocIndex::build(folder.path(), &IndexOptions::default().with_files(kinds)).unwrap();
    let documentation = index(FileKinds::ProjectDocumentation);
    let found: Vec<_> = documentation.search("word", 9).into_iter().map(|passage| passage.path).collect();
    assert_eq!(found, ["README.md", "docs/a.md", "docs/sub/b.txt"]);
    let skipped: Vec<_> = documentation.report().skipped.iter().map(ToString::to_string).collect();
    let kind = SkipReason::Kind;
    assert_eq!(skipped, [format!("docs/code.rs: {kind}"), format!("docs/picture.png: {kind}")]);
    assert_eq!(documentation.report().unread().count(), 0);
    assert_eq!(index(FileKinds::Documents).report().files, 6, "without that, all of it is read");
}

/// A folder that could not be opened was reported without its name.
#[cfg(unix)]
#[test]
fn what_may_not_be_read_is_named() {
    use std::os::unix::fs::PermissionsExt;

    let folder = folder(&[("a.md", "word"), ("closed/b.md", "word"), ("c.md", "word")]);
    for path in ["closed", "c.md"] {
        fs::set_permissions(folder.path().join(path), fs::Permissions::from_mode(0o000)).unwrap();
    }
    let index = DocIndex::build(folder.path(), &IndexOptions::default()).unwrap();
    let may_read_all = fs::read(folder.path().join("c.md")).is_ok(); // as root does
    let unread: Vec<_> = index.report().unread().map(|skipped| skipped.path.as_str()).collect();
    assert_eq!(unread, if may_read_all { &[][..] } else { &["c.md", "closed"] });
    fs::set_permissions(folder.path().join("closed"), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_page_that_a_table_of_contents_describes_is_found_by_that() {
    let index = index(&[
        (
            "README.md",
            "# Pages\n\n- [Interrupts](interrupts.md): how does a node ask an editor?\n- [Forks](forks.md): copies\n",
        ),
        ("forks.md", "# Forks\n\nA fork waits for nothing.\n"),
        ("interrupts.md", "# Interrupts\n\nAn interrupt waits for an answer.\n"),
    ]);
    let found: Vec<_> =
        index.search("what waits for an editor?", 5).into_iter().map(|passage| passage.path).collect();
    assert_eq!(found, ["interrupts.md", "forks.md"]);
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
    assert_eq!(index.search("how is a fork made?", 5)[0].path, "b.md");
}

#[test]
fn neighbours_count_more_than_words_apart() {
    let index =
        index(&[("a.md", "The write of a file is pending."), ("b.md", "The file has a pending write.")]);
    assert_eq!(index.search("pending write", 5)[0].path, "b.md");
}

/// All passages of the best page came before the first of any other one, which was never seen.
#[test]
fn one_page_does_not_leave_out_all_others() {
    let index = index(&[
        ("a.md", "# Forks\n\nA fork.\n\nThe fork.\n\nThis fork.\n\nThat fork.\n"),
        ("b.md", "# Other\n\nA fork is mentioned among many other things here.\n"),
    ]);
    let found =
        |limit| index.search("fork", limit).into_iter().map(|passage| passage.path).collect::<Vec<_>>();
    assert_eq!(found(3), ["a.md", "a.md", "b.md"]);
    assert_eq!(found(9).len(), 5);
}

#[test]
fn identifiers_are_found_whole_and_by_their_parts() {
    let index = index(&[("a.md", "Use `SqliteSaver::open`.")]);
    for query in ["SqliteSaver", "sqlite", "a saver"] {
        assert_eq!(index.search(query, 5).len(), 1, "{query}");
    }
}

#[test]
fn counts_tell_which_words_the_documents_do_not_have() {
    let index = index(&[("a.md", "one checkpoint\n\nmany checkpoints\n\nnothing")]);
    let hits = index.lookup("Is a checkpoint a kangaroo?", 5);
    let word = |word: &str, count| WordCount { word: word.into(), itself: count, meant: count };
    assert_eq!(hits.words, [word("checkpoint", 2), word("kangaroo", 0)]);
    assert_eq!(hits.searched, 3);
}

#[test]
fn a_query_without_telling_words_finds_nothing() {
    assert_eq!(index(&[("a.md", "what is it")]).search("what is it?", 5), []);
}

#[test]
fn a_very_long_query_is_searched_by_its_first_words() {
    let index = index(&[("a.md", "the first word0 of many"), ("b.md", "and word4999")]);
    let words =
        "args begin bench huge pick merge verb parallel config create broken db erase deps dir docs env";
    let numbered: Vec<_> = (0..5_000).map(|number| format!("word{number}")).collect();
    let hits = index.lookup(&format!("{words} {}", numbered.join(" ")), 5);
    assert_eq!(hits.passages.iter().map(|passage| &passage.path).collect::<Vec<_>>(), ["a.md"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_query_is_a_syntax_error(query in "(AND|OR|NOT|NEAR|[ -~λ\"*^(){}:\\-]){0,20}") {
        let index = index(&[("a.md", "near and or not a lambda λ")]);
        index.search(&query, 3);
    }
}
