//! The spending of sessions with their agents.

use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use superstep_nodes::model::{Price, Prices, RoughTokens, TokenCounter, Usage};

use super::agents::{ByTask, allowing_agents, delegate, reader, session, started, writer};
use super::*;
use crate::budget::Limits;
use crate::exit::Resource;

/// A model that spends all that it may, or less, and answers after others or before them.
struct Spender {
    seed: u64,
    limit: u64,
    requests: AtomicU64,
}

impl ChatModel for Spender {
    fn name(&self) -> &str {
        "spender"
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let random = blake3::hash(&[self.seed.to_le_bytes(), number.to_le_bytes()].concat());
        let byte = |at: usize| u64::from(random.as_bytes()[at]);
        let input = RoughTokens.request(&request);
        let most = request.settings.max_output_tokens.map_or(self.limit, u64::from);
        let usage = Usage::of(input, if byte(0) % 2 == 0 { most } else { most / 8 });
        let calls = (0..byte(1) % 5).map(|id| match byte(2 + id as usize) % 3 {
            0 => call(&id.to_string()),
            1 => delegate(&id.to_string(), "explore", "one"),
            _ => delegate(&id.to_string(), "mend", "two"),
        });
        let calls: Vec<_> = if number < 16 { calls.collect() } else { Vec::new() };
        let stop =
            if calls.is_empty() && byte(10) % 4 == 0 { StopReason::Pause } else { StopReason::EndTurn };
        let reply = ModelReply::new("spender", "x").with_calls(calls).with_usage(usage);
        let reply = if stop == StopReason::Pause { ModelReply { stop, ..reply } } else { reply };
        let waits = byte(9) % 4;
        let begin = async move {
            for _ in 0..waits {
                tokio::task::yield_now().await;
            }
            stream::iter(reply.to_events().into_iter().map(Ok))
        };
        stream::once(begin).flatten().boxed()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Agents that spend all that they may, side by side and one after the other, on two levels.
    #[test]
    fn s2_184_a_session_and_its_agents_never_spend_more_than_its_budget(
        seed in any::<u64>(),
        limit in 1_000_u64..60_000,
        own in prop::option::of(500_u64..9_000),
        money in prop::option::of(5_000_u64..300_000),
    ) {
        let spender = Arc::new(Spender { seed, limit, requests: AtomicU64::new(0) });
        let prices = Prices::none().with("spender", Price::per_million(3.0, 15.0));
        let kinds = [reader().limits(Limits { tokens: own, ..Limits::default() }), writer()];
        let config = config(Arc::clone(&spender)).tools(tools()).permissions(allowing_agents());
        let limits = Limits { tokens: Some(limit), micro_usd: money, time_ms: None };
        let config = config.agents(kinds).agent_levels(2).budget(limits, prices.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let state = runtime.block_on(run(config));
        let spent = state.ledger.total();
        prop_assert!(spent.usage.total() <= limit, "{spent:?}");
        prop_assert!(money.is_none_or(|money| state.ledger.cost(&prices).micro_usd <= money), "{spent:?}");
        prop_assert_eq!(spent.calls, spender.requests.load(Ordering::Relaxed), "each call is counted");
    }
}

/// A question of an agent that stays open is not answered by a message: it ends the agent.
#[tokio::test]
async fn s2_184_the_spending_of_an_agent_whose_question_a_message_ends_is_counted() {
    let usage = Usage::of(1_000, 500);
    let paid = move |turn: Turn| match turn {
        Turn::Call(calls) => Turn::Reply(ModelReply::new("m", "").with_calls(calls).with_usage(usage)),
        Turn::Say(text) => Turn::Reply(ModelReply::new("m", text).with_usage(usage)),
        other => other,
    };
    let calls = vec![delegate("c1", "mend", "one"), delegate("c2", "explore", "three")];
    let model = ByTask::new(move |request| {
        let last = request.messages.last().unwrap().text().into_owned();
        paid(match (request.messages[0].text().as_ref(), request.messages.len()) {
            ("one", 1) => Turn::Call(vec![delegate("a1", "mend", "two")]),
            ("two", 1) => Turn::Call(vec![call("a2")]),
            ("Do it.", _) if last == "Never mind." => Turn::Say("As you like.".into()),
            _ => session(calls.clone())(request),
        })
    });
    let limits = |tokens| Limits { tokens: Some(tokens), ..Limits::default() };
    let config = |tokens| {
        let config = AssistantConfig::new(Arc::clone(&model)).tools(tools()).permissions(allowing(["agent"]));
        config.agents([reader(), writer()]).agent_levels(2).budget(limits(tokens), Prices::none())
    };
    let (run, graph) = started(config(90_000)).await;
    run.interrupted().unwrap();
    let thread = graph.thread("session");
    let state = thread.run(AssistantState::ask("Never mind.")).await.unwrap().finished().unwrap();
    assert_eq!((state.exit, state.response().as_str()), (Some(Exit::Completed), "As you like."));
    // The session twice, and an agent on each of two levels.
    let spent = state.ledger.total();
    assert_eq!((spent.calls, spent.usage.total()), (4, 6_000), "{:?}", state.ledger);
    thread.replay().await.unwrap();
    let state = thread.run(AssistantState::ask("Never mind.")).await.unwrap().finished().unwrap();
    assert_eq!(state.ledger.total().calls, 5, "once");

    // Two messages, as the process ended before the first was worked on.
    let (run, graph) = started(config(4_700)).await;
    run.interrupted().unwrap();
    let thread = graph.thread("session");
    let first = thread.run(AssistantState::ask("Never mind.")).interrupt_before("gate");
    assert_eq!(first.await.unwrap().status.name(), "breakpoint");
    let before = model.requests_of("Do it.").len();
    let state = thread.run(AssistantState::ask("Never mind.")).await.unwrap().finished().unwrap();
    assert_eq!(state.exit, Some(Exit::BudgetExceeded(Resource::Tokens)), "{:?}", state.ledger);
    assert_eq!((state.ledger.total().calls, model.requests_of("Do it.").len()), (3, before));
}

/// A provider pauses a long turn of tools that it runs itself. Each continuation is a call that costs.
#[tokio::test]
async fn s2_010_a_continuation_of_a_paused_reply_that_could_exceed_the_budget_is_not_sent() {
    let usage = Usage::of(1_000, 500);
    let paused =
        || ModelReply { stop: StopReason::Pause, ..ModelReply::new("m", "still ").with_usage(usage) };
    let script =
        || Arc::new((0..9).fold(Scripted::new(), |script, _| script.then(Turn::Reply(paused()))).say("done"));
    for (tokens, requests) in [(4_000, 2), (5_000, 3), (90_000, 10)] {
        let model = script();
        let limits = Limits { tokens: Some(tokens), ..Limits::default() };
        let state = run(config(Arc::clone(&model)).budget(limits, Prices::none())).await;
        let exit = match requests {
            10 => Exit::Completed,
            _ => Exit::BudgetExceeded(Resource::Tokens),
        };
        assert_eq!((model.requests().len(), state.exit), (requests, Some(exit)), "{tokens}");
        let total = state.ledger.total();
        assert!(total.usage.total() <= tokens && total.calls == requests as u64, "{total:?}");
        let outputs: Vec<_> =
            model.requests().iter().map(|request| request.settings.max_output_tokens.unwrap()).collect();
        assert!(outputs.is_sorted_by(|one, next| one > next), "each reply may be shorter: {outputs:?}");
    }
}
