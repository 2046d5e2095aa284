//! Graphs that are ready to run, made of the nodes in [`node`](crate::node).
//!
//! | graph | what it does |
//! |---|---|
//! | [`evaluator`](evaluator()) | an agent with tools whose responses are evaluated, ranked and decided on |
//! | [`agentic`](agentic()) | a loop that gathers context, acts, verifies its work, and repeats |
//! | [`callback`](callback()) | an agent that calls tools one after the other, and tells what it does |
//! | `critic`, with the feature `images` | a critic of photographs, who looks up what experts advise |

mod agentic;
mod callback;
#[cfg(feature = "images")]
mod critic;
mod evaluator;

pub use agentic::{
    AgenticConfig, AgenticGraph, AgenticSettings, AgenticState, AgenticStateUpdate, Canary, Profile,
    UnknownProfile, agentic,
};
pub use callback::{
    AddedTokens, AnsweredCall, CallbackConfig, CallbackEvent, CallbackExit, CallbackGraph, CallbackState,
    CallbackStateUpdate, Callbacks, CourseAgent, CourseSize, DEFAULT_CALLBACK_ITERATIONS, IterationCost,
    callback,
};
#[cfg(feature = "images")]
pub use critic::{
    COMPOSITION_TOOL, CRITIC_INSTRUCTIONS, CRITIC_PROMPT, CriticConfig, CriticError, CriticExit, CriticGraph,
    CriticSettings, CriticState, CriticStateUpdate, Critique, CritiqueImage, MAX_CRITIC_ITERATIONS,
    OnToolError, OpenCriticError, SettingError, TokenUsage, VisionDetail, critic, critique_image,
};
pub use evaluator::{
    AgentState, AgentStateUpdate, DEFAULT_MAX_ITERATIONS, EvaluatorConfig, EvaluatorGraph, evaluator,
};
