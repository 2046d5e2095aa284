//! Numbers of a server for monitoring.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::StatusCode;

/// Counters of a server. They only grow.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Responses, by the first digit of their status.
    responses: [AtomicU64; 6],
    /// Connections that were accepted.
    pub(crate) connections: AtomicU64,
    /// Connections that were refused, as the maximum number was open.
    pub(crate) refused: AtomicU64,
    /// Streams that were opened.
    pub(crate) streams: AtomicU64,
}

/// Values that grow and shrink.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    /// The streams that are open.
    pub(crate) streams: u64,
    /// Runs that are pending.
    pub(crate) pending: u64,
    /// Runs that are running.
    pub(crate) running: u64,
}

impl Counts {
    /// Counts a response.
    pub(crate) fn answered(&self, status: StatusCode) {
        if let Some(count) = self.responses.get(usize::from(status.as_u16() / 100)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes the numbers in the text format of Prometheus.
    pub(crate) fn prometheus(&self, levels: &Levels) -> String {
        let mut page = Page::default();
        page.head("superstep_http_responses_total", "counter", "Responses by class of status.");
        for (class, count) in self.responses.iter().enumerate().skip(1) {
            let count = count.load(Ordering::Relaxed);
            page.line(&format!("superstep_http_responses_total{{class=\"{class}xx\"}}"), count);
        }
        let counters = [
            ("superstep_http_connections_total", "Accepted connections.", &self.connections),
            ("superstep_http_connections_refused_total", "Refused connections.", &self.refused),
            ("superstep_http_streams_total", "Opened streams.", &self.streams),
        ];
        for (name, help, count) in counters {
            page.head(name, "counter", help);
            page.line(name, count.load(Ordering::Relaxed));
        }
        let gauges = [
            ("superstep_http_streams", "Open streams.", levels.streams),
            ("superstep_runs_pending", "Runs that wait for a worker.", levels.pending),
            ("superstep_runs_running", "Runs that a worker drives.", levels.running),
        ];
        for (name, help, value) in gauges {
            page.head(name, "gauge", help);
            page.line(name, value);
        }
        page.0
    }
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}").expect("a String takes every text");
    }

    fn line(&mut self, name: &str, value: u64) {
        writeln!(self.0, "{name} {value}").expect("a String takes every text");
    }
}
