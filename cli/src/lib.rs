//! The verbs of the `superstep` program, as a library for use in other programs.
//!
//! They read any checkpoint file, while its program runs or after it crashed, and without the types that wrote it. Most
//! verbs only read; those that write change no existing data, except for explicit deletions.
//! [docs/cli.md](https://github.com/superstep-rs/superstep/blob/main/docs/cli.md) describes them.
//!
//! ```
//! use superstep_cli::{Exit, Look, Screen, run};
//!
//! let (mut out, mut err) = (Vec::new(), Vec::new());
//! let screen = Screen { out: &mut out, err: &mut err, look: Look::PIPED };
//! assert_eq!(run(["superstep", "threads", "nowhere.db"], &[], screen), Exit::Unusable);
//! assert_eq!(err, b"error: there is no file nowhere.db\n");
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(all(feature = "agent", unix))]
mod agent;
mod amend;
mod arguments;
mod assignment;
mod changes;
mod database;
mod debug;
mod documents;
mod excerpt;
mod extension;
mod failure;
mod file;
#[cfg(any(fuzzing, test))]
#[doc(hidden)]
pub mod fuzzing;
mod input;
mod json_shapes;
mod kept_file;
mod lines;
mod messages;
mod page;
mod predicate;
mod price_table;
mod program;
mod redaction;
mod screen;
mod secret_fields;
mod source;
mod subgraph_names;
mod suggestion;
mod table;
mod test_code;
mod thread_usage;
mod time;
mod token_usage;
mod topology;
mod topology_svg;
mod verbs;

pub use async_trait::async_trait;
pub use clap;
pub use database::{CheckpointSource, DatabaseUrl};
pub use debug::{Debugger, debugger};
pub use documents::{Documents, FileWatcher, Refusal, RefusalKind};
pub use extension::Extension;
pub use kept_file::FileVersion;
pub use program::{main, run};
pub use screen::{Exit, Look, Screen};
