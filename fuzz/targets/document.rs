//! Reads arbitrary input as a thread document.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _is_one = superstep_checkpoint::fuzzing::document(text);
});
