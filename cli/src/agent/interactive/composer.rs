//! The input line.

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reedline::{
    ColumnarMenu, EditCommand, FileBackedHistory, MenuBuilder, Prompt, PromptEditMode, PromptHistorySearch,
    PromptViMode, Reedline, ReedlineMenu, Signal,
};

use super::completion::Completions;
use super::keys::{Edit, EndedBy, Keys, MENU, Purpose, Shared};
use crate::agent::values::EditMode;
use crate::screen::Look;

/// The maximum number of messages in the history.
const HISTORY: usize = 1_000;

/// The time between two looks at the signal that ends an input line from outside.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// An editor for messages and answers, with history and completion.
pub(crate) struct Composer {
    editor: Reedline,
    shared: Shared,
    new_line: Arc<AtomicBool>,
}

/// The end of an input line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// A text with Enter.
    Message(String),
    /// A text with the key that queues.
    Queue(String),
    /// The key that stops, with the text so far.
    Stop(String),
    /// The line was ended from outside, with the text so far.
    Woken(String),
    /// Ctrl-C.
    Interrupt,
    /// The end of the input.
    End,
}

impl Composer {
    /// Makes one. `wake` ends the line from outside.
    pub(crate) fn new(
        history: &Path,
        completions: Completions,
        (mode, keys): (EditMode, Keys),
        look: Look,
        wake: Arc<AtomicBool>,
    ) -> Self {
        let (shared, new_line) = (Shared::default(), completions.new_line());
        let menu = ColumnarMenu::default().with_name(MENU).with_columns(1);
        let mut editor = Reedline::create()
            .with_edit_mode(Box::new(Edit::new(mode, keys, shared.clone())))
            .with_completer(Box::new(completions))
            .with_quick_completions(true)
            .with_partial_completions(true)
            .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
            .with_ansi_colors(look.color)
            .with_break_signal(wake)
            .with_poll_interval(LOOK_EVERY)
            .use_bracketed_paste(true);
        // Without its file, the history is that of this process.
        if let Ok(history) = FileBackedHistory::with_file(HISTORY, history.to_owned()) {
            editor = editor.with_history(Box::new(history));
        }
        Self { editor, shared, new_line }
    }

    /// Reads a message or an answer. `prefill` is in the line at its beginning.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub(crate) fn read(&mut self, label: &str, purpose: Purpose, prefill: &str) -> io::Result<Typed> {
        self.shared.begin(purpose);
        self.new_line.store(true, Ordering::Relaxed);
        let mut begin = vec![EditCommand::Clear];
        if !prefill.is_empty() {
            begin.push(EditCommand::InsertString(prefill.to_owned()));
        }
        self.editor.run_edit_commands(&begin);
        let signal = self.editor.read_line(&Label { text: label, purpose });
        Ok(match signal.map_err(|error| io::Error::other(error.to_string()))? {
            Signal::Success(text) => {
                // The history is a convenience: a session does not fail with it.
                let _ = self.editor.sync_history();
                match self.shared.ended_by() {
                    EndedBy::Enter => Typed::Message(text),
                    EndedBy::Queue => Typed::Queue(text),
                    EndedBy::Stop => Typed::Stop(text),
                }
            }
            Signal::CtrlC => Typed::Interrupt,
            Signal::ExternalBreak(text) => Typed::Woken(text),
            _ => Typed::End,
        })
    }
}

/// The text before an input line.
struct Label<'l> {
    text: &'l str,
    purpose: Purpose,
}

impl Prompt for Label<'_> {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        self.text.into()
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        match self.purpose {
            Purpose::Message => "".into(),
            Purpose::WhileWorking => "Enter steers · Tab queues · Esc stops".into(),
            Purpose::Words => "Esc goes back".into(),
        }
    }

    fn render_prompt_indicator(&self, mode: PromptEditMode) -> Cow<'_, str> {
        match mode {
            PromptEditMode::Vi(PromptViMode::Normal) => "‹ ".into(),
            _ => "› ".into(),
        }
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        "  ".into()
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        format!("history {}› ", search.term).into()
    }
}
