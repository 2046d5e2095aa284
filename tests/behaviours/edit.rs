//! Edits of a paused thread keep the finished work of its tasks.

use crate::support::{Calls, Stage, on_both_savers, only};
use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Order {
    item: String,
    #[reducer(Append)]
    log: Vec<String>,
}

/// Pays, asks twice, and then asks what to deliver.
async fn pay(
    order: Snapshot<Order>,
    calls: Dep<Calls>,
    effects: Effects,
    name: Ask<String, String>,
    item: Ask<String, bool>,
) -> Update<Order> {
    let count = || async {
        calls.note("paid");
        Ok::<_, std::convert::Infallible>(calls.of("paid"))
    };
    let paid = effects.run("pay", count).await.unwrap_or_default();
    // The same question twice: two questions.
    let first = name.ask("name?".into()).await;
    let second = name.ask("name?".into()).await;
    let sure = item.ask(format!("really {}?", order.item)).await;
    Order::update().log([format!("paid {paid}, {first} {second}, {} {sure}", order.item)])
}

async fn pack(calls: Dep<Calls>) -> Update<Order> {
    calls.note("packed");
    Order::update().log(["packed"])
}

fn shop(stage: &Stage) -> Graph<Order> {
    let mut g = StateGraph::<Order, Stage>::new("shop");
    let (pay, pack) = (g.node("pay", pay), g.node("pack", pack));
    g.edge(START, pay);
    g.edge(START, pack);
    g.edge(pay, END);
    g.edge(pack, END);
    g.compile().expect("sound").with_context(stage.clone())
}

fn questions(run: Result<Run<Order>, RunError>) -> Vec<String> {
    let open = run.expect("no node fails").interrupted().expect("it asks");
    open.iter().map(|ask| ask.question().expect("questions are texts")).collect()
}

/// An edit used to forget everything but results: the customer paid again, and answered again.
#[tokio::test]
async fn an_edit_keeps_results_effects_and_answers() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = shop(&stage).shared_checkpointer(saver).thread("t");
        assert_eq!(questions(thread.run(Order::update().item("tea")).await), ["name?"]);
        assert_eq!(questions(thread.answer("Ann").await), ["name?"]);
        thread.edit(Order::update().log(["edited"])).await.expect("there is no other writer");
        // The open question is the same, and can be answered at once.
        let head = thread.head().await.expect("it reads");
        assert_eq!(head.interrupts().iter().filter(|ask| ask.key == "3").count(), 1);
        assert_eq!(questions(thread.answer("Bea").await), ["really tea?"]);
        // A question that depends on the edited value is asked again, the others are not.
        thread.edit(Order::update().item("milk")).await.expect("there is no other writer");
        assert_eq!(questions(thread.resume().await), ["really milk?"]);
        assert_eq!(thread.head().await.expect("it reads").interrupts().len(), 1, "nobody asks for tea");
        let order = thread.answer(&true).await.expect("no node fails").finished().expect("all is answered");
        assert_eq!(order.log, ["edited", "packed", "paid 1, Ann Bea, milk true"]);
        assert_eq!(stage.calls.take_sorted(), ["packed", "paid"]);
    })
    .await;
}

/// The old question used to stay open beside the new one: `answer` could not tell which was meant, and an answer to the
/// old one had no effect.
#[tokio::test]
async fn a_question_whose_text_changed_takes_the_place_of_the_old_one() {
    on_both_savers(|saver| async move {
        let graph = |question: &'static str| {
            let node = move |ask: Ask<String, u32>| async move {
                let age = ask.ask(question.into()).await;
                Order::update().log([format!("{question} {age}")])
            };
            let mut g = StateGraph::<Order>::new("g");
            let node = g.node("node", node);
            g.edge(START, node);
            g.edge(node, END);
            g.compile().expect("sound").shared_checkpointer(saver.clone())
        };
        assert_eq!(questions(graph("age?").thread("t").run(Order::update()).await), ["age?"]);
        let graph = graph("how old?");
        let thread = graph.thread("t");
        assert_eq!(questions(thread.resume().await), ["how old?"]);
        assert_eq!(graph.interrupts().await.expect("it reads").len(), 1);
        assert_eq!(thread.head().await.expect("it reads").interrupts().len(), 1);
        let order = thread.answer(&7).await.expect("one question is open").state;
        assert_eq!(order.log, ["how old? 7"]);
    })
    .await;
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Small {
    #[reducer(Sum)]
    total: u8,
}

#[tokio::test]
async fn a_reducer_that_panics_in_an_edit_is_an_error_and_nothing_is_stored() {
    on_both_savers(|saver| async move {
        let graph = only::<Small, _, _>(async || Small::update().total(200), &Stage::default(), |node| node);
        let graph = graph.shared_checkpointer(saver);
        let thread = graph.thread("t");
        let ran = thread.run(Small::update()).await.expect("it fits").checkpoint;
        let error = thread.edit(Small::update().total(100)).await.expect_err("it does not fit");
        assert!(error.to_string().starts_with("a reducer panicked while the edit was merged: "), "{error}");
        assert_eq!(Some(thread.head().await.expect("it ran").id()), ran);
    })
    .await;
}
