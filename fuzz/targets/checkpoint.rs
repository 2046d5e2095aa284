//! Reads arbitrary input as the three texts of a checkpoint's row, one per line.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|text: &str| -> Corpus {
    let mut lines = text.splitn(3, '\n');
    let mut line = || lines.next().unwrap_or_default();
    let _is_one = superstep_checkpoint::fuzzing::checkpoint(line(), line(), line());
    Corpus::Keep
});
