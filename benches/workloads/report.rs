//! The results of workloads, and their output.

use serde::Serialize;
use serde_json::{Map, Value};

/// The output format.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// A table.
    Table,
    /// One JSON object per line.
    Json,
}

/// The result of a workload.
pub(crate) struct Figure {
    /// The unit of `value` and `baseline`.
    pub(crate) unit: &'static str,
    /// Samples of the workload, one per round.
    pub(crate) values: Vec<f64>,
    /// Samples of the baseline, one per round.
    pub(crate) baselines: Vec<f64>,
    /// Other results of the same runs.
    pub(crate) extra: Map<String, Value>,
    /// The definition of the baseline, and the target of the ratio.
    pub(crate) target: &'static str,
}

#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    unit: &'a str,
    value: f64,
    baseline: f64,
    ratio: f64,
    n: usize,
    extra: &'a Map<String, Value>,
}

/// Returns the median of some samples.
pub(crate) fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) { (sorted[middle - 1] + sorted[middle]) / 2.0 } else { sorted[middle] }
}

/// Returns the median of the ratios of all rounds, which a drifting machine affects least.
fn ratio(values: &[f64], baselines: &[f64]) -> f64 {
    let ratios: Vec<f64> = values.iter().zip(baselines).map(|(value, baseline)| value / baseline).collect();
    median(&ratios)
}

/// Rounds to four significant digits; more would be noise.
pub(crate) fn round(value: f64) -> f64 {
    format!("{value:.3e}").parse().expect("a printed number is a number")
}

pub(crate) fn head(output: Output) {
    if output == Output::Table {
        println!(
            "{:<4} {:>10} {:>10} {:>7}  {:<10} baseline and target; more",
            "id", "value", "baseline", "ratio", "unit"
        );
    }
}

/// Prints that a workload cannot run here.
pub(crate) fn skipped(output: Output, id: &str, reason: &str) {
    match output {
        Output::Json => println!("{}", serde_json::json!({ "id": id, "skipped": reason })),
        Output::Table => println!("{id:<4} skipped: {reason}"),
    }
}

pub(crate) fn line(output: Output, id: &str, figure: &Figure) {
    let line = Line {
        id,
        unit: figure.unit,
        value: round(median(&figure.values)),
        baseline: round(median(&figure.baselines)),
        ratio: round(ratio(&figure.values, &figure.baselines)),
        n: figure.values.len(),
        extra: &figure.extra,
    };
    match output {
        Output::Json => println!("{}", serde_json::to_string(&line).expect("figures have a JSON form")),
        Output::Table => {
            let extra: Vec<String> =
                figure.extra.iter().map(|(name, value)| format!("{name} {value}")).collect();
            // A baseline that cannot be measured here is no number.
            let (baseline, ratio) = match line.baseline.is_nan() {
                true => ("–".to_owned(), "–".to_owned()),
                false => (line.baseline.to_string(), format!("{:.2}", line.ratio)),
            };
            println!(
                "{id:<4} {:>10} {baseline:>10} {ratio:>7}  {:<10} {}; {}",
                line.value,
                line.unit,
                figure.target,
                extra.join(", ")
            );
        }
    }
}
