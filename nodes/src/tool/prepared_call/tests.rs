use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use superstep_core::run::CancellationToken;
use tokio::time::Instant;

use super::*;
use crate::message::ToolStatus;
use crate::tool::probe::{Deed, Probe};
use crate::tool::{
    AllowReadOnly, InvalidInput, ToolEvent, ToolEventKind, ToolFailure, ToolOutcome, ToolOutput,
    ToolRegistry, ToolSession,
};

fn call(input: Value) -> ToolCall {
    ToolCall::new("c", "probe", input)
}

fn good() -> ToolCall {
    call(json!({ "n": 1 }))
}

fn context() -> ToolContext {
    ToolContext::new(&good(), ToolSession::new())
}

async fn made(probe: &Probe, call: &ToolCall) -> (ToolOutcome, String) {
    let result = ToolRegistry::new().with(probe.clone()).unwrap().call(call, &context()).await;
    (result.outcome(), result.content.to_text().into_owned())
}

#[cfg(feature = "schema-validation")]
#[tokio::test]
async fn s2_115_a_call_goes_through_schema_validation_permission_call_and_result() {
    let wrong = Probe::new(Deed::Say("done"));
    assert_eq!(made(&wrong, &call(json!({ "n": -1 }))).await.0, ToolOutcome::Invalid);
    assert_eq!(wrong.steps(), [""; 0]);

    let invalid = Probe { valid: Err("too late"), ..Probe::new(Deed::Say("done")) };
    assert_eq!(
        made(&invalid, &good()).await,
        (ToolOutcome::Invalid, "the input does not fit the tool `probe`: too late".into())
    );
    assert_eq!(invalid.steps(), ["validate"]);

    let denied = Probe { permission: Permission::Deny("no".into()), ..Probe::new(Deed::Say("done")) };
    assert_eq!(
        made(&denied, &good()).await,
        (ToolOutcome::Denied, "the call of the tool `probe` was not permitted: no".into())
    );
    assert_eq!(denied.steps(), ["validate", "permissions"]);

    let fine = Probe::new(Deed::Say("done"));
    assert_eq!(made(&fine, &good()).await, (ToolOutcome::Ok, "done".into()));
    assert_eq!(fine.steps(), ["validate", "permissions", "call", "map"]);
}

#[tokio::test]
async fn s2_101_what_is_not_valid_is_never_asked_permission_for() {
    let invalid = Probe { valid: Err("no"), ..Probe::new(Deed::Say("done")) };
    made(&invalid, &good()).await;
    assert!(!invalid.steps().contains(&"permissions"));
}

#[tokio::test]
async fn s2_100_118_a_tool_allows_asks_denies_or_leaves_it_to_the_policy() {
    let outcome = async |permission: Permission, registry: ToolRegistry| {
        let probe = Probe { permission, ..Probe::new(Deed::Say("done")) };
        let tools = registry.with(probe).unwrap();
        tools.call(&good(), &context()).await.outcome()
    };
    let ask = || Permission::Ask("it deletes files".into());
    let strict = || ToolRegistry::new().permissions(AllowReadOnly);
    assert_eq!(outcome(Permission::Allow, strict()).await, ToolOutcome::Ok);
    assert_eq!(outcome(Permission::Deny("no".into()), ToolRegistry::new()).await, ToolOutcome::Denied);
    assert_eq!(outcome(Permission::Passthrough, ToolRegistry::new()).await, ToolOutcome::Ok);
    assert_eq!(outcome(ask(), ToolRegistry::new()).await, ToolOutcome::Denied);
    assert_eq!(outcome(Permission::Passthrough, strict()).await, ToolOutcome::Denied);
    let looks = Probe { effect: ToolEffect::ReadOnly, ..Probe::new(Deed::Say("done")) };
    let looked = strict().with(looks).unwrap().call(&good(), &context()).await;
    assert_eq!(looked.outcome(), ToolOutcome::Ok);
}

#[tokio::test]
async fn a_tool_that_needs_consent_is_denied_with_the_reason_if_there_is_no_user() {
    let probe = Probe { permission: Permission::Ask("it deletes files".into()), ..Probe::new(Deed::Say("")) };
    let said = made(&probe, &good()).await.1;
    assert!(said.ends_with("it needs consent, and there is no user to ask (it deletes files)"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn each_way_to_end_has_its_outcome_and_a_text() {
    let failed = made(&Probe::new(Deed::Fail("no disk")), &good()).await;
    assert_eq!(failed, (ToolOutcome::Error, "the tool `probe` failed: no disk".into()));

    let broken = made(&Probe::new(Deed::Panic), &good()).await;
    let text = "the tool `probe` broke: a broken probe. Whether it did anything is not known.";
    assert_eq!(broken, (ToolOutcome::Error, text.into()));

    let began = Instant::now();
    let late = made(&Probe::new(Deed::Hang), &good()).await;
    let text = "the tool `probe` was stopped after 60s. Whether it did anything is not known.";
    assert_eq!(late, (ToolOutcome::TimedOut, text.into()));
    assert_eq!(began.elapsed(), Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn s2_148_a_call_that_is_cancelled_says_whether_it_was_begun() {
    let (probe, token) = (Probe::new(Deed::Hang), CancellationToken::new());
    let prepared = ToolRegistry::new().with(probe.clone()).unwrap().prepare(&good());
    let context = context().cancel_on(&token);
    let (stopped, ()) = tokio::join!(prepared.run(&context), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        token.cancel();
    });
    assert_eq!(stopped.outcome(), ToolOutcome::Cancelled);
    assert_eq!(stopped.content.to_text(), crate::message::NO_RESULT);

    let not_run = prepared.run(&context).await;
    assert_eq!(not_run.outcome(), ToolOutcome::Cancelled);
    assert_eq!(not_run.content.to_text(), "Not run: the work was stopped before the tool began.");
    assert_eq!(probe.steps(), ["validate", "permissions", "call"]);
}

/// A tool whose spawned task ends when the call is cancelled.
struct Detached(Arc<Mutex<Option<tokio::task::JoinHandle<()>>>>);

#[async_trait::async_trait]
impl Tool for Detached {
    fn name(&self) -> &str {
        "probe"
    }

    fn input_schema(&self) -> Value {
        json!({ "type": "object" })
    }

    async fn call(&self, _: Value, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let gone = context.cancellation().clone();
        *self.0.lock().unwrap() = Some(tokio::spawn(async move { gone.cancelled().await }));
        std::future::pending().await
    }

    async fn check_permissions(&self, _: &Value, _: &ToolContext) -> Permission {
        Permission::Allow
    }

    async fn validate_input(&self, _: &Value, _: &ToolContext) -> Result<(), InvalidInput> {
        Ok(())
    }

    fn prompt(&self) -> String {
        String::new()
    }

    fn map_result(&self, result: Result<ToolOutput, ToolFailure>) -> ToolResult {
        ToolResult::of(self.name(), result)
    }
}

#[tokio::test(start_paused = true)]
async fn work_beside_the_tool_is_cancelled_with_the_call() {
    let (task, token) = (Arc::default(), CancellationToken::new());
    let tools = ToolRegistry::new().with(Detached(Arc::clone(&task))).unwrap();
    let context = context().cancel_on(&token);
    let timed_out = tools.call(&good(), &context).await;
    assert_eq!(timed_out.outcome(), ToolOutcome::TimedOut);
    let task = task.lock().unwrap().take().unwrap();
    task.await.unwrap();
    assert!(!token.is_cancelled(), "the others of the turn go on");
}

#[tokio::test]
async fn a_long_result_is_cut_in_the_middle() {
    let probe = Probe { most: 4, ..Probe::new(Deed::Say("abcdefgh")) };
    assert_eq!(made(&probe, &good()).await.1, "ab\n[… 4 characters left out …]\ngh");
    let probe = Probe { most: 4, ..Probe::new(Deed::Fail("abcdefgh")) };
    assert_eq!(made(&probe, &good()).await.1, "th\n[… 29 characters left out …]\ngh");
}

#[tokio::test]
async fn s2_110_observers_see_another_input_than_is_executed() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&told);
    let context = context().observe(move |event: ToolEvent| sink.lock().unwrap().push(event));
    let tools = ToolRegistry::new().with(Probe::new(Deed::Say("done"))).unwrap();
    let result = tools.call(&good(), &context).await;
    assert_eq!(result.outcome(), ToolOutcome::Ok);
    let told: Vec<Value> =
        told.lock().unwrap().iter().map(|event| serde_json::to_value(event).unwrap()).collect();
    let expected = [
        json!({ "call": "c", "tool": "probe", "type": "started", "input": { "seen": 1 } }),
        json!({ "call": "c", "tool": "probe", "type": "progress", "data": "half done" }),
        json!({ "call": "c", "tool": "probe", "type": "ended", "outcome": "ok", "text": "done" }),
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_call_that_is_not_made_is_reported_as_refused_with_what_observers_may_see_of_it() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&told);
    let context = context().observe(move |event: ToolEvent| sink.lock().unwrap().push(event));
    let probe = Probe { valid: Err("no"), ..Probe::new(Deed::Say("done")) };
    let tools = ToolRegistry::new().with(probe).unwrap();
    for call in [good(), call(json!({ "n": "?" })), ToolCall::new("c", "unknown", json!({}))] {
        assert_eq!(tools.call(&call, &context).await.outcome(), ToolOutcome::Invalid);
    }
    let told = told.lock().unwrap();
    let refused = told.iter().map(|event| match &event.kind {
        ToolEventKind::Refused { input, outcome: ToolOutcome::Invalid, text } if !text.is_empty() => {
            input.clone()
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(refused.collect::<Vec<_>>(), [json!({ "seen": 1 }), json!({ "seen": "?" }), json!({})]);
}

#[test]
fn what_cannot_be_run_does_nothing_and_waits_for_nothing() {
    let probe = Probe::new(Deed::Say("done"));
    let tools = ToolRegistry::new().with(probe).unwrap();
    let prepared = tools.prepare(&ToolCall::new("c", "unknown", json!({})));
    assert_eq!((prepared.effect(), prepared.concurrency()), (ToolEffect::ReadOnly, Concurrency::Safe));
    let prepared = tools.prepare(&good());
    assert_eq!((prepared.effect(), prepared.concurrency()), (ToolEffect::Changes, Concurrency::Alone));
}

#[tokio::test]
async fn a_result_becomes_the_message_that_answers_the_call() {
    let tools = ToolRegistry::new().with(Probe::new(Deed::Fail("no"))).unwrap();
    let message = tools.answer("m", &good()).await;
    assert_eq!(
        (message.id.as_str(), message.tool_call_id.as_str(), message.name.as_str()),
        ("m", "c", "probe")
    );
    assert_eq!(message.status, ToolStatus::Error);
}
