//! The command line of the agent.

use std::io::{IsTerminal, stdin};
use std::num::NonZeroU32;

use clap::{Args, Subcommand};
use superstep_assistant::permission::{PermissionMode, Rule};
use superstep_names::ModelName;

use super::answer::Answer;
use super::config::Configuration;
use super::explain::Explain;
use super::gc::Gc;
use super::past::{Fork, Redo, Replay, Rewind, Transcript};
use super::places::Places;
use super::sessions::{Send, Sessions, Stop};
use super::settings::Settings;
use super::values::{FromText, Time, Usd};
use super::workbench::{Files, Trusting, Workbench};
use super::{demo, headless, interactive};
use crate::arguments::render;
use crate::failure::Failure;
use crate::program::{is_lost, lost};
use crate::screen::{Exit, Screen};

const AFTER: &str = "\
Exit codes of -p: 0 completed; 3 a question is stored; 4 a limit or the budget is reached; 5 the model failed; \
6 a hook ended the work; 130 stopped; 2 wrong usage; 1 anything else.

MODEL is anthropic:MODEL, openai:MODEL, openai-compatible:MODEL@URL, ollama:MODEL or script:FILE. Keys come from \
ANTHROPIC_API_KEY, OPENAI_API_KEY and OPENAI_COMPATIBLE_API_KEY, the host of Ollama from OLLAMA_HOST. HTTPS_PROXY, \
HTTP_PROXY, NO_PROXY and SSL_CERT_FILE are honoured.

Settings are in ~/.config/superstep/settings.toml and .superstep/settings.toml, sessions in ~/.local/share/superstep; \
SUPERSTEP_HOME replaces both folders of the user.";

/// The help where nobody can answer questions.
const NO_TERMINAL: &str = "the standard input is not a terminal: give the message with -p TEXT, or with -p - from the standard input";
const NO_TERMINAL_FOR_THE_DEMO: &str =
    "the standard input is not a terminal: run the demo with --demo --yes, which asks nothing";

/// Work on the files of this folder with an assistant
///
/// Without -p it is a session on the terminal. It asks before it changes something, unless a rule or the mode allows it.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = AFTER)]
pub(crate) struct Agent {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    work: WorkArguments,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Sessions(Sessions),
    Answer(Answer),
    Send(Send),
    Stop(Stop),
    Rewind(Rewind),
    Redo(Redo),
    Fork(Fork),
    Explain(Explain),
    Gc(Gc),
    Transcript(Transcript),
    Replay(Replay),
}

#[derive(Debug, Args)]
struct WorkArguments {
    /// The first message
    message: Option<String>,

    /// Continue the latest session of this folder
    #[arg(short, long = "continue")]
    continues: bool,

    /// Continue this session
    #[arg(short, long, value_name = "SESSION", conflicts_with = "continues")]
    resume: Option<String>,

    /// Work on one message, print the response and exit; `-` reads it from the standard input
    #[arg(short, long, value_name = "TEXT", num_args = 0..=1, conflicts_with = "message")]
    print: Option<Option<String>>,

    /// Print the settings with their sources
    #[arg(long)]
    print_config: bool,

    /// Mend a small project with a scripted model, without a network
    #[arg(long, conflicts_with_all = ["message", "continues", "resume", "print"])]
    demo: bool,

    /// Ask nothing in the demo
    #[arg(long, requires = "demo")]
    yes: bool,

    #[command(flatten)]
    options: Options,
}

/// The options of work.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Options {
    /// The model
    #[arg(long, value_parser = from_text::<ModelName>)]
    pub(crate) model: Option<ModelName>,

    /// The permission mode: default, plan, auto or accept_edits
    #[arg(long, value_parser = from_text::<PermissionMode>)]
    pub(crate) mode: Option<PermissionMode>,

    /// Spend at most this much in the session, in US dollars
    #[arg(long, value_name = "USD", value_parser = from_text::<Usd>)]
    pub(crate) max_usd: Option<Usd>,

    /// Spend at most this many tokens in the session
    #[arg(long, value_name = "COUNT", value_parser = from_text::<u64>)]
    pub(crate) max_tokens: Option<u64>,

    /// Let the model reply at most this many times to a message
    #[arg(long, value_name = "COUNT", value_parser = from_text::<NonZeroU32>)]
    pub(crate) max_turns: Option<NonZeroU32>,

    /// Work at most this long on a message, such as 90, 30m or 2h
    #[arg(long, value_name = "TIME", value_parser = from_text::<Time>)]
    pub(crate) max_time: Option<Time>,

    /// Allow the calls that a rule covers, such as 'bash(cargo test*)'
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<Rule>,

    /// Deny the calls that a rule is about
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<Rule>,
}

/// The session to work on.
#[derive(Clone, Debug)]
pub(crate) enum Which {
    New,
    Latest,
    /// The session of this name, or the only one whose name begins so.
    Named(String),
}

fn from_text<T: FromText>(text: &str) -> Result<T, String> {
    T::from_text(text)
}

impl Agent {
    /// Runs the verb.
    pub(crate) fn run(&self, json: bool, mut screen: Screen<'_>) -> Exit {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let done = match runtime {
            Ok(runtime) => runtime.block_on(self.carry_out(json, &mut screen)),
            Err(error) => Err(Failure::unusable(error.to_string())),
        };
        done.unwrap_or_else(|failure| headless::failed(&failure, json, &mut screen))
    }

    async fn carry_out(&self, json: bool, screen: &mut Screen<'_>) -> Result<Exit, Failure> {
        let look = screen.look;
        let (text, exit) = match &self.verb {
            None => return self.work.carry_out(json, screen).await,
            Some(Verb::Answer(verb)) => return verb.carry_out(json, screen).await,
            Some(Verb::Sessions(verb)) => {
                let listed = verb.answer().await?;
                listed.write_errors(screen.err);
                render(&listed, json, look)
            }
            Some(Verb::Send(verb)) => render(&verb.answer().await?, json, look),
            Some(Verb::Stop(verb)) => render(&verb.answer().await?, json, look),
            Some(Verb::Rewind(verb)) => render(&verb.answer().await?, json, look),
            Some(Verb::Redo(verb)) => render(&verb.answer().await?, json, look),
            Some(Verb::Fork(verb)) => render(&verb.answer().await?, json, look),
            Some(Verb::Explain(verb)) => render(&verb.answer().await?, json, look),
            Some(Verb::Gc(verb)) => render(&verb.answer().await?, json, look),
            Some(Verb::Transcript(verb)) => render(&verb.answer().await?, json, look),
            Some(Verb::Replay(verb)) => render(&verb.answer().await?, json, look),
        }?;
        Ok(written(&text, exit, screen))
    }
}

/// Writes an answer.
fn written(text: &str, exit: Exit, screen: &mut Screen<'_>) -> Exit {
    match screen.out.write_all(text.as_bytes()).and_then(|()| screen.out.flush()) {
        Err(error) if is_lost(&error) => lost(&error, screen.err),
        _ => exit,
    }
}

impl WorkArguments {
    async fn carry_out(&self, json: bool, screen: &mut Screen<'_>) -> Result<Exit, Failure> {
        if self.print_config {
            let (text, exit) = render(&self.configuration()?, json, screen.look)?;
            return Ok(written(&text, exit, screen));
        }
        match &self.print {
            None if self.yes => demo::run_alone(&self.options, screen).await,
            None if !stdin().is_terminal() => {
                Err(Failure::unusable(if self.demo { NO_TERMINAL_FOR_THE_DEMO } else { NO_TERMINAL }))
            }
            None if self.demo => demo::talk(&self.options, screen).await,
            Some(text) => {
                let bench = Workbench::open(&self.options, Trusting::Nothing).await?;
                headless::print(&bench, &self.which(), text.as_deref(), json, screen).await
            }
            // The terminal belongs to this thread.
            None => tokio::task::block_in_place(|| {
                interactive::run(self.message.as_deref(), &self.which(), &self.options, screen.look)
            }),
        }
    }

    fn configuration(&self) -> Result<Configuration, Failure> {
        let (places, mut warnings) = (Places::here()?, Vec::new());
        let files = Files::read(&places, Trusting::Nothing, &mut warnings)?;
        let settings = Settings::of(&places, &files.user, &files.project, &self.options)?;
        Ok(Configuration::new(settings.rows().to_vec(), &files, &self.options, warnings))
    }

    fn which(&self) -> Which {
        match (&self.resume, self.continues) {
            (Some(name), _) => Which::Named(name.clone()),
            (None, true) => Which::Latest,
            (None, false) => Which::New,
        }
    }
}
