//! The texts that a model is to have, read from their files.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::attach::{INSTRUCTIONS, Reading, Source, Text};
use super::document::{Document, Skill, is_name, read_skill};
use super::folder::Folder;
use super::relevance::{Candidate, relevant};

/// The sources of texts for the model: the folder of the project, and one of the user.
///
/// ```no_run
/// use superstep_assistant::guidance::Guidance;
///
/// let guidance = Guidance::new("/home/me/project").user("/home/me/.config/superstep");
/// ```
#[derive(Clone, Debug)]
pub struct Guidance {
    folder: PathBuf,
    user: Option<PathBuf>,
    max_bytes: usize,
}

/// An error of reading guidance. A file that cannot be read is no error: a remark names it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuidanceError {
    /// A folder cannot be opened or written. Name one that can.
    #[error("the folder {} cannot be used: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// There is no such skill. The list of skills has their names.
    #[error("there is no skill `{name}`")]
    NoSkill {
        /// The name.
        name: String,
    },
    /// The program is ending.
    #[error("the program is ending")]
    Ended,
}

/// The texts that are wanted.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// The message of the user: relevant files of the memory are read, and all sources. Without it, only `folders`.
    pub(crate) request: Option<String>,
    /// The texts that the conversation has, with their digests.
    pub(crate) known: BTreeMap<String, String>,
    /// The folders whose nested instructions are read, relative to the workspace.
    pub(crate) folders: BTreeSet<String>,
    /// Other files to show, relative to the workspace.
    pub(crate) files: Vec<String>,
}

/// The default for the size of all texts that are attached at once, in bytes.
const MAX_BYTES: usize = 64 << 10;

/// The size to which one file is cut, in bytes.
const MAX_FILE: usize = 16 << 10;

/// The maximum numbers of files of the memory, of those that are shown as relevant, and of skills.
const MAX_MEMORY: usize = 200;
const MAX_RELEVANT: usize = 3;
const MAX_SKILLS: usize = 100;

/// The maximum length of a description in a list, in characters.
const MAX_DESCRIPTION: usize = 300;

/// The folders of commands. Of two with one name, the first one counts.
const COMMANDS: [(Source, &str); 2] = [(Source::User, "commands"), (Source::Project, ".superstep/commands")];

/// The folder of the memory.
pub(super) const MEMORY: &str = ".superstep/memory";

impl Guidance {
    /// Takes the files of a workspace: those of the project in it, and instructions also from the folders above, up to
    /// the one that has a `.git`.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), user: None, max_bytes: MAX_BYTES }
    }

    /// Takes the user's own files from this folder, too.
    #[must_use]
    pub fn user(mut self, folder: impl Into<PathBuf>) -> Self {
        self.user = Some(folder.into());
        self
    }

    /// Limits the size of all texts that are attached at once, in bytes; by default it is 64 KiB. One file is cut to
    /// 16 KiB.
    #[must_use]
    pub const fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Reads the texts that are new or changed.
    pub(crate) fn read(&self, wanted: &Wanted) -> Result<Reading, GuidanceError> {
        let mut reader = Reader::open(self, wanted)?;
        let Some(request) = &wanted.request else {
            wanted.folders.iter().for_each(|folder| reader.instructions(folder));
            return Ok(Reading { texts: reader.texts, prompt: None });
        };
        reader.user_instructions();
        let above = reader.rel.split('/').filter(|part| !part.is_empty()).count();
        (0..=above).rev().for_each(|up| reader.instructions(&vec![".."; up].join("/")));
        wanted.folders.iter().for_each(|folder| reader.instructions(folder));
        reader.memory(request);
        reader.list_skills();
        wanted.files.iter().for_each(|path| reader.file(path));
        let prompt = reader.command(request);
        reader.remark();
        Ok(Reading { texts: reader.texts, prompt })
    }

    /// Reads a skill; returns it with the path of its folder.
    pub(super) fn skill(&self, name: &str) -> Result<(Skill, String), GuidanceError> {
        let wanted = Wanted::default();
        let skills = Reader::open(self, &wanted)?.skills();
        let found = skills.into_iter().find(|(_, _, skill)| skill.name == name);
        let found = found.map(|(_, path, skill)| (skill, path));
        found.ok_or_else(|| GuidanceError::NoSkill { name: name.to_owned() })
    }

    /// Returns the commands of the user and of the project, by name, with their descriptions.
    ///
    /// # Errors
    /// Fails if the folder of the project or of the user cannot be opened. A file that cannot be read is left out.
    pub fn commands(&self) -> Result<BTreeMap<String, String>, GuidanceError> {
        let wanted = Wanted::default();
        let mut reader = Reader::open(self, &wanted)?;
        let mut commands = BTreeMap::new();
        for (from, folder) in COMMANDS {
            for file in reader.names(from, folder) {
                let Some(name) = file.strip_suffix(".md").filter(|name| is_name(name)) else { continue };
                let Some(text) = reader.text(from, &format!("{folder}/{file}")) else { continue };
                if let Ok(document) = Document::parse(&file, &text) {
                    let described = || shortened(document.description());
                    commands.entry(name.to_owned()).or_insert_with(described);
                }
            }
        }
        Ok(commands)
    }

    /// Writes a file of the memory.
    pub(super) fn remember(&self, name: &str, text: &str) -> Result<(), GuidanceError> {
        let failed = |source| GuidanceError::Folder { path: self.folder.join(MEMORY), source };
        let folder = Folder::open(&self.folder).map_err(failed)?;
        let folder = folder.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        folder.write(MEMORY, &format!("{name}.md"), text).map_err(failed)
    }
}

/// Reads files, and keeps the texts that are new or changed.
struct Reader<'r> {
    wanted: &'r Wanted,
    /// The root of the project.
    root: Folder,
    /// The path of the workspace below the root.
    rel: String,
    user: Option<Folder>,
    left: usize,
    texts: Vec<Text>,
    problems: Vec<String>,
}

impl<'r> Reader<'r> {
    fn open(guidance: &Guidance, wanted: &'r Wanted) -> Result<Self, GuidanceError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| GuidanceError::Folder { path, source }
        };
        let folder = guidance.folder.canonicalize().map_err(failed(&guidance.folder))?;
        let root = folder.ancestors().find(|path| path.join(".git").exists()).unwrap_or(&folder);
        let rel = folder.strip_prefix(root).map(slashed).unwrap_or_default();
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let root = Folder::open(root).and_then(|dir| dir.ok_or_else(missing)).map_err(failed(root))?;
        let user = guidance.user.as_deref().map(|path| Folder::open(path).map_err(failed(path)));
        let user = user.transpose()?.flatten();
        Ok(Self {
            wanted,
            root,
            rel,
            user,
            left: guidance.max_bytes,
            texts: Vec::new(),
            problems: Vec::new(),
        })
    }

    /// Returns a path of the workspace as one below the root.
    fn below_root(&self, path: &str) -> String {
        let mut parts: Vec<&str> = self.rel.split('/').filter(|part| !part.is_empty()).collect();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            match part {
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        parts.join("/")
    }

    /// Reads a file. One that cannot be read is a problem, which a remark for the model names.
    fn text(&mut self, from: Source, path: &str) -> Option<String> {
        let found = match from {
            Source::User => self.user.as_ref()?.text(path, MAX_FILE),
            Source::Project | Source::Program => self.root.text(&self.below_root(path), MAX_FILE),
        };
        match found {
            Ok(found) => found.map(|file| match file.is_cut {
                true => format!("{}\n[cut: the file is longer than {MAX_FILE} bytes]", file.text),
                false => file.text,
            }),
            Err(error) => {
                self.problems.push(format!("{path} is not read: {error}"));
                None
            }
        }
    }

    fn names(&mut self, from: Source, path: &str) -> Vec<String> {
        let found = match from {
            Source::User => self.user.as_ref().map_or(Ok(Vec::new()), |user| user.names(path)),
            Source::Project | Source::Program => self.root.names(&self.below_root(path)),
        };
        found.unwrap_or_else(|error| {
            self.problems.push(format!("{path} is not read: {error}"));
            Vec::new()
        })
    }

    /// Keeps a text that is new or changed. If the texts are too many, the rest is named only.
    fn keep(&mut self, key: String, from: Source, path: String, text: String) {
        let digest = match text.is_empty() {
            true => String::new(),
            false => blake3::hash(text.as_bytes()).to_hex()[..16].to_owned(),
        };
        if self.wanted.known.get(&key).is_some_and(|known| *known == digest) {
            return;
        }
        match self.left.checked_sub(text.len()) {
            Some(left) => {
                self.left = left;
                self.texts.push(Text { key, digest, from, path, text });
            }
            None => self.problems.push(format!("{path} is left out: the texts are too long together")),
        }
    }

    fn user_instructions(&mut self) {
        let named = ["AGENTS.md", "CLAUDE.md"];
        let found = named.into_iter().find_map(|name| Some((name, self.text(Source::User, name)?)));
        if let Some((name, text)) = found {
            self.keep(format!("{INSTRUCTIONS}user"), Source::User, name.to_owned(), text);
        }
    }

    /// Reads the instructions in a folder, which is relative to the workspace.
    fn instructions(&mut self, folder: &str) {
        let key = format!("{INSTRUCTIONS}./{folder}");
        let found = ["AGENTS.md", "CLAUDE.md"].into_iter().find_map(|name| {
            let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            self.text(Source::Project, &path).map(|text| (path, text))
        });
        let (path, text) = found.unwrap_or_default();
        self.keep(key, Source::Project, path, text);
    }

    fn memory(&mut self, request: &str) {
        let names = self.names(Source::Project, MEMORY);
        let names = names.into_iter().filter(|name| name.strip_suffix(".md").is_some_and(is_name));
        let (mut files, mut candidates, mut index) = (Vec::new(), Vec::new(), String::new());
        for name in names.take(MAX_MEMORY) {
            let path = format!("{MEMORY}/{name}");
            let Some(text) = self.text(Source::Project, &path) else { continue };
            let document = Document::parse(&path, &text).unwrap_or_else(|error| {
                self.problems.push(error.to_string());
                Document { body: text.clone(), ..Document::default() }
            });
            let description = shortened(document.description());
            index.push_str(&format!("- {name}: {description}\n"));
            candidates.push(Candidate { title: format!("{name} {description}"), text: document.body });
            files.push((path, text));
        }
        if !index.is_empty() {
            self.keep("memory".to_owned(), Source::Project, MEMORY.to_owned(), index);
        }
        for at in relevant(request, &candidates, MAX_RELEVANT) {
            let (path, text) = files[at].clone();
            self.keep(format!("memory:{path}"), Source::Project, path, text);
        }
    }

    /// Returns the skills, each with the path of its folder. Of two with one name the user's counts.
    fn skills(&mut self) -> Vec<(Source, String, Skill)> {
        let mut skills: Vec<(Source, String, Skill)> = Vec::new();
        let sources = [
            (Source::User, "skills"),
            (Source::Project, ".superstep/skills"),
            (Source::Project, ".claude/skills"),
        ];
        for (from, folder) in sources {
            for name in self.names(from, folder) {
                let path = format!("{folder}/{name}");
                let Some(text) = self.text(from, &format!("{path}/SKILL.md")) else { continue };
                match read_skill(&format!("{path}/SKILL.md"), &text) {
                    Ok(skill) if skills.iter().any(|(.., other)| other.name == skill.name) => {}
                    Ok(skill) if skills.len() < MAX_SKILLS => skills.push((from, path, skill)),
                    Ok(_) => self.problems.push(format!("{path} is left out: there are {MAX_SKILLS} skills")),
                    Err(error) => self.problems.push(error.to_string()),
                }
            }
        }
        skills
    }

    fn list_skills(&mut self) {
        let skills = self.skills();
        for (from, key) in [(Source::User, "user"), (Source::Project, "project")] {
            let of_source = skills.iter().filter(|(source, ..)| *source == from);
            let lines =
                of_source.map(|(.., skill)| format!("- {}: {}\n", skill.name, shortened(&skill.description)));
            let list: String = lines.collect();
            if !list.is_empty() {
                self.keep(format!("skills:{key}"), from, "skills, read by use_skill".to_owned(), list);
            }
        }
    }

    fn file(&mut self, path: &str) {
        if let Some(text) = self.text(Source::Project, path) {
            self.keep(format!("file:{path}"), Source::Project, path.to_owned(), text);
        }
    }

    /// Returns the prompt of the command that a message begins with.
    fn command(&mut self, request: &str) -> Option<String> {
        let line = request.trim().strip_prefix('/')?;
        let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let mut sources = COMMANDS.into_iter().filter(|_| is_name(name));
        let (path, text) = sources.find_map(|(from, folder)| {
            let path = format!("{folder}/{name}.md");
            self.text(from, &path).map(|text| (path, text))
        })?;
        let body = match Document::parse(&path, &text) {
            Ok(document) => document.body,
            Err(error) => {
                self.problems.push(error.to_string());
                return None;
            }
        };
        Some(match body.contains("$ARGUMENTS") {
            true => body.replace("$ARGUMENTS", arguments.trim()),
            false => format!("{body}\n\n{}", arguments.trim()).trim().to_owned(),
        })
    }

    /// Keeps the problems as a text.
    fn remark(&mut self) {
        if !self.problems.is_empty() {
            let text = std::mem::take(&mut self.problems).join("\n");
            self.left = text.len();
            self.keep("remarks".to_owned(), Source::Program, "remarks".to_owned(), text);
        }
    }
}

fn shortened(text: &str) -> String {
    let kept: String = text.chars().take(MAX_DESCRIPTION).collect();
    kept.replace('\n', " ")
}

fn slashed(path: &Path) -> String {
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}
