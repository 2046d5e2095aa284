//! Why a call would be allowed, denied or asked about.

use clap::Args;
use serde::Serialize;
use serde_json::Value;
use superstep_assistant::permission::{Decision, Grant, PermissionMode, Verdict};
use superstep_nodes::message::ToolCall;

use super::arguments::{Options, Which};
use super::places::Places;
use super::workbench::{Trusting, Use, Workbench};
use crate::failure::Failure;
use crate::page::{BAD, DIM, GOOD, NAME, NOTE, Page, plain, span};
use crate::screen::{Answer, Exit};

/// Tell which rule and which layer would decide on a call, without making it
///
/// Exits with 0 if the call is allowed, 3 if it is asked about, and 1 if it is denied. Hooks are not asked.
#[derive(Debug, Args)]
#[command(after_help = "Example: superstep agent explain bash 'cargo test && git push'")]
pub(crate) struct Explain {
    /// The tool
    tool: String,
    /// Its input as JSON, or as the text that it needs, such as a command or a path
    input: String,
    /// Decide as in this session, with its mode and the rules that were allowed in it
    #[arg(long)]
    session: Option<String>,
    #[command(flatten)]
    options: Options,
}

/// A decision.
#[derive(Debug, Serialize)]
pub(crate) struct Explained {
    input: Value,
    mode: PermissionMode,
    #[serde(flatten)]
    decision: Decision,
    #[serde(skip)]
    warnings: Vec<String>,
}

impl Explain {
    pub(crate) async fn answer(&self) -> Result<Explained, Failure> {
        let bench =
            Workbench::open_for(Use::Decisions, Places::here()?, &self.options, Trusting::Nothing).await?;
        let unknown = || Failure::nothing(format!("there is no tool `{}`", self.tool));
        let input = match serde_json::from_str(&self.input) {
            Ok(Value::Object(input)) => Value::Object(input),
            _ => bench.config.input_of(&self.tool, &self.input).ok_or_else(unknown)?,
        };
        let (mode, grants) = self.session(&bench).await?;
        let call = ToolCall::new("explain", self.tool.as_str(), input.clone());
        let decision = bench.config.decide(&call, mode, &grants).await.ok_or_else(unknown)?;
        Ok(Explained { input, mode, decision, warnings: bench.warnings })
    }

    async fn session(&self, bench: &Workbench) -> Result<(PermissionMode, Vec<Grant>), Failure> {
        let Some(session) = &self.session else { return Ok((bench.mode(), Vec::new())) };
        let session = bench.session(&Which::Named(session.clone())).await?;
        let head = session.thread().head().await?;
        Ok((self.options.mode.unwrap_or(head.state().mode), head.state().grants.clone()))
    }
}

impl Answer for Explained {
    fn show(&self, page: &mut Page) {
        let Self { input, mode, decision, warnings } = self;
        let Decision { tool, layer, rules, verdict, reason, .. } = decision;
        let verdict = match verdict {
            Verdict::Allow => span(GOOD, "allowed"),
            Verdict::Ask => span(NOTE, "asked about"),
            Verdict::Deny => span(BAD, "denied"),
        };
        page.line([verdict, plain(": "), span(NAME, tool), plain(format!(" {input}"))]);
        page.line([plain(format!("  {reason}"))]);
        let name = serde_json::to_value(layer).unwrap_or_default();
        let name = name.as_str().unwrap_or_default();
        page.line([span(DIM, format!("  layer {} ({name}), mode {mode}", layer.number()))]);
        for rule in rules {
            page.line([span(DIM, "  rule "), plain(rule.to_string())]);
        }
        for warning in warnings {
            page.line([span(NOTE, format!("  warning: {warning}"))]);
        }
    }

    fn exit(&self) -> Exit {
        match self.decision.verdict {
            Verdict::Allow => Exit::Fine,
            Verdict::Ask => Exit::Unfinished,
            Verdict::Deny => Exit::No,
        }
    }
}
