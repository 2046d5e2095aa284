//! The tools `use_skill` and `remember`.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_nodes::__private::blocking;
use superstep_nodes::tool::{
    InvalidInput, Permission, PermissionMatcher, Tool, ToolContext, ToolEffect, ToolFailure, ToolOutput,
    ToolResult, TypedTool, schema_of,
};

use super::document::is_name;
use super::read::MEMORY;
use super::{Guidance, GuidanceError};

/// The input of `use_skill`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UseSkill {
    /// The name of the skill, from the list of skills.
    name: String,
}

/// The input of `remember`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Note {
    /// The name of the file in the memory, without `.md`: letters, digits, `-` and `_`.
    name: String,
    /// The whole text of the file, as Markdown. The first line says what it is about.
    text: String,
}

/// The maximum size of a file of the memory, in bytes.
const MAX_NOTE: usize = 8 << 10;

/// The tool `remember`.
struct Remember(Arc<Guidance>);

impl Guidance {
    /// The name of the tool that writes a file of the memory. Its calls count as edits of files.
    pub(crate) const REMEMBER: &'static str = "remember";

    /// Returns the tools of guidance.
    pub(crate) fn tools(self: &Arc<Self>) -> [Arc<dyn Tool>; 2] {
        let guidance = Arc::clone(self);
        let use_skill = TypedTool::new(
            "use_skill",
            "Reads the text of a skill: instructions for a kind of task. Use it before such a task. The list of skills says \
             what each is for. A text is cut at 16 KiB.",
            move |UseSkill { name }: UseSkill| {
                let guidance = Arc::clone(&guidance);
                async move {
                    let read =
                        blocking(move || guidance.skill(&name)).await.unwrap_or(Err(GuidanceError::Ended));
                    read.map(|(skill, path)| {
                        format!("[The folder of this skill is {path}.]\n\n{}", skill.body)
                    })
                }
            },
        );
        [Arc::new(use_skill.with_effect(ToolEffect::ReadOnly)), Arc::new(Remember(Arc::clone(self)))]
    }
}

impl Remember {
    fn read(input: &Value) -> Result<Note, InvalidInput> {
        let note = Note::deserialize(input).map_err(|error| InvalidInput::new(error.to_string()))?;
        match (is_name(&note.name), note.text.len()) {
            (false, _) => Err(InvalidInput::new("a name has 1 to 64 letters, digits, `-` and `_`")),
            (true, bytes) if bytes > MAX_NOTE => {
                Err(InvalidInput::new(format!("the text has {bytes} bytes, and {MAX_NOTE} are allowed")))
            }
            (true, _) => Ok(note),
        }
    }
}

#[async_trait]
impl Tool for Remember {
    fn name(&self) -> &str {
        Guidance::REMEMBER
    }

    fn prompt(&self) -> String {
        "Writes a file of the project's memory, which later sessions are shown if it is relevant. Use it for facts and \
         decisions that stay true, such as how to run the tests, and not for the task at hand. It replaces the file of that \
         name. A file may have 8 KiB."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        schema_of::<Note>()
    }

    async fn validate_input(&self, input: &Value, _: &ToolContext) -> Result<(), InvalidInput> {
        Self::read(input).map(drop)
    }

    async fn check_permissions(&self, _: &Value, _: &ToolContext) -> Permission {
        Permission::Passthrough
    }

    async fn call(&self, input: Value, _: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let (Note { name, text }, guidance) = (Self::read(&input)?, Arc::clone(&self.0));
        let path = format!("{MEMORY}/{name}.md");
        blocking(move || guidance.remember(&name, &text)).await.unwrap_or(Err(GuidanceError::Ended))?;
        Ok(format!("`{path}` is written.").into())
    }

    fn map_result(&self, result: Result<ToolOutput, ToolFailure>) -> ToolResult {
        ToolResult::of(self.name(), result)
    }

    fn effect(&self, _: &Value) -> ToolEffect {
        ToolEffect::Idempotent
    }

    /// Compares rules with the name; a pattern may end in `*`.
    fn permission_matcher(&self, input: &Value) -> Option<PermissionMatcher> {
        let name = Self::read(input).ok()?.name;
        Some(PermissionMatcher::new(move |pattern| match pattern.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == pattern,
        }))
    }

    fn classifier_input(&self, input: &Value) -> Option<String> {
        let note = Self::read(input).ok()?;
        Some(format!("write the file {MEMORY}/{}.md: {}", note.name, note.text))
    }
}
