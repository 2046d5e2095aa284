//! The terminal: lines that stay, and one line below them that is redrawn.

use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste, Event, KeyEvent, KeyEventKind};
use crossterm::{cursor, execute, terminal};
use tokio::runtime::Handle;

use super::composer::Typed;
use crate::agent::screen::Line;
use crate::screen::Look;

/// The terminal of a session.
#[derive(Debug)]
pub(crate) struct Terminal {
    look: Look,
    kind: Kind,
    /// The input, without [`Kind::Full`].
    lines: Option<Lines>,
    /// The line below the output.
    status: Option<String>,
    has_keys: bool,
}

/// The abilities of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It moves its cursor and reports keys.
    Full,
    /// It takes and gives lines: a terminal of type `dumb`, or one whose output is a pipe or a file.
    Lines,
}

/// The input line by line.
#[derive(Debug)]
struct Lines {
    typed: Receiver<Typed>,
    /// Each Ctrl-C.
    interrupts: Receiver<()>,
}

impl Lines {
    /// Waits for a line or Ctrl-C, at most so long.
    fn next(&self, most: Duration) -> Option<Typed> {
        let typed = match self.typed.recv_timeout(most) {
            Ok(typed) => Some(typed),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Typed::End),
        };
        typed.or_else(|| self.interrupts.try_recv().ok().map(|()| Typed::Interrupt))
    }
}

/// An input while keys are reported.
#[derive(Clone, Debug)]
pub(crate) enum Press {
    /// A key was pressed.
    Key(KeyEvent),
    /// A text was pasted.
    Pasted(String),
    /// The terminal has another width.
    Resized,
    /// A line was entered, where keys are not reported.
    Line(Typed),
}

impl Terminal {
    /// Returns the terminal of this process.
    pub(crate) fn here(look: Look, runtime: &Handle) -> Self {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let is_terminal =
            io::stdin().is_terminal() && io::stdout().is_terminal() && io::stderr().is_terminal();
        let kind = if is_terminal && !is_dumb { Kind::Full } else { Kind::Lines };
        let lines = (kind == Kind::Lines).then(|| lines(runtime));
        Self { look, kind, lines, status: None, has_keys: false }
    }

    /// Waits for an input, at most so long.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub(crate) fn press(&mut self, most: Duration) -> io::Result<Option<Press>> {
        if let Some(lines) = &self.lines {
            return Ok(lines.next(most).map(Press::Line));
        }
        if !event::poll(most)? {
            return Ok(None);
        }
        Ok(match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => Some(Press::Key(key)),
            Event::Paste(text) => Some(Press::Pasted(text)),
            Event::Resize(..) if self.measure() => Some(Press::Resized),
            _ => None,
        })
    }

    /// Discards the keys that were pressed before now: they answer no question that was not yet shown.
    pub(crate) fn discard_input(&mut self) -> io::Result<()> {
        if self.lines.is_some() {
            return Ok(());
        }
        let had_keys = self.has_keys;
        self.begin_keys()?;
        while event::poll(Duration::ZERO)? {
            event::read()?;
        }
        if had_keys { Ok(()) } else { self.end_keys() }
    }

    /// Reads a line, where keys are not reported, and looks from time to time if the session is over.
    pub(crate) fn line(
        &mut self,
        label: &str,
        most: Duration,
        is_over: impl Fn() -> bool,
    ) -> io::Result<Typed> {
        let Some(lines) = &self.lines else { return Ok(Typed::End) };
        write(&format!("{label}› "))?;
        loop {
            if let Some(typed) = lines.next(most) {
                return Ok(typed);
            }
            if is_over() {
                return Ok(Typed::End);
            }
        }
    }

    pub(crate) const fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) const fn look(&self) -> Look {
        self.look
    }

    /// Takes the present width of the terminal, and returns `true` if it is another one.
    pub(crate) fn measure(&mut self) -> bool {
        let Some(columns) = self.look.width.and_then(|_| terminal_size::terminal_size()) else {
            return false;
        };
        let columns = usize::from(columns.0.0);
        self.look.width.replace(columns) != Some(columns)
    }

    /// Reports keys one by one. Until the session ends, the terminal neither echoes nor edits what is typed.
    pub(crate) fn begin_keys(&mut self) -> io::Result<()> {
        if self.kind == Kind::Full && !self.has_keys {
            terminal::enable_raw_mode()?;
            self.has_keys = true;
            execute!(io::stdout(), EnableBracketedPaste, cursor::Hide)?;
        }
        Ok(())
    }

    /// Takes the status away, and shows the cursor.
    pub(crate) fn end_keys(&mut self) -> io::Result<()> {
        self.set_status(None)?;
        if self.has_keys {
            self.has_keys = false;
            execute!(io::stdout(), DisableBracketedPaste, cursor::Show)?;
        }
        Ok(())
    }

    /// Keeps the terminal from echoing keys, after an editor has given it back.
    pub(crate) fn hush(&self) -> io::Result<()> {
        if self.kind == Kind::Full { terminal::enable_raw_mode() } else { Ok(()) }
    }

    /// Prints lines above the status.
    pub(crate) fn print(&mut self, lines: &[Line]) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let end = if self.kind == Kind::Full { "\r\n" } else { "\n" };
        let mut text = String::from(self.clearing());
        for line in lines {
            text.push_str(line.text(self.look.color).trim_end_matches(' '));
            text.push_str(end);
        }
        text.push_str(self.status.as_deref().unwrap_or_default());
        write(&text)
    }

    /// Takes the input line away.
    pub(crate) fn clear_line(&self) -> io::Result<()> {
        if self.kind == Kind::Full { write("\r\u{1b}[J") } else { Ok(()) }
    }

    /// Prints text with its own styles.
    pub(crate) fn print_text(&mut self, text: &str) -> io::Result<()> {
        let end = if self.kind == Kind::Full { "\r\n" } else { "\n" };
        write(&text.replace('\n', end))
    }

    /// Replaces the status. Without a terminal there is none.
    pub(crate) fn set_status(&mut self, status: Option<&Line>) -> io::Result<()> {
        if self.kind == Kind::Lines {
            return Ok(());
        }
        // The cursor stays at the beginning, so that the line is found however a terminal breaks it when it is resized.
        let status = status.map(|line| format!("{}\r", line.text(self.look.color)));
        if status == self.status {
            return Ok(());
        }
        let text = format!("{}{}", self.clearing(), status.as_deref().unwrap_or_default());
        self.status = status;
        write(&text)
    }

    const fn clearing(&self) -> &'static str {
        if self.status.is_some() { "\r\u{1b}[J" } else { "" }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A terminal that is gone needs no care.
        let _ = self.end_keys();
        if self.kind == Kind::Full {
            let _ = terminal::disable_raw_mode();
        }
    }
}

/// Reads lines of the standard input until its end.
fn lines(runtime: &Handle) -> Lines {
    let ((send, typed), (interrupt, interrupts)) = (channel(), channel());
    runtime
        .spawn(async move { while tokio::signal::ctrl_c().await.is_ok() && interrupt.send(()).is_ok() {} });
    // The thread ends with the process: a read cannot be stopped.
    std::thread::spawn(move || read_lines(&send));
    Lines { typed, interrupts }
}

fn read_lines(typed: &Sender<Typed>) {
    let mut input = io::stdin().lock();
    loop {
        let mut line = Vec::new();
        let is_end = matches!(input.read_until(b'\n', &mut line), Ok(0) | Err(_));
        let text = String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned();
        let sent = typed.send(if is_end { Typed::End } else { Typed::Message(text) });
        if is_end || sent.is_err() {
            return;
        }
    }
}

/// Writes to the standard output.
fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}
