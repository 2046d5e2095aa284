//! Verbs that a program adds to the command line of `superstep`, and to that of its debugger.

use std::error::Error;
use std::path::Path;

use superstep::checkpoint::{CheckpointReader, SqliteReader};
use superstep::cli::clap::{Arg, ArgMatches, Command};
use superstep::cli::{CheckpointSource, Exit, Extension, Look, Screen, async_trait, run};
use superstep::run::AnyGraph;

use crate::debugger::{Program, debug};
use crate::program::{Written, written};
use crate::words;

/// Prints a word, and a number: of the threads of a file, or of the graphs of a debugger.
struct Count;

fn count() -> Command {
    let word = Arg::new("word").long("word").default_value("all").help("The word before the number");
    Command::new("count").about("Print a number").arg(word)
}

fn print(
    number: usize,
    options: &ArgMatches,
    screen: Screen<'_>,
) -> Result<Exit, Box<dyn Error + Send + Sync>> {
    let word = options.get_one::<String>("word").ok_or("no word")?;
    writeln!(screen.out, "{word} {number}")?;
    match number {
        0 => Err("there is nothing to count".into()),
        _ => Ok(Exit::Unfinished),
    }
}

#[async_trait(?Send)]
impl Extension<CheckpointSource> for Count {
    fn command(&self) -> Command {
        count()
    }

    async fn run(
        &self,
        source: CheckpointSource,
        options: &ArgMatches,
        screen: Screen<'_>,
    ) -> Result<Exit, Box<dyn Error + Send + Sync>> {
        tokio::task::yield_now().await;
        print(SqliteReader::open(source.file()?)?.list_threads()?.threads.len(), options, screen)
    }
}

#[async_trait(?Send)]
impl Extension<Vec<AnyGraph>> for Count {
    fn command(&self) -> Command {
        count().after_help("Example: superstep count essays.db")
    }

    async fn run(
        &self,
        graphs: Vec<AnyGraph>,
        options: &ArgMatches,
        screen: Screen<'_>,
    ) -> Result<Exit, Box<dyn Error + Send + Sync>> {
        print(graphs.len(), options, screen)
    }
}

/// Runs the program with the verb.
fn superstep(file: &Path, line: &str) -> (Exit, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let words = words(&line.replace("FILE", file.to_str().unwrap()));
    let screen = Screen { out: &mut out, err: &mut err, look: Look::PIPED };
    let exit = run(["superstep".to_owned()].into_iter().chain(words), &[&Count], screen);
    (exit, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

#[tokio::test]
async fn the_program_has_a_verb_more() {
    let Written { path, folder } = written().await;
    let told = tokio::task::spawn_blocking(move || {
        let none = folder.path().join("none.db");
        [
            superstep(&path, "count FILE --word threads"),
            superstep(&none, "count FILE"),
            superstep(&path, "count"),
            superstep(&path, "count --help"),
            superstep(&path, "--help"),
            superstep(&path, "completions bash"),
            superstep(&path, "threads FILE"),
        ]
    });
    let [fine, no_file, usage, help, all, script, own] = told.await.unwrap();
    assert_eq!(fine, (Exit::Unfinished, "threads 3\n".to_owned(), String::new()));
    assert_eq!(no_file.0, Exit::Unusable);
    assert!(no_file.2.starts_with("error: there is no file "), "{}", no_file.2);
    assert_eq!(usage.0, Exit::Unusable);
    assert!(usage.2.contains("<FILE>"), "{}", usage.2);
    for part in ["Print a number", "<FILE>", "--word", "--key-file", "--color"] {
        assert!(help.1.contains(part), "{part}: {}", help.1);
    }
    assert!(all.1.contains("\n  count        Print a number\n"), "{}", all.1);
    assert!(script.1.contains("superstep__subcmd__count"), "{}", script.1);
    assert_eq!(own.0, Exit::Fine);
}

#[tokio::test]
async fn a_debugger_has_a_verb_more() {
    let mut program = Program::new().await;
    let graph = program.graph().await;
    let folder = program.folder();
    for (graphs, line, exit, out, err) in [
        (vec![&graph], "count", Exit::Unfinished, "all 1\n", ""),
        (vec![], "count --word graphs", Exit::Unusable, "graphs 0\n", "error: there is nothing to count\n"),
    ] {
        let graphs: Vec<&dyn superstep::run::ToAnyGraph> =
            graphs.into_iter().map(|graph| graph as _).collect();
        let said = debug(superstep::debugger(&graphs).with(Count), folder, Look::PIPED, line).await;
        assert_eq!((said.exit, &*said.out, &*said.err), (exit, out, err));
    }
    let debugger = superstep::debugger(&[&graph]).with(Count);
    let help = debug(debugger, folder, Look::PIPED, "count --help").await.out;
    assert!(help.contains("Example: essays debug count\n"), "{help}");
}
