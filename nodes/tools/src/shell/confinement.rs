//! What a command may reach.

use std::path::PathBuf;

/// Whether commands run in a sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sandbox {
    /// They do. Where there is none, they are refused.
    #[default]
    Required,
    /// They do where there is one, and elsewhere run with all rights of the program.
    WhereThereIsOne,
    /// They run with all rights of the program.
    None,
}

/// Whether commands reach the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// They make no socket, of whatever kind, so they do not reach services of this machine, either.
    #[default]
    Denied,
    /// They reach what the program does, the services of this machine among it.
    Allowed,
}

/// What a command may reach in a sandbox.
#[derive(Clone, Debug)]
pub(super) struct Confinement {
    pub(super) readable: Vec<PathBuf>,
    pub(super) writable: Vec<PathBuf>,
    pub(super) network: Network,
}

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
#[error("there is no sandbox for commands here: {0}")]
pub(super) struct NoSandbox(pub(super) String);

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
impl Confinement {
    pub(super) fn confine_this_thread(&self) -> Result<(), NoSandbox> {
        Err(NoSandbox("only Linux has one, on processors of 64 bits".to_owned()))
    }
}
