//! Questions to the user, and the keys that answer them.

use std::io;

use crossterm::event::{KeyCode, KeyModifiers};
use superstep_assistant::settings::TrustQuestion;

use super::composer::Typed;
use super::front::{Front, Gone, LOOK_EVERY};
use super::keys::Purpose;
use super::terminal::{Press, Terminal};
use crate::agent::screen::{Choice, Line, Take};
use crate::agent::work::{OpenQuestion, Question, Reply, Start};
use crate::page::{BAD, DIM, NAME, NOTE, PLAIN, span};

impl Front {
    /// Asks the first of the open questions. Returns the beginning of the next run; `None` if the user does not answer
    /// now.
    pub(super) fn ask(&mut self, open: Vec<OpenQuestion>) -> Result<Option<Start>, Gone> {
        let Some(first) = open.first() else { return Ok(None) };
        let reply = self.ask_about(&first.question)?;
        let Some(reply) = reply else {
            self.open = open;
            self.say(DIM, "The question is stored. Enter asks it again; /quit leaves it for later.")?;
            return Ok(None);
        };
        self.open = Vec::new();
        Ok(Some(self.bench.reply(first, &reply)?))
    }

    /// Asks a question. Returns `None` if the user does not answer now.
    pub(super) fn ask_about(&mut self, question: &Question) -> Result<Option<Reply>, Gone> {
        self.terminal.discard_input()?;
        self.terminal.measure();
        let look = self.terminal.look();
        let mut lines = vec![Line::default()];
        lines.extend(question.lines(look));
        lines.extend(question.choice_lines(look));
        self.terminal.print(&lines)?;
        let choices = question.choices();
        loop {
            let Some((choice, words)) = self.choose(&choices)? else { return Ok(None) };
            let reply = match &choice.take {
                Take::Now(reply) => Some(reply.clone()),
                Take::Text { prompt, answer } => match words {
                    Some(words) => Some(answer(words)),
                    None => self.words(prompt)?.map(answer),
                },
            };
            let Some(reply) = reply else { continue };
            return Ok(Some(reply));
        }
    }

    /// Reads the choice of the user; on a terminal of lines, with the words behind it.
    fn choose<'c>(&mut self, choices: &'c [Choice]) -> Result<Option<(&'c Choice, Option<String>)>, Gone> {
        let keys: Vec<char> = choices.iter().map(|choice| choice.key).collect();
        let Some((key, words)) = self.key_among(&keys)? else { return Ok(None) };
        let chosen = choices.iter().find(|choice| choice.key == key);
        if let (Some(choice), None) = (chosen, &words) {
            self.say(DIM, &format!("  → {}", choice.label))?;
        }
        Ok(chosen.map(|choice| (choice, words)))
    }

    /// Shows keys with their meanings, and reads one of them; `None` if the user goes back.
    pub(super) fn pick(&mut self, keys: &[(char, &str)]) -> Result<Option<char>, Gone> {
        self.terminal.discard_input()?;
        let lines =
            keys.iter().map(|(key, help)| Line::of([span(NAME, format!("  {key}  ")), span(PLAIN, help)]));
        self.terminal.print(&lines.collect::<Vec<_>>())?;
        let keys: Vec<char> = keys.iter().map(|(key, _)| *key).collect();
        Ok(self.key_among(&keys)?.map(|(key, _)| key))
    }

    /// Reads one of some keys; `None` for Esc. On a terminal of lines, the rest of the line comes with it.
    fn key_among(&mut self, keys: &[char]) -> Result<Option<(char, Option<String>)>, Gone> {
        let find = |key: char| keys.iter().copied().find(|it| *it == key.to_ascii_lowercase());
        self.terminal.begin_keys()?;
        let found = loop {
            if self.leaving.is_set() {
                self.is_over = true;
                break None;
            }
            match self.terminal.press(LOOK_EVERY)? {
                Some(Press::Key(key)) => match key.code {
                    KeyCode::Esc => break None,
                    KeyCode::Char('c' | 'd') if key.modifiers.contains(KeyModifiers::CONTROL) => break None,
                    KeyCode::Char(letter) => match find(letter) {
                        Some(key) => break Some((key, None)),
                        None => continue,
                    },
                    _ => {}
                },
                Some(Press::Line(Typed::Message(line))) => {
                    let mut letters = line.trim().chars();
                    match letters.next().and_then(find) {
                        Some(key) => break Some((key, Some(letters.as_str().trim().to_owned()))),
                        None => self.say(BAD, "Enter the letter of an answer, with its text behind it.")?,
                    }
                }
                Some(Press::Line(Typed::End)) => {
                    self.is_over = true;
                    break None;
                }
                Some(Press::Line(_)) => break None,
                _ => {}
            }
        };
        self.terminal.end_keys()?;
        Ok(found)
    }

    /// Reads an answer in words; `None` if the user goes back.
    fn words(&mut self, prompt: &str) -> Result<Option<String>, Gone> {
        Ok(match self.read(prompt, Purpose::Words, "")? {
            Typed::Message(text) => Some(text.trim().to_owned()),
            _ => None,
        })
    }
}

/// Asks whether to trust the settings of a project, with each rule, command and server in a line of its own.
pub(super) fn trusts(terminal: &mut Terminal, question: &TrustQuestion) -> bool {
    let folder = question.folder.display();
    let title = match question.is_changed {
        true => format!("The settings of {folder} have changed. Trust them now?"),
        false => format!("Trust the settings of {folder}?"),
    };
    let mut lines = vec![Line::new(NOTE, &title)];
    lines.extend(question.items.iter().map(|item| Line::new(PLAIN, &format!("  {item}"))));
    lines.push(Line::new(
        DIM,
        "y trusts them until they change; n works without them, except for what they deny.",
    ));
    // Without an answer they are not trusted.
    let shown = terminal.discard_input().and_then(|()| terminal.print(&lines));
    shown.and_then(|()| yes(terminal)).unwrap_or(false)
}

/// Reads `y` or `n`.
fn yes(terminal: &mut Terminal) -> io::Result<bool> {
    terminal.begin_keys()?;
    let answer = loop {
        match terminal.press(LOOK_EVERY)? {
            Some(Press::Key(key)) => match key.code {
                KeyCode::Char('y' | 'Y') => break true,
                KeyCode::Char('n' | 'N') | KeyCode::Esc => break false,
                KeyCode::Char('c' | 'd') if key.modifiers.contains(KeyModifiers::CONTROL) => break false,
                _ => {}
            },
            Some(Press::Line(Typed::Message(line))) => break matches!(line.trim(), "y" | "yes"),
            Some(Press::Line(_)) => break false,
            _ => {}
        }
    };
    terminal.end_keys()?;
    Ok(answer)
}
