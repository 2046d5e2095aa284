//! Reads arbitrary input as a text of pending work: a result, failure, question or outcome, or an emitted event.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _is_any = superstep_checkpoint::fuzzing::work(text);
});
