//! The resources that a command may reach.

use std::path::PathBuf;

/// The sandbox setting for commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sandbox {
    /// Commands run in a sandbox, and are refused where there is none.
    #[default]
    Required,
    /// Commands run in a sandbox where there is one, and elsewhere with all rights of the program.
    WhereThereIsOne,
    /// Commands run with all rights of the program.
    None,
}

/// The network access of commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Commands cannot create sockets of any kind, so they do not reach services of this machine, either.
    #[default]
    Denied,
    /// Commands reach everything that the program reaches, including the services of this machine.
    Allowed,
}

/// The files and the network that a command may reach in a sandbox.
#[derive(Clone, Debug)]
pub(super) struct Confinement {
    pub(super) readable: Vec<PathBuf>,
    pub(super) writable: Vec<PathBuf>,
    pub(super) network: Network,
}

/// The error of a missing sandbox.
#[derive(Debug, thiserror::Error)]
#[error("there is no sandbox for commands here: {0}")]
pub(super) struct NoSandbox(pub(super) String);

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
impl Confinement {
    pub(super) fn confine_this_thread(&self) -> Result<(), NoSandbox> {
        Err(NoSandbox("only Linux has one, on processors of 64 bits".to_owned()))
    }
}
