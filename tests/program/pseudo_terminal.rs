//! A terminal without a screen, and a user who waits for texts on it and presses keys.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use vt100::{Callbacks, Parser, Screen};

use crate::desk::Desk;

/// The time within which a text has to be on the screen, and within which the program has to end.
const PATIENCE: Duration = Duration::from_secs(60);

const ROWS: u16 = 60;

/// A terminal on which the program runs.
pub(crate) struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Option<Box<dyn MasterPty + Send>>,
    keys: Arc<Mutex<Option<Box<dyn Write + Send>>>>,
    shown: Arc<(Mutex<Shown>, Condvar)>,
}

struct Shown {
    parser: Parser<Answers>,
    /// Everything that the program wrote.
    written: String,
    is_closed: bool,
    /// `true` if the reader is to let go of the terminal with its next output.
    is_closing: bool,
}

/// The answers of the terminal to the program.
#[derive(Default)]
struct Answers(Vec<u8>);

impl Callbacks for Answers {
    fn unhandled_csi(
        &mut self,
        screen: &mut Screen,
        _: Option<u8>,
        _: Option<u8>,
        parameters: &[&[u16]],
        letter: char,
    ) {
        if letter == 'n' && parameters == [[6]] {
            let (row, column) = screen.cursor_position();
            self.0.extend(format!("\u{1b}[{};{}R", row + 1, column + 1).into_bytes());
        }
    }
}

fn size(columns: u16) -> PtySize {
    PtySize { rows: ROWS, cols: columns, pixel_width: 0, pixel_height: 0 }
}

impl Terminal {
    /// Starts `superstep agent` on a terminal of so many columns.
    pub(crate) fn start(desk: &Desk, columns: u16, arguments: &[&str]) -> Self {
        Self::with(desk, columns, arguments, &[("TERM", "xterm-256color")])
    }

    /// Starts it with variables of the environment.
    pub(crate) fn with(desk: &Desk, columns: u16, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let command = desk.command(arguments);
        let mut builder = CommandBuilder::new(command.get_program());
        builder.args(command.get_args());
        Self::open(builder, &command, columns, variables)
    }

    /// Starts another program, with the folder and the variables of the agent.
    pub(crate) fn of_program(desk: &Desk, program: &str, arguments: &[String]) -> Self {
        let mut builder = CommandBuilder::new(program);
        builder.args(arguments);
        Self::open(builder, &desk.command(&[]), 80, &[("TERM", "xterm-256color")])
    }

    fn open(
        mut builder: CommandBuilder,
        command: &Command,
        columns: u16,
        variables: &[(&str, &str)],
    ) -> Self {
        let pair = native_pty_system().openpty(size(columns)).unwrap();
        builder.cwd(command.get_current_dir().unwrap());
        builder.env_clear();
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                builder.env(name, value);
            }
        }
        variables.iter().for_each(|(name, value)| builder.env(name, value));
        let child = pair.slave.spawn_command(builder).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let keys = Arc::new(Mutex::new(Some(pair.master.take_writer().unwrap())));
        let columns = NonZeroU16::new(columns).unwrap();
        let parser =
            Parser::new_with_callbacks(NonZeroU16::new(ROWS).unwrap(), columns, 10_000, Answers::default());
        let shown = Shown { parser, written: String::new(), is_closed: false, is_closing: false };
        let shown = Arc::new((Mutex::new(shown), Condvar::new()));
        let (screen, answers) = (Arc::clone(&shown), Arc::clone(&keys));
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            loop {
                let read = reader.read(&mut bytes).unwrap_or(0);
                let (state, changed) = &*screen;
                let mut state = state.lock().unwrap();
                if read == 0 || state.is_closing {
                    state.is_closed = true;
                    changed.notify_all();
                    return;
                }
                state.written.push_str(&String::from_utf8_lossy(&bytes[..read]));
                state.parser.process(&bytes[..read]);
                let answer = std::mem::take(&mut state.parser.callbacks_mut().0);
                drop(state);
                changed.notify_all();
                if let Some(keys) = &mut *answers.lock().unwrap()
                    && !answer.is_empty()
                {
                    keys.write_all(&answer).and_then(|()| keys.flush()).unwrap();
                }
            }
        });
        Self { child, master: Some(pair.master), keys, shown }
    }

    /// Waits until the screen fulfils a condition, and returns the time that it took.
    pub(crate) fn until_screen(&self, what: &str, mut is_so: impl FnMut(&str) -> bool) -> Duration {
        let (state, changed) = &*self.shown;
        let (began, mut shown) = (Instant::now(), state.lock().unwrap());
        loop {
            let contents = shown.parser.screen().contents();
            if is_so(&contents) {
                return began.elapsed();
            }
            let left = PATIENCE.checked_sub(began.elapsed()).filter(|_| !shown.is_closed);
            let Some(left) = left else {
                panic!("the screen has no {what}:\n{contents}\n{:?}", shown.written)
            };
            shown = changed.wait_timeout(shown, left).unwrap().0;
        }
    }

    /// Waits for a text on the screen.
    pub(crate) fn until(&self, text: &str) -> Duration {
        self.until_screen(text, |screen| screen.contains(text))
    }

    /// Waits for the empty input line at the bottom.
    pub(crate) fn until_prompt(&self) {
        self.until_screen("prompt", |screen| {
            screen.lines().next_back().is_some_and(|line| line.trim_end() == "›")
        });
    }

    /// Presses keys.
    pub(crate) fn press(&self, keys: &str) {
        let mut writer = self.keys.lock().unwrap();
        let writer = writer.as_mut().unwrap();
        writer.write_all(keys.as_bytes()).and_then(|()| writer.flush()).unwrap();
    }

    /// Waits for the input line, and enters a line.
    pub(crate) fn enter(&self, line: &str) {
        self.until_prompt();
        self.press(line);
        self.until_screen(line, |screen| screen.contains(line));
        self.press("\r");
    }

    /// The present text of the screen.
    pub(crate) fn screen(&self) -> String {
        self.shown.0.lock().unwrap().parser.screen().contents()
    }

    /// Reads the cells of the screen.
    pub(crate) fn with_screen<T>(&self, read: impl FnOnce(&Screen) -> T) -> T {
        read(self.shown.0.lock().unwrap().parser.screen())
    }

    /// Everything that the program wrote.
    pub(crate) fn written(&self) -> String {
        self.shown.0.lock().unwrap().written.clone()
    }

    pub(crate) fn resize(&self, columns: u16) {
        let mut shown = self.shown.0.lock().unwrap();
        shown.parser.set_size(NonZeroU16::new(ROWS).unwrap(), NonZeroU16::new(columns).unwrap());
        drop(shown);
        self.master.as_ref().unwrap().resize(size(columns)).unwrap();
    }

    /// Closes the window while a letter is typed: the program loses its terminal.
    pub(crate) fn close(mut self) -> u32 {
        self.shown.0.lock().unwrap().is_closing = true;
        self.press("x");
        self.keys.lock().unwrap().take();
        self.master.take();
        self.end()
    }

    /// Waits for the end of the program, and returns its exit code.
    pub(crate) fn end(mut self) -> u32 {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.exit_code();
            }
            assert!(began.elapsed() < PATIENCE, "the program does not end:\n{}", self.screen());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Leaves the session.
    pub(crate) fn quit(self) -> u32 {
        self.until_prompt();
        self.press("/quit\r");
        self.end()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Of a test that failed; otherwise the program has ended.
        let _ = self.child.kill();
    }
}

pub(crate) const ESC: &str = "\u{1b}";
pub(crate) const CTRL_C: &str = "\u{3}";
pub(crate) const TAB: &str = "\t";
