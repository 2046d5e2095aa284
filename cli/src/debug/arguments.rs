//! The command line of a program's debugger.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::sync::LazyLock;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use regex::{Captures, Regex};

use crate::arguments::{self as reading, ADDRESSES, Colors, Output, render};
use crate::failure::Failure;
use crate::file::NamedFile;
use crate::program::Unanswered;
use crate::screen::Screen;

use super::progress::Progress;
use super::session::Session;
use super::verbs::{Answer, Replay, Rerun, Resume, Run, Tail, check};

/// Look into the threads of this program, and run, answer, replay and rerun them with its code
#[derive(Debug, Parser)]
#[command(name = "debug", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,

    /// Print a JSON document; verbs that run or follow a run print one per event, each on a line
    #[arg(long, global = true)]
    json: bool,

    #[command(flatten)]
    colors: Colors,
}

const AFTER: &str = "\
Exit codes: 0 fine, or the run finished; 1 the answer is no, or the run failed; 2 the command could not run, or \
the run did not begin; 3 the run waits for an answer, or stopped before its end; 130 it was cancelled with Ctrl-C.";

/// The help text of `--key-file`.
const KEYS: &str = "The key file of an encrypted file that is not this program's; defaults to the \
one that the variable SUPERSTEP_KEY_FILE names";

#[derive(Debug, Subcommand)]
enum Verb {
    Run(Run),
    Resume(Resume),
    Answer(Answer),
    Rerun(Rerun),
    Tail(Tail),
    Replay(Replay),
    #[command(flatten)]
    Reading(reading::Verb),
}

/// Carries out the requested verb. Runs print their progress on the screen; the returned output is printed at the end.
pub(super) async fn carry_out(
    session: &Session,
    arguments: Vec<OsString>,
    screen: &mut Progress<'_>,
    err: &mut dyn Write,
) -> Result<Output, Unanswered> {
    let file = session.file();
    let mut command = command(session, file.as_deref());
    let words = std::iter::once(OsString::from("debug")).chain(arguments);
    let matches = command.try_get_matches_from_mut(words).map_err(|usage| match lacks_file(&usage) {
        true => Unanswered::of(&session.no_file(), &session.program),
        false => Unanswered::from(usage),
    })?;
    if let Some(told) = carry_out_added(&matches, session, screen, err).await {
        return told;
    }
    let Arguments { verb, json, colors } =
        Arguments::from_arg_matches(&matches).map_err(|usage| usage.format(&mut command))?;
    screen.json = json;
    screen.look = colors.of(screen.look);
    carry_out_verb(&verb, session, screen).await.map_err(|failure| Unanswered::of(&failure, &session.program))
}

/// Carries out the requested verb if the program added it.
async fn carry_out_added(
    matches: &ArgMatches,
    session: &Session,
    screen: &mut Progress<'_>,
    err: &mut dyn Write,
) -> Option<Result<Output, Unanswered>> {
    let (name, options) = matches.subcommand()?;
    let verb = session.added.iter().find(|verb| verb.command().get_name() == name)?;
    let look = match Colors::from_arg_matches(options) {
        Ok(colors) => colors.of(screen.look),
        Err(usage) => return Some(Err(usage.into())),
    };
    let ran = verb.run(session.graphs.clone(), options, Screen { out: &mut *screen.out, err, look }).await;
    let told = ran.map(|exit| (String::new(), exit));
    Some(told.map_err(|error| Unanswered::of(&error.into(), &session.program)))
}

async fn carry_out_verb(
    verb: &Verb,
    session: &Session,
    screen: &mut Progress<'_>,
) -> Result<Output, Failure> {
    match verb {
        Verb::Run(verb) => verb.carry_out(session, screen).await,
        Verb::Resume(verb) => verb.carry_out(session, screen).await,
        Verb::Answer(verb) => verb.carry_out(session, screen).await,
        Verb::Rerun(verb) => verb.carry_out(session, screen).await,
        Verb::Tail(verb) => verb.carry_out(session, screen).await,
        Verb::Replay(verb) => render(&verb.answer(session).await?, screen.json, screen.look),
        Verb::Reading(reading::Verb::Migrate(verb)) if verb.only_checks() => {
            render(&check(session, verb).await?, screen.json, screen.look)
        }
        Verb::Reading(verb) => verb.tell(screen.json, screen.look),
    }
}

/// Returns the command line of `superstep` under this debugger's name. The file becomes an option, because the graphs
/// have files of their own.
fn command(session: &Session, file: Option<&Path>) -> Command {
    let help = match file {
        Some(file) => format!("Look into this file, instead of {}", file.display()),
        None => "The checkpoint file; required, because the graphs have none, or several".to_owned(),
    };
    let with_file = |argument: Arg| {
        let argument = argument.long("file").value_name("OTHER").help(help.clone());
        let argument = argument.value_parser(NamedFile::parser(session.own_savers()));
        match file {
            Some(file) => {
                argument.required(false).default_value(file.as_os_str().to_owned()).hide_default_value(true)
            }
            None => argument,
        }
    };
    Arguments::command()
        .bin_name(&*session.program)
        .after_help(format!("{ADDRESSES}\n\n{AFTER}"))
        .subcommands(session.added.iter().map(|verb| verb.command()))
        .mut_subcommands(|verb| {
            let said = [verb.get_long_about(), verb.get_after_help()];
            let said = said.map(|text| text.map(|text| own(&text.to_string(), session)));
            let verb = match said {
                [Some(about), Some(example)] => verb.long_about(about).after_help(example),
                [None, Some(example)] => verb.after_help(example),
                _ => verb,
            };
            verb.mut_args(|argument| match argument.get_help().map(|text| own(&text.to_string(), session)) {
                _ if argument.get_id() == "file" => with_file(argument),
                _ if argument.get_id() == "key_file" => argument.help(KEYS),
                Some(help) => argument.help(help),
                None => argument,
            })
        })
}

/// Adapts a help text of `superstep` to this debugger: the file of the examples, `essays.db`, is left out, and any
/// other file becomes `--file`.
fn own(text: &str, session: &Session) -> String {
    static CALL: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\bsuperstep (?<verb>\w+|--help)(?: (?<file>\w+\.db))?")
            .expect("a pattern that is tested")
    });
    let own = |call: &Captures<'_>| {
        let (program, verb) = (&session.program, &call["verb"]);
        match call.name("file").map(|file| file.as_str()) {
            None | Some("essays.db") => format!("{program} {verb}"),
            Some(other) => format!("{program} {verb} --file {other}"),
        }
    };
    CALL.replace_all(text, own).into_owned()
}

/// Returns `true` if the file is the only missing argument.
fn lacks_file(usage: &clap::Error) -> bool {
    let is_file = |name: &String| name.starts_with("--file");
    usage.kind() == ErrorKind::MissingRequiredArgument
        && matches!(
            usage.get(ContextKind::InvalidArg),
            Some(ContextValue::Strings(missing)) if missing.iter().all(is_file)
        )
}
