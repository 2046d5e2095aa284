//! The metrics of a process, as Prometheus reads them from the page that the examples serve, and the dashboard for
//! them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use serde_json::Value;
use superstep::nodes::model::{ModelReply, Price, Prices, Scripted, Turn, Usage};
use superstep::nodes::telemetry::{AgentMetrics, Metric, MetricKind, Rating};
use superstep_examples::callback::{CallbackConfig, CallbackState, callback};
use superstep_examples::metrics_page;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The page's response to a request with this host.
async fn get(url: &str, host: &str) -> String {
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut connection = TcpStream::connect(address).await.unwrap();
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn what_a_run_has_done_is_read_from_the_page() {
    let page = metrics_page::serve(0).await.unwrap();
    // A panel that divides by the sum of passed and failed used to be empty while nothing had failed.
    let before = get(&page.url(), "127.0.0.1:9464").await;
    let lines: BTreeSet<&str> = before.lines().collect();
    for line in [
        "context_overflow_prevented_total 0",
        "verification_passed_total 0",
        "verification_failed_total 0",
        "verification_unjudged_total 0",
        "verification_refinement_total 0",
    ] {
        assert!(lines.contains(line), "no line {line} in {before}");
    }

    let metrics = AgentMetrics::new().prices(Prices::none().with("claude-x", Price::per_million(3.0, 15.0)));
    let reply = ModelReply::new("claude-x", "Hello.").with_usage(Usage::of(1_000, 200));
    let config = CallbackConfig::new(Scripted::new().then(Turn::Reply(reply)), "Be kind.");
    let graph = callback(config).unwrap().observe(metrics.clone());
    let run = graph.run(CallbackState::ask("Hi")).await.unwrap();
    metrics.rate(run.run, Rating::stars(4, 5).unwrap()).unwrap();

    let answer = get(&page.url(), "127.0.0.1:9464").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let lines: BTreeSet<&str> = answer.lines().collect();
    for line in [
        "# TYPE agent_llm_calls_total counter",
        r#"agent_llm_calls_total{model="claude-x",purpose="agent"} 1"#,
        r#"agent_llm_tokens_total{direction="input",model="claude-x",purpose="agent"} 1000"#,
        r#"agent_cost_micro_usd_total{model="claude-x",purpose="agent"} 6000"#,
        r#"agent_error_rate{graph="callback"} 0"#,
        "# TYPE user_satisfaction histogram",
        r#"user_satisfaction_bucket{le="0.7"} 0"#,
        r#"user_satisfaction_bucket{le="0.8"} 1"#,
        "conversation_length_sum 2",
    ] {
        assert!(lines.contains(line), "no line {line} in {answer}");
    }
    let elsewhere = get(&page.url(), "evil.example").await;
    assert!(elsewhere.starts_with("HTTP/1.1 403 "), "{elsewhere}");
    let nowhere = get(&page.url().replace("metrics", "other"), "localhost").await;
    assert!(nowhere.starts_with("HTTP/1.1 404 "), "{nowhere}");
    let again = metrics_page::serve(0).await.unwrap_err();
    assert!(again.to_string().contains("recorder"), "{again}");
}

/// The names of the series that a metric has.
fn series(metric: &Metric) -> Vec<String> {
    let name = metric.prometheus_name();
    match metric.kind {
        MetricKind::Counter | MetricKind::Gauge => vec![name],
        MetricKind::Histogram => ["_bucket", "_count", "_sum"].map(|end| format!("{name}{end}")).into(),
    }
}

/// The words of a query that could be names of series: all except functions, keywords, labels and variables.
fn names(query: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let (mut word, mut is_label) = (String::new(), false);
    for letter in query.chars().chain([' ']) {
        if letter.is_ascii_alphanumeric() || "_:$".contains(letter) {
            word.push(letter);
            continue;
        }
        let found = std::mem::take(&mut word);
        let is_name = found.contains('_') && !found.starts_with('$') && letter != '(' && !is_label;
        if is_name {
            names.insert(found);
        }
        match letter {
            '{' | '"' => is_label = true,
            '}' => is_label = false,
            _ => {}
        }
    }
    names
}

fn queries(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("expr").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|member| queries(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| queries(item, found)),
        _ => {}
    }
}

#[test]
fn s0_148_the_dashboard_asks_for_metrics_that_there_are_and_for_all_of_the_loop() {
    let dashboard = include_str!("../../../docs/dashboards/agents.json");
    let dashboard: Value = serde_json::from_str(dashboard).unwrap();
    let mut asked = Vec::new();
    queries(&dashboard, &mut asked);
    assert!(asked.len() >= 12, "{asked:?}");
    let known: BTreeSet<String> = Metric::ALL.iter().flat_map(series).collect();
    let asked: BTreeSet<String> = asked.iter().flat_map(|query| names(query)).collect();
    let unknown: Vec<_> = asked.difference(&known).collect();
    assert!(unknown.is_empty(), "no metric has these series: {unknown:?}");
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
        let metric = Metric::ALL.iter().find(|metric| metric.name == name).expect("it is measured");
        assert!(series(metric).iter().any(|series| asked.contains(series)), "{name} is not on the dashboard");
    }
}

#[test]
fn where_the_dashboard_divides_what_never_happened_is_0() {
    let dashboard: Value =
        serde_json::from_str(include_str!("../../../docs/dashboards/agents.json")).unwrap();
    let mut asked = Vec::new();
    queries(&dashboard, &mut asked);
    let counters: Vec<String> = Metric::ALL
        .iter()
        .filter(|metric| metric.kind == MetricKind::Counter && metric.labels.is_empty())
        .map(Metric::prometheus_name)
        .collect();
    let mut sums = 0;
    for query in &asked {
        for counter in &counters {
            let sum = format!("sum(rate({counter}[$__rate_interval]))");
            sums += query.matches(&sum).count();
            let safe = query.matches(&format!("{sum} or vector(0)")).count();
            assert_eq!(safe, query.matches(counter.as_str()).count(), "{counter} in {query}");
        }
    }
    assert!(sums >= 7, "{asked:?}");
}

#[test]
fn names_of_series_are_distinguished_from_labels_and_functions() {
    let query = r#"histogram_quantile(0.9, sum by (le) (rate(a_b_bucket{graph=~"$graph_name", x_y="z_z"}[5m]))) / c_d_total"#;
    assert_eq!(names(query).into_iter().collect::<Vec<_>>(), ["a_b_bucket", "c_d_total"]);
}
