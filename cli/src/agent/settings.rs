//! The settings of the program, each with its source.
//!
//! A file of settings has rules, hooks and MCP servers, which the library reads, and the table `agent`:
//!
//! ```toml
//! [agent]
//! model = "anthropic:claude-sonnet-4-5"
//! mode = "accept_edits"
//! tests = "cargo test"
//! limits = { usd = 2.0, turns = 100, time = "30m" }
//!
//! [agent.commands]
//! readable = ["/home/me/.cargo"]
//! ```
//!
//! A later source wins: the default, the user's file, the project's file if the user trusts it, a variable of the
//! environment, an argument.

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_assistant::context::ContextWindows;
use superstep_assistant::exit::{Exit, Resource};
use superstep_assistant::permission::{PermissionMode, Trust};
use superstep_assistant::settings::{PROJECT_FILE, Settings as File};
use superstep_assistant::{AssistantState, Sensitivity, budget};
use superstep_names::ModelName;
use superstep_nodes::model::Prices;
use toml::Spanned;

use super::arguments::Options;
use super::places::Places;
use super::screen::dollars;
use super::values::{Commands, EditMode, FromText, Time, Usd};
use crate::failure::Failure;

/// The values of all settings.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) model: Option<ModelName>,
    pub(crate) small_model: Option<ModelName>,
    pub(crate) fallback: Option<ModelName>,
    pub(crate) mode: Option<PermissionMode>,
    pub(crate) sensitivity: Option<Sensitivity>,
    pub(crate) usd: Option<Usd>,
    pub(crate) tokens: Option<u64>,
    pub(crate) turns: Option<NonZeroU32>,
    pub(crate) time: Option<Time>,
    /// The command that tells if the work is done.
    pub(crate) tests: Option<String>,
    pub(crate) commands: Commands,
    pub(crate) edit_mode: EditMode,
    /// Keys of the terminal, by the name of the action.
    pub(crate) keys: BTreeMap<String, String>,
    pub(crate) prices: Prices,
    pub(crate) windows: ContextWindows,
    rows: Vec<Row>,
}

/// A setting for `--print-config`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) key: &'static str,
    pub(crate) value: Value,
    pub(crate) source: Source,
}

/// The source of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    Default,
    File {
        file: String,
        /// The line, from 1.
        line: u32,
    },
    Variable(&'static str),
    Argument(&'static str),
}

/// The table `agent` of a file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Form {
    model: Option<Spanned<ModelName>>,
    small_model: Option<Spanned<ModelName>>,
    fallback: Option<Spanned<ModelName>>,
    mode: Option<Spanned<PermissionMode>>,
    sensitivity: Option<Spanned<Sensitivity>>,
    limits: LimitsForm,
    tests: Option<Spanned<String>>,
    commands: Option<Spanned<Commands>>,
    edit_mode: Option<Spanned<EditMode>>,
    keys: Option<Spanned<BTreeMap<String, String>>>,
    prices: Option<Spanned<Prices>>,
    windows: Option<Spanned<ContextWindows>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LimitsForm {
    usd: Option<Spanned<Usd>>,
    tokens: Option<Spanned<u64>>,
    turns: Option<Spanned<NonZeroU32>>,
    time: Option<Spanned<Time>>,
}

/// The tables of a file. The library has checked the others.
#[derive(Debug, Default, Deserialize)]
struct Whole {
    #[serde(default)]
    agent: Form,
}

impl Settings {
    /// Reads the values of both files, the environment and the arguments.
    pub(crate) fn of(
        places: &Places,
        user: &File,
        project: &File,
        options: &Options,
    ) -> Result<Self, Failure> {
        let user_file = places.settings().display().to_string();
        let (mine, theirs) = (Layer::read(&user_file, user)?, Layer::read(PROJECT_FILE, project)?);
        let mut pick = Picker { files: [mine.place, theirs.place], rows: Vec::new() };
        let (mine, theirs) = (mine.form, theirs.form);
        let model = "SUPERSTEP_MODEL";
        let settings = Self {
            model: pick.of("model", [mine.model, theirs.model], Some(model), ("--model", &options.model))?,
            small_model: pick.named(
                "small_model",
                [mine.small_model, theirs.small_model],
                "SUPERSTEP_SMALL_MODEL",
            )?,
            fallback: pick.named("fallback", [mine.fallback, theirs.fallback], "SUPERSTEP_FALLBACK")?,
            mode: pick.of(
                "mode",
                [mine.mode, theirs.mode],
                Some("SUPERSTEP_MODE"),
                ("--mode", &options.mode),
            )?,
            sensitivity: pick.in_files("sensitivity", [mine.sensitivity, theirs.sensitivity])?,
            usd: pick.of(
                "limits.usd",
                [mine.limits.usd, theirs.limits.usd],
                Some("SUPERSTEP_MAX_USD"),
                ("--max-usd", &options.max_usd),
            )?,
            tokens: pick.of(
                "limits.tokens",
                [mine.limits.tokens, theirs.limits.tokens],
                Some("SUPERSTEP_MAX_TOKENS"),
                ("--max-tokens", &options.max_tokens),
            )?,
            turns: pick.of(
                "limits.turns",
                [mine.limits.turns, theirs.limits.turns],
                Some("SUPERSTEP_MAX_TURNS"),
                ("--max-turns", &options.max_turns),
            )?,
            time: pick.of(
                "limits.time",
                [mine.limits.time, theirs.limits.time],
                Some("SUPERSTEP_MAX_TIME"),
                ("--max-time", &options.max_time),
            )?,
            tests: pick.named("tests", [mine.tests, theirs.tests], "SUPERSTEP_TESTS")?,
            commands: pick.or("commands", [mine.commands, theirs.commands], Commands::default())?,
            edit_mode: pick.or("edit_mode", [mine.edit_mode, theirs.edit_mode], EditMode::default())?,
            keys: pick.or("keys", [mine.keys, theirs.keys], BTreeMap::new())?,
            prices: pick.or("prices", [mine.prices, theirs.prices], Prices::none())?,
            windows: pick.or("windows", [mine.windows, theirs.windows], ContextWindows::published())?,
            rows: Vec::new(),
        };
        Ok(Self { rows: pick.rows, ..settings })
    }

    /// Returns the values with their sources.
    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Returns the limit that ended the work, with its amount and the part that is used; `None` for other exits.
    pub(crate) fn limit_reached(&self, exit: Exit, state: &AssistantState) -> Option<String> {
        match exit {
            Exit::BudgetExceeded(Resource::Tokens) => self.tokens.map(|most| {
                let used = state.ledger.total().usage.total();
                format!("limit `tokens`: {used} of {most} tokens of the session are used, and the next request needs more than the rest")
            }),
            Exit::BudgetExceeded(Resource::Money) => self.usd.map(|most| {
                let (used, most) = (state.ledger.cost(&self.prices).micro_usd, most.micro());
                let (used, most) = (dollars(used), dollars(most));
                format!("limit `usd`: {used} of {most} of the session are spent, and the next request may cost more than the rest")
            }),
            Exit::BudgetExceeded(Resource::Time) => {
                self.time.map(|most| format!("limit `time`: the {} s for a message are over", most.0))
            }
            Exit::MaxTurns => self.turns.map(|most| {
                format!("limit `turns`: {most} of {most} replies to the message are used")
            }),
            _ => None,
        }
    }

    /// Returns the limits of the budget.
    pub(crate) fn limits(&self) -> budget::Limits {
        budget::Limits {
            tokens: self.tokens,
            micro_usd: self.usd.map(Usd::micro),
            time_ms: self.time.map(|time| time.0.saturating_mul(1_000)),
        }
    }
}

/// A file, and its table `agent`.
struct Layer<'f> {
    form: Form,
    place: Place<'f>,
}

/// The text of a file, to find lines.
#[derive(Clone, Copy)]
struct Place<'f> {
    file: &'f str,
    text: &'f str,
}

impl<'f> Layer<'f> {
    fn read(file: &'f str, settings: &'f File) -> Result<Self, Failure> {
        let place = Place { file, text: settings.text() };
        let whole: Whole = toml::from_str(place.text).map_err(|error| {
            let line = place.line(error.span().map_or(0, |span| span.start));
            Failure::unusable(format!("{file}:{line}: {}", error.message()))
        })?;
        // A project that is not trusted may not set where a model is, or what may be done.
        let counts = file != PROJECT_FILE || settings.trust() == Trust::Trusted;
        Ok(Self { form: if counts { whole.agent } else { Form::default() }, place })
    }
}

impl Place<'_> {
    /// Returns the line of a position, from 1.
    fn line(&self, at: usize) -> u32 {
        let breaks = self.text.bytes().take(at).filter(|byte| *byte == b'\n').count();
        u32::try_from(breaks).map_or(u32::MAX, |breaks| breaks.saturating_add(1))
    }
}

/// Takes the value of the last source that has one.
struct Picker<'f> {
    files: [Place<'f>; 2],
    rows: Vec<Row>,
}

impl Picker<'_> {
    fn of<T>(
        &mut self,
        key: &'static str,
        in_files: [Option<Spanned<T>>; 2],
        variable: Option<&'static str>,
        (argument, given): (&'static str, &Option<T>),
    ) -> Result<Option<T>, Failure>
    where
        T: Clone + Serialize + FromText,
    {
        let mut picked = (None, Source::Default);
        for (place, value) in self.files.iter().zip(in_files) {
            if let Some(value) = value {
                let source =
                    Source::File { file: place.file.to_owned(), line: place.line(value.span().start) };
                picked = (Some(value.into_inner()), source);
            }
        }
        if let Some(variable) = variable
            && let Ok(text) = env::var(variable)
            && !text.is_empty()
        {
            let value = T::from_text(&text);
            let value =
                value.map_err(|error| Failure::unusable(format!("the variable {variable}: {error}")))?;
            picked = (Some(value), Source::Variable(variable));
        }
        if let Some(given) = given {
            picked = (Some(given.clone()), Source::Argument(argument));
        }
        let (value, source) = picked;
        let shown = serde_json::to_value(&value).map_err(Failure::of)?;
        self.rows.push(Row { key, value: shown, source });
        Ok(value)
    }

    fn named<T: Clone + Serialize + FromText>(
        &mut self,
        key: &'static str,
        in_files: [Option<Spanned<T>>; 2],
        variable: &'static str,
    ) -> Result<Option<T>, Failure> {
        self.of(key, in_files, Some(variable), ("", &None))
    }

    /// Takes the value of a setting that has a default, and is set in files only.
    fn or<T: Clone + Serialize>(
        &mut self,
        key: &'static str,
        in_files: [Option<Spanned<T>>; 2],
        default: T,
    ) -> Result<T, Failure> {
        let value = self.in_files(key, in_files)?;
        if let (None, Some(row)) = (&value, self.rows.last_mut()) {
            row.value = serde_json::to_value(&default).map_err(Failure::of)?;
        }
        Ok(value.unwrap_or(default))
    }

    fn in_files<T: Clone + Serialize>(
        &mut self,
        key: &'static str,
        in_files: [Option<Spanned<T>>; 2],
    ) -> Result<Option<T>, Failure> {
        let in_files = in_files.map(|value| {
            value.map(|value| {
                let span = value.span();
                Spanned::new(span, OnlyInFiles(value.into_inner()))
            })
        });
        Ok(self.of(key, in_files, None, ("", &None))?.map(|OnlyInFiles(value)| value))
    }
}

/// A value that only files have.
#[derive(Clone, Serialize)]
#[serde(transparent)]
struct OnlyInFiles<T>(T);

impl<T> FromText for OnlyInFiles<T> {
    fn from_text(_: &str) -> Result<Self, String> {
        Err("it is set in files".to_owned())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { file, line } => write!(f, "{file}:{line}"),
            Self::Variable(name) => write!(f, "variable {name}"),
            Self::Argument(name) => write!(f, "argument {name}"),
        }
    }
}
