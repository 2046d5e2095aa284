use serde_json::json;

use super::*;
use crate::message::ToolCall;
use crate::tool::{ToolRegistry, ToolSession};

/// A tool that writes what has to be written, and nothing else.
struct Least;

#[async_trait]
impl Tool for Least {
    fn name(&self) -> &str {
        "least"
    }

    fn input_schema(&self) -> Value {
        json!({ "type": "object", "properties": { "text": { "type": "string" } } })
    }

    async fn call(&self, input: Value, _: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        Ok(ToolOutput::text("ok").with_data(input))
    }

    async fn check_permissions(&self, _: &Value, _: &ToolContext) -> Permission {
        Permission::Passthrough
    }

    async fn validate_input(&self, _: &Value, _: &ToolContext) -> Result<(), InvalidInput> {
        Ok(())
    }

    fn prompt(&self) -> String {
        "Does least.".to_owned()
    }

    fn map_result(&self, result: Result<ToolOutput, ToolFailure>) -> ToolResult {
        match result {
            Ok(output) => ToolResult::done(format!("<{}>", output.content.to_text())),
            Err(failure) => ToolResult::failed(json!({ "error": failure.to_string() }).to_string()),
        }
    }
}

/// The methods of the trait above, and whether each has to be written.
fn methods() -> Vec<(String, bool)> {
    let source = include_str!("../tool.rs");
    let body = source.split("pub trait Tool:").nth(1).unwrap().split("\n}\n").next().unwrap();
    let signatures = body.lines().filter_map(|line| line.trim().split_once("fn "));
    signatures
        .map(|(_, signature)| (signature.split('(').next().unwrap().to_owned(), signature.ends_with(';')))
        .collect()
}

#[test]
fn s2_104_exactly_these_seven_methods_have_to_be_written() {
    let required: Vec<String> =
        methods().into_iter().filter_map(|(name, has_to)| has_to.then_some(name)).collect();
    assert_eq!(
        required,
        ["name", "input_schema", "call", "check_permissions", "validate_input", "prompt", "map_result"]
    );
    assert_eq!(methods().len(), 7 + 11, "and these have a default");
}

#[test]
fn s2_097_102_a_model_gets_the_name_the_prompt_and_the_schema() {
    let specs = ToolRegistry::new().with(Least).unwrap().specs();
    let spec = serde_json::to_value(&specs[0]).unwrap();
    assert_eq!(
        spec,
        json!({
            "name": "least",
            "description": "Does least.",
            "input_schema": { "type": "object", "properties": { "text": { "type": "string" } } },
        })
    );
}

#[tokio::test]
async fn s2_099_103_the_tool_makes_the_result_of_its_output() {
    let call = ToolCall::new("c", "least", json!({ "text": "a" }));
    let answer = ToolRegistry::new().with(Least).unwrap().answer("m", &call).await;
    assert_eq!(answer.content.to_text(), "<ok>");
    let failed = Least.map_result(Err(ToolFailure::new("no disk")));
    assert_eq!(failed.content.to_text(), r#"{"error":"no disk"}"#);
}

#[test]
fn s2_105_to_111_what_a_tool_does_not_say_is_the_dangerous_case() {
    let input = json!({ "text": "a" });
    assert!(Least.is_enabled());
    assert!(!Least.is_read_only(&input));
    assert!(!Least.is_concurrency_safe(&input));
    assert!(Least.is_destructive(&input));
    assert_eq!(Least.effect(&input), ToolEffect::Changes);
    assert!(Least.permission_matcher(&input).is_none());
    assert_eq!(Least.observable_input(&input), input);
    assert_eq!(Least.classifier_input(&input), None);
    assert_eq!(Least.max_result_chars(), 50_000);
    assert_eq!(Least.timeout(&input), Some(Duration::from_secs(600)));
}

#[test]
fn s2_109_a_matcher_says_whether_a_rule_is_about_a_call() {
    let command = "git push".to_owned();
    let matcher = PermissionMatcher::new(move |pattern| {
        pattern.strip_suffix('*').is_some_and(|start| command.starts_with(start))
    });
    assert!(matcher.matches("git *"));
    assert!(!matcher.matches("rm *"));
}

/// The version of a file that was read in this session, if any.
#[derive(Default)]
struct LastRead(std::sync::Mutex<Option<String>>);

/// Overwrites a file that was read before and has not changed since.
struct Edit(std::path::PathBuf);

#[async_trait]
impl Tool for Edit {
    fn name(&self) -> &str {
        "edit"
    }

    fn input_schema(&self) -> Value {
        json!({ "type": "object", "required": ["text"] })
    }

    async fn call(&self, input: Value, _: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        std::fs::write(&self.0, input["text"].as_str().unwrap())?;
        Ok("written".into())
    }

    async fn check_permissions(&self, _: &Value, _: &ToolContext) -> Permission {
        Permission::Allow
    }

    async fn validate_input(&self, _: &Value, context: &ToolContext) -> Result<(), InvalidInput> {
        let read = context.shared::<LastRead>().0.lock().unwrap().clone();
        match (read, std::fs::read_to_string(&self.0)) {
            (None, _) => Err(InvalidInput::new("read the file first")),
            (Some(read), Ok(now)) if read == now => Ok(()),
            _ => Err(InvalidInput::new("the file has changed since it was read: read it again")),
        }
    }

    fn prompt(&self) -> String {
        "Overwrites the file.".to_owned()
    }

    fn map_result(&self, result: Result<ToolOutput, ToolFailure>) -> ToolResult {
        ToolResult::of("edit", result)
    }
}

/// Returns the result of an edit in a session in which this was read, and the file's text after it. The file has "now".
async fn edited(read: Option<&str>) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.txt");
    std::fs::write(&file, "now").unwrap();
    let session = ToolSession::in_workspace(folder.path());
    *session.shared::<LastRead>().0.lock().unwrap() = read.map(str::to_owned);
    let tools = ToolRegistry::new().with(Edit(file.clone())).unwrap();
    let call = ToolCall::new("c", "edit", json!({ "text": "new" }));
    let result = tools.call(&call, &ToolContext::new(&call, session)).await;
    (result.content.to_text().into_owned(), std::fs::read_to_string(&file).unwrap())
}

#[tokio::test]
async fn s2_113_a_file_that_changed_since_it_was_read_is_not_edited() {
    assert_eq!(edited(Some("now")).await, ("written".into(), "new".into()));
    let (said, held) = edited(Some("before")).await;
    assert!(said.contains("has changed since it was read"), "{said}");
    assert_eq!(held, "now");
}

#[tokio::test]
async fn s2_114_a_file_that_was_not_read_in_this_session_is_not_edited() {
    let (said, held) = edited(None).await;
    assert!(said.contains("read the file first"), "{said}");
    assert_eq!(held, "now");
}
