//! The thread that supervises a command.

use std::io::{PipeReader, Read};
use std::process::ExitStatus;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use superstep_core::run::CancellationToken;

use super::output::Output;
use super::process::{Order, StartError};

/// The shortest and the longest interval between checks of a command. It starts short, as most commands are short.
const LOOKS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(20));

/// The time to wait for remaining output once all processes that could print are dead.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// The result of a command.
pub(super) struct Report {
    pub(super) end: End,
    pub(super) output: Output,
    /// `true` if a process that could not be killed may still print.
    pub(super) goes_on: bool,
}

/// The reason why a command ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    ByItself(ExitStatus),
    TooLate,
    /// Its call was cancelled.
    Stopped,
}

/// Runs a command until it ends or this time is over. What it prints is added to this output.
pub(super) fn run(
    order: &Order,
    time: Duration,
    stop: &CancellationToken,
    output: Output,
) -> Result<Report, StartError> {
    let until = Instant::now() + time;
    let (mut processes, pipe) = order.start()?;
    let (output, is_read) = listen(pipe, output)?;
    let mut pause = LOOKS.0;
    let reason = loop {
        if processes.has_ended()? {
            break None;
        }
        if stop.is_cancelled() {
            break Some(End::Stopped);
        }
        if Instant::now() >= until {
            break Some(End::TooLate);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LOOKS.1);
    };
    let status = processes.end()?;
    // Whatever could still print is dead, and the pipe is at its end, but for one that no mark was found on.
    let goes_on = is_read.recv_timeout(LAST_WORDS) == Err(RecvTimeoutError::Timeout);
    let output = std::mem::take(&mut *output.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Report { end: reason.unwrap_or(End::ByItself(status)), output, goes_on })
}

/// Reads a pipe on a thread of its own, and reports its end.
fn listen(mut pipe: PipeReader, output: Output) -> std::io::Result<(Arc<Mutex<Output>>, mpsc::Receiver<()>)> {
    let output = Arc::new(Mutex::new(output));
    let (read, is_read) = mpsc::channel();
    let kept = Arc::clone(&output);
    std::thread::Builder::new().name("superstep-bash-output".into()).spawn(move || {
        let mut buffer = [0; 16 << 10];
        while let Ok(length @ 1..) = pipe.read(&mut buffer) {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(&buffer[..length]);
        }
        // The call may have been cancelled.
        let _ = read.send(());
    })?;
    Ok((output, is_read))
}
