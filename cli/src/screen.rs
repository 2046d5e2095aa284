//! Where the output goes, and what it looks like there.

use std::fmt;
use std::io::Write;

/// Where a verb writes to.
pub struct Screen<'w> {
    /// Gets the answer.
    pub out: &'w mut dyn Write,
    /// Gets what went wrong.
    pub err: &'w mut dyn Write,
    /// What the answer looks like.
    pub look: Look,
}

impl fmt::Debug for Screen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen").field("look", &self.look).finish_non_exhaustive()
    }
}

/// What output for people looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// How many columns there are; what is longer is cut. `None` cuts nothing.
    pub width: Option<usize>,
    /// Whether it is coloured.
    pub color: bool,
}

impl Look {
    /// For a file or another program: whole, and in black and white.
    pub const PIPED: Self = Self { width: None, color: false };

    /// For a terminal of so many columns.
    #[must_use]
    pub const fn terminal(columns: usize) -> Self {
        Self { width: Some(columns), color: true }
    }
}

/// How a verb ended: the exit code of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// It did what was asked for.
    Fine = 0,
    /// The answer is no: nothing was found, something differs, or what was read is damaged.
    No = 1,
    /// It could not be asked: wrong usage, or a file that cannot be read.
    Unusable = 2,
    /// A run stopped before its end, and can go on: it waits for an answer, or is at a breakpoint or a limit.
    Unfinished = 3,
    /// A run was cancelled with Ctrl-C, and can go on.
    Cancelled = 130,
}
