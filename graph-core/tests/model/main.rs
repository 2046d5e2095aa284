//! The engine against a naive interpreter, on random graphs.
//!
//! Whatever the order in which tasks finish, the checkpoints are the same to the byte; and wherever a run is
//! stopped, its thread goes on to the same end, without running anything twice that had finished.
#![cfg(feature = "tokio")]

extern crate superstep_core as superstep;

mod driven;
mod reference;
mod spec;

use driven::{Play, Played, Trouble};
use proptest::prelude::*;
use reference::{Ending, tell};
use spec::{Spec, specs};

/// Supersteps of a run: random graphs like to go round in circles.
const LIMIT: u64 = 6;

fn play(pace: u64, trouble: Trouble, at_once: usize) -> Play {
    Play { pace, trouble, at_once, limit: LIMIT }
}

fn agrees(spec: &Spec, played: &Played) -> Result<(), TestCaseError> {
    let (told, ending) = tell(spec, LIMIT);
    prop_assert_eq!(&played.told, &told);
    prop_assert_eq!(&played.ending, &ending);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn checkpoints_do_not_depend_on_who_finishes_first(
        mut spec in specs(),
        paces in [any::<u64>(), any::<u64>()],
        at_once in 1..4usize,
    ) {
        let graph = driven::graph(&mut spec);
        let first = play(paces[0], Trouble::None, usize::MAX).run(&graph);
        let second = play(paces[1], Trouble::None, at_once).run(&graph);
        prop_assert_eq!(&first.texts, &second.texts);
        agrees(&spec, &first)?;
        agrees(&spec, &second)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_run_that_was_stopped_anywhere_goes_on_to_the_same_end(
        mut spec in specs(),
        pace in any::<u64>(),
        at_once in 1..5usize,
    ) {
        let graph = driven::graph(&mut spec);
        let (told, ending) = tell(&spec, LIMIT);
        // A conflict is the end: what was finished stays so.
        prop_assume!(!matches!(ending, Ending::Conflict { .. }));
        let calm = play(pace, Trouble::None, at_once).run(&graph);
        let mut troubles: Vec<Trouble> = (0..calm.stage.executions()).map(Trouble::Fail).collect();
        troubles.extend((0..calm.stage.yields()).map(Trouble::Cancel));
        let asking = told.iter().flat_map(|told| told.ran.iter().map(|node| Trouble::Ask(node.clone(), told.step)));
        troubles.extend(asking.filter(|trouble| !matches!(trouble, Trouble::Ask(_, ..1))));
        for trouble in troubles {
            let played = play(pace, trouble.clone(), at_once).run(&graph);
            agrees(&spec, &played)?;
            prop_assert!(played.troubled, "{:?} did not happen", trouble);
            prop_assert!(!played.stage.repeated(), "a task ran twice after {:?}", trouble);
        }
        for polls in 0.. {
            let played = play(pace, Trouble::Drop(polls), at_once).run(&graph);
            agrees(&spec, &played)?;
            if !played.troubled {
                break;
            }
        }
    }
}
