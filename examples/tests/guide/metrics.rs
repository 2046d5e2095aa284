//! Snippets of `docs/metrics.md`, and its table.

use opentelemetry::global;
use superstep::nodes::graphs::evaluator;
use superstep::nodes::model::{Price, Prices};
use superstep::nodes::telemetry::{AgentMetrics, AgentSpans, Metric, Rating};

use superstep::nodes::graphs::{AgentState, EvaluatorConfig};
use superstep::nodes::model::{Purpose, Scripted};
use superstep::nodes::telemetry::MetricKind;

fn model() -> Scripted {
    Scripted::new()
        .say("It is Paris.")
        .on(Purpose::Evaluator, [r#"{ "iteration": 1, "score": 1.0, "complete": true, "feedback": "" }"#])
        .on(Purpose::Ranker, [r#"{ "iteration": 1, "order": [1], "best": 1, "reason": "the only one" }"#])
}

#[tokio::test]
async fn a_graph_is_measured_and_rated() -> super::Result {
    let config = EvaluatorConfig::new(model());

    let prices = Prices::none().with("claude-sonnet-4-5", Price::per_million(3.0, 15.0));
    let metrics = AgentMetrics::new().prices(prices);
    let graph = evaluator(config)?.observe(metrics.clone());

    let run = graph.run(AgentState::ask("What is the capital of France?")).await?;
    metrics.rate(run.run, Rating::stars(4, 5)?)?;

    assert!(metrics.rate(run.run, Rating::stars(5, 5)?).is_err());
    assert_eq!(run.finished()?.response.as_deref(), Some("It is Paris."));
    Ok(())
}

#[tokio::test]
async fn a_graph_is_traced() -> super::Result {
    let graph = evaluator(EvaluatorConfig::new(model()))?;

    let tracer = global::tracer_with_scope(AgentSpans::scope());
    let spans = AgentSpans::new(tracer).provider("claude", "anthropic").provider("gpt", "openai");
    let graph = graph.observe(spans);

    let run = graph.run(AgentState::ask("What is the capital of France?")).await?;
    assert_eq!(run.finished()?.response.as_deref(), Some("It is Paris."));
    Ok(())
}

/// The row of a metric in the table.
fn row(metric: &Metric) -> String {
    let kind = match metric.kind {
        MetricKind::Counter => "counter",
        MetricKind::Gauge => "gauge",
        MetricKind::Histogram => "histogram",
    };
    let labels: Vec<_> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
    let labels = if labels.is_empty() { "–".to_owned() } else { labels.join(", ") };
    format!("| `{}` | {kind} | {} | {labels} | {} |", metric.name, metric.unit, metric.about)
}

#[test]
fn s0_113_to_121_the_page_lists_all_metrics_with_their_units_and_labels() {
    let page = include_str!("../../../docs/metrics.md");
    let (_, table) = page.split_once("| metric | kind |").expect("the page has a table");
    let table = table.split("\n\n").next().unwrap_or_default();
    let listed: Vec<&str> = table.lines().skip(2).collect();
    let expected: Vec<String> = Metric::ALL.iter().map(row).collect();
    for (listed, expected) in listed.iter().zip(&expected) {
        assert_eq!(listed, expected);
    }
    assert_eq!(listed.len(), expected.len());
    let names: Vec<&str> = Metric::ALL.iter().map(|metric| metric.name).collect();
    for name in [
        "context.compaction.triggered_total",
        "context.compaction.compression_ratio",
        "context.overflow_prevented_total",
        "verification.passed_total",
        "verification.refinement_total",
        "verification.score_distribution",
        "agent.error_rate",
        "user.satisfaction",
        "conversation.length",
    ] {
        assert!(names.contains(&name), "{name} is not measured");
    }
}
