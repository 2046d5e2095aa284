//! Texts of files for the model: instructions, memory, skills, and prompts of the user's own.
//!
//! | files | of the project | of the user | shown |
//! |---|---|---|---|
//! | instructions | `AGENTS.md`, else `CLAUDE.md`, from the root to the workspace | the same | at the first message |
//! | nested instructions | the same below the workspace | – | when a tool touches a file below their folder |
//! | memory | `.superstep/memory/*.md` | – | an index, and the files that a message of the user is about |
//! | skills | `SKILL.md` in folders of `.superstep/skills` and `.claude/skills` | of `skills` | name and description |
//! | commands | `.superstep/commands/*.md` | `commands/*.md` | when the user's message begins with `/name` |
//!
//! ```text
//! gate ── a message of the user ──▶ the files that are new or changed ──▶ a message before the user's
//!  └───── a tool touched a folder ─▶ its instructions ──────────────────▶ a message after the answers
//! compact ▶ all again, the list of tasks, the plan, files last edited ──▶ messages behind the summary
//! ```
//!
//! The tool `use_skill` reads the text of a skill. Files are read by an effect. These messages have the user's role; they say that the user did not write them, and
//! which file each text comes from. They permit nothing: rules and hooks are settings, in another module. Links that
//! lead out of the folder of the project, or out of the user's, are not followed, and long files are cut.

mod attach;
mod document;
mod folder;
mod read;
mod relevance;
mod tools;

pub use attach::Attached;
pub(crate) use attach::{Reading, attached_text, nested, touched};
pub use document::{DocumentError, Skill, read_skill};
pub(crate) use folder::Folder;
pub(crate) use read::Wanted;
pub use read::{Guidance, GuidanceError};

#[cfg(test)]
mod tests;
