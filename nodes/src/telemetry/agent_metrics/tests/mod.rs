use std::collections::BTreeMap;

use metrics_util::MetricKind as Kind;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use serde_json::{Value, json};
use superstep_core::error::NodeError;
use superstep_core::id::{NodeName, ThreadId};
use superstep_core::state::Json;

use super::*;
use crate::model::Price;
use crate::telemetry::{Metric, MetricKind};

mod graphs;

/// Returns the metrics recorded since the last call, by name and labels, and checks each against the list.
fn recorded(recorder: &Snapshotter) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (key, _, _, value) in recorder.snapshot().into_vec() {
        let metric = Metric::ALL.iter().find(|metric| metric.name == key.key().name());
        let metric = metric.unwrap_or_else(|| panic!("{key:?} is not in the list"));
        let kind = match key.kind() {
            Kind::Counter => MetricKind::Counter,
            Kind::Gauge => MetricKind::Gauge,
            Kind::Histogram => MetricKind::Histogram,
        };
        let labels: Vec<_> = key.key().labels().map(|label| label.key()).collect();
        assert_eq!((kind, &labels[..]), (metric.kind, metric.labels), "{}", metric.name);
        let labels: Vec<_> =
            key.key().labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        let name =
            [metric.name].into_iter().chain(labels.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
        let value = match value {
            DebugValue::Counter(0) => continue,
            DebugValue::Counter(count) => count.to_string(),
            DebugValue::Gauge(value) => value.to_string(),
            DebugValue::Histogram(values) if values.is_empty() => continue,
            DebugValue::Histogram(values) => {
                values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
            }
        };
        all.insert(name, value);
    }
    all
}

/// Those of them whose names begin so.
fn of(recorded: &BTreeMap<String, String>, begins: &str) -> Vec<String> {
    let found = recorded.iter().filter(|(name, _)| name.starts_with(begins));
    found.map(|(name, value)| format!("{name}: {value}")).collect()
}

/// A run whose events are emitted by the test.
struct ReportedRun<'m> {
    metrics: &'m AgentMetrics,
    run: RunId,
    at_ms: u64,
}

impl<'m> ReportedRun<'m> {
    fn begin(metrics: &'m AgentMetrics, number: u32) -> Self {
        let run = serde_json::from_value(format!("00000000-0000-7000-8000-{number:012}").into()).unwrap();
        let mut told = Self { metrics, run, at_ms: 1_000_000 };
        told.tell(EventKind::RunStarted { graph: name("loop"), thread: ThreadId::from("t"), resumes: None });
        told
    }

    fn tell(&mut self, kind: EventKind) {
        let event = RunEvent { seq: 0, at_ms: self.at_ms, run: self.run, path: Vec::new(), kind };
        self.metrics.on_event(&event);
    }

    fn starts(&mut self, step: i64, node: &str) {
        self.tell(EventKind::TaskStarted { step, task: 0, node: name(node), attempt: 1 });
    }

    fn emits(&mut self, step: i64, node: &str, event: &str, data: &Value) {
        let data = Json::encode(data).unwrap();
        self.tell(EventKind::Custom { step, task: 0, node: name(node), name: event.into(), data });
    }

    fn finishes(&mut self, step: i64, node: &str, recorded: bool) {
        let (node, writes) = (name(node), Vec::new());
        self.tell(EventKind::TaskFinished {
            step,
            task: 0,
            node,
            writes,
            route: None,
            recorded,
            cached: false,
        });
    }

    /// A task that takes so long and emits these.
    fn plays(&mut self, step: i64, node: &str, ms: u64, events: &[(&str, Value)]) {
        self.starts(step, node);
        self.at_ms += ms;
        for (event, data) in events {
            self.emits(step, node, event, data);
        }
        self.finishes(step, node, false);
    }

    fn ends(&mut self, status: Status) {
        self.tell(EventKind::RunFinished { status });
    }
}

fn name(name: &str) -> NodeName {
    NodeName::from(name)
}

fn model_call(purpose: &str, elapsed_ms: u64, tokens: [u64; 2]) -> (&'static str, Value) {
    let usage = json!({ "input_tokens": tokens[0], "output_tokens": tokens[1] });
    let call =
        json!({ "purpose": purpose, "asked": "m", "model": "m-1", "usage": usage, "elapsed_ms": elapsed_ms });
    (ModelCall::EVENT, call)
}

fn verification(attempt: u32, passed: Option<bool>, score: Option<f64>) -> (&'static str, Value) {
    ("verification", json!({ "turn": 1, "attempt": attempt, "passed": passed, "score": score }))
}

fn refinement(attempt: u32, score: f64) -> (&'static str, Value) {
    ("refinement", json!({ "turn": 1, "attempt": attempt, "message": "m", "score": score }))
}

#[test]
fn s0_093_to_096_a_loop_tells_how_long_its_parts_took_and_what_a_refinement_changed() {
    let recorder = DebuggingRecorder::new();
    let snapshot = recorder.snapshotter();
    let _here = metrics::set_default_local_recorder(&recorder);
    let metrics = AgentMetrics::new();
    let mut run = ReportedRun::begin(&metrics, 1);
    let routing =
        json!({ "action": "respond", "confidence": 0.9, "reasoning": "it is clear", "by": "model" });
    run.plays(1, "router", 200, &[model_call("router", 180, [90, 10]), ("routing", routing)]);
    run.plays(
        2,
        "respond",
        3_000,
        &[model_call("agent", 2_900, [500, 100]), ("conversation", json!({ "messages": 2 }))],
    );
    run.plays(
        3,
        "verify",
        1_000,
        &[model_call("verifier", 950, [300, 50]), verification(1, Some(false), Some(0.5))],
    );
    run.plays(4, "refine", 10, &[refinement(1, 0.5)]);
    run.plays(
        5,
        "respond",
        2_500,
        &[model_call("refiner", 2_400, [1_900, 120]), ("conversation", json!({ "messages": 4 }))],
    );
    run.plays(
        6,
        "verify",
        900,
        &[model_call("verifier", 860, [310, 40]), verification(2, Some(true), Some(0.9))],
    );
    run.ends(Status::Finished);

    let recorded = recorded(&snapshot);
    assert_eq!(
        of(&recorded, "verification."),
        [
            "verification.duration part=model: 0.95 0.86",
            "verification.duration part=own: 0.05 0.04",
            "verification.failed_total: 1",
            "verification.passed_total: 1",
            "verification.refinement_total: 1",
            "verification.score_distribution: 0.5 0.9",
        ]
    );
    assert_eq!(
        of(&recorded, "refinement."),
        [
            "refinement.attempts: 1",
            "refinement.duration: 3.41",
            "refinement.outcome_total attempt=1 outcome=passed: 1",
            "refinement.score_after: 0.9",
            "refinement.score_before: 0.5",
        ]
    );
    assert_eq!(
        of(&recorded, "agent.llm.tokens_total"),
        [
            "agent.llm.tokens_total direction=input model=m-1 purpose=agent: 500",
            "agent.llm.tokens_total direction=input model=m-1 purpose=refiner: 1900",
            "agent.llm.tokens_total direction=input model=m-1 purpose=router: 90",
            "agent.llm.tokens_total direction=input model=m-1 purpose=verifier: 610",
            "agent.llm.tokens_total direction=output model=m-1 purpose=agent: 100",
            "agent.llm.tokens_total direction=output model=m-1 purpose=refiner: 120",
            "agent.llm.tokens_total direction=output model=m-1 purpose=router: 10",
            "agent.llm.tokens_total direction=output model=m-1 purpose=verifier: 90",
        ]
    );
    assert_eq!(
        of(&recorded, "agent.routing."),
        [
            "agent.routing.confidence action=respond: 0.9",
            "agent.routing.decisions_total action=respond by=model: 1",
        ]
    );
    assert_eq!(of(&recorded, "conversation."), ["conversation.length: 4"]);
    assert_eq!(
        of(&recorded, "agent.node.duration"),
        [
            "agent.node.duration graph=loop node=refine: 0.01",
            "agent.node.duration graph=loop node=respond: 3 2.5",
            "agent.node.duration graph=loop node=router: 0.2",
            "agent.node.duration graph=loop node=verify: 1 0.9",
        ]
    );
    assert_eq!(of(&recorded, "agent.run.duration"), ["agent.run.duration graph=loop: 7.61"]);
}

/// A run that was resumed between a refinement and its verification has not seen the refinement, and one that could not
/// be judged has no score.
#[test]
fn a_refinement_of_an_earlier_run_has_an_outcome_and_no_duration() {
    let recorder = DebuggingRecorder::new();
    let snapshot = recorder.snapshotter();
    let _here = metrics::set_default_local_recorder(&recorder);
    let metrics = AgentMetrics::new();
    let mut run = ReportedRun::begin(&metrics, 1);
    run.plays(6, "verify", 900, &[verification(3, Some(false), Some(0.5))]);
    run.plays(7, "refine", 5, &[refinement(3, 0.5)]);
    run.plays(9, "verify", 900, &[verification(4, None, None)]);
    run.ends(Status::Finished);
    let recorded = recorded(&snapshot);
    assert_eq!(
        of(&recorded, "refinement."),
        [
            "refinement.attempts: 3",
            "refinement.duration: 0.905",
            "refinement.outcome_total attempt=2 outcome=failed: 1",
            "refinement.outcome_total attempt=3 outcome=unjudged: 1",
        ]
    );
    assert_eq!(of(&recorded, "verification.unjudged"), ["verification.unjudged_total: 1"]);
    assert_eq!(of(&recorded, "verification.score"), ["verification.score_distribution: 0.5"]);
}

#[test]
fn what_a_failed_attempt_has_told_counts_when_another_one_finishes_and_a_recorded_result_not_again() {
    let recorder = DebuggingRecorder::new();
    let snapshot = recorder.snapshotter();
    let _here = metrics::set_default_local_recorder(&recorder);
    let metrics = AgentMetrics::new();
    let mut run = ReportedRun::begin(&metrics, 1);
    let events = [model_call("verifier", 900, [300, 50]), verification(1, Some(true), Some(0.8))];
    run.starts(3, "verify");
    for (event, data) in &events {
        run.emits(3, "verify", event, data);
    }
    let error = NodeError::terminal("the disk is full").report();
    let failed = EventKind::TaskFailed {
        step: 3,
        task: 0,
        node: name("verify"),
        attempt: 1,
        error,
        retry_in_ms: Some(10),
        handled: false,
    };
    run.tell(failed);
    // The next attempt takes the reply from the record.
    let mut again = events.clone();
    again[0].1["recorded"] = true.into();
    run.plays(3, "verify", 5, &again);
    run.tell(EventKind::RunFailed { message: "the machine stops".into() });
    // A resumed run tells that the task was finished.
    let mut run = ReportedRun::begin(&metrics, 2);
    run.finishes(3, "verify", true);
    run.ends(Status::Finished);

    let recorded = recorded(&snapshot);
    assert_eq!(of(&recorded, "verification.passed"), ["verification.passed_total: 1"]);
    assert_eq!(of(&recorded, "agent.llm.calls"), ["agent.llm.calls_total model=m-1 purpose=verifier: 1"]);
    assert_eq!(of(&recorded, "agent.node.failures"), ["agent.node.failures_total graph=loop node=verify: 1"]);
    assert_eq!(of(&recorded, "verification.duration part=own"), ["verification.duration part=own: 0.005"]);
}

#[test]
fn s0_119_the_rate_of_errors_is_that_of_runs_that_are_not_to_be_continued() {
    let recorder = DebuggingRecorder::new();
    let snapshot = recorder.snapshotter();
    let _here = metrics::set_default_local_recorder(&recorder);
    let metrics = AgentMetrics::new();
    let statuses = [
        Status::Finished,
        Status::Interrupted { interrupts: Vec::new() },
        Status::Finished,
        Status::Cancelled,
        Status::LimitReached { limit: 25 },
    ];
    for (number, status) in (1..).zip(statuses) {
        ReportedRun::begin(&metrics, number).ends(status);
    }
    ReportedRun::begin(&metrics, 9).tell(EventKind::RunFailed { message: "no".into() });
    let recorded = recorded(&snapshot);
    assert_eq!(of(&recorded, "agent.error_rate"), ["agent.error_rate graph=loop: 0.5"]);
    assert_eq!(
        of(&recorded, "agent.runs_total"),
        [
            "agent.runs_total graph=loop outcome=cancelled: 1",
            "agent.runs_total graph=loop outcome=failed: 1",
            "agent.runs_total graph=loop outcome=finished: 2",
            "agent.runs_total graph=loop outcome=interrupted: 1",
            "agent.runs_total graph=loop outcome=limit_reached: 1",
        ]
    );
}

#[test]
fn s0_120_a_run_is_rated_once() {
    let recorder = DebuggingRecorder::new();
    let snapshot = recorder.snapshotter();
    let _here = metrics::set_default_local_recorder(&recorder);
    let metrics = AgentMetrics::new();
    let runs = [1, 2].map(|number| ReportedRun::begin(&metrics, number).run);
    assert_eq!(metrics.rate(runs[0], Rating::new(0.25).unwrap()), Ok(()));
    assert_eq!(metrics.clone().rate(runs[0], Rating::new(1.0).unwrap()), Err(AlreadyRated));
    assert_eq!(metrics.rate(runs[1], Rating::stars(4, 5).unwrap()), Ok(()));
    assert_eq!(of(&recorded(&snapshot), "user."), ["user.satisfaction: 0.25 0.8"]);
}

#[test]
fn calls_have_a_cost_where_there_are_prices_and_unknown_tools_count_as_one() {
    let recorder = DebuggingRecorder::new();
    let snapshot = recorder.snapshotter();
    let _here = metrics::set_default_local_recorder(&recorder);
    let metrics = AgentMetrics::new().prices(Prices::none().with("m-1", Price::per_million(2.0, 10.0)));
    let mut run = ReportedRun::begin(&metrics, 1);
    let (event, mut unpriced) = model_call("agent", 10, [5, 5]);
    unpriced["model"] = "other".into();
    let (_, mut failed) = model_call("agent", 10, [0, 0]);
    failed["error"] = "overloaded".into();
    let run_of = |tool: Option<&str>, outcome: &str| json!({ "call": "c", "tool": tool, "outcome": outcome, "elapsed_ms": 30 });
    let events = [
        model_call("agent", 10, [1_000, 100]),
        (event, unpriced),
        (event, failed),
        (ToolRun::EVENT, run_of(Some("grep"), "ok")),
        (ToolRun::EVENT, run_of(Some("grep"), "timed_out")),
        (ToolRun::EVENT, run_of(None, "invalid")),
        ("model_call", json!({ "of": "another program" })),
    ];
    run.plays(1, "agent", 100, &events);
    let recorded = recorded(&snapshot);
    assert_eq!(of(&recorded, "agent.cost"), ["agent.cost_micro_usd_total model=m-1 purpose=agent: 3000"]);
    assert_eq!(
        of(&recorded, "agent.llm.unpriced"),
        ["agent.llm.unpriced_total model=other purpose=agent: 1"]
    );
    let errors = ["agent.llm.errors_total error=overloaded model=m-1 purpose=agent: 1"];
    assert_eq!(of(&recorded, "agent.llm.errors"), errors);
    assert_eq!(
        of(&recorded, "agent.tool."),
        [
            "agent.tool.calls_total outcome=invalid tool=unknown: 1",
            "agent.tool.calls_total outcome=ok tool=grep: 1",
            "agent.tool.calls_total outcome=timed_out tool=grep: 1",
            "agent.tool.duration tool=grep: 0.03 0.03",
        ]
    );
}

#[test]
fn counters_without_labels_are_there_at_0_once_they_are_described() {
    let recorder = DebuggingRecorder::new();
    let snapshot = recorder.snapshotter();
    let _here = metrics::set_default_local_recorder(&recorder);
    Metric::describe_all();
    let mut there = Vec::new();
    for (key, _, about, value) in snapshot.snapshot().into_vec() {
        assert_eq!(value, DebugValue::Counter(0), "{key:?}");
        assert!(about.is_some(), "{key:?} is not described");
        there.push(key.key().name().to_owned());
    }
    there.sort();
    assert_eq!(
        there,
        [
            "context.overflow_prevented_total",
            "verification.failed_total",
            "verification.passed_total",
            "verification.refinement_total",
            "verification.unjudged_total",
        ]
    );
    // And each goes on from there.
    Metric::describe_all();
    FAILED.add(1, &[]);
    assert_eq!(of(&recorded(&snapshot), "verification."), ["verification.failed_total: 1"]);
}
