//! Tests of two connections to one file, each with a cache of data that the other one may have changed.

use superstep_core::checkpoint::{Checkpoint, Commit, Committed, Recorded};

use super::*;
use crate::sqlite::file::File;
use crate::sqlite::options::SqliteOptions;
use crate::sqlite::pending::effect;
use superstep_conformance::material::{self, commit_of, effect, ended, graph, result, step, thread};

struct Two {
    ours: WriteCache,
    theirs: WriteCache,
    _folder: tempfile::TempDir,
}

impl Two {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = File::new(Some(folder.path().join("t.db")), SqliteOptions::new());
        let [ours, theirs] = [(), ()].map(|()| WriteCache::new(file.open_writer().expect("the file opens")));
        let mut two = Self { ours, theirs, _folder: folder };
        two.ours.register(&graph()).expect("it is stored");
        two
    }
}

/// Commits a step, and expects it to succeed.
fn advance(cache: &mut WriteCache, name: &str, parent: Option<&Checkpoint>) -> Checkpoint {
    cache.catch_up().expect("the file is read");
    let next = step(parent, [material::set(0, "1")]);
    let committed = cache.commit(&commit_of(name, &next)).expect("it is stored");
    assert!(matches!(committed, Committed::New), "{committed:?}");
    next
}

fn knows(cache: &WriteCache, names: &[&str]) -> bool {
    names.iter().all(|name| cache.threads.contains_key(&thread(name)))
}

fn commit_knowing_nothing(cache: &mut WriteCache, name: &str, parent: &Checkpoint) -> Committed {
    let commit = Commit { recorded: Some(Recorded::default()), ..commit_of(name, &step(Some(parent), [])) };
    cache.commit(&commit).expect("the file is read")
}

#[test]
fn what_others_commit_is_forgotten_and_nothing_else() {
    let mut two = Two::new();
    let t = advance(&mut two.ours, "t", None);
    let u = advance(&mut two.ours, "u", None);
    let seen = two.ours.seen;
    two.ours.catch_up().expect("the file is read");
    assert_eq!(two.ours.seen, seen, "what one has written oneself is no news");

    let moved = advance(&mut two.theirs, "t", Some(&t));
    advance(&mut two.theirs, "elsewhere", None);
    two.ours.catch_up().expect("the file is read");
    assert_eq!(two.ours.seen, seen + 1);
    assert!(knows(&two.ours, &["t", "u"]), "nothing is looked for before it is used");
    let fields = two.ours.threads[&thread("u")].fields.as_ptr();
    advance(&mut two.ours, "u", Some(&u));
    assert_eq!(two.ours.threads[&thread("u")].fields.as_ptr(), fields, "it was not read again");
    assert!(two.ours.know(&thread("t")).expect("the file is read"));
    assert_eq!(two.ours.threads[&thread("t")].head_id, moved.id);
    advance(&mut two.ours, "t", Some(&moved));
    assert_eq!(two.ours.last_seq, 6);
}

#[test]
fn deletions_of_others_make_everything_be_forgotten() {
    let mut two = Two::new();
    for name in ["t", "u"] {
        advance(&mut two.ours, name, None);
    }
    two.theirs.catch_up().expect("the file is read");
    two.theirs.delete(&material::GRAPH.into(), &thread("t")).expect("it is deleted");
    two.ours.catch_up().expect("the file is read");
    assert!(two.ours.threads.is_empty());
    assert!(!two.ours.know(&thread("t")).expect("the file is read"));
}

/// The newest checkpoint is deleted, and as many others are added: the sequence number alone would not show the change.
#[test]
fn a_deletion_is_noticed_behind_what_came_later() {
    let mut two = Two::new();
    advance(&mut two.ours, "t", None);
    advance(&mut two.ours, "u", None);
    two.theirs.catch_up().expect("the file is read");
    two.theirs.delete(&material::GRAPH.into(), &thread("u")).expect("it is deleted");
    advance(&mut two.theirs, "u", None);
    advance(&mut two.theirs, "v", None);
    two.ours.catch_up().expect("the file is read");
    assert!(two.ours.threads.is_empty());
}

#[test]
fn what_others_record_is_noticed_without_a_checkpoint() {
    let mut two = Two::new();
    let t = advance(&mut two.ours, "t", None);
    let u = advance(&mut two.ours, "u", None);
    let work = |cache: &WriteCache, name| cache.threads[&thread(name)].work;
    assert_eq!(work(&two.ours, "t"), OnTop::Nothing);

    assert!(two.theirs.record(&thread("t"), t.id, &result(1, "1")).expect("it is stored"));
    two.ours.catch_up().expect("the file is read");
    let told = commit_knowing_nothing(&mut two.ours, "t", &t);
    assert!(matches!(&told, Committed::Outrun(told) if told.results == [result(1, "1")]), "{told:?}");
    assert_eq!(work(&two.ours, "t"), OnTop::Unread);

    let place = two.theirs.place_of_effect(&thread("u"), u.id).expect("it is the head");
    effect::begin(&two.theirs.connection, place, &ended(effect(1), "1")).expect("it is stored");
    two.ours.catch_up().expect("the file is read");
    let told = commit_knowing_nothing(&mut two.ours, "u", &u);
    assert!(matches!(&told, Committed::Outrun(told) if told.effects.len() == 1), "{told:?}");
}

/// Without the second check of a thread, the result is overlooked.
#[test]
fn without_a_second_look_a_result_is_overlooked() {
    let mut two = Two::new();
    let t = advance(&mut two.ours, "t", None);
    assert!(two.theirs.record(&thread("t"), t.id, &result(1, "1")).expect("it is stored"));
    two.ours.catch_up().expect("the file is read");
    let seen = two.ours.seen;
    two.ours.threads.get_mut(&thread("t")).expect("it is remembered").seen = seen;
    let committed = commit_knowing_nothing(&mut two.ours, "t", &t);
    assert!(matches!(committed, Committed::New), "{committed:?}");
}

/// Results that this connection records itself are known without reading the file.
#[test]
fn results_of_ones_own_are_counted() {
    let mut two = Two::new();
    let t = advance(&mut two.ours, "t", None);
    for number in 1..=3 {
        assert!(two.ours.record(&thread("t"), t.id, &result(number, "1")).expect("it is stored"));
    }
    let all = Recorded::of(&[1, 2, 3].map(|number| result(number, "1")), &[]);
    assert_eq!(two.ours.threads[&thread("t")].work, OnTop::Results(all));
    let commit = Commit { recorded: Some(all), ..commit_of("t", &step(Some(&t), [])) };
    let committed = two.ours.commit(&commit).expect("it is stored");
    assert!(matches!(committed, Committed::New), "{committed:?}");
    assert_eq!(two.ours.threads[&thread("t")].work, OnTop::Nothing);
}
