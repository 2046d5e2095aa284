//! The program under `strace`, which can disturb a system call.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::torture::order::Order;

/// If this is set, a missing `strace` is a failure.
const NEEDED: &str = "SUPERSTEP_TORTURE_NEEDS_STRACE";

/// The disturbance of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Disturbance {
    /// The process is killed before the call.
    Kill,
    /// The call fails with this error.
    Error(&'static str),
}

/// The disturbed calls of one kind: each OS thread counts its own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum When {
    /// Only this one, from 1.
    Only(u32),
    /// This one and all later ones.
    From(u32),
}

/// Returns `true` if `strace` can trace here; prints a message if it cannot.
pub(crate) fn is_here() -> bool {
    let traced = Command::new("strace")
        .args(["-f", "--seccomp-bpf", "-o", "/dev/null", "-e", "trace=fsync", "true"])
        .stdin(Stdio::null())
        .output();
    let why = match traced {
        Ok(ended) if ended.status.success() => return true,
        Ok(ended) => String::from_utf8_lossy(&ended.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    assert!(std::env::var_os(NEEDED).is_none(), "strace is needed: {why}");
    println!("not done, because strace cannot trace here: {why}");
    false
}

/// The program with one kind of call disturbed. Its log contains the disturbed call.
pub(crate) fn disturb(order: &Order, call: &str, when: When, by: Disturbance, log: &Path) -> Command {
    let what = match by {
        Disturbance::Kill => "signal=KILL".to_owned(),
        Disturbance::Error(error) => format!("error={error}"),
    };
    let when = match when {
        When::Only(nth) => nth.to_string(),
        When::From(nth) => format!("{nth}+"),
    };
    let log = log.to_str().expect("its path is text");
    let (trace, inject) = (format!("trace={call}"), format!("inject={call}:{what}:when={when}"));
    let mut arguments = vec!["-f", "-o", log, "-e", &trace, "-e", &inject];
    // With the filter strace 6 sends a signal at the first call only.
    if matches!(by, Disturbance::Error(_)) {
        arguments.push("--seccomp-bpf");
    }
    arguments.push("--");
    let mut command = order.command_by("strace", &arguments);
    // Its message is then that its libraries cannot be read.
    command.stderr(Stdio::null());
    command
}

/// Returns `true` if a call was disturbed.
pub(crate) fn was_disturbed(log: &Path) -> bool {
    std::fs::read_to_string(log).is_ok_and(|log| log.contains("(INJECTED)"))
}
