//! The metrics and their description.

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

use super::all_metrics;

/// Something that is measured: what [`AgentMetrics`](super::AgentMetrics) may record, and nothing else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// The kind of the metric.
    pub kind: MetricKind,
    /// The things that it counts, or the unit in which it measures.
    pub unit: &'static str,
    /// The labels that it always has.
    pub labels: &'static [&'static str],
    /// The description of the metric.
    pub about: &'static str,
    /// The upper bounds of a histogram's buckets, for exporters that want them; none for other kinds.
    pub buckets: &'static [f64],
}

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MetricKind {
    /// A number that only grows.
    Counter,
    /// The current value of a number.
    Gauge,
    /// The distribution of numbers.
    Histogram,
}

impl Metric {
    /// All that there are.
    pub const ALL: &'static [Self] = all_metrics::ALL;

    /// Returns the name as Prometheus has it.
    pub fn prometheus_name(&self) -> String {
        self.name.replace('.', "_")
    }

    /// Describes all metrics to the recorder of the `metrics` facade that is installed: their descriptions, and their
    /// units. To be called once, after a recorder is installed.
    ///
    /// Counters without labels are created at 0, so that queries can compute with events that never happened. The
    /// labels of other metrics are not known beforehand, so these metrics appear once they are recorded.
    pub fn describe_all() {
        for metric in Self::ALL {
            let Self { name, unit, about, .. } = *metric;
            let unit = match unit {
                "seconds" => Some(Unit::Seconds),
                "ratio" => None,
                _ => Some(Unit::Count),
            };
            match (metric.kind, unit) {
                (MetricKind::Counter, Some(unit)) => describe_counter!(name, unit, about),
                (MetricKind::Counter, None) => describe_counter!(name, about),
                (MetricKind::Gauge, Some(unit)) => describe_gauge!(name, unit, about),
                (MetricKind::Gauge, None) => describe_gauge!(name, about),
                (MetricKind::Histogram, Some(unit)) => describe_histogram!(name, unit, about),
                (MetricKind::Histogram, None) => describe_histogram!(name, about),
            }
            if metric.kind == MetricKind::Counter && metric.labels.is_empty() {
                metric.add(0, &[]);
            }
        }
    }

    pub(super) const fn counter(
        name: &'static str,
        unit: &'static str,
        labels: &'static [&'static str],
        about: &'static str,
    ) -> Self {
        Self { name, kind: MetricKind::Counter, unit, labels, about, buckets: &[] }
    }

    pub(super) const fn gauge(
        name: &'static str,
        unit: &'static str,
        labels: &'static [&'static str],
        about: &'static str,
    ) -> Self {
        Self { name, kind: MetricKind::Gauge, unit, labels, about, buckets: &[] }
    }

    pub(super) const fn histogram(
        name: &'static str,
        unit: &'static str,
        labels: &'static [&'static str],
        about: &'static str,
        buckets: &'static [f64],
    ) -> Self {
        Self { name, kind: MetricKind::Histogram, unit, labels, about, buckets }
    }

    /// Adds to the counter.
    pub(super) fn add(&self, more: u64, labels: &[(&'static str, &str)]) {
        metrics::counter!(self.name, &owned(labels)).increment(more);
    }

    /// Sets the current value.
    pub(super) fn set(&self, value: f64, labels: &[(&'static str, &str)]) {
        metrics::gauge!(self.name, &owned(labels)).set(value);
    }

    /// Adds a value to the distribution.
    pub(super) fn record(&self, value: f64, labels: &[(&'static str, &str)]) {
        metrics::histogram!(self.name, &owned(labels)).record(value);
    }
}

fn owned(labels: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    labels.iter().map(|(key, value)| (*key, (*value).to_owned())).collect()
}
