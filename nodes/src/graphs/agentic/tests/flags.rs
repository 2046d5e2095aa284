//! Compaction and verification, on and off.

use std::collections::BTreeSet;

use super::*;
use crate::message::Message;
use crate::verification::Verdict;

fn settings(compaction: bool, verification: bool) -> AgenticSettings {
    AgenticSettings {
        enable_context_compaction: compaction,
        enable_verification: verification,
        ..AgenticSettings::default()
    }
}

fn nodes(compaction: bool, verification: bool) -> BTreeSet<String> {
    let model = Arc::new(Scripted::new());
    let graph = agentic(config(&model).settings(settings(compaction, verification)).unwrap()).unwrap();
    graph.nodes().map(ToString::to_string).collect()
}

fn set(nodes: &[&str]) -> BTreeSet<String> {
    nodes.iter().map(ToString::to_string).collect()
}

#[test]
fn s0_060_s0_061_there_are_six_nodes_with_both_and_three_with_neither() {
    assert_eq!(nodes(true, true), set(&["compact", "router", "use_tools", "respond", "verify", "refine"]));
    assert_eq!(nodes(false, false), set(&["router", "use_tools", "respond"]));
    assert_eq!(nodes(true, false), set(&["compact", "router", "use_tools", "respond"]));
    assert_eq!(nodes(false, true), set(&["router", "use_tools", "respond", "verify", "refine"]));
}

/// The function that makes a node has this name, so that readers who search for the phase find it.
#[test]
fn s0_062_the_nodes_are_made_by_functions_of_these_names() {
    let source: String = include_str!("../graph.rs").split_whitespace().collect();
    for (node, function) in
        [("compact", "compact_context"), ("verify", "verify_response"), ("refine", "refine_response")]
    {
        assert!(source.contains(&format!("fn{function}(")), "there is no function {function}");
        assert!(
            source.contains(&format!("graph.node(\"{node}\",{function}(")),
            "{node} is not of {function}"
        );
        assert!(nodes(true, true).contains(node));
    }
}

#[tokio::test]
async fn s0_107_to_s0_109_all_four_combinations_run_the_same_script_to_the_same_response() {
    let mut said = Vec::new();
    for (compaction, verification, expected) in [
        (false, false, "router,use_tools,respond"),
        (true, false, "compact,router,use_tools,respond"),
        (false, true, "router,use_tools,respond,verify"),
        (true, true, "compact,router,use_tools,respond,verify"),
    ] {
        let model = Scripted::new()
            .on(Purpose::Agent, [asks_for_weather(), "It rains in Paris.".into()])
            .on(Purpose::Router, json_turns([routed("use_tools")]))
            .on(Purpose::Verifier, json_turns([judged(1.0)]));
        let model = Arc::new(model);
        let config = config(&model).tools(weather()).settings(settings(compaction, verification)).unwrap();
        let (state, ran) = turn(&graph(config), AgenticState::ask("Does it rain in Paris?")).await;
        assert_eq!(ran, expected);
        let judged = model.requests().iter().filter(|request| request.purpose == Purpose::Verifier).count();
        assert_eq!(
            judged,
            usize::from(verification),
            "s0_101: there are judgements only if verification is on"
        );
        assert_eq!(state.verdict() == Verdict::Unchecked, !verification);
        said.push(state.messages.iter().map(|message| message.text().into_owned()).collect::<Vec<_>>());
    }
    assert!(said.iter().all(|conversation| *conversation == said[0]), "{said:?}");
    assert_eq!(said[0].last().unwrap(), "It rains in Paris.");
}

#[tokio::test]
async fn s0_091_a_turn_without_a_compaction_pays_for_none() {
    let model = Arc::new(Scripted::new().say("Hello."));
    let config = config(&model).settings(settings(true, false)).unwrap();
    let (state, _) = turn(&graph(config), AgenticState::ask("Hello?")).await;
    assert_eq!((state.compaction_applied, state.original_message_count), (Some(false), Some(1)));
    assert_eq!(model.requests().len(), 1);
    assert!(matches!(state.messages.last(), Some(Message::Ai(_))));
}
