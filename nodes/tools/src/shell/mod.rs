//! The tool that runs commands.
//!
//! ```text
//! worker ──starts──▶ keeper: leads the process group, and kills it when the program is gone
//!    │
//!    └──▶ thread, which confines itself ──starts──▶ bash, which waits ──limits, a mark, "go"──▶ the command
//! ```
//!
//! Child processes inherit the confinement of the thread, so nothing has to be done between `fork` and `exec`.

mod bash;
mod command_line;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod confine;
mod confinement;
#[cfg(target_os = "linux")]
mod mark;
mod output;
mod process;
mod runner;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod syscalls;
mod worker;

pub use bash::{Bash, BashInput};
pub use confinement::{Network, ProcessLimits, Sandbox};
pub use runner::{CommandRunner, Ssh, SshError};
