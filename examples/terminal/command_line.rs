//! What the command lines of the examples have in common.

use std::error::Error;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use superstep::id::ThreadId;

/// The file of an example in the user's data folder, which is made if it is not there.
pub(crate) fn data_file(name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let folder = etcetera::choose_base_strategy()?.data_dir().join("superstep");
    std::fs::create_dir_all(&folder)?;
    Ok(folder.join(name))
}

/// The thread that is named, or a new one.
pub(crate) fn thread(named: Option<&String>) -> ThreadId {
    match named {
        Some(thread) => thread.as_str().into(),
        None => uuid::Uuid::now_v7().to_string().into(),
    }
}

/// The command that continues an unfinished thread, with these variables of the environment, and with those options that
/// have a value.
pub(crate) fn to_resume(
    example: &str,
    thread: &ThreadId,
    db: &Path,
    variables: impl IntoIterator<Item = (&'static str, String)>,
    options: impl IntoIterator<Item = (&'static str, Option<String>)>,
) -> String {
    let mut command: String =
        variables.into_iter().map(|(name, value)| format!("{name}={} ", quoted(value))).collect();
    command.push_str(&format!(
        "cargo run --release --example {example} -- --resume --thread {} --db {}",
        quoted(thread),
        quoted(db.display())
    ));
    for (name, value) in options {
        if let Some(value) = value {
            command.push_str(&format!(" --{name} {}", quoted(value)));
        }
    }
    command
}

/// Refuses a text of nothing but white space.
pub(crate) fn not_blank(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("it is blank") } else { Ok(text.to_owned()) }
}

/// Quotes a word for a shell.
fn quoted(word: impl Display) -> String {
    format!("'{}'", word.to_string().replace('\'', r"'\''"))
}
