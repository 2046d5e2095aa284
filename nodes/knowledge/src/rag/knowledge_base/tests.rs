use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::rag::{Chunker, EmbedError, HashEmbedder};

const GUIDES: [(&str, &str); 4] = [
    ("light.md", "Soft light of the evening suits landscapes."),
    ("lines.md", "Leading lines draw the eye through a picture."),
    ("thirds.md", "The rule of thirds puts the horizon off the middle."),
    ("rice.md", "Rice is cooked with twice as much water."),
];

fn chunks(text: &str) -> Vec<Chunk> {
    Chunker::default().split(text)
}

async fn guides() -> (TempDir, KnowledgeBase) {
    let folder = tempfile::tempdir().unwrap();
    let base = KnowledgeBase::open(folder.path().join("k.db"), "guides", HashEmbedder::default()).unwrap();
    for (source, text) in GUIDES {
        base.add(source, &chunks(text)).await.unwrap();
    }
    (folder, base)
}

fn sources(found: &[FoundChunk]) -> Vec<&str> {
    found.iter().map(|found| found.source.as_str()).collect()
}

#[tokio::test]
async fn a_question_finds_what_it_is_about() {
    let (_folder, base) = guides().await;
    for (question, expected) in [
        ("which light for a landscape?", "light.md"),
        ("where to put horizons", "thirds.md"),
        ("cooking rice", "rice.md"),
    ] {
        let found = base.search(question, 1).await.unwrap();
        assert_eq!(sources(&found), [expected], "{question}");
        assert!(found[0].similarity.unwrap() > 0.1);
    }
}

#[tokio::test]
async fn words_and_meaning_can_be_searched_alone() {
    let (_folder, base) = guides().await;
    // A slip of the pen: no word is the same, but most letters are.
    let by_words = base.search_by(SearchBy::Words, "lanscapes", 5).await.unwrap();
    assert!(by_words.is_empty(), "{by_words:?}");
    let by_meaning = base.search_by(SearchBy::Meaning, "lanscapes", 1).await.unwrap();
    assert_eq!(sources(&by_meaning), ["light.md"]);
    let by_words = base.search_by(SearchBy::Words, "the eyes", 5).await.unwrap();
    assert_eq!((sources(&by_words), by_words[0].similarity), (vec!["lines.md"], None));
}

#[tokio::test]
async fn a_question_without_words_finds_nothing_and_none_of_it_is_an_operator() {
    let (_folder, base) = guides().await;
    assert!(base.search("… ?", 3).await.unwrap().is_empty());
    assert!(base.search("", 3).await.unwrap().is_empty());
    assert_eq!(base.search("light\" OR NEAR( *", 1).await.unwrap().len(), 1);
    assert!(base.search("light", 0).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_document_is_replaced_and_removed_as_a_whole() {
    let (_folder, base) = guides().await;
    base.add("light.md", &chunks("Flash in the studio.")).await.unwrap();
    assert!(!sources(&base.search("evening landscapes", 9).await.unwrap()).contains(&"light.md"));
    assert_eq!(sources(&base.search_by(SearchBy::Words, "studio", 1).await.unwrap()), ["light.md"]);
    assert!(base.remove("light.md").await.unwrap());
    assert!(!base.remove("light.md").await.unwrap());
    assert!(base.search_by(SearchBy::Words, "studio", 1).await.unwrap().is_empty());
    assert_eq!(base.chunks().await.unwrap(), 3);
    assert_eq!(base.sources().await.unwrap(), ["lines.md", "rice.md", "thirds.md"]);
}

#[tokio::test]
async fn collections_of_a_file_do_not_see_each_other() {
    let (folder, base) = guides().await;
    let other = KnowledgeBase::open(folder.path().join("k.db"), "recipes", HashEmbedder::new(64)).unwrap();
    other.add("rice.md", &chunks("Fried rice with light soy sauce.")).await.unwrap();
    assert_eq!(sources(&other.search("light", 9).await.unwrap()), ["rice.md"]);
    assert_eq!(base.chunks().await.unwrap(), 4);
    assert!(other.remove("rice.md").await.unwrap());
    assert_eq!(sources(&base.search("rice", 1).await.unwrap()), ["rice.md"]);
}

#[tokio::test]
async fn what_is_ingested_is_there_in_another_process() {
    let (folder, base) = guides().await;
    drop(base);
    let file = folder.path().join("k.db");
    let base = KnowledgeBase::open_existing(&file, "guides", HashEmbedder::default()).unwrap();
    assert_eq!(sources(&base.search("leading lines", 1).await.unwrap()), ["lines.md"]);
}

#[tokio::test]
async fn s3_045_nothing_is_found_where_nothing_was_ingested_and_the_error_says_what_to_do() {
    let (folder, _base) = guides().await;
    let open = |file: &str, collection| {
        KnowledgeBase::open_existing(folder.path().join(file), collection, HashEmbedder::default())
    };
    let error = open("none.db", "guides").unwrap_err();
    assert!(error.to_string().ends_with("ingest documents into it first"), "{error}");
    assert!(matches!(open("k.db", "none").unwrap_err(), KnowledgeError::NotIngested { .. }));
    assert!(!folder.path().join("none.db").exists());

    // A collection that was only opened has nothing either, and requires no embedder.
    KnowledgeBase::open(folder.path().join("k.db"), "empty", HashEmbedder::new(8)).unwrap();
    assert!(matches!(open("k.db", "empty").unwrap_err(), KnowledgeError::NotIngested { .. }));
    KnowledgeBase::open(folder.path().join("k.db"), "empty", HashEmbedder::default()).unwrap();
}

#[tokio::test]
async fn another_embedder_is_refused() {
    let (folder, _base) = guides().await;
    let error = KnowledgeBase::open(folder.path().join("k.db"), "guides", HashEmbedder::new(8)).unwrap_err();
    let says = "the collection `guides` was ingested with the embedder `hash-1-512`, not `hash-1-8`";
    assert_eq!(error.to_string(), says);
}

#[test]
fn other_files_are_refused_and_left_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let open = |name: &str| {
        let file = folder.path().join(name);
        KnowledgeBase::open(&file, "guides", HashEmbedder::default()).map(drop).unwrap_err()
    };
    std::fs::write(
        folder.path().join("text"),
        "no database at all, and longer than a header of a hundred bytes".repeat(4),
    )
    .unwrap();
    assert!(matches!(open("text"), KnowledgeError::Foreign { .. }));

    let other = Connection::open(folder.path().join("other.db")).unwrap();
    other.execute_batch("create table t (a)").unwrap();
    let before = std::fs::read(folder.path().join("other.db")).unwrap();
    assert!(matches!(open("other.db"), KnowledgeError::Foreign { .. }));
    assert_eq!(std::fs::read(folder.path().join("other.db")).unwrap(), before);

    let file = folder.path().join("later.db");
    drop(KnowledgeBase::open(&file, "guides", HashEmbedder::default()).unwrap());
    Connection::open(&file).unwrap().pragma_update(None, "user_version", 7).unwrap();
    assert!(matches!(open("later.db"), KnowledgeError::Newer { format: 7, known: 1, .. }));
}

/// An embedder that gives what is wrong.
struct Broken {
    fails: AtomicBool,
    gives: fn(usize) -> Vec<Embedding>,
}

#[async_trait]
impl Embedder for Broken {
    fn name(&self) -> &str {
        "hash-1-512"
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        match self.fails.load(Ordering::Relaxed) {
            true => Err(EmbedError::NoEmbedding),
            false => Ok((self.gives)(texts.len())),
        }
    }

    fn max_batch(&self) -> usize {
        1
    }
}

#[tokio::test]
async fn a_document_that_cannot_be_embedded_stays_as_it_was() {
    let (folder, base) = guides().await;
    let broken = |fails, gives| {
        let embedder = Broken { fails: AtomicBool::new(fails), gives };
        KnowledgeBase::open(folder.path().join("k.db"), "guides", embedder).unwrap()
    };
    let one = |_| vec![Embedding::new(vec![1.0]).unwrap()];
    let text = chunks("Neon light.");
    let error = broken(true, one).add("light.md", &text).await.unwrap_err();
    assert!(matches!(error, KnowledgeError::Embed(EmbedError::NoEmbedding)));
    let error = broken(false, |_| Vec::new()).add("light.md", &text).await.unwrap_err();
    assert!(matches!(error, KnowledgeError::Embed(EmbedError::Count { asked: 1, given: 0 })));
    let error = broken(false, one).add("new.md", &text).await.unwrap_err();
    assert!(matches!(error, KnowledgeError::Embed(EmbedError::Dimensions { expected: 512, given: 1 })));
    let error = broken(false, one).search("light", 1).await.unwrap_err();
    let expected = EmbedError::Dimensions { expected: 512, given: 1 };
    assert!(matches!(error, KnowledgeError::Embed(found) if found == expected));
    let found = base.search("light of the evening", 1).await.unwrap();
    assert_eq!(found[0].chunk.text, GUIDES[0].1);
}

#[tokio::test]
async fn two_processes_may_use_a_file_at_once() {
    let (folder, base) = guides().await;
    let again = KnowledgeBase::open(folder.path().join("k.db"), "guides", HashEmbedder::default()).unwrap();
    let text = |n: usize| chunks(&format!("Text number {n} of many."));
    let add = async |base: &KnowledgeBase, name: &str| {
        for n in 0..20 {
            base.add(&format!("{name} {n}"), &text(n)).await.unwrap();
        }
    };
    tokio::join!(add(&base, "one"), add(&again, "two"));
    assert_eq!(base.chunks().await.unwrap(), 44);
}
