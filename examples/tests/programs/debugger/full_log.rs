//! A standard output and a standard error that accept nothing, as on a full disk.

use std::fs::File;

use super::Recorded;

/// A disk that is full of logs stops no run: its supersteps are stored, and the exit code shows that output is lost.
#[test]
fn a_run_whose_log_cannot_be_written_continues() {
    for json in [&[][..], &["--json"]] {
        let recorded = Recorded::review();
        let untold = |arguments: &[&str]| {
            let full = || File::options().write(true).open("/dev/full").unwrap();
            let mut command = recorded.command(&[&["debug"], arguments, json].concat());
            command.stdout(full()).stderr(full()).status().unwrap()
        };
        assert_eq!(untold(&["run", "full", recorded.input]).code(), Some(2));
        let asked = recorded.debug(&["interrupts", "--json"]).json();
        assert_eq!(asked["interrupts"].as_array().map(Vec::len), Some(1), "{asked}");
        assert_eq!(untold(&["answer", "full", "\"Accept\""]).code(), Some(2));
        assert_eq!(recorded.debug(&["resume", "full"]).code, 0, "nothing is left to do");
    }
}
