//! Critiques that were stopped in the middle.

use superstep::checkpoint::MemorySaver;

use super::*;

#[tokio::test]
async fn a_critique_that_failed_between_turns_continues_and_pays_for_no_reply_twice() {
    let desk = Desk::new().await;
    let busy = ModelError::Overloaded { reason: "busy".into(), retry_after: None };
    let model = Scripted::new()
        .then(asking(&[search("c1", "leading lines")], Usage::of(100, 10)))
        .fail(busy)
        .then(saying("Well balanced.", Usage::of(500, 50)));
    let model = Arc::new(model);
    let graph = critic(desk.config(&model)).unwrap().checkpointer(MemorySaver::new());
    let thread = graph.thread("t");
    thread.run(desk.input()).await.unwrap_err();
    assert_eq!(thread.head().await.unwrap().state().exit(), None);

    // The photograph is not needed again: it is in the checkpoint as it was sent.
    std::fs::remove_file(desk.photo()).unwrap();
    let state = thread.resume().await.unwrap().finished().unwrap();
    assert_eq!(state.output(), "Well balanced.");
    assert_eq!(model.requests().len(), 3);
    assert_eq!(model.requests()[1], model.requests()[2]);
    assert_eq!((state.ledger.total().calls, state.ledger.total().usage), (2, Usage::of(600, 60)));
}

#[tokio::test]
async fn a_failed_call_is_tried_again_only_where_that_was_asked_for() {
    let desk = Desk::new().await;
    let script = || {
        let unreachable = ModelError::Unreachable { reason: "no route".into() };
        Arc::new(Scripted::new().fail(unreachable).say("Well balanced."))
    };
    let model = script();
    let error = critique_image(desk.photo()).with(desk.config(&model)).await.unwrap_err();
    assert!(matches!(error, CriticError::Run(_)), "{error:?}");
    assert_eq!(model.requests().len(), 1);

    let model = script();
    let retry = superstep::node::Retry::exponential(2).initial(std::time::Duration::from_millis(1));
    let critique = critique_image(desk.photo()).with(desk.config(&model).retry(retry)).await.unwrap();
    assert_eq!((critique.output.as_str(), model.requests().len()), ("Well balanced.", 2));
}
