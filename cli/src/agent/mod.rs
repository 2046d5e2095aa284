//! The verb `agent`: an assistant that works on the files of a folder, for a person at a terminal or for scripts.
//!
//! ```text
//! arguments ──▶ settings ──▶ workbench ──▶ work ──┬──▶ headless       -p: text, JSON lines, exit codes
//!                 ▲            ▲      │           └──▶ interactive    lines on a terminal
//!        places ──┘   model ───┘      └──▶ answer, sessions, past
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `places` | the folders of the user, and the file of the sessions of a folder |
//! | `settings`, `values` | the settings, each with its source |
//! | `always`, `config`, `explain` | rules of the answer `always`; `--print-config`; the decision on a call |
//! | `model` | the models of the settings; the first start without one |
//! | `workbench` | the graph of the assistant, with all that it needs |
//! | `work` | one run of a session: a stream of `AssistantEvent`s, and its end; questions and answers as types |
//! | `hold` | the claim of a process to a session |
//! | `headless` | `-p`: text or JSON lines, and exit codes |
//! | `answer`, `sessions`, `past`, `gc` | the verbs on stored questions, on sessions, on their past, and on unreferenced data |
//! | `screen` | events, questions and changes as lines, without a terminal |
//! | `interactive` | a session at a terminal: the input line, the keys, the commands |
//!
//! Front ends know the work only as events and questions. Everything that is stored is in one checkpoint file for each
//! folder, which the other verbs of the program read.

mod always;
mod answer;
mod arguments;
mod config;
mod demo;
mod explain;
mod gc;
mod headless;
mod hold;
mod interactive;
mod model;
mod past;
mod places;
mod screen;
mod sessions;
mod settings;
mod values;
mod work;
mod workbench;

pub(crate) use arguments::Agent;
