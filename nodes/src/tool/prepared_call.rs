//! A call that is known to make sense, or not to.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt;
use serde_json::Value;

use super::cut::shorten;
use super::{
    Concurrency, Permission, PermissionDecision, PermissionPolicy, PermissionRequest, Tool, ToolContext,
    ToolEffect, ToolError, ToolEventKind, ToolOutcome, ToolResult,
};
use crate::message::ToolCall;

/// A call whose tool was looked up, and whose input was checked against the tool's schema.
///
/// It can be [run](Self::run) whatever was found: what cannot be run is answered, too.
pub struct PreparedCall {
    call: ToolCall,
    readiness: Result<Ready, Refused>,
}

/// The tool and the policy of a call that can be run.
struct Ready {
    tool: Arc<dyn Tool>,
    policy: Arc<dyn PermissionPolicy>,
}

/// The answer to a call that cannot be run.
struct Refused {
    /// `None` if there is no such tool.
    tool: Option<Arc<dyn Tool>>,
    error: ToolError,
}

impl PreparedCall {
    pub(super) fn ready(call: &ToolCall, tool: Arc<dyn Tool>, policy: Arc<dyn PermissionPolicy>) -> Self {
        Self { call: call.clone(), readiness: Ok(Ready { tool, policy }) }
    }

    pub(super) fn refused(call: &ToolCall, tool: Option<Arc<dyn Tool>>, error: ToolError) -> Self {
        Self { call: call.clone(), readiness: Err(Refused { tool, error }) }
    }

    /// Tells whether there is a tool of the name that the call says.
    pub fn is_known(&self) -> bool {
        self.readiness.as_ref().map_or_else(|refused| refused.tool.is_some(), |_| true)
    }

    /// Returns the effect of the call on the world. A call that cannot be run does nothing, so it is as harmless as a
    /// read-only one; a tool that panics when it is asked is taken to change the world.
    pub fn effect(&self) -> ToolEffect {
        self.asked(ToolEffect::ReadOnly, ToolEffect::Changes, |tool| tool.effect(&self.call.input))
    }

    /// Returns whether the call may run beside others. One that cannot be run may; a tool that panics when it is asked
    /// may not.
    pub fn concurrency(&self) -> Concurrency {
        self.asked(Concurrency::Safe, Concurrency::Alone, |tool| {
            match tool.is_concurrency_safe(&self.call.input) {
                true => Concurrency::Safe,
                false => Concurrency::Alone,
            }
        })
    }

    fn asked<T>(&self, of_none: T, of_broken: T, ask: impl FnOnce(&dyn Tool) -> T) -> T {
        match &self.readiness {
            Ok(ready) => catch_unwind(AssertUnwindSafe(|| ask(&*ready.tool))).unwrap_or(of_broken),
            Err(_) => of_none,
        }
    }

    /// Makes the call: validation by the tool, its permission, the call itself, and the conversion of its output. A
    /// tool that panics, takes too long or is cancelled is answered by an error, and a result that is longer than the
    /// tool allows is shortened.
    pub async fn run(&self, context: &ToolContext) -> ToolResult {
        let (result, began) = self.attempt(context).await;
        self.tell_end(context, began, result.outcome(), || result.content.to_text().into_owned());
        result
    }

    /// Returns the tool of the call.
    ///
    /// # Errors
    /// Returns the error that answers a call which cannot be made.
    pub fn tool(&self) -> Result<&Arc<dyn Tool>, ToolError> {
        self.readiness.as_ref().map(|ready| &ready.tool).map_err(|refused| refused.error.clone())
    }

    /// Asks the tool about the call, without making it: validation, and the tool's own check of its permission.
    ///
    /// # Errors
    /// Returns the error that answers a call which cannot be made.
    pub async fn check(&self, context: &ToolContext) -> Result<Permission, ToolError> {
        let (tool, input, name) = (self.tool()?, &self.call.input, || self.call.name.clone());
        let check = async {
            if let Err(invalid) = tool.validate_input(input, context).await {
                return Err(ToolError::InvalidInput { name: name(), reason: invalid.reason });
            }
            Ok(tool.check_permissions(input, context).await)
        };
        let checked = AssertUnwindSafe(check).catch_unwind().await;
        checked.unwrap_or_else(|panic| Err(ToolError::Panicked { name: name(), reason: text_of(&*panic) }))
    }

    /// Reports a call that was made before.
    pub(crate) fn tell_again(&self, context: &ToolContext, outcome: ToolOutcome, text: &str) {
        let began = !matches!(outcome, ToolOutcome::Invalid | ToolOutcome::Denied);
        if began {
            context.tell(|| ToolEventKind::Started { input: self.observable_input() });
        }
        self.tell_end(context, began, outcome, || text.to_owned());
    }

    fn tell_end(
        &self,
        context: &ToolContext,
        began: bool,
        outcome: ToolOutcome,
        text: impl FnOnce() -> String,
    ) {
        context.tell(|| match began {
            true => ToolEventKind::Ended { outcome, text: text() },
            false => ToolEventKind::Refused { input: self.observable_input(), outcome, text: text() },
        });
    }

    /// Returns the input, as its tool lets observers see it; `null` if the tool panics over it.
    fn observable_input(&self) -> Value {
        let input = &self.call.input;
        let observable = |tool: &Arc<dyn Tool>| {
            catch_unwind(AssertUnwindSafe(|| tool.observable_input(input))).unwrap_or_default()
        };
        let tool = match &self.readiness {
            Ok(ready) => Some(&ready.tool),
            Err(refused) => refused.tool.as_ref(),
        };
        tool.map_or_else(|| input.clone(), observable)
    }

    /// Makes the call; returns whether the tool itself was called, too.
    async fn attempt(&self, context: &ToolContext) -> (ToolResult, bool) {
        let ready = match &self.readiness {
            Ok(ready) => ready,
            Err(refused) => return (refused.error.clone().into(), false),
        };
        if context.cancellation().is_cancelled() {
            return (ToolError::NotRun.into(), false);
        }
        let context = context.alone();
        // However this ends, also by being dropped, nothing waits for the tool any more.
        let _gone = context.cancellation().clone().drop_guard();
        let (name, began) = (self.call.name.clone(), AtomicBool::new(false));
        let work = AssertUnwindSafe(ready.work(&self.call, &context, &began)).catch_unwind();
        let result = tokio::select! {
            biased;
            done = work => done.unwrap_or_else(|panic| {
                Err(ToolError::Panicked { name, reason: text_of(&*panic) })
            }),
            () = context.cancellation().cancelled() => Err(match began.load(Ordering::Relaxed) {
                true => ToolError::Stopped,
                false => ToolError::NotRun,
            }),
        };
        (result.unwrap_or_else(ToolResult::from), began.into_inner())
    }
}

impl Ready {
    /// The steps of a call, in their order.
    async fn work(
        &self,
        call: &ToolCall,
        context: &ToolContext,
        began: &AtomicBool,
    ) -> Result<ToolResult, ToolError> {
        let (tool, name, input) = (&*self.tool, || call.name.clone(), &call.input);
        if let Err(invalid) = tool.validate_input(input, context).await {
            return Err(ToolError::InvalidInput { name: name(), reason: invalid.reason });
        }
        if let Err(reason) = self.permit(call, context).await {
            return Err(ToolError::Denied { name: name(), reason });
        }
        began.store(true, Ordering::Relaxed);
        context.tell(|| ToolEventKind::Started { input: tool.observable_input(input) });
        let running = tool.call(input.clone(), context);
        let output = match tool.timeout(input) {
            None => running.await,
            Some(after) => match tokio::time::timeout(after, running).await {
                Ok(output) => output,
                Err(_) => return Err(ToolError::TimedOut { name: name(), after }),
            },
        };
        let mut result = tool.map_result(output);
        shorten(&mut result, tool.max_result_chars(), context.long_results()).await;
        Ok(result)
    }

    /// Asks the tool, and then the policy if the tool does not know.
    async fn permit(&self, call: &ToolCall, context: &ToolContext) -> Result<(), String> {
        let asked = match self.tool.check_permissions(&call.input, context).await {
            Permission::Allow => return Ok(()),
            Permission::Deny(reason) => return Err(reason),
            Permission::Ask(reason) => Some(reason),
            Permission::Passthrough => None,
        };
        let request =
            PermissionRequest { tool: &*self.tool, input: &call.input, ask: asked.as_deref(), context };
        match self.policy.decide(request).await {
            PermissionDecision::Allow => Ok(()),
            PermissionDecision::Deny(reason) => Err(reason),
        }
    }
}

/// Returns the message of a panic.
fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it did not say why").to_owned()
}

impl fmt::Debug for PreparedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut call = f.debug_struct("PreparedCall");
        call.field("call", &self.call)
            .field("refused", &self.readiness.as_ref().err().map(|refused| &refused.error))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
