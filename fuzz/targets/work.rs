//! A text of the tables beside that of the checkpoints: results, failures, questions, outcomes, what was emitted.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _is_any = superstep_checkpoint::fuzzing::work(text);
});
