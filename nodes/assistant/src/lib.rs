//! A production agent: it asks where it must, stays within its permissions, its context and its budget, and can be
//! stopped, resumed and taken back at any step.
//!
//! | module | holds |
//! |---|---|
//! | [`assistant()`], [`AssistantConfig`], [`AssistantState`] | the graph, its configuration and its state |
//! | [`agents`], [`BackgroundAgents`] | sub-agents: their kinds, delegations and results; those that work beside a session |
//! | [`AssistantEvent`] | the events that front ends read |
//! | [`budget`] | limits on tokens, money and time |
//! | [`context`] | the part of a conversation that a model is shown |
//! | [`domain`] | kinds of work: code, data, APIs, images, and your own |
//! | [`exit`] | the conditions under which the loop ends or continues |
//! | [`guidance`] | instructions, memory, skills and commands, from files |
//! | [`hook`] | code and commands that are asked before a call is made and before a run ends |
//! | [`inbox`] | messages for sessions while they work |
//! | [`permission`] | which calls of tools are allowed, denied or asked about, and why |
//! | [`plan`] | a list of tasks, plans and questions to the user |
//! | [`recovery`] | the next step after a failed model call, as a pure function |
//! | [`node`] | the routes of the nodes |
//! | [`Session`], [`Transcript`] | sessions with titles, their list, and their files of JSON lines |
//! | [`settings`] | rules, hooks and servers from files, and the trust in those of a project |
//! | [`rewind`] | rewind, redo and fork of sessions with their files |
//! | [`snapshot`] | the files of a folder by content |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

// The derives name the framework `superstep`, as users do.
extern crate superstep_core as superstep;

pub mod agents;
mod background;
pub mod budget;
mod config;
pub mod context;
pub mod domain;
mod event;
pub mod exit;
mod graph;
pub mod guidance;
pub mod hook;
pub mod inbox;
mod interrupts;
pub mod node;
pub mod permission;
pub mod plan;
mod profile;
pub mod recovery;
pub mod rewind;
mod session;
pub mod settings;
pub mod snapshot;
mod state;
mod transcript;
mod unknown;

pub use background::{BackgroundAgents, BackgroundError};
pub use config::{AssistantConfig, Speed};
pub use domain::Domain;
pub use event::AssistantEvent;
pub use graph::{AssistantError, AssistantGraph, assistant};
pub use interrupts::Interrupts;
pub use profile::Sensitivity;
pub use session::{Session, SessionSummary};
pub use state::{AssistantState, AssistantStateUpdate, Rewound, TurnFailure};
pub use transcript::{Transcript, TranscriptError};
pub use unknown::{CutOffAnswer, CutOffCall};
