//! `gc`: deletes unreferenced data.

use std::time::Duration;

use serde::Serialize;
use superstep_checkpoint::maintenance::{self, Collected, Pruned, Retention};
use superstep_core::id::ThreadId;

use crate::arguments::count;
use crate::database::DatabaseUrl;
use crate::failure::Failure;
use crate::file::FileArgument;
use crate::page::{DIM, GOOD, Page, plain, span};
use crate::screen::Answer;
use crate::source::Source;

/// Delete unreferenced data, and with --keep-last or --keep-days old checkpoints
///
/// Unreferenced data is long texts and work that no checkpoint refers to, and the rest of deletions. Of old
/// checkpoints, the latest of each thread, those with a name and those where branches begin are kept. The values of
/// kept checkpoints do not change. A file keeps its size until `vacuum`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: superstep gc essays.db --dry-run",
    group = clap::ArgGroup::new("keep").args(["keep_last", "keep_days"]).multiple(true)
)]
pub(crate) struct Gc {
    #[command(flatten)]
    file: FileArgument,
    /// Only print what would be deleted
    #[arg(long)]
    dry_run: bool,
    /// Delete old checkpoints, but keep the newest N of each branch
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_hyphen_values = true)]
    keep_last: Option<usize>,
    /// Delete old checkpoints, but keep those of the last D days
    #[arg(long, value_name = "D", value_parser = count::<u64>, allow_hyphen_values = true)]
    keep_days: Option<u64>,
    /// Delete old checkpoints only of this thread and its subgraphs; `*` stands for any letters, `?` for one; may be
    /// repeated
    #[arg(long, value_name = "THREAD", requires = "keep")]
    thread: Vec<String>,
    /// The longest time to wait for another writer, in seconds
    #[arg(long, default_value_t = 30, value_parser = count::<u64>, allow_hyphen_values = true)]
    patience: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Gone {
    pruned: Pruned,
    #[serde(flatten)]
    collected: Collected,
    dry_run: bool,
}

impl Gone {
    /// The unreferenced data of a file, without old checkpoints.
    #[cfg(feature = "agent")]
    pub(crate) fn unreferenced(collected: Collected) -> Self {
        let pruned = Pruned::default();
        Self { pruned, collected, dry_run: false }
    }
}

impl Gc {
    pub(crate) fn answer(&self) -> Result<Gone, Failure> {
        let patience = Duration::from_secs(self.patience);
        let database = self.file.keyed_database()?;
        let retention = self.retention()?;
        if let Some(database) = database {
            return self.of_database(&database, &retention, patience);
        }
        let (pruned, collected) = match self.dry_run {
            true => maintenance::prunable(self.file.keyed()?, &retention)?,
            false => (
                maintenance::prune(self.file.keyed()?, &retention, patience)?,
                maintenance::collect(self.file.keyed()?, patience)?,
            ),
        };
        Ok(Gone { pruned, collected, dry_run: self.dry_run })
    }

    #[cfg(feature = "postgres")]
    fn of_database(
        &self,
        database: &DatabaseUrl,
        retention: &Retention,
        patience: Duration,
    ) -> Result<Gone, Failure> {
        let dry_run = self.dry_run;
        let amounts = database.maintain(patience, async |saver| match dry_run {
            true => saver.prunable(retention).await,
            false => Ok((saver.prune(retention).await?, saver.collect().await?)),
        });
        let (pruned, collected) = amounts?;
        Ok(Gone { pruned, collected, dry_run })
    }

    #[cfg(not(feature = "postgres"))]
    fn of_database(&self, database: &DatabaseUrl, _: &Retention, _: Duration) -> Result<Gone, Failure> {
        Err(database.unsupported())
    }

    fn retention(&self) -> Result<Retention, Failure> {
        let mut retention = Retention::new();
        if let Some(count) = self.keep_last {
            retention = retention.keep_last(count);
        }
        if let Some(days) = self.keep_days {
            let day = Duration::from_secs(24 * 60 * 60);
            let age = day.checked_mul(u32::try_from(days).unwrap_or(u32::MAX));
            retention = retention.keep_for(age.unwrap_or(Duration::MAX));
        }
        for name in &self.thread {
            retention = self.meant(name)?.into_iter().fold(retention, Retention::only);
        }
        Ok(retention)
    }

    /// Returns the threads that match a name or a pattern. Fails if there are none.
    fn meant(&self, name: &str) -> Result<Vec<ThreadId>, Failure> {
        let source = Source::open(&self.file)?;
        let all = source.reader.threads()?.into_iter().map(|thread| thread.thread);
        let is_meant = |thread: &ThreadId| match is_pattern(name) {
            true => matches(name, thread.as_str()),
            false => thread.as_str() == name,
        };
        let meant: Vec<ThreadId> = all.filter(is_meant).collect();
        match meant.is_empty() {
            true if is_pattern(name) => Err(Failure::nothing(format!("there is no thread like {name}"))),
            true => Ok(vec![source.thread(name)?.thread]),
            false => Ok(meant),
        }
    }
}

impl Answer for Gone {
    fn show(&self, page: &mut Page) {
        let Collected { bodies, segments, work, remains, bytes } = self.collected;
        let Pruned { checkpoints, threads, bytes: texts } = self.pruned;
        if self.collected.is_empty() && checkpoints == 0 {
            return page.line([span(GOOD, "there is nothing to delete")]);
        }
        let counts = [
            (checkpoints, "checkpoint", "checkpoints"),
            (threads, "thread of a subgraph", "threads of subgraphs"),
            (bodies, "long text", "long texts"),
            (segments, "segment of versions", "segments of versions"),
            (work, "record of unfinished work", "records of unfinished work"),
            (remains, "leftover of a deletion", "leftovers of deletions"),
        ];
        let told = counts.into_iter().filter(|(count, ..)| *count > 0);
        let told = told.map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }));
        let told = told.collect::<Vec<_>>().join(", ");
        let how = if self.dry_run { "would delete" } else { "deleted" };
        let less = bytes.cast_signed() + texts;
        let size = match less {
            0.. => format!(" ({less} bytes)"),
            // Merging the changes of a field may make them longer.
            _ => format!(" (kept data takes {} bytes more)", less.unsigned_abs()),
        };
        page.line([plain(format!("{how} {told}")), span(DIM, size)]);
    }
}

/// Returns `true` if the text contains a wildcard.
pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// Returns `true` if a name matches the pattern.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // The positions in the name that the pattern so far can end at.
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    for wanted in pattern {
        let before = reached.clone();
        match wanted {
            '*' => {
                let first = before.iter().position(|reached| *reached).unwrap_or(before.len());
                reached[first..].fill(true);
            }
            wanted => {
                reached[0] = false;
                for (at, letter) in name.iter().enumerate() {
                    reached[at + 1] = before[at] && (wanted == '?' || wanted == *letter);
                }
            }
        }
    }
    reached[name.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_letters_and_a_question_mark_is_one() {
        for (pattern, name) in
            [("*", ""), ("a*", "a"), ("*b*d", "abcd"), ("?ü?", "aüc"), ("a", "a"), ("**", "x")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("", "a"), ("?", ""), ("a*c", "abcd"), ("a", "ab"), ("*b", "abc"), ("??", "a")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
