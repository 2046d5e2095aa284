//! The space that each part of a file takes.

use superstep_checkpoint::maintenance::{self, Usage};

use super::written::{long, open, written};
use crate::material::*;

fn sum(usage: &Usage) -> u64 {
    let threads: u64 = usage.threads.iter().map(|thread| thread.bytes).sum();
    threads
        + usage.free
        + usage.shared
        + usage.unused
        + usage.described
        + usage.items
        + usage.server
        + usage.overhead
}

#[test]
fn every_byte_is_counted_once() {
    run(async {
        let file = written().await;
        let usage = maintenance::usage(&file.path).unwrap();
        assert_eq!(sum(&usage), usage.size);
        assert_eq!(usage.size, std::fs::metadata(&file.path).unwrap().len());
        assert!(usage.overhead < usage.size && usage.described > 0 && usage.items > 0, "{usage:?}");
        let [t, u] = &*usage.threads else { panic!("{:?}", usage.threads) };
        assert_eq!((t.thread.as_str(), t.checkpoints, u.thread.as_str(), u.checkpoints), ("t", 70, "u", 1));
        let fields: Vec<_> = t.fields.iter().map(|field| (field.field.as_str(), field.bodies)).collect();
        assert_eq!(fields, [("a", 0), ("b", 5002), ("c", 0)]);
        assert!(t.pending > 0 && t.journal > 0 && t.emitted > 0 && t.manifests > 0, "{t:?}");
        assert_eq!((u.fields.len(), u.pending, u.journal, u.emitted, u.bodies), (1, 0, 0, 0, 0));
    });
}

#[test]
fn long_texts_are_counted_once_by_who_has_them() {
    run(async {
        let file = written().await;
        let saver = open(&file.path).await;
        let of = |name: &str| {
            let usage = maintenance::usage(&file.path).unwrap();
            let thread = usage.threads.iter().find(|thread| thread.thread.as_str() == name).unwrap();
            let of_fields: u64 = thread.fields.iter().map(|field| field.bodies).sum();
            (of_fields, thread.bodies, usage.shared, usage.unused)
        };
        // Two fields of a thread.
        let first = advance(&saver, "v", None, [set(0, &long("v")), set(1, &long("v"))]).await;
        assert_eq!(of("v"), (0, 5002, 0, 0));
        // Two threads.
        advance(&saver, "w", None, [set(0, &long("v"))]).await;
        assert_eq!(of("v"), (0, 0, 5002, 0));
        assert_eq!(of("w"), (0, 0, 5002, 0));
        advance(&saver, "v", Some(&first), [set(0, &long("own"))]).await;
        assert_eq!(of("v"), (15002, 0, 5002, 0));
        let usage = maintenance::usage(&file.path).unwrap();
        assert_eq!(sum(&usage), usage.size);
        assert!(usage.log > 0, "the file is in use");
    });
}
