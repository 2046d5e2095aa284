//! Parses arbitrary command-line arguments: addresses, paths, predicates, assignments.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

static VALUE: LazyLock<Value> = LazyLock::new(
    || json!({"a": [{"id": "x", "b": 1}, {"id": 2}, []], "b": {"c": {"": null}}, "a b": 2.5, "": "text"}),
);

fuzz_target!(|text: &str| superstep::cli::fuzzing::argument(text, &VALUE));
