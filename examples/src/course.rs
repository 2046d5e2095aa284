//! The agents that create a course and teach it.

use std::fmt;

use superstep::nodes::ModelName;
use superstep::nodes::model::ChatModel;

use crate::callback::CallbackConfig;

/// An agent that creates a course, or teaches it: its instructions, and its limit of model calls. The program provides
/// the tools, because it knows where a course is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CourseAgent {
    /// Researches a topic and creates its concepts.
    Topic,
    /// Creates the questions and the parts of a concept.
    Subconcept,
    /// Improves a course in a loop: observes, reasons, acts and verifies.
    Refinement,
    /// Teaches a student piece by piece.
    Tutor,
    /// Grades a student's answers by their meaning.
    Grading,
}

/// The size of a course.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CourseSize {
    /// As much as a course needs.
    #[default]
    Full,
    /// Little, for cheap tests: at most ten model calls, and a small model as the default.
    Small,
}

impl CourseAgent {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Topic, Self::Subconcept, Self::Refinement, Self::Tutor, Self::Grading];

    /// Returns the name for observers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Topic => "topic",
            Self::Subconcept => "subconcept",
            Self::Refinement => "refinement",
            Self::Tutor => "tutor",
            Self::Grading => "grading",
        }
    }

    /// Returns the maximum number of model calls in a run.
    pub const fn max_iterations(self, size: CourseSize) -> u32 {
        match (self, size) {
            (Self::Tutor, _) => 5,
            (Self::Grading, _) | (_, CourseSize::Small) => 10,
            (Self::Topic | Self::Subconcept | Self::Refinement, CourseSize::Full) => 15,
        }
    }

    /// Returns its instructions.
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

    /// Makes the settings of its graph with the [model of its size](CourseSize::default_model), without tools. The
    /// model is made by its name, as [`ModelName::open`] does.
    ///
    /// # Errors
    /// If the model cannot be created.
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
    /// Returns the default model.
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
