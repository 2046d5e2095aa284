//! Reads arbitrary input as a graph described in JSON or TOML, which must be rejected with a message or compile.
#![no_main]

use libfuzzer_sys::fuzz_target;
use superstep::graph::{Description, Registry};

fuzz_target!(|text: &str| {
    for description in [Description::from_json(text), Description::from_toml(text)] {
        match description {
            Ok(description) => {
                let _compiled =
                    Registry::<()>::new().build(&description).compile().map(|graph| graph.mermaid());
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});
