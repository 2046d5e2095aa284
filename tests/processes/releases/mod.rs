//! Files that earlier releases wrote: they are read, migrated to the current format, and continued.
#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

mod files;
mod program;
mod read;
mod resumed;
