use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use superstep_core::run::CancellationToken;
use tokio::time::{Instant, sleep};

use super::*;
use crate::message::ToolCall;
use crate::tool::probe::{Deed, Probe};
use crate::tool::{ToolContext, ToolOutcome, ToolRegistry, ToolResult, ToolSession};

fn millis(number: u64) -> Duration {
    Duration::from_millis(number)
}

#[tokio::test(start_paused = true)]
async fn s2_150_results_come_in_the_order_of_the_calls() {
    let mut execution = Execution::new(ExecutionPolicy::PARALLEL_SAFE);
    for wait in [30, 10, 20] {
        execution.hand_in(Concurrency::Safe, async move {
            sleep(millis(wait)).await;
            wait
        });
    }
    let began = Instant::now();
    assert_eq!(execution.rest().await, [30, 10, 20]);
    assert_eq!(began.elapsed(), millis(30), "they ran at the same time");
}

#[tokio::test(start_paused = true)]
async fn a_sequence_takes_as_long_as_all_its_calls() {
    let mut execution = Execution::new(ExecutionPolicy::Sequential);
    for _ in 0..3 {
        execution.hand_in(Concurrency::Safe, async { sleep(millis(10)).await });
    }
    let began = Instant::now();
    assert_eq!(execution.rest().await.len(), 3);
    assert_eq!(began.elapsed(), millis(30));
}

#[tokio::test(start_paused = true)]
async fn a_call_begins_while_the_model_still_speaks() {
    let began = Instant::now();
    let mut execution = Execution::new(ExecutionPolicy::PARALLEL_SAFE);
    let mut stream = Box::pin(async {
        sleep(millis(50)).await;
    });
    execution.hand_in(Concurrency::Safe, async {
        sleep(millis(40)).await;
        "first"
    });
    // The first call ends before the second one is known.
    let first = tokio::select! {
        result = execution.next() => result,
        () = &mut stream => panic!("the stream is slower"),
    };
    assert_eq!((first, began.elapsed()), (Some("first"), millis(40)));
    assert!(execution.is_done());
    assert_eq!(execution.next().await, None);
    stream.await;
    execution.hand_in(Concurrency::Alone, async { "second" });
    assert!(!execution.is_done());
    assert_eq!(execution.next().await, Some("second"));
    assert_eq!(began.elapsed(), millis(50));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_lost_when_a_wait_is_given_up() {
    let mut execution = Execution::new(ExecutionPolicy::PARALLEL_SAFE);
    for wait in [30, 10] {
        execution.hand_in(Concurrency::Safe, async move {
            sleep(millis(wait)).await;
            wait
        });
    }
    assert!(tokio::time::timeout(millis(20), execution.next()).await.is_err());
    assert_eq!(execution.rest().await, [30, 10]);
}

/// A call of a made-up turn.
#[derive(Clone, Copy, Debug)]
struct Made {
    deed: Deed,
    safe: bool,
    /// The time until its input is complete, from the call before it.
    after: u64,
}

fn calls() -> impl Strategy<Value = Vec<Made>> {
    let deed = prop_oneof![
        Just(Deed::Say("said")),
        Just(Deed::Fail("failed")),
        Just(Deed::Panic),
        (0_u64..40).prop_map(|wait| Deed::After(wait, "said")),
        Just(Deed::Hang),
    ];
    let call = (deed, any::<bool>(), prop_oneof![Just(0_u64), 0_u64..20]);
    prop::collection::vec(call.prop_map(|(deed, safe, after)| Made { deed, safe, after }), 0..12)
}

/// The calls that are running, and a record of those that began.
#[derive(Default)]
struct Watch {
    running: AtomicUsize,
    alone: AtomicUsize,
    begun: Mutex<Vec<usize>>,
}

/// Counts a call while it runs, also when it is dropped.
struct Running<'w>(&'w Watch, bool);

impl<'w> Running<'w> {
    fn begin(watch: &'w Watch, position: usize, safe: bool, at_most: usize) -> Self {
        watch.begun.lock().unwrap().push(position);
        let beside = watch.running.fetch_add(1, Ordering::Relaxed);
        let alone = watch.alone.fetch_add(usize::from(!safe), Ordering::Relaxed);
        assert!(beside < at_most, "{} run, at most {at_most} may", beside + 1);
        assert!(beside == 0 || (safe && alone == 0), "an unsafe call runs beside another");
        Self(watch, safe)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
        self.0.alone.fetch_sub(usize::from(!self.1), Ordering::Relaxed);
    }
}

/// Plays a turn whose calls come one by one, and returns their results.
async fn play(calls: &[Made], policy: ExecutionPolicy, cancel: Option<u64>) -> Vec<ToolResult> {
    let at_most = match policy {
        ExecutionPolicy::Sequential => 1,
        ExecutionPolicy::ParallelSafe { at_most } => at_most.get(),
    };
    let (watch, token) = (Watch::default(), CancellationToken::new());
    let canceller = cancel.map(|after| {
        let token = token.clone();
        tokio::spawn(async move {
            sleep(millis(after)).await;
            token.cancel();
        })
    });
    let mut execution = Execution::new(policy);
    let mut results = Vec::new();
    for (position, made) in calls.iter().enumerate() {
        // A select that gives up the wait, as one on a model's stream does.
        let mut next = Box::pin(sleep(millis(made.after)));
        loop {
            tokio::select! {
                biased;
                () = &mut next => break,
                Some(result) = execution.next(), if !execution.is_done() => results.push(result),
            }
        }
        let tools = ToolRegistry::new().with(Probe { safe: made.safe, ..Probe::new(made.deed) }).unwrap();
        let call = ToolCall::new(position.to_string(), "probe", json!({ "n": position }));
        let prepared = tools.prepare(&call);
        let context = ToolContext::new(&call, ToolSession::new()).cancel_on(&token);
        let watch = &watch;
        execution.hand_in(prepared.concurrency(), async move {
            let _running = Running::begin(watch, position, made.safe, at_most);
            prepared.run(&context).await
        });
    }
    results.extend(execution.rest().await);
    if let Some(canceller) = canceller {
        canceller.abort();
    }
    let begun = watch.begun.into_inner().unwrap();
    assert!(begun.is_sorted(), "calls begin in their order: {begun:?}");
    results
}

fn ended_as_it_could(made: &Made, result: &ToolResult, cancelled: bool) -> bool {
    let outcome = result.outcome();
    let own = match made.deed {
        Deed::Say(_) | Deed::After(..) => ToolOutcome::Ok,
        Deed::Fail(_) | Deed::Panic => ToolOutcome::Error,
        Deed::Hang => ToolOutcome::TimedOut,
    };
    outcome == own || (cancelled && outcome == ToolOutcome::Cancelled)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever calls there are and whatever becomes of them: one result each, in order; never an unsafe one beside
    /// another, never more than the limit; and the end is reached.
    #[test]
    fn s2_149_any_turn_ends_with_one_result_per_call(
        calls in calls(),
        at_most in prop::option::of(1_usize..5),
        cancel in prop::option::of(0_u64..100),
    ) {
        let policy = at_most.and_then(NonZeroUsize::new).map_or(
            ExecutionPolicy::Sequential,
            |at_most| ExecutionPolicy::ParallelSafe { at_most },
        );
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let hour = Duration::from_secs(3_600);
        let results = runtime.block_on(async {
            tokio::time::timeout(hour, play(&calls, policy, cancel)).await.expect("no deadlock")
        });
        prop_assert_eq!(results.len(), calls.len());
        for (made, result) in calls.iter().zip(&results) {
            prop_assert!(
                ended_as_it_could(made, result, cancel.is_some()),
                "{:?} ended as {:?}", made, result
            );
        }
    }
}

/// The messages of a turn do not tell by which policy its calls ran.
#[tokio::test(start_paused = true)]
async fn every_policy_gives_the_same_results() {
    let deeds = [Deed::After(30, "slow"), Deed::Say("fast"), Deed::Fail("not"), Deed::Hang, Deed::Panic];
    let calls: Vec<Made> = deeds.map(|deed| Made { deed, safe: true, after: 0 }).into();
    let sequential = play(&calls, ExecutionPolicy::Sequential, None).await;
    let parallel = play(&calls, ExecutionPolicy::PARALLEL_SAFE, None).await;
    assert_eq!(sequential, parallel);
}
