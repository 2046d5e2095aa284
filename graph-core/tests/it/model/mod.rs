//! A comparison of the engine with a naive interpreter, on random graphs.
//!
//! The graphs fan out, join, route, branch, overwrite and defer. Some of their nodes are subgraphs, up to two
//! levels below the top, which may take exits, keep their state and limit their concurrency. Nodes run effects,
//! ask, fail and are retried.
//!
//! The checkpoints must be the same to the byte in whatever order tasks finish. Wherever a run is stopped, and
//! whichever call of the store fails, its thread must continue to the same end without repeating recorded work.
//! Events rebuilt from the store must equal the live ones, and a replay must give the same bytes.
mod driven;
mod failing;
mod graphs;
mod kinds;
mod reference;
mod replayed;
mod retold;
mod spec;
mod stage;

use driven::{Play, Played};
use proptest::prelude::*;
use reference::{Ending, Told, tell};
use spec::{Spec, World, specs};
use stage::{Moment, Stage, Trouble};

/// The maximum number of supersteps of a run, because random graphs often contain cycles.
const LIMIT: u64 = 6;

fn play(pace: u64, trouble: Trouble, at_once: usize) -> Play {
    Play { pace, trouble, at_once, limit: LIMIT }
}

fn agrees(spec: &Spec, played: &Played) -> Result<(), TestCaseError> {
    let (told, ending) = tell(spec, LIMIT);
    prop_assert_eq!(&played.told, &told);
    prop_assert_eq!(&played.ending, &ending);
    played.replayed.agrees().map_err(TestCaseError::fail)
}

/// Returns the number of random graphs: `SUPERSTEP_GRAPHS`, or by default 2,000 times `SUPERSTEP_TORTURE`.
fn graphs() -> ProptestConfig {
    let cases = number("SUPERSTEP_GRAPHS").unwrap_or(2_000 * times());
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Returns `SUPERSTEP_TORTURE`, the factor by which the tests run longer than usual.
fn times() -> u32 {
    number("SUPERSTEP_TORTURE").unwrap_or(1).max(1)
}

fn number(variable: &str) -> Option<u32> {
    let asked = std::env::var(variable).ok()?;
    Some(asked.parse().unwrap_or_else(|_| panic!("{variable} is a number, not {asked:?}")))
}

/// Returns the maximum number of places at which a run can be stopped, for the test that stops it at each of them.
/// Four of five random graphs have fewer. The cost grows with the square of this number, and a few graphs have five
/// times as many places.
fn most_places() -> usize {
    160 * times() as usize
}

/// Chooses some trouble for a run, from those that are possible in a run without trouble.
fn some_trouble(spec: &Spec, draw: usize, calm: &Played, told: &[Told]) -> Trouble {
    let (kind, number) = (draw % 7, draw / 7);
    let executions = calm.stage.executions().max(1);
    match kind {
        0 => Trouble::Fail(number % executions),
        1 => Trouble::Retry(number % executions),
        2 => Trouble::Cancel(number % calm.stage.yields().max(1)),
        3 => Trouble::Drop(number % 40),
        4 => Trouble::Store(number % calm.stage.calls().max(1), Moment::Before),
        5 => Trouble::Store(number % calm.stage.calls().max(1), Moment::After),
        _ => {
            let asking = asking(spec, told);
            asking.get(number % asking.len().max(1)).cloned().unwrap_or_default()
        }
    }
}

/// Returns, for each task of the expected run, the trouble that it asks a question.
fn asking(spec: &Spec, told: &[Told]) -> Vec<Trouble> {
    let mut found = Vec::new();
    for told in told {
        let mut inside = told.inside.iter();
        for name in &told.ran {
            // START is not in the spec.
            let Some(node) = spec.nodes.iter().find(|node| node.name == name) else { continue };
            match &node.inner {
                // The earlier checkpoints of a kept state already contain its subgraphs.
                Some(inner) => found.extend(inside.next().into_iter().flat_map(|told| asking(inner, told))),
                None => found.push(Trouble::Ask(name.clone(), told.step)),
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(graphs())]

    #[test]
    fn checkpoints_do_not_depend_on_who_finishes_first_nor_on_what_goes_wrong(
        mut spec in specs(),
        paces in [any::<u64>(), any::<u64>()],
        at_once in 1..4usize,
        draw in any::<u32>(),
    ) {
        let graph = graphs::graph(&mut spec);
        let first = play(paces[0], Trouble::None, usize::MAX).run(&graph);
        let second = play(paces[1], Trouble::None, at_once).run(&graph);
        prop_assert_eq!(&first.texts, &second.texts);
        agrees(&spec, &first)?;
        agrees(&spec, &second)?;
        let (told, ending) = tell(&spec, LIMIT);
        if ending != Ending::Broken {
            first.logs.compare_whole().map_err(TestCaseError::fail)?;
        }
        // A thread cannot continue after an error.
        if !ending.is_error() {
            let trouble = some_trouble(&spec, draw as usize, &second, &told);
            check_troubled(&spec, &graph, paces[1], trouble, at_once)?;
        }
    }
}

/// Plays a graph with some trouble, and checks that its checkpoints are the same and that no finished work ran
/// again.
fn check_troubled(
    spec: &Spec,
    graph: &superstep::run::Graph<World, Stage>,
    pace: u64,
    trouble: Trouble,
    at_once: usize,
) -> Result<bool, TestCaseError> {
    let played = play(pace, trouble.clone(), at_once).run(graph);
    agrees(spec, &played)?;
    played.logs.compare_finished().map_err(TestCaseError::fail)?;
    // A store that failed may have lost the result of a task or an effect. A dropped run may lose the result of a
    // spawned task that has just finished.
    if !matches!(trouble, Trouble::Store(..)) {
        prop_assert!(!played.stage.doubled(), "an effect happened twice after {:?}", trouble);
        let dropped = matches!(trouble, Trouble::Drop(_));
        prop_assert!(dropped || !played.stage.repeated(), "a task ran twice after {:?}", trouble);
    }
    Ok(played.troubled)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_run_that_was_stopped_anywhere_continues_to_the_same_end(
        mut spec in specs(),
        pace in any::<u64>(),
        at_once in 1..5usize,
    ) {
        let graph = graphs::graph(&mut spec);
        let (told, ending) = tell(&spec, LIMIT);
        prop_assume!(!ending.is_error());
        let calm = play(pace, Trouble::None, at_once).run(&graph);
        let places = calm.stage.executions() + calm.stage.yields() + 2 * calm.stage.calls();
        prop_assume!(places <= most_places());
        let mut troubles: Vec<Trouble> = (0..calm.stage.executions()).map(Trouble::Fail).collect();
        troubles.extend((0..calm.stage.yields()).map(Trouble::Cancel));
        troubles.extend(asking(&spec, &told));
        for call in 0..calm.stage.calls() {
            troubles.extend([Moment::Before, Moment::After].map(|moment| Trouble::Store(call, moment)));
        }
        for trouble in troubles {
            let troubled = check_troubled(&spec, &graph, pace, trouble.clone(), at_once)?;
            prop_assert!(troubled, "{:?} did not happen", trouble);
        }
        for execution in 0..calm.stage.executions() {
            let stopped = check_troubled(&spec, &graph, pace, Trouble::Retry(execution), at_once)?;
            prop_assert!(!stopped, "a retry is no trouble");
        }
        for polls in 0.. {
            if !check_troubled(&spec, &graph, pace, Trouble::Drop(polls), at_once)? {
                break;
            }
        }
    }
}
