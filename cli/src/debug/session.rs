//! The graphs of a debugger, and the file that it reads.

use std::any::Any;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

use superstep_core::nonprinting::is_nonprinting;

use crate::amend::thread_name;
use crate::extension::Extension;
use crate::failure::Failure;
use crate::file::{FileArgument, WritableFile, is_same};
use crate::source::{CheckpointRef, Source};
use crate::suggestion::did_you_mean;
use superstep_checkpoint::{CheckpointFile, ReadOnlySaver, SqliteSaver};
use superstep_core::checkpoint::MemorySaver;
use superstep_core::id::ThreadId;
use superstep_core::run::AnyGraph;

/// The data that all verbs of one debugger share.
pub(super) struct Session {
    pub(super) graphs: Vec<AnyGraph>,
    /// The verbs that the program adds.
    pub(super) added: Vec<Box<dyn Extension<Vec<AnyGraph>>>>,
    /// The inner saver, if the graphs' savers are around one.
    pub(super) behind: Option<SqliteSaver>,
    /// The command name: the words before the verb.
    pub(super) program: String,
}

/// One of the graphs, over the chosen file.
pub(super) struct Chosen<'s> {
    graph: AnyGraph,
    program: &'s str,
    /// The file, if it is not the default one.
    file: Option<PathBuf>,
}

impl Chosen<'_> {
    pub(super) fn graph(&self) -> &AnyGraph {
        &self.graph
    }

    /// Returns a command of this debugger for the same file, quoted for a shell.
    pub(super) fn command(&self, verb: &str, words: &[&str]) -> String {
        let file = self.file.iter().flat_map(|file| ["--file".into(), file.to_string_lossy()]);
        let end_of_options = words.iter().any(|word| word.starts_with('-')).then_some("--");
        let words = end_of_options.iter().chain(words).map(|word| Cow::from(*word));
        let words: Vec<String> = file.chain(words).map(|word| quoted(&word)).collect();
        format!("{} {verb} {}", self.program, words.join(" "))
    }
}

/// Returns the file in which all these graphs keep their threads, with its keys.
pub(crate) fn file_of(graphs: &[AnyGraph]) -> Result<CheckpointFile, Failure> {
    let mut files = graphs.iter().filter_map(checkpoint_file_of);
    let first = files.next().ok_or_else(|| {
        Failure::unusable("the graphs keep their threads in no file: give them a SqliteSaver, or read those of a database with `superstep studio URL`")
    })?;
    match files.all(|other| is_same(other.path(), first.path())) {
        true => Ok(first),
        false => Err(Failure::unusable(
            "the graphs keep their threads in several files: give them one SqliteSaver",
        )),
    }
}

fn checkpoint_file_of(graph: &AnyGraph) -> Option<CheckpointFile> {
    let saver: &dyn Any = &**graph.saver()?;
    match saver.downcast_ref::<ReadOnlySaver>() {
        Some(saver) => saver.checkpoint_file(),
        None => saver.downcast_ref::<SqliteSaver>()?.checkpoint_file(),
    }
}

impl Session {
    /// Returns the file in which all graphs keep their threads, if it is a single one.
    pub(super) fn file(&self) -> Option<PathBuf> {
        let mut files = self.graphs.iter().filter_map(|graph| self.path_of(graph));
        let first = files.next()?;
        files.all(|other| is_same(other, first)).then(|| first.to_owned())
    }

    /// Returns the savers that keep the graphs' threads in files.
    pub(super) fn own_savers(&self) -> Vec<SqliteSaver> {
        self.graphs.iter().filter_map(|graph| self.saver_of(graph)).cloned().collect()
    }

    /// Returns the error that there is no default file, and `--file` is needed.
    pub(super) fn no_file(&self) -> Failure {
        let files: Vec<String> = self
            .graphs
            .iter()
            .filter_map(|graph| Some((graph.name(), self.path_of(graph)?)))
            .map(|(graph, path)| format!("{graph} in {}", path.display()))
            .collect();
        Failure::unusable(match files.is_empty() {
            true => {
                "the graphs keep their threads in no file: name a file or the URL of a database with --file, or give \
                 them a SqliteSaver"
                    .to_owned()
            }
            false => {
                format!("the graphs keep their threads in several files: name one with --file ({})", files.join(", "))
            }
        })
    }

    /// Returns the graph that a thread of a file belongs to.
    pub(super) async fn graph_of(
        &self,
        file: &FileArgument,
        thread: &ThreadId,
    ) -> Result<Chosen<'_>, Failure> {
        if thread.is_below() {
            return Err(Failure::unusable(format!(
                "{} is the thread of a subgraph: name the thread above it",
                Source::open(file)?.called(thread)
            )));
        }
        let found = Source::open(file).and_then(|source| source.thread(thread.as_str()));
        let thread = found.map_err(Failure::before_the_run)?;
        let graph = self.graphs.iter().find(|given| given.name().as_str() == thread.graph);
        let graph = graph.ok_or_else(|| {
            Failure::unusable(format!(
                "thread {} belongs to graph {}, which the debugger was not given; it has {}",
                thread.thread,
                thread.graph,
                self.names()
            ))
        })?;
        self.over(graph, file).await
    }

    /// Returns the graph that runs on a thread: its own, or for a new thread the only graph or the named one.
    pub(super) async fn graph_for(
        &self,
        file: &FileArgument,
        thread: &ThreadId,
        named: Option<&str>,
    ) -> Result<Chosen<'_>, Failure> {
        if is_there(file, thread).map_err(Failure::before_the_run)? {
            return self.graph_of(file, thread).await;
        }
        thread_name(thread.as_str())?;
        let graph = match (named, &*self.graphs) {
            (Some(name), graphs) => graphs.iter().find(|given| given.name().as_str() == name),
            (None, [only]) => Some(only),
            (None, _) => None,
        };
        let graph = graph.ok_or_else(|| {
            Failure::unusable(match named {
                Some(name) => {
                    let names = self.graphs.iter().map(|given| given.name().as_str());
                    format!("there is no graph {name}, but {}{}", self.names(), did_you_mean(name, names))
                }
                None => format!(
                    "thread {thread} is new: say with --graph which graph it is to be of ({})",
                    self.names()
                ),
            })
        })?;
        self.over(graph, file).await
    }

    /// Returns all graphs, over a file.
    pub(super) async fn all(&self, file: &FileArgument) -> Result<Vec<Chosen<'_>>, Failure> {
        let mut all = Vec::new();
        for graph in &self.graphs {
            all.push(self.over(graph, file).await?);
        }
        Ok(all)
    }

    async fn over<'s>(&'s self, graph: &AnyGraph, file: &FileArgument) -> Result<Chosen<'s>, Failure> {
        if let Some(database) = file.keyed_database()? {
            let graph = database.under(graph.clone()).await?;
            return Ok(Chosen { graph, program: &self.program, file: Some(file.to_path_buf()) });
        }
        let is_own = self.path_of(graph).is_some_and(|own| is_same(own, file));
        let graph = match is_own {
            true => graph.clone(),
            false => graph.clone().checkpointer(WritableFile::saver_of(file)?),
        };
        let is_default = self.file().is_some_and(|own| is_same(&own, file));
        let file = (!is_default).then(|| file.to_path_buf());
        Ok(Chosen { graph, program: &self.program, file })
    }

    fn path_of<'s>(&'s self, graph: &'s AnyGraph) -> Option<&'s Path> {
        self.saver_of(graph)?.path()
    }

    /// Returns the saver of a graph that has a file: its own, or the one that its own is around.
    fn saver_of<'s>(&'s self, graph: &'s AnyGraph) -> Option<&'s SqliteSaver> {
        let saver: &dyn Any = &**graph.saver()?;
        match saver.is::<MemorySaver>() {
            true => None,
            false => saver.downcast_ref().or(self.behind.as_ref()),
        }
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.graphs.iter().map(|given| given.name().as_str()).collect();
        names.join(", ")
    }

    /// Finds a checkpoint of a file by its address.
    pub(super) fn place(file: &FileArgument, meant: &str) -> Result<CheckpointRef, Failure> {
        Source::open(file).and_then(|source| source.place(meant)).map_err(Failure::before_the_run)
    }
}

/// Returns `true` if a file has this thread.
fn is_there(file: &FileArgument, thread: &ThreadId) -> Result<bool, Failure> {
    Ok(Source::open(file)?.reader.list_threads()?.threads.iter().any(|held| held.thread == *thread))
}

/// Quotes a word for a shell.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:@~+,%".contains(letter);
    if word.contains(is_nonprinting) {
        return format!("$'{}'", word.chars().map(escaped).collect::<String>());
    }
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Escapes a character between `$'` and `'`.
fn escaped(letter: char) -> String {
    match letter {
        '\'' | '\\' => format!("\\{letter}"),
        '\n' => r"\n".to_owned(),
        '\t' => r"\t".to_owned(),
        letter if letter.is_ascii_control() => format!("\\x{:02x}", u32::from(letter)),
        letter if is_nonprinting(letter) => format!("\\U{:08x}", u32::from(letter)),
        letter => letter.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_comes_through_a_shell_as_it_is() {
        assert_eq!(quoted("rust@3"), "rust@3");
        assert_eq!(quoted("it's one"), r"'it'\''s one'");
        assert_eq!(quoted(r#"{"a": 1}"#), r#"'{"a": 1}'"#);
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("it's\na\\b\u{1b}"), r"$'it\'s\na\\b\x1b'");
        assert_eq!(quoted("a\u{202e}b\u{e0041}"), r"$'a\U0000202eb\U000e0041'");
    }
}
