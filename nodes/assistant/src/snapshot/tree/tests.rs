use crate::snapshot::NotCoveredReason;
use crate::snapshot::tests::Fixture;

fn covered(at: &mut Fixture) -> Vec<String> {
    let taken = at.take(None);
    let manifest = at.state.manifest(taken.id).unwrap();
    let covered = manifest.0.iter().filter(|(_, line)| line.entry.is_covered() && !line.entry.is_folder());
    covered.map(|(name, _)| name.to_string()).collect()
}

#[test]
fn the_rules_of_the_nearest_gitignore_come_first() {
    let mut at = Fixture::new();
    at.write(".gitignore", "*.log\n/top\n[\nbuild/\n");
    at.write("a.log", "");
    at.write("top", "");
    at.write("d/top", "");
    at.write("d/build/x", "");
    at.write("d/b.log", "");
    at.write("d/keep/.gitignore", "!c.log\nnot.log/../x\n");
    at.write("d/keep/c.log", "");
    at.write("d/keep/d.log", "");
    assert_eq!(covered(&mut at), [".gitignore", "d/keep/.gitignore", "d/keep/c.log", "d/top"]);
}

#[test]
fn the_rules_above_the_folder_hold_within_its_repository() {
    let mut at = Fixture::new();
    std::fs::write(at.outside().join(".gitignore"), "*.log\n").unwrap();
    at.write("a.log", "");
    assert_eq!(covered(&mut at), ["a.log"]);
    std::fs::create_dir(at.outside().join(".git")).unwrap();
    assert!(covered(&mut at).is_empty());
    // The folder is a repository of its own.
    at.write(".git/config", "");
    assert_eq!(covered(&mut at), ["a.log"]);
}

#[test]
fn a_folder_with_too_many_files_is_not_covered_and_the_others_are() {
    let mut at = Fixture::new().with(|options| options.max_files = 3);
    for file in 0..3 {
        at.write(&format!("few/{file}"), "");
        at.write(&format!("many/{file}"), "");
    }
    at.write("many/deep/4", "");
    assert_eq!(covered(&mut at), ["few/0", "few/1", "few/2"]);
    let taken = at.take(None);
    let not_covered: Vec<_> = taken.not_covered.iter().map(|it| (&*it.path, it.reason)).collect();
    assert_eq!(not_covered, [("many", NotCoveredReason::TooManyFiles)]);
    at.write("one more", "");
    let taken = at.take_named(taken.id, &["many/deep/4"]);
    let not_covered: Vec<_> = taken.not_covered.iter().map(|it| (&*it.path, it.reason)).collect();
    assert_eq!(not_covered, [("", NotCoveredReason::TooManyFiles)]);
    assert_eq!(covered(&mut at), ["many/deep/4"], "a file that was named is covered");
}

#[test]
fn a_folder_below_too_many_others_is_not_covered() {
    let mut at = Fixture::new();
    let deep = "d/".repeat(super::MOST_DEEP + 2);
    at.write(&format!("{deep}x"), "");
    at.write("y", "");
    assert_eq!(covered(&mut at), ["y"]);
    let taken = at.take(None);
    assert_eq!(taken.not_covered[0].reason, NotCoveredReason::TooDeep);
}

#[test]
fn the_folder_of_the_store_is_not_covered() {
    let at = Fixture::new();
    std::fs::create_dir_all(at.folder().join("state/data")).unwrap();
    let file = at.folder().join("state/data/snapshots.sqlite");
    let mut at = at.with(|options| options.file = file);
    at.write("state/data/sessions.sqlite", "");
    at.write("state/a", "");
    assert_eq!(covered(&mut at), ["state/a"]);
}
