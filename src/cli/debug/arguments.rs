//! What the debugger of a program is asked for.

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::cli::arguments::{self as reading, ADDRESSES, Told, told};
use crate::cli::program::Unanswered;

use super::progress::Progress;
use super::session::Session;
use super::verbs::{Answer, Check, Replay, Rerun, Resume, Run, Tail};

/// Look into the threads of this program, and run, answer, replay and rerun them with its code.
#[derive(Debug, Parser)]
#[command(name = "debug", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,

    /// Answer with a JSON document; what runs or follows a run, with its events as a JSON document a line
    #[arg(long, global = true)]
    json: bool,
}

const AFTER: &str = "\
Exit codes: 0 fine, or the run finished; 1 the answer is no, or the run failed; 2 it could not be asked;
3 the run waits for an answer, or stopped before its end; 130 it was cancelled with Ctrl-C.";

#[derive(Debug, Subcommand)]
enum Verb {
    Run(Run),
    Resume(Resume),
    Answer(Answer),
    Rerun(Rerun),
    Tail(Tail),
    Replay(Replay),
    Check(Check),
    #[command(flatten)]
    Reading(reading::Verb),
}

/// Does what is asked for. Runs tell on the screen how they go; what is returned is told at the end.
pub(super) async fn carry_out(
    session: &Session,
    arguments: Vec<OsString>,
    screen: &mut Progress<'_>,
) -> Result<Told, Unanswered> {
    let file = session.file();
    let mut command = command(session, file.as_deref());
    let words = std::iter::once(OsString::from("debug")).chain(arguments);
    let matches = command.try_get_matches_from_mut(words).map_err(|usage| match lacks_file(&usage) {
        true => session.no_file().into(),
        false => Unanswered::from(usage),
    })?;
    let Arguments { verb, json } =
        Arguments::from_arg_matches(&matches).map_err(|usage| usage.format(&mut command))?;
    screen.json = json;
    Ok(match verb {
        Verb::Run(verb) => verb.carry_out(session, screen).await?,
        Verb::Resume(verb) => verb.carry_out(session, screen).await?,
        Verb::Answer(verb) => verb.carry_out(session, screen).await?,
        Verb::Rerun(verb) => verb.carry_out(session, screen).await?,
        Verb::Tail(verb) => verb.carry_out(session, screen).await?,
        Verb::Replay(verb) => told(&verb.answer(session).await?, json, screen.look)?,
        Verb::Check(verb) => told(&verb.answer(session).await?, json, screen.look)?,
        Verb::Reading(verb) => verb.tell(json, screen.look)?,
    })
}

/// The command line, in which the file is an option: the graphs know theirs.
fn command(session: &Session, file: Option<&Path>) -> Command {
    let help = match file {
        Some(file) => format!("Look into this file, instead of {}", file.display()),
        None => "The checkpoint file: the graphs have none, or several".to_owned(),
    };
    Arguments::command()
        .bin_name(&*session.program)
        .after_help(format!("{ADDRESSES}\n\n{AFTER}"))
        .mut_subcommands(|verb| {
            if !verb.get_arguments().any(|argument| argument.get_id() == "file") {
                return verb;
            }
            let example = verb.get_after_help().map(|text| {
                text.to_string()
                    .replace("superstep ", &format!("{} ", session.program))
                    .replace(" essays.db", "")
            });
            let verb = verb.mut_arg("file", |argument| {
                let argument = argument.long("file").value_name("OTHER").help(help.clone());
                match file {
                    Some(file) => argument
                        .required(false)
                        .default_value(file.as_os_str().to_owned())
                        .hide_default_value(true),
                    None => argument,
                }
            });
            match example {
                Some(example) => verb.after_help(example),
                None => verb,
            }
        })
}

/// Whether only the file is missing.
fn lacks_file(usage: &clap::Error) -> bool {
    let is_file = |name: &String| name.starts_with("--file");
    usage.kind() == ErrorKind::MissingRequiredArgument
        && matches!(
            usage.get(ContextKind::InvalidArg),
            Some(ContextValue::Strings(missing)) if missing.iter().all(is_file)
        )
}
