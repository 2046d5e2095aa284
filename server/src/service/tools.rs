//! Assistants as tools of MCP clients.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use superstep_core::records::{RunRow, RunStatus};
use superstep_core::run::AnyGraph;

use super::assistants::is_default;
use super::{Scope, Service};
use crate::wire::Failure;
use crate::wire::assistant::AssistantSearch;
use crate::wire::ids;
use crate::wire::request::RunCreate;

/// The name of the tool that answers the questions of a run.
const RESUME: &str = "resume_run";

/// The maximum number of assistants that are tools, beside the default ones.
const MOST_ASSISTANTS: usize = 1000;

/// The maximum length of a tool's name, in bytes.
const LONGEST_NAME: usize = 64;

/// An assistant as a tool.
struct Tool<'s> {
    name: String,
    assistant: String,
    title: String,
    description: String,
    graph: &'s AnyGraph,
}

impl Service {
    /// Returns the descriptions of the tools that a client may call: its assistants, and the tool that answers
    /// questions.
    pub(crate) async fn tools(&self, scope: &Scope) -> Result<Vec<Value>, Failure> {
        let tools = self.assistant_tools(scope).await?;
        let mut shown: Vec<Value> = tools.iter().map(Tool::shown).collect();
        shown.push(json!({
            "name": RESUME,
            "title": "Resume a run",
            "description": "Answers the questions of a run that another tool has started, and continues the run.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "thread": { "type": "string", "description": "The thread that the result of the other tool names." },
                    "answer": { "description": "The answer to the only open question." },
                    "answers": { "type": "object", "description": "The answers to several questions, by their ids." },
                },
                "required": ["thread"],
                "additionalProperties": false,
            },
        }));
        Ok(shown)
    }

    /// Starts the run that the call of a tool asks for; `None` if there is no such tool.
    ///
    /// # Errors
    /// Fails if the arguments do not fit.
    pub(crate) async fn call_tool(
        &self,
        scope: &Scope,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Option<RunRow>, Failure> {
        if name == RESUME {
            return self.resume_by_tool(scope, arguments).await.map(Some);
        }
        let tools = self.assistant_tools(scope).await?;
        let Some(tool) = tools.into_iter().find(|tool| tool.name == name) else { return Ok(None) };
        // A thread that asks is needed for the answer, so the end of the run decides if the thread is kept.
        let body = json!({ "assistant_id": tool.assistant, "input": arguments, "on_completion": "keep" });
        self.create_run(scope, None, RunCreate::read(&body)?).await.map(Some)
    }

    async fn resume_by_tool(
        &self,
        scope: &Scope,
        mut arguments: Map<String, Value>,
    ) -> Result<RunRow, Failure> {
        let thread = arguments.remove("thread");
        let thread = thread.as_ref().and_then(Value::as_str);
        let thread = thread.ok_or_else(|| Failure::invalid("thread: the id of a thread is missing"))?;
        let answer = match (arguments.remove("answer"), arguments.remove("answers")) {
            (Some(answer), None) => answer,
            (None, Some(answers @ Value::Object(_))) => answers,
            (None, None) => return Err(Failure::invalid("answer, or answers by their ids, are missing")),
            (None, Some(_)) => {
                return Err(Failure::invalid("answers: an object by the ids of questions is needed"));
            }
            (Some(_), Some(_)) => return Err(Failure::invalid("give either answer or answers")),
        };
        if let Some(other) = arguments.keys().next() {
            return Err(Failure::invalid(format!("{other}: {RESUME} has no such argument")));
        }
        let row = self.thread_row(scope, thread).await?;
        let assistant = row.metadata.get("assistant_id").and_then(Value::as_str);
        let assistant = assistant.ok_or_else(|| Failure::invalid(format!("thread {thread} had no run")))?;
        let body = json!({
            "assistant_id": assistant,
            "command": { "resume": answer },
            "strict_resume": true,
        });
        self.create_run(scope, Some(thread), RunCreate::read(&body)?).await
    }

    /// Waits for the run of a tool, and returns the tool's result. The thread of a run that succeeds is deleted.
    ///
    /// # Errors
    /// Fails if the server stops before.
    pub(crate) async fn tool_result(&self, scope: &Scope, run: &RunRow) -> Result<Value, Failure> {
        let mut values = self.join(scope, run).await?;
        let ended = self.run_row(scope, None, &run.id).await?;
        let thread = &run.thread;
        let text = |text: String| json!([{ "type": "text", "text": text }]);
        if let Some(error) = values.get("__error__") {
            let part = |name: &str| error[name].as_str().unwrap_or_default();
            let reason = format!("{}: {}\n[thread: {thread}]", part("error"), part("message"));
            return Ok(json!({ "content": text(reason), "isError": true }));
        }
        let members = values.as_object_mut();
        if let Some(questions) = members.and_then(|members| members.remove("__interrupt__")) {
            let asked = format!(
                "The run waits for an answer to {questions}\nTo answer, call the tool {RESUME} with the thread {thread}."
            );
            let structured = json!({ "status": "interrupted", "thread": thread, "questions": questions });
            return Ok(json!({ "content": text(asked), "structuredContent": structured }));
        }
        if ended.status != RunStatus::Success {
            let stopped = format!("The run was stopped before its end.\n[thread: {thread}]");
            return Ok(json!({ "content": text(stopped), "isError": true }));
        }
        if let Err(failure) = self.delete_thread(scope, thread.as_str()).await {
            tracing::warn!(%thread, detail = failure.detail, "the thread of a tool's run was not deleted");
        }
        let structured = json!({ "status": "success", "output": values });
        Ok(json!({ "content": text(values.to_string()), "structuredContent": structured }))
    }

    async fn assistant_tools(&self, scope: &Scope) -> Result<Vec<Tool<'_>>, Failure> {
        let search = AssistantSearch::read(&json!({ "limit": MOST_ASSISTANTS }))?;
        let query = self.assistants_of(scope, search).await?;
        let rows = self.0.records.assistants(&query).await?.rows;
        let mut used = HashSet::from([RESUME.to_owned()]);
        let mut name = |name: &str, id: &str| {
            let name = if is_name(name) && used.insert(name.to_owned()) { name } else { id };
            name.to_owned()
        };
        let defaults = self.0.graphs.iter().map(|graph| {
            let (title, assistant) =
                (graph.name().to_string(), ids::default_assistant(graph.name().as_str()));
            let description = format!("Runs the graph {title}.");
            Tool { name: name(&title, &assistant), assistant, title, description, graph }
        });
        let mut tools: Vec<_> = defaults.collect();
        for row in rows.into_iter().filter(|row| !is_default(row)) {
            // The rows of a file may name graphs that this program does not have.
            let Some(graph) = self.0.graphs.named(row.graph.as_str()) else { continue };
            let described = || format!("Runs the assistant {} of the graph {}.", row.name, row.graph);
            let description = row.description.clone().unwrap_or_else(described);
            let name = name(&row.name, &row.id);
            tools.push(Tool { name, assistant: row.id, title: row.name, description, graph });
        }
        Ok(tools)
    }
}

impl Tool<'_> {
    fn shown(&self) -> Value {
        let mut schema =
            self.graph.json_schemas().input.filter(Value::is_object).unwrap_or_else(|| json!({}));
        schema["type"] = json!("object");
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": schema,
            "annotations": {
                "readOnlyHint": false,
                "destructiveHint": false,
                "idempotentHint": false,
                "openWorldHint": true,
            },
        })
    }
}

/// Returns `true` for a name that models accept for tools.
fn is_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}
