//! A walk through all files of a folder that no `.gitignore` excludes.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use cap_std::fs::{Dir, DirEntry};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::manifest::{Entry, Name, NotCovered, NotCoveredReason};
use super::place::{Root, Sight, open_file, open_folder};

/// The number of folders above the deepest one. Each is open during the walk.
const MOST_DEEP: usize = 200;

/// The size in bytes above which a `.gitignore` is read in part.
const MOST_RULES: u64 = 1 << 20;

/// All files of a folder, at first sight.
pub(super) struct Walked {
    pub(super) found: Vec<(Name, Sight)>,
    /// The files whose names are no text.
    pub(super) unnamed: Vec<NotCovered>,
}

/// Walks through a folder. Links are not followed, and a folder that is replaced by a link meanwhile is not entered.
pub(super) fn walk(root: &Root, most_files: usize) -> Walked {
    let mut walk = Walk { root, most_files, walked: Walked { found: Vec::new(), unnamed: Vec::new() } };
    let above = Rules::above(&root.path);
    if let Err(reason) = walk.folder(&root.dir, "", above.as_ref(), 0) {
        walk.walked.found = vec![(Name::from(""), Sight::Known(Entry::not_covered(reason)))];
    }
    walk.walked
}

struct Walk<'r> {
    root: &'r Root,
    most_files: usize,
    walked: Walked,
}

impl Walk<'_> {
    /// Walks through a folder; returns the number of files. If the folder is not covered, nothing below it is found.
    fn folder(
        &mut self,
        dir: &Dir,
        path: &str,
        above: Option<&Arc<Rules>>,
        depth: usize,
    ) -> Result<usize, NotCoveredReason> {
        let start = self.walked.found.len();
        if depth > MOST_DEEP {
            return Err(NotCoveredReason::TooDeep);
        }
        let rules = Rules::of(dir, &self.root.path.join(path), above);
        let rules = rules.as_ref();
        let (mut files, mut folders) = (0, Vec::new());
        for (name, entry) in self.entries(dir, path)? {
            let path = below(path, &name);
            if self.root.is_out_of_reach(&path, &name) {
                continue;
            }
            let metadata = match entry.metadata() {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(_) => {
                    self.found(path, Sight::Known(Entry::not_covered(NotCoveredReason::Unreadable)));
                    continue;
                }
            };
            if rules.is_some_and(|rules| rules.exclude(&self.root.path.join(&path), metadata.is_dir())) {
                self.found(path, Sight::Known(Entry::not_covered(NotCoveredReason::Ignored)));
                continue;
            }
            if metadata.is_dir() {
                folders.push((path, name));
                continue;
            }
            files += 1;
            if files > self.most_files {
                self.walked.found.truncate(start);
                return Err(NotCoveredReason::TooManyFiles);
            }
            let sight = self.root.sight(dir, &name, &metadata);
            self.found(path, sight);
        }
        for (path, name) in folders {
            let at = self.walked.found.len();
            self.found(path.clone(), Sight::Known(Entry::Folder));
            let inside = match open_folder(dir, &name) {
                Ok(inside) => self.folder(&inside, &path, rules, depth + 1),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
                Err(_) => Err(NotCoveredReason::Unreadable),
            };
            match inside {
                Ok(more) => files += more,
                Err(reason) => {
                    self.walked.found.truncate(at);
                    self.found(path, Sight::Known(Entry::not_covered(reason)));
                }
            }
            if files > self.most_files {
                self.walked.found.truncate(start);
                return Err(NotCoveredReason::TooManyFiles);
            }
        }
        Ok(files)
    }

    /// Returns what is in a folder, by name: a manifest is made of sorted paths in less time.
    fn entries(&mut self, dir: &Dir, path: &str) -> Result<Vec<(String, DirEntry)>, NotCoveredReason> {
        let mut entries = Vec::new();
        for entry in dir.entries().map_err(|_| NotCoveredReason::Unreadable)? {
            let entry = entry.map_err(|_| NotCoveredReason::Unreadable)?;
            match entry.file_name().into_string() {
                Ok(name) => entries.push((name, entry)),
                Err(name) => {
                    let path = below(path, &name.to_string_lossy());
                    self.walked.unnamed.push(NotCovered { path, reason: NotCoveredReason::NotText });
                }
            }
        }
        entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Ok(entries)
    }

    fn found(&mut self, path: String, sight: Sight) {
        self.walked.found.push((Name::from(path), sight));
    }
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}

/// The rules of a `.gitignore`, and those of the folders above.
struct Rules {
    rules: Gitignore,
    above: Option<Arc<Rules>>,
}

impl Rules {
    /// Returns the rules of the folders above one, up to that of the repository that it is in.
    fn above(folder: &Path) -> Option<Arc<Self>> {
        let end = folder.ancestors().position(|folder| folder.join(".git").exists())?;
        let above: Vec<_> = folder.ancestors().take(end + 1).skip(1).collect();
        above.into_iter().rev().fold(None, |above, folder| match std::fs::read(folder.join(".gitignore")) {
            Ok(text) => Some(Arc::new(Self { rules: parse(folder, &text), above })),
            Err(_) => above,
        })
    }

    /// Returns the rules that hold in a folder.
    fn of(dir: &Dir, path: &Path, above: Option<&Arc<Self>>) -> Option<Arc<Self>> {
        let mut text = Vec::new();
        let file =
            open_file(dir, ".gitignore").ok().filter(|file| file.metadata().is_ok_and(|it| it.is_file()));
        match file.map(|file| file.take(MOST_RULES).read_to_end(&mut text)) {
            Some(Ok(_)) => Some(Arc::new(Self { rules: parse(path, &text), above: above.cloned() })),
            _ => above.cloned(),
        }
    }

    fn exclude(&self, path: &Path, is_folder: bool) -> bool {
        match self.rules.matched(path, is_folder) {
            Match::Ignore(_) => true,
            Match::Whitelist(_) => false,
            Match::None => self.above.as_ref().is_some_and(|above| above.exclude(path, is_folder)),
        }
    }
}

/// Reads rules. As in git, a line that is no pattern excludes nothing.
fn parse(folder: &Path, text: &[u8]) -> Gitignore {
    let mut builder = GitignoreBuilder::new(folder);
    for line in String::from_utf8_lossy(text).lines() {
        drop(builder.add_line(None, line));
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

#[cfg(test)]
mod tests;
