//! The program `superstep`: looks into checkpoint files. See `superstep --help`.
#![forbid(unsafe_code)]

#[cfg(feature = "server")]
mod serve;

use std::process::ExitCode;

fn main() -> ExitCode {
    superstep_cli::main(&[
        #[cfg(feature = "server")]
        &serve::Serve,
        #[cfg(feature = "studio")]
        &superstep_server::StudioVerb,
    ])
}
