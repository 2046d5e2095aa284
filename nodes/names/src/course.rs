//! The agents that make a course, and teach it.

use std::fmt;

use superstep_nodes::graphs::CallbackConfig;
use superstep_nodes::model::ChatModel;

use crate::ModelName;

/// An agent that makes a course, or teaches it: what it is told to be, and how often its model may be asked. Its tools are
/// the program's, which knows where a course is kept.
///
/// ```
/// use superstep_names::{CourseAgent, CourseSize};
/// use superstep_nodes::graphs::callback;
/// use superstep_nodes::model::Scripted;
///
/// let config = CourseAgent::Topic.config(CourseSize::Small, Scripted::new().say("One concept will do."));
/// let graph = callback(config)?;
/// # Ok::<(), superstep_core::graph::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CourseAgent {
    /// Finds out what a topic is about and makes its concepts.
    Topic,
    /// Makes the questions and the parts of a concept.
    Subconcept,
    /// Improves a course: observes, reasons, acts and verifies, over and over.
    Refinement,
    /// Teaches a student piece by piece.
    Tutor,
    /// Judges what a student has answered, by what it means.
    Grading,
}

/// How much an agent is to make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CourseSize {
    /// As much as a course needs.
    #[default]
    Full,
    /// Little, for tests that are not to cost much: the model is asked ten times at most, and a small one will do.
    Small,
}

impl CourseAgent {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Topic, Self::Subconcept, Self::Refinement, Self::Tutor, Self::Grading];

    /// Returns the name that those are told who watch.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Topic => "topic",
            Self::Subconcept => "subconcept",
            Self::Refinement => "refinement",
            Self::Tutor => "tutor",
            Self::Grading => "grading",
        }
    }

    /// Returns how often its model may be asked in a run.
    pub const fn max_iterations(self, size: CourseSize) -> u32 {
        match (self, size) {
            (Self::Tutor, _) => 5,
            (Self::Grading, _) | (_, CourseSize::Small) => 10,
            (Self::Topic | Self::Subconcept | Self::Refinement, CourseSize::Full) => 15,
        }
    }

    /// Returns what it is told to be.
    pub fn instructions(self, size: CourseSize) -> String {
        let (concepts, questions, parts) = match size {
            CourseSize::Full => ("6 to 10", "5 to 10", "8 to 12"),
            CourseSize::Small => ("1 to 2", "2 to 3", "2 to 3"),
        };
        let work = match self {
            Self::Topic => format!(
                "You plan a course on a topic. First find out from its documents what the course is for and what its \
                 students know. Then make {concepts} concepts, in an order in which they can be learned, and connect \
                 each with those that it needs."
            ),
            Self::Subconcept => format!(
                "You plan how one concept of a course is taught. Make {questions} questions that show what a student \
                 does not know yet. Then make {parts} subconcepts, and connect each with those that it needs, without \
                 a circle."
            ),
            Self::Refinement => "You improve a course in rounds. In each round observe what the course and its students' \
                 answers are like, reason about what helps most, act by one change, and verify by reading what you \
                 changed. End when another round would not help."
                .to_owned(),
            Self::Tutor => "You teach one subconcept to a student, in pieces that can be read in a minute. After each piece \
                 ask a question. If the answer shows that something before it is missing, teach that first."
                .to_owned(),
            Self::Grading => "You judge a student's answers by what they mean, not by their words. Say for each what is right, \
                 what is missing and what is wrong, and give it a score from 0 to 1. An answer in other words than \
                 expected may be right."
                .to_owned(),
        };
        format!("{work} Say in a sentence what you are about to do before you use a tool.")
    }

    /// Makes the settings of its graph with the [model of its size](CourseSize::default_model), without tools. The model is made by
    /// its name, as [`ModelName::open`] does.
    ///
    /// # Errors
    /// When the model cannot be made.
    pub fn open<M: ChatModel, E>(
        self,
        size: CourseSize,
        open: impl FnOnce(&ModelName) -> Result<M, E>,
    ) -> Result<CallbackConfig, E> {
        Ok(self.config(size, open(&size.default_model())?))
    }

    /// Makes the settings of its graph with a model of its own, without tools.
    pub fn config(self, size: CourseSize, model: impl ChatModel) -> CallbackConfig {
        CallbackConfig::new(model, self.instructions(size))
            .name(self.name())
            .max_iterations(self.max_iterations(size))
    }
}

impl CourseSize {
    /// Returns the model to take if nobody says otherwise.
    pub fn default_model(self) -> ModelName {
        ModelName::Anthropic(match self {
            Self::Full => "claude-opus-4-5".to_owned(),
            Self::Small => "claude-haiku-4-5".to_owned(),
        })
    }
}

impl fmt::Display for CourseAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;
    use superstep_nodes::graphs::{CallbackExit, CallbackState, callback};
    use superstep_nodes::message::ToolCall;
    use superstep_nodes::model::{ModelReply, Scripted, Turn};
    use superstep_nodes::tool::{ToolRegistry, TypedTool};

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}

    #[derive(Deserialize, JsonSchema)]
    struct Topic {
        topic: String,
    }

    /// Returns how often the model may be asked, which the settings show and do not give.
    fn limit(config: CallbackConfig) -> u32 {
        let shown = format!("{config:?}");
        let (_, limit) = shown.split_once("max_iterations: ").unwrap();
        limit.split(|letter: char| !letter.is_ascii_digit()).next().unwrap().parse().unwrap()
    }

    #[test]
    fn s4_022_to_026_each_agent_has_the_limit_of_its_work() {
        let limits = CourseAgent::ALL.map(|agent| limit(agent.config(CourseSize::Full, Scripted::new())));
        assert_eq!(limits, [15, 15, 15, 5, 10]);
    }

    #[test]
    fn s4_044_to_048_a_small_course_is_less_work_for_a_smaller_model() {
        let said = |agent: CourseAgent, size| agent.instructions(size);
        assert!(said(CourseAgent::Topic, CourseSize::Full).contains("make 6 to 10 concepts"));
        assert!(said(CourseAgent::Topic, CourseSize::Small).contains("make 1 to 2 concepts"));
        let full = said(CourseAgent::Subconcept, CourseSize::Full);
        assert!(
            full.contains("Make 5 to 10 questions") && full.contains("make 8 to 12 subconcepts"),
            "{full}"
        );
        let small = said(CourseAgent::Subconcept, CourseSize::Small);
        assert!(
            small.contains("Make 2 to 3 questions") && small.contains("make 2 to 3 subconcepts"),
            "{small}"
        );
        let limits = CourseAgent::ALL.map(|agent| agent.max_iterations(CourseSize::Small));
        assert_eq!(limits, [10, 10, 10, 5, 10]);
    }

    /// The size chose instructions and limits only: the small model had to be chosen besides.
    #[test]
    fn s4_048_a_small_course_has_the_small_model_and_the_limit_of_ten() {
        let opened = |size| {
            let mut asked = None;
            let open = |name: &ModelName| {
                asked = Some(name.to_string());
                Ok::<_, std::convert::Infallible>(Scripted::new())
            };
            let config = CourseAgent::Topic.open(size, open).unwrap();
            (asked.unwrap(), limit(config))
        };
        assert_eq!(opened(CourseSize::Small), ("anthropic:claude-haiku-4-5".to_owned(), 10));
        assert_eq!(opened(CourseSize::Full), ("anthropic:claude-opus-4-5".to_owned(), 15));
        let none = CourseAgent::Topic.open(CourseSize::Small, |name| Err::<Scripted, _>(name.clone()));
        assert_eq!(none.unwrap_err(), CourseSize::Small.default_model());
    }

    #[test]
    fn s4_033_the_default_model_has_a_name_as_on_a_command_line_and_an_old_one_still_is_one() {
        for size in [CourseSize::Full, CourseSize::Small] {
            let name = size.default_model();
            assert_eq!(name.to_string().parse(), Ok(name));
        }
        let retired = "anthropic:claude-opus-4-20250514".parse();
        assert_eq!(retired, Ok(ModelName::Anthropic("claude-opus-4-20250514".to_owned())));
    }

    #[tokio::test]
    async fn s4_058_an_agent_observes_reasons_acts_and_verifies_in_rounds() {
        let notes = Arc::new(Mutex::new(vec!["draft".to_owned()]));
        let [read, write] = [Arc::clone(&notes), Arc::clone(&notes)];
        let observe = TypedTool::new("observe", "Reads the course.", move |Nothing {}| {
            let text = read.lock().unwrap().join(", ");
            async move { Ok::<_, String>(text) }
        });
        let act = TypedTool::new("act", "Adds to the course.", move |Topic { topic }| {
            write.lock().unwrap().push(topic.clone());
            async move { Ok::<_, String>(format!("added {topic}")) }
        });
        let asks = |text: &str, tool: &str, input| {
            let call = ToolCall::new(tool, tool, input);
            Turn::Reply(ModelReply::new(Scripted::NAME, text).with_calls(vec![call]))
        };
        let model = Scripted::new()
            .then(asks("I observe.", "observe", json!({})))
            .then(asks("A summary is missing; I act.", "act", json!({ "topic": "summary" })))
            .then(asks("I verify.", "observe", json!({})))
            .say("The summary is there.");
        let tools = ToolRegistry::new().with(observe).unwrap().with(act).unwrap();
        let graph = callback(CourseAgent::Refinement.config(CourseSize::Full, model).tools(tools)).unwrap();
        let state = graph.run(CallbackState::ask("Teach me graphs.")).await.unwrap().finished().unwrap();
        let results: Vec<_> =
            state.tool_calls().iter().map(|made| made.result.content.to_text().into_owned()).collect();
        assert_eq!(results, ["draft", "added summary", "draft, summary"]);
        assert_eq!(state.exit(), Some(CallbackExit::EndTurn));
    }
}
