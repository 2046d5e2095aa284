use proptest::collection::btree_map;
use proptest::prelude::*;

use super::*;

fn manifest() -> impl Strategy<Value = Manifest> {
    let entry = prop_oneof![
        Just(Entry::Absent),
        Just(Entry::Folder),
        (0_u8..3, 0_u32..2).prop_map(|(content, mode)| Entry::File {
            content: Digest::of(&[content]),
            size: 1,
            mode
        }),
        "[ab]".prop_map(|target| Entry::Link { target }),
        (0_i64..2).prop_map(|modified| Entry::NotCovered {
            reason: NotCoveredReason::TooLarge,
            size: 9,
            modified
        }),
    ];
    let line = (entry, any::<bool>()).prop_map(|(entry, named)| Line { entry, named });
    btree_map("[a-c](/[a-c]){0,2}".prop_map(Name::from), line, 0..12).prop_map(Manifest)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_delta_leads_from_one_manifest_to_the_other(one in manifest(), other in manifest()) {
        let delta = one.delta(&other);
        prop_assert_eq!(delta.is_empty(), one == other);
        prop_assert!(delta.iter().all(|(name, line)| one.0.get(name) != line.as_ref()));
        let mut next = one.clone();
        next.apply(&delta);
        prop_assert_eq!(next, other);
    }

    #[test]
    fn equal_ids_are_of_equal_deltas(one in manifest(), other in manifest()) {
        let (one, other) = (Manifest::default().delta(&one), Manifest::default().delta(&other));
        let parent = SnapshotId::after(None, &one);
        prop_assert_eq!(one == other, parent == SnapshotId::after(None, &other));
        prop_assert_ne!(SnapshotId::after(None, &one), SnapshotId::after(Some(parent), &one));
    }
}

#[test]
fn what_is_below_a_folder_that_is_not_covered_is_not_covered_either() {
    let ignored = Entry::not_covered(NotCoveredReason::Ignored);
    let line = |entry: &Entry| Line { entry: entry.clone(), named: false };
    let lines = [("out", line(&ignored)), ("out/deep/named", line(&Entry::Folder))];
    let manifest = Manifest(lines.into_iter().map(|(name, line)| (Name::from(name), line)).collect());
    assert_eq!(manifest.entry("out/deep/other"), ignored);
    assert_eq!(manifest.entry("out/deep/named"), Entry::Folder);
    assert_eq!(manifest.entry("output"), Entry::Absent);
    let all = Manifest([(Name::from(""), line(&ignored))].into());
    assert_eq!(all.entry("a/b"), ignored);
}
