//! The program while it runs, and its output.

use std::io::{BufRead, BufReader, Lines};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use crate::torture::said::Line;

/// A program that runs.
pub(crate) struct Started {
    pub(crate) child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    said: Vec<Line>,
}

/// A program that ran.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) said: Vec<Line>,
    pub(crate) status: ExitStatus,
}

impl Started {
    pub(crate) fn new(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let lines = BufReader::new(child.stdout.take().expect("its output is a pipe")).lines();
        Self { child, lines, said: Vec::new() }
    }

    /// Returns the next line of its output; `None` when it has ended.
    pub(crate) fn listen(&mut self) -> Option<&Line> {
        loop {
            let text = self.lines.next()?.expect("the program says text");
            if let Some(line) = Line::parse(&text) {
                self.said.push(line);
                return self.said.last();
            }
        }
    }

    /// Kills it, and reads its remaining output.
    pub(crate) fn kill(mut self) -> Ended {
        self.child.kill().expect("a process that was not waited for can be killed");
        self.end()
    }

    /// Reads its output until it ends.
    pub(crate) fn end(mut self) -> Ended {
        while self.listen().is_some() {}
        let status = self.child.wait().expect("it has ended");
        Ended { said: self.said, status }
    }
}

impl Ended {
    pub(crate) fn was_killed(&self) -> bool {
        self.status.signal() == Some(9)
    }
}
