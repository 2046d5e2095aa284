//! The JSON shapes that several verbs share. They are stable: members are added, and none is renamed or removed.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::Value;

use superstep_core::checkpoint::{AnsweredBy, CheckpointName, LeaseRecord, Source, Standing, rfc3339};
use superstep_core::error::ErrorReport;
use superstep_core::id::{CheckpointId, NodeName, RunId, ThreadId};

use super::token_usage::TokenUsage;

/// A checkpoint, in one line.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Line {
    pub(super) id: CheckpointId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<CheckpointId>,
    /// The thread that it was written on.
    pub(super) thread: ThreadId,
    /// The name of the thread, if it is a subgraph's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) step: i64,
    pub(super) source: Source,
    /// The time of the checkpoint, in RFC 3339.
    pub(super) at: String,
    pub(super) run: RunId,
    /// The nodes that ran.
    pub(super) ran: Vec<NodeName>,
    /// The nodes that are next.
    pub(super) next: Vec<NodeName>,
    /// The fields that changed.
    pub(super) changed: Vec<String>,
    /// The threads whose latest checkpoint it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) head_of: Vec<ThreadId>,
    /// The names of the checkpoint on the requested thread.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) names: Vec<CheckpointName>,
    /// The time at which the work on its superstep began, in RFC 3339, if it was requested and is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) started_at: Option<String>,
    /// The milliseconds from `started_at` to the checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) took_ms: Option<u64>,
    /// The usage of the model calls that led to the checkpoint, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) used: Option<TokenUsage>,
}

/// The lease of a thread.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Lease {
    pub(super) holder: String,
    /// The time at which it expires unless it is renewed, in RFC 3339.
    pub(super) until: String,
    /// `true` if that time has passed: the next run takes the thread.
    pub(super) over: bool,
    pub(super) fence: u64,
}

impl Lease {
    pub(super) fn of(lease: &LeaseRecord) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let LeaseRecord { holder, fence, .. } = lease.clone();
        let over = lease.standing(now_ms) == Standing::Over;
        Self { holder, until: rfc3339(lease.until_ms()), over, fence }
    }

    /// Describes the lease in words.
    pub(super) fn told(&self) -> String {
        let Self { holder, until, over, .. } = self;
        format!("{holder} until {until}{}", if *over { ", which is over" } else { "" })
    }
}

/// A question of a thread.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Question {
    pub(super) id: String,
    pub(super) node: NodeName,
    /// The nodes whose subgraphs lead to the one that asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) path: Vec<NodeName>,
    pub(super) question: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<Value>,
    /// `deadline` if the answer is the default, which was used after the deadline.
    #[serde(skip_serializing_if = "AnsweredBy::is_caller")]
    pub(super) answered_by: AnsweredBy,
    /// The time at which the default answer is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) deadline: Option<String>,
}

/// A task that is next and has failed.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FailedTask {
    pub(super) node: NodeName,
    pub(super) error: ErrorReport,
    pub(super) attempts: u32,
}

/// An effect.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Effect {
    /// The node whose task ran it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<NodeName>,
    pub(super) name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) key: String,
    pub(super) starts: u32,
    /// Its outcome: `ok` or an error; neither while the outcome is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ok: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}
