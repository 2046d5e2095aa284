//! A tool for tests with a given behaviour, which notes the calls of its methods.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{InvalidInput, Permission, Tool, ToolContext, ToolEffect, ToolFailure, ToolOutput, ToolResult};

/// The behaviour of a [`Probe`] in a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Deed {
    Say(&'static str),
    Fail(&'static str),
    Panic,
    /// It says this after so many milliseconds.
    After(u64, &'static str),
    Hang,
}

/// A tool that takes `{"n": integer}`, at least 0. What it does not say is left to the trait.
#[derive(Clone)]
pub(super) struct Probe {
    pub(super) name: &'static str,
    pub(super) valid: Result<(), &'static str>,
    pub(super) permission: Permission,
    pub(super) deed: Deed,
    pub(super) enabled: bool,
    pub(super) effect: ToolEffect,
    pub(super) safe: bool,
    pub(super) most: usize,
    pub(super) timeout: Duration,
    pub(super) log: Arc<Mutex<Vec<&'static str>>>,
}

impl Probe {
    pub(super) fn new(deed: Deed) -> Self {
        Self {
            name: "probe",
            valid: Ok(()),
            permission: Permission::Passthrough,
            deed,
            enabled: true,
            effect: ToolEffect::Changes,
            safe: false,
            most: 100,
            timeout: Duration::from_secs(60),
            log: Arc::default(),
        }
    }

    pub(super) fn named(name: &'static str) -> Self {
        Self { name, ..Self::new(Deed::Say("done")) }
    }

    /// Returns the methods that were called so far, in order.
    pub(super) fn steps(&self) -> Vec<&'static str> {
        self.log.lock().unwrap_or_else(|broken| broken.into_inner()).clone()
    }

    fn step(&self, step: &'static str) {
        self.log.lock().unwrap_or_else(|broken| broken.into_inner()).push(step);
    }
}

#[async_trait]
impl Tool for Probe {
    fn name(&self) -> &str {
        self.name
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": { "n": { "type": "integer", "minimum": 0 } },
            "required": ["n"],
        })
    }

    async fn call(&self, _: Value, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        self.step("call");
        context.progress("half done");
        match self.deed {
            Deed::Say(text) => Ok(text.into()),
            Deed::Fail(reason) => Err(ToolFailure::new(reason)),
            Deed::Panic => panic!("a broken probe"),
            Deed::After(wait, text) => {
                tokio::time::sleep(Duration::from_millis(wait)).await;
                Ok(text.into())
            }
            Deed::Hang => std::future::pending().await,
        }
    }

    async fn check_permissions(&self, _: &Value, _: &ToolContext) -> Permission {
        self.step("permissions");
        self.permission.clone()
    }

    async fn validate_input(&self, _: &Value, _: &ToolContext) -> Result<(), InvalidInput> {
        self.step("validate");
        self.valid.map_err(InvalidInput::new)
    }

    fn prompt(&self) -> String {
        format!("Is the tool {}.", self.name)
    }

    fn map_result(&self, result: Result<ToolOutput, ToolFailure>) -> ToolResult {
        self.step("map");
        ToolResult::of(self.name, result)
    }

    fn is_enabled(&self) -> bool {
        self.enabled
    }

    fn is_read_only(&self, _: &Value) -> bool {
        self.effect == ToolEffect::ReadOnly
    }

    fn is_concurrency_safe(&self, _: &Value) -> bool {
        self.safe
    }

    fn effect(&self, _: &Value) -> ToolEffect {
        self.effect
    }

    fn observable_input(&self, input: &Value) -> Value {
        json!({ "seen": input["n"] })
    }

    fn max_result_chars(&self) -> usize {
        self.most
    }

    fn timeout(&self, _: &Value) -> Option<Duration> {
        Some(self.timeout)
    }
}
