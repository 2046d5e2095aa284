//! The result of a run, for a client.

use rmcp::model::{CallToolResult, ContentBlock};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use superstep_core::id::ThreadId;
use superstep_core::run::{Interrupt, Status};

/// The end of a run, without the types of its graph.
pub(super) struct Ended {
    /// Its thread, if there is a store that keeps it.
    pub(super) thread: Option<ThreadId>,
    pub(super) status: Status,
    /// The output, of a run that finished.
    pub(super) output: Option<Value>,
}

/// The error of a run that did not end.
pub(super) struct Failed {
    pub(super) thread: Option<ThreadId>,
    pub(super) reason: String,
}

/// The schema of what a client gets of a run, without the definitions that it names.
pub(super) fn schema<O: JsonSchema>() -> Map<String, Value> {
    let mut generator = SchemaSettings::default().for_serialize().into_generator();
    let output = generator.subschema_for::<O>();
    let definitions = generator.take_definitions(true);
    let statuses = ["finished", "interrupted", "breakpoint", "limit_reached", "cancelled", "drained"];
    let question = json!({
        "type": "object",
        "properties": {
            "id": { "type": "string" },
            "node": { "type": "string" },
            "question": {},
            "answer_schema": {},
        },
        "required": ["id", "node", "question"],
    });
    let mut schema = json!({
        "type": "object",
        "properties": {
            "status": { "type": "string", "enum": statuses },
            "thread": { "type": "string" },
            "output": output,
            "questions": { "type": "array", "items": question },
        },
        "required": ["status"],
    });
    if !definitions.is_empty() {
        schema["$defs"] = Value::Object(definitions);
    }
    match schema {
        Value::Object(schema) => schema,
        _ => unreachable!("it is written as an object"),
    }
}

impl Ended {
    /// Returns the result for a client. `resume` is the tool that continues the run, if there is one.
    pub(super) fn into_result(self, resume: Option<&str>) -> CallToolResult {
        let Self { thread, status, output } = self;
        let thread = thread.map(|thread| thread.to_string());
        let mut structured = Map::new();
        structured.insert("status".to_owned(), name(&status).into());
        if let Some(thread) = &thread {
            structured.insert("thread".to_owned(), thread.as_str().into());
        }
        let goes_on = match (&thread, resume) {
            (Some(thread), Some(tool)) => {
                format!("To continue it, call the tool `{tool}` with the thread `{thread}`.")
            }
            _ => "It cannot be continued.".to_owned(),
        };
        let text = match &status {
            Status::Finished => {
                let output = output.unwrap_or_default();
                let text = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
                structured.insert("output".to_owned(), output);
                text
            }
            Status::Interrupted { interrupts } => {
                structured.insert("questions".to_owned(), interrupts.iter().map(question).collect());
                let asked: Vec<String> = interrupts.iter().map(asked).collect();
                format!("The run waits for an answer:\n{}\n{goes_on}", asked.join("\n"))
            }
            Status::LimitReached { limit } => {
                format!("The run has reached its limit of {limit} supersteps. {goes_on}")
            }
            _ => format!("The run was stopped. {goes_on}"),
        };
        let mut content = vec![ContentBlock::text(text)];
        if let (Status::Finished, Some(thread)) = (&status, &thread) {
            content.push(ContentBlock::text(format!("[thread: {thread}]")));
        }
        let mut result = CallToolResult::success(content);
        result.structured_content = Some(Value::Object(structured));
        result
    }
}

impl Failed {
    /// Returns the result for a client. `resume` is the tool that continues the run, if there is one.
    pub(super) fn into_result(self, resume: Option<&str>) -> CallToolResult {
        let Self { thread, reason } = self;
        let mut text = reason;
        if let (Some(thread), Some(tool)) = (thread, resume) {
            text =
                format!("{text}\n[thread: {thread}; the tool `{tool}` tries once more from where it failed]");
        }
        CallToolResult::error(vec![ContentBlock::text(text)])
    }
}

fn question(interrupt: &Interrupt) -> Value {
    let mut question = json!({
        "id": interrupt.id.to_string(),
        "node": interrupt.node.as_str(),
        "question": interrupt.question,
    });
    if let Some(schema) = &interrupt.answer_schema {
        question["answer_schema"] = json!(schema);
    }
    question
}

/// A question in one line.
fn asked(interrupt: &Interrupt) -> String {
    let Interrupt { id, node, question, answer_schema, .. } = interrupt;
    let schema = answer_schema.as_ref().map(|schema| format!("; the answer is {schema}")).unwrap_or_default();
    format!("- {id}, node `{node}`: {question}{schema}", node = node.as_str())
}

/// The name of a status, as in its JSON form.
fn name(status: &Status) -> &'static str {
    match status {
        Status::Finished => "finished",
        Status::Interrupted { .. } => "interrupted",
        Status::Breakpoint { .. } => "breakpoint",
        Status::LimitReached { .. } => "limit_reached",
        Status::Cancelled => "cancelled",
        _ => "drained",
    }
}
