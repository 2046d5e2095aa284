//! The program `superstep`: looks into checkpoint files. See `superstep --help`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    superstep_cli::main(&[
        #[cfg(feature = "studio")]
        &superstep_server::StudioVerb,
    ])
}
