//! A thread as a document, that may come from anybody.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _is_one = superstep_checkpoint::fuzzing::document(text);
});
