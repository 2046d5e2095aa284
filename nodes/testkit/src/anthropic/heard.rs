//! The blocks that a stream of events tells.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The blocks of a stream, with what counts of thinking; the inputs of calls are left out.
pub(crate) fn heard(events: &[Value]) -> Vec<Value> {
    let mut blocks: BTreeMap<u64, Value> = BTreeMap::new();
    for event in events {
        let Some(index) = event.get("index").and_then(Value::as_u64) else {
            continue;
        };
        if let Some(block) = event.get("content_block") {
            blocks.insert(index, block.clone());
            continue;
        }
        let (Some(block), Some(delta)) = (blocks.get_mut(&index), event.get("delta")) else {
            continue;
        };
        for key in ["thinking", "signature"] {
            if let Some(more) = delta.get(key).and_then(Value::as_str) {
                let text = block.get(key).and_then(Value::as_str).unwrap_or_default();
                block[key] = json!(format!("{text}{more}"));
            }
        }
    }
    blocks.into_values().collect()
}
