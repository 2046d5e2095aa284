//! The keys of the input line.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use reedline::{
    EditCommand, EditMode, Emacs, PromptEditMode, PromptViMode, ReedlineEvent, ReedlineRawEvent, Vi,
};

use crate::agent::values;

/// An action of a key that the settings can bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Begins a new line of the message.
    NewLine,
    /// Queues the message, while the agent works.
    Queue,
    /// Stops the turn, while the agent works.
    Stop,
    /// Completes a command or a file.
    Complete,
    /// Searches the history.
    Search,
}

/// The actions: their names in settings, and their keys.
pub(crate) const ACTIONS: [(Action, &str, &[&str]); 5] = [
    (Action::NewLine, "new_line", &["alt-enter", "shift-enter", "ctrl-j"]),
    (Action::Queue, "queue", &["tab"]),
    (Action::Stop, "stop", &["esc"]),
    (Action::Complete, "complete", &["tab", "ctrl-space"]),
    (Action::Search, "search", &["ctrl-r"]),
];

impl Action {
    /// Returns its help: one line.
    pub(crate) const fn help(self) -> &'static str {
        match self {
            Self::NewLine => "begins a new line of the message",
            Self::Queue => "while the agent works: sends the message for when it has answered",
            Self::Stop => "while the agent works: stops the turn; a second time leaves it",
            Self::Complete => "completes a command or the path of a file",
            Self::Search => "searches the history",
        }
    }
}

/// A key with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

/// The keys of each action.
#[derive(Clone, Debug)]
pub(crate) struct Keys(Vec<(Action, Key)>);

impl Keys {
    /// Takes the keys of the settings, by the names of actions; the others have their defaults.
    ///
    /// # Errors
    /// Returns a sentence about a name or a key that is not known.
    pub(crate) fn new(bindings: &BTreeMap<String, String>) -> Result<Self, String> {
        let names = || ACTIONS.map(|(_, name, _)| name);
        if let Some(unknown) = bindings.keys().find(|name| !names().contains(&name.as_str())) {
            return Err(format!(
                "unknown action `{unknown}` in `agent.keys`; the actions are {}",
                names().join(", ")
            ));
        }
        let mut keys = Vec::new();
        for (action, name, defaults) in ACTIONS {
            let own = bindings.get(name).map(|key| [key.as_str()]);
            for key in own.as_ref().map_or(defaults, |own| own.as_slice()) {
                keys.push((action, parsed(key).ok_or_else(|| unknown_key(name, key))?));
            }
        }
        Ok(Self(keys))
    }

    /// Returns the names of the keys of an action.
    pub(crate) fn named(&self, action: Action) -> String {
        let names = self.0.iter().filter(|(bound, _)| *bound == action).map(|(_, key)| key.to_string());
        names.collect::<Vec<_>>().join(", ")
    }

    /// Returns `true` if a key is bound to an action.
    pub(crate) fn is(&self, key: &KeyEvent, action: Action) -> bool {
        let key = Key::of(key);
        self.0.iter().any(|(bound, its)| *bound == action && *its == key)
    }
}

fn unknown_key(name: &str, key: &str) -> String {
    format!("unknown key `{key}` in `agent.keys.{name}`; write one such as `alt-enter`, `ctrl-x` or `f2`")
}

fn parsed(text: &str) -> Option<Key> {
    let mut modifiers = KeyModifiers::NONE;
    let mut rest = text;
    while let Some((modifier, key)) = rest.split_once('-').filter(|(_, key)| !key.is_empty()) {
        modifiers |= match modifier {
            "ctrl" => KeyModifiers::CONTROL,
            "alt" => KeyModifiers::ALT,
            "shift" => KeyModifiers::SHIFT,
            _ => return None,
        };
        rest = key;
    }
    let mut letters = rest.chars();
    let code = match (rest, letters.next(), letters.next()) {
        ("enter", ..) => KeyCode::Enter,
        ("tab", ..) => KeyCode::Tab,
        ("esc", ..) => KeyCode::Esc,
        ("space", ..) => KeyCode::Char(' '),
        ("backspace", ..) => KeyCode::Backspace,
        ("delete", ..) => KeyCode::Delete,
        ("insert", ..) => KeyCode::Insert,
        (_, Some(letter), None) => KeyCode::Char(letter),
        (_, Some('f'), _) => KeyCode::F(rest[1..].parse().ok().filter(|number| (1..=24).contains(number))?),
        _ => return None,
    };
    Some(Key { code, modifiers })
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (modifier, name) in
            [(KeyModifiers::CONTROL, "ctrl-"), (KeyModifiers::ALT, "alt-"), (KeyModifiers::SHIFT, "shift-")]
        {
            f.write_str(if self.modifiers.contains(modifier) { name } else { "" })?;
        }
        match self.code {
            KeyCode::Char(' ') => f.write_str("space"),
            code => f.write_str(&code.to_string().to_lowercase()),
        }
    }
}

impl Key {
    fn of(event: &KeyEvent) -> Self {
        // Capital letters come with the modifier from some terminals.
        let modifiers = match event.code {
            KeyCode::Char(_) => event.modifiers - KeyModifiers::SHIFT,
            _ => event.modifiers,
        };
        Self { code: event.code, modifiers }
    }
}

/// The purpose of an input line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A message, while the agent waits.
    #[default]
    Message,
    /// A message, while the agent works.
    WhileWorking,
    /// An answer in words.
    Words,
}

/// The key that ended an input line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EndedBy {
    /// Enter.
    #[default]
    Enter,
    /// The key that queues.
    Queue,
    /// The key that stops or leaves.
    Stop,
}

/// The purpose of the present line and its end, shared between the composer and the edit mode.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared(Arc<Mutex<(Purpose, EndedBy)>>);

impl Shared {
    /// Begins a line.
    pub(crate) fn begin(&self, purpose: Purpose) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (purpose, EndedBy::Enter);
    }

    /// Returns the key that ended the line.
    pub(crate) fn ended_by(&self) -> EndedBy {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    fn purpose(&self) -> Purpose {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    fn end(&self, by: EndedBy) -> ReedlineEvent {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1 = by;
        ReedlineEvent::Submit
    }
}

/// The name of the menu of completions.
pub(crate) const MENU: &str = "completions";

/// The edit mode of the settings, with the keys of the actions.
pub(crate) struct Edit {
    inner: Box<dyn EditMode>,
    keys: Keys,
    shared: Shared,
}

impl Edit {
    pub(crate) fn new(mode: values::EditMode, keys: Keys, shared: Shared) -> Self {
        let inner: Box<dyn EditMode> = match mode {
            values::EditMode::Emacs => Box::new(Emacs::default()),
            values::EditMode::Vi => Box::new(Vi::default()),
        };
        Self { inner, keys, shared }
    }

    /// Returns the event of a bound key.
    fn bound(&self, key: &KeyEvent) -> Option<ReedlineEvent> {
        let purpose = self.shared.purpose();
        // In Vi, Esc leaves the insertion first.
        let is_vi_insertion = self.inner.edit_mode() == PromptEditMode::Vi(PromptViMode::Insert);
        let leaves_insertion = is_vi_insertion && key.code == KeyCode::Esc;
        if self.keys.is(key, Action::Stop) && purpose != Purpose::Message && !leaves_insertion {
            return Some(self.shared.end(EndedBy::Stop));
        }
        if self.keys.is(key, Action::Queue) && purpose == Purpose::WhileWorking {
            return Some(self.shared.end(EndedBy::Queue));
        }
        if self.keys.is(key, Action::NewLine) {
            return Some(ReedlineEvent::Edit(vec![EditCommand::InsertNewline]));
        }
        if self.keys.is(key, Action::Complete) {
            let events = vec![ReedlineEvent::Menu(MENU.to_owned()), ReedlineEvent::MenuNext];
            return Some(ReedlineEvent::UntilFound(events));
        }
        self.keys.is(key, Action::Search).then_some(ReedlineEvent::SearchHistory)
    }
}

impl EditMode for Edit {
    fn parse_event(&mut self, event: ReedlineRawEvent) -> ReedlineEvent {
        let event = Event::from(event);
        if let Event::Key(key) = &event
            && key.kind != KeyEventKind::Release
            && let Some(bound) = self.bound(key)
        {
            return bound;
        }
        match ReedlineRawEvent::try_from(event) {
            Ok(event) => self.inner.parse_event(event),
            Err(()) => ReedlineEvent::None,
        }
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.inner.edit_mode()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(code: KeyCode, modifiers: KeyModifiers) -> KeyEvent {
        KeyEvent::new(code, modifiers)
    }

    #[test]
    fn keys_of_settings_replace_the_defaults_of_their_action() {
        let keys = Keys::new(&BTreeMap::from([("queue".to_owned(), "ctrl-q".to_owned())])).unwrap();
        assert!(keys.is(&event(KeyCode::Char('q'), KeyModifiers::CONTROL), Action::Queue));
        assert!(!keys.is(&event(KeyCode::Tab, KeyModifiers::NONE), Action::Queue));
        assert!(keys.is(&event(KeyCode::Tab, KeyModifiers::NONE), Action::Complete));
        assert!(keys.is(&event(KeyCode::Enter, KeyModifiers::ALT), Action::NewLine));
        for (name, key) in [("quit", "q"), ("stop", "hyper-x"), ("stop", "f99"), ("stop", "")] {
            assert!(Keys::new(&BTreeMap::from([(name.to_owned(), key.to_owned())])).is_err(), "{name} {key}");
        }
    }

    fn edit(mode: values::EditMode, purpose: Purpose) -> (Edit, Shared) {
        let shared = Shared::default();
        shared.begin(purpose);
        (Edit::new(mode, Keys::new(&BTreeMap::new()).unwrap(), shared.clone()), shared)
    }

    fn press(edit: &mut Edit, code: KeyCode) -> ReedlineEvent {
        let event = Event::Key(event(code, KeyModifiers::NONE));
        edit.parse_event(ReedlineRawEvent::try_from(event).unwrap())
    }

    #[test]
    fn while_the_agent_works_tab_queues_and_esc_stops() {
        let (mut emacs, shared) = edit(values::EditMode::Emacs, Purpose::WhileWorking);
        assert_eq!(press(&mut emacs, KeyCode::Tab), ReedlineEvent::Submit);
        assert_eq!(shared.ended_by(), EndedBy::Queue);
        assert_eq!(press(&mut emacs, KeyCode::Esc), ReedlineEvent::Submit);
        assert_eq!(shared.ended_by(), EndedBy::Stop);
        shared.begin(Purpose::Message);
        assert!(matches!(press(&mut emacs, KeyCode::Tab), ReedlineEvent::UntilFound(_)));
        assert_eq!(press(&mut emacs, KeyCode::Esc), ReedlineEvent::Esc);
        assert_eq!(shared.ended_by(), EndedBy::Enter);
    }

    #[test]
    fn in_vi_the_first_esc_leaves_the_insertion() {
        let (mut vi, shared) = edit(values::EditMode::Vi, Purpose::WhileWorking);
        assert_ne!(press(&mut vi, KeyCode::Esc), ReedlineEvent::Submit);
        assert_eq!(press(&mut vi, KeyCode::Esc), ReedlineEvent::Submit);
        assert_eq!(shared.ended_by(), EndedBy::Stop);
    }
}
