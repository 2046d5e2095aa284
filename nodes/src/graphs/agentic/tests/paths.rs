//! All ways through the loop.

use proptest::prelude::*;

use super::*;
use crate::model::ModelError;

/// The behaviour of a judge.
#[derive(Clone, Copy, Debug)]
enum Judge {
    Accepts,
    Refuses,
    Babbles,
    IsGone,
}

impl Judge {
    fn turn(self) -> Turn {
        match self {
            Self::Accepts => Turn::Json(judged(0.9)),
            Self::Refuses => Turn::Json(judged(0.1)),
            Self::Babbles => "Looks good to me!".into(),
            Self::IsGone => Turn::Fail(ModelError::Unauthorized { reason: "expired".into() }),
        }
    }
}

/// A loop that compacts from the first message on, or never.
fn looped(compacts: bool, uses_tools: bool, refinements: u32, judge: &[Judge]) -> Graph<AgenticState> {
    let route = if uses_tools { "use_tools" } else { "respond" };
    let mut model = Scripted::new()
        .on(Purpose::Router, json_turns([routed(route)]))
        .on(Purpose::Summarizer, ["Short."; 40])
        .on(Purpose::Refiner, (0..40).map(|at| Turn::Say(format!("Response {at} of the new ones."))))
        .on(Purpose::Verifier, judge.iter().map(|judge| judge.turn()));
    if uses_tools {
        model = model.then(asks_for_weather());
    }
    let model = Arc::new(model.say("The first response."));
    let settings = AgenticSettings {
        compaction_threshold: if compacts { 600 } else { 8_000 },
        target_after_compaction: 500,
        recent_message_count: 1,
        max_refinement_attempts: refinements,
        ..AgenticSettings::default()
    };
    graph(config(&model).tools(weather()).settings(settings).unwrap())
}

/// A request with a long conversation before it.
fn input() -> AgenticStateUpdate {
    let before = crate::message::Message::human("before", "word ".repeat(900));
    AgenticState::ask("What is the weather?").messages([before])
}

#[tokio::test]
async fn s0_134_s0_135_every_path_of_the_loop_is_taken() {
    let refused = [Judge::Refuses; 9];
    for compacts in [false, true] {
        for (uses_tools, begins) in [(false, "compact,router"), (true, "compact,router,use_tools")] {
            let refined = [Judge::Refuses, Judge::Accepts];
            let paths: [(&[Judge], &str, Option<bool>); 3] = [
                (&[Judge::Accepts], "respond,verify", Some(true)),
                (&refined, "respond,verify,refine,respond,verify", Some(true)),
                (&refused, "respond,verify,refine,respond,verify,refine,respond,verify", Some(false)),
            ];
            for (judge, ends, passed) in paths {
                let (state, ran) = turn(&looped(compacts, uses_tools, 2, judge), input()).await;
                assert_eq!(ran, format!("{begins},{ends}"), "{compacts} {judge:?}");
                assert_eq!(state.verification_passed, passed);
                assert_eq!(state.compaction_applied, Some(compacts));
            }
        }
    }
}

fn judge() -> impl Strategy<Value = Judge> {
    prop_oneof![Just(Judge::Accepts), Just(Judge::Refuses), Just(Judge::Babbles), Just(Judge::IsGone)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn s0_056_a_turn_takes_no_more_supersteps_than_it_may(
        judges in prop::collection::vec(judge(), 0..24),
        refinements in 0_u32..=5,
        uses_tools: bool,
        compacts: bool,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let graph = looped(compacts, uses_tools, refinements, &judges);
        let (state, ran) = runtime.block_on(turn(&graph, input()));
        let supersteps = ran.split(',').count();
        prop_assert!(supersteps <= 3 + 3 * (1 + refinements as usize), "{}", ran);
        prop_assert!(state.response().is_some());
        prop_assert!(state.refinement_attempts.unwrap_or(0) <= refinements);
        prop_assert_eq!(state.verification_passed == Some(true), state.verdict().is_verified());
    }
}
