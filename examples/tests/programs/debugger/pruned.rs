//! A thread whose older checkpoints were pruned: the rest is read, verified and continued.

use super::Recorded;

#[test]
fn what_is_left_is_verified_and_nothing_continues_from_where_it_was_cut() {
    let recorded = Recorded::opening_hours();
    let asked = |words: &[&str]| recorded.debug(words);
    let state = asked(&["show", "visit", "."]).out;
    assert_eq!(asked(&["gc", "--keep-last", "5"]).code, 0);
    assert_eq!(asked(&["verify"]).code, 0);
    assert_eq!(asked(&["show", "visit", "."]).out, state);

    let replay = asked(&["replay", "visit"]);
    assert_eq!(replay.code, 0, "{}", replay.out);
    assert!(replay.out.starts_with("equal: 4 supersteps came out as recorded\n"), "{}", replay.out);
    assert!(replay.out.contains("what it began with was pruned"), "{}", replay.out);

    for (address, says) in
        [("visit@16", "it is all that is left where older ones were pruned"), ("visit@17", "was pruned")]
    {
        let refused = asked(&["test", address]);
        assert!(refused.code == 1 && refused.err.contains(says), "{}", refused.err);
    }
    let test = asked(&["test", "visit@20"]);
    assert!(test.out.contains(".after_step(17)") && test.out.contains(".supersteps(3)"), "{}", test.out);

    for verb in [&["rerun", "visit~5"][..], &["fork", "visit~5"], &["fork", "visit~5", "--name", "other"]] {
        let refused = asked(verb);
        assert!(refused.code != 0 && refused.err.contains("it was pruned"), "{verb:?}: {}", refused.err);
    }
    let set = ["edit", "visit~5", "--set", "score=1"];
    assert!(asked(&set).err.contains("it was pruned"));
    assert_eq!(asked(&["show", "visit", "."]).out, state);

    let rerun = asked(&["rerun", "visit~4"]);
    assert!(rerun.out.ends_with("finished at step 21\n"), "{}{}", rerun.out, rerun.err);
    assert_eq!(asked(&["show", "visit", "."]).out, state, "the same again, from what is left");
    assert_eq!(asked(&["verify"]).code, 0);

    // The oldest whole checkpoint is copied, although its past is cut.
    for verb in [&["fork", "visit@17"][..], &["rerun", "visit@17"]] {
        let done = asked(verb);
        assert_eq!(done.code, 0, "{verb:?}: {}", done.err);
    }
    assert_eq!(asked(&["show", "visit", "."]).out, state);
    assert_eq!(asked(&["verify"]).code, 0);

    assert_eq!(asked(&["gc", "--keep-last", "2"]).code, 0);
    assert_eq!(asked(&["show", "visit", "."]).out, state);
    assert_eq!(asked(&["verify"]).code, 0);

    let copy = recorded.folder.path().join("copy.db");
    let document = recorded.folder.path().join("visit.json");
    let [copy, document] = [&copy, &document].map(|path| path.to_str().unwrap());
    assert_eq!(asked(&["export", "visit", "-o", document]).code, 0);
    let imported = asked(&["import", document, "--file", copy]);
    assert_eq!(imported.code, 0, "{}", imported.err);
    assert_eq!(asked(&["show", "visit", ".", "--file", copy]).out, state);
    assert_eq!(asked(&["verify", "--file", copy]).code, 0);
}
