//! The handler for unsolicited messages of a server.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{ClientConfig, ProgressNotificationParam, ProgressToken};
use rmcp::service::NotificationContext;
use rmcp::{ClientHandler, RoleClient};
use serde_json::json;
use superstep_nodes::tool::ToolContext;

use super::endpoint::introduction;

/// Handles the notifications of a server: the progress of calls, and changed tools. Its own requests are refused, as no
/// capability is offered.
#[derive(Clone, Default)]
pub(super) struct Handler {
    calls: Arc<Mutex<HashMap<ProgressToken, ToolContext>>>,
    /// The number of times that the server has reported changed tools, and that number when the tools were listed.
    changes: Arc<AtomicU64>,
    listed: Arc<AtomicU64>,
}

impl Handler {
    /// Reports the progress of a call to its observers, until it is [`forgotten`](Self::forget).
    pub(super) fn follow(&self, token: ProgressToken, context: ToolContext) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).insert(token, context);
    }

    pub(super) fn forget(&self, token: &ProgressToken) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(token);
    }

    /// Returns `true` if the server has reported changed tools since they were listed.
    pub(super) fn tools_changed(&self) -> bool {
        self.changes() != self.listed.load(Ordering::Acquire)
    }

    /// Returns the number of times that the server has reported changed tools.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Notes that the tools were listed after so many notifications.
    pub(super) fn tools_are_listed(&self, changes: u64) {
        self.listed.store(changes, Ordering::Release);
    }
}

impl ClientHandler for Handler {
    async fn on_progress(&self, said: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let context = calls.get(&said.progress_token).cloned();
        drop(calls);
        if let Some(context) = context {
            let mut data = json!({ "progress": said.progress });
            if let Some(total) = said.total {
                data["total"] = total.into();
            }
            if let Some(message) = said.message {
                data["message"] = message.into();
            }
            context.progress(&data);
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    fn get_info(&self) -> ClientConfig {
        introduction()
    }
}
