//! The engine against a naive interpreter, on random graphs.
//!
//! Graphs fan out, join, route, branch, overwrite and defer; some of their nodes are such graphs again, up to two levels
//! below the top, which are left by exits, keep their state and run few tasks at once. Nodes run effects, ask, fail and
//! are retried. Whatever
//! the order in which tasks finish, the checkpoints are the same to the byte. Wherever a run is stopped, and
//! whichever call of the store fails, its thread goes on to the same end; what was recorded does not run again. And
//! what the store tells of it afterwards is what was live, and a replay of it comes to the same bytes.
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

/// Supersteps of a run: random graphs like to go round in circles.
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

/// How many random graphs are run: as many as `SUPERSTEP_GRAPHS` says; without it 2,000, so many times as
/// `SUPERSTEP_TORTURE` says.
fn graphs() -> ProptestConfig {
    let cases = number("SUPERSTEP_GRAPHS").unwrap_or(2_000 * times());
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// What `SUPERSTEP_TORTURE` says: so many times as much as usually.
fn times() -> u32 {
    number("SUPERSTEP_TORTURE").unwrap_or(1).max(1)
}

fn number(variable: &str) -> Option<u32> {
    let asked = std::env::var(variable).ok()?;
    Some(asked.parse().unwrap_or_else(|_| panic!("{variable} is a number, not {asked:?}")))
}

/// At how many places a run may be stopped at most, where it is stopped at all of them: four of five random graphs have
/// fewer. What that costs grows with their square, and a few graphs have five times as many.
fn most_places() -> usize {
    160 * times() as usize
}

/// One way in which a run may go wrong, of those that a calm one shows.
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

/// A question of each task that a run is told to have.
fn asking(spec: &Spec, told: &[Told]) -> Vec<Trouble> {
    let mut found = Vec::new();
    for told in told {
        let mut inside = told.inside.iter();
        for name in &told.ran {
            // START is none of the spec's.
            let Some(node) = spec.nodes.iter().find(|node| node.name == name) else { continue };
            match &node.inner {
                // What a kept state was before has told of its subgraphs.
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
        // An error is the end: what was finished stays so.
        if !ending.is_error() {
            let trouble = some_trouble(&spec, draw as usize, &second, &told);
            check_troubled(&spec, &graph, paces[1], trouble, at_once)?;
        }
    }
}

/// Plays a graph with a trouble: it comes to the same checkpoints, and nothing that had finished ran again.
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
    // A store that failed may not have kept what a task or an effect came to; and who drops a run does not let it
    // take in what a spawned task has just come to.
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
    fn a_run_that_was_stopped_anywhere_goes_on_to_the_same_end(
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
