//! The trust in the settings of projects.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::Settings;
use crate::guidance::Folder;
use crate::permission::Trust;

/// The folders whose settings the user trusts, each by a digest, in a file of the user's.
///
/// ```no_run
/// use std::path::Path;
/// use superstep_assistant::settings::{Checked, Settings, TrustedFolders};
///
/// # fn ask(_: &[String]) -> bool { false }
/// let (folder, trusted) = (Path::new("."), TrustedFolders::in_file("/home/me/.config/superstep/trusted.json"));
/// let settings = match trusted.check(folder, Settings::of_project(folder)?)? {
///     Checked::Settled(settings) => settings,
///     // With a person only: a program that runs without one takes the settings without trust.
///     Checked::Asks(question) => match ask(&question.items) {
///         true => trusted.trust(question)?,
///         false => question.without_trust(),
///     },
/// };
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TrustedFolders {
    file: PathBuf,
}

/// The settings of a project, and perhaps a question about them.
#[derive(Debug)]
pub enum Checked {
    /// The settings are trusted, or nothing in them needs trust.
    Settled(Settings),
    /// The settings need trust, and the user has not given it.
    Asks(TrustQuestion),
}

/// A question whether to trust the settings of a project.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TrustQuestion {
    /// The folder.
    pub folder: PathBuf,
    /// The digest that is trusted if the user agrees.
    pub digest: String,
    /// The settings that need trust, one in each line: rules that allow, commands, servers.
    pub items: Vec<String>,
    /// `true` if other settings of this folder were trusted before.
    pub is_changed: bool,
    settings: Settings,
}

impl TrustQuestion {
    /// Returns the settings without trust: they may only tighten.
    pub fn without_trust(self) -> Settings {
        self.settings
    }
}

/// An error of trust.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// The folder cannot be found.
    #[error("the folder {} cannot be used: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file of trusted folders cannot be read or written. Nothing is trusted.
    #[error("the file of trusted folders {} cannot be used: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file of trusted folders is damaged. Delete it, and trust the folders again.
    #[error("the file of trusted folders {} is damaged: {reason}; delete it to begin again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// A description of the damage.
        reason: String,
    },
}

impl TrustedFolders {
    /// Takes the file with the digests, in a folder of the user's. It is made when the first folder is trusted.
    pub fn in_file(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into() }
    }

    /// Compares the settings of a folder with the digest that the user trusts.
    ///
    /// The digest is of the whole file, and of each file in the folder that a command names, such as a script. What such
    /// a script starts is not part of it.
    ///
    /// # Errors
    /// Fails if the folder is not there, or if the file of trusted folders cannot be read.
    pub fn check(&self, folder: &Path, settings: Settings) -> Result<Checked, TrustError> {
        let items = settings.needing_trust();
        if items.is_empty() {
            return Ok(Checked::Settled(settings));
        }
        let failed = |source| TrustError::Folder { path: folder.to_owned(), source };
        let folder = folder.canonicalize().map_err(&failed)?;
        let digest = digest(&folder, &settings).map_err(failed)?;
        let trusted = self.read()?;
        let known = trusted.get(&key(&folder));
        if known == Some(&digest) {
            return Ok(Checked::Settled(Settings { trust: Trust::Trusted, ..settings }));
        }
        let is_changed = known.is_some();
        Ok(Checked::Asks(TrustQuestion { digest, items, is_changed, folder, settings }))
    }

    /// Trusts what a question shows, now that the user has agreed to it, and returns the settings with trust. If the file
    /// has changed since the question was made, the next check asks again.
    ///
    /// # Errors
    /// Fails if the file of trusted folders cannot be written.
    pub fn trust(&self, question: TrustQuestion) -> Result<Settings, TrustError> {
        let mut trusted = self.read()?;
        trusted.insert(key(&question.folder), question.digest);
        self.write(&trusted)?;
        Ok(Settings { trust: Trust::Trusted, ..question.settings })
    }

    fn failed(&self) -> impl Fn(io::Error) -> TrustError {
        |source| TrustError::File { path: self.file.clone(), source }
    }

    fn read(&self) -> Result<BTreeMap<String, String>, TrustError> {
        let text = match std::fs::read_to_string(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            text => text.map_err(self.failed())?,
        };
        let damaged = |error: serde_json::Error| TrustError::Damaged {
            path: self.file.clone(),
            reason: error.to_string(),
        };
        serde_json::from_str(&text).map_err(damaged)
    }

    /// Writes a new file over the old one, so that a crash leaves one of them.
    fn write(&self, trusted: &BTreeMap<String, String>) -> Result<(), TrustError> {
        let write = || {
            if let Some(folder) = self.file.parent() {
                std::fs::create_dir_all(folder)?;
            }
            let new = self.file.with_extension(format!("new-{}", std::process::id()));
            std::fs::write(&new, serde_json::to_string_pretty(trusted)?)?;
            std::fs::rename(&new, &self.file)
        };
        write().map_err(self.failed())
    }
}

/// Returns the key of a folder. Two paths that look alike differ in their digests.
fn key(folder: &Path) -> String {
    let digest = blake3::hash(folder.as_os_str().as_encoded_bytes());
    format!("{} {}", &digest.to_hex()[..16], folder.display())
}

/// The size to which a file that a command names is part of the digest, in bytes.
const MAX_SCRIPT: usize = 16 << 20;

/// Returns the digest of settings, and of the files in the folder that their commands name.
fn digest(folder: &Path, settings: &Settings) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    let mut add = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    add(settings.text.as_bytes());
    let folder = Folder::open(folder)?.ok_or(io::ErrorKind::NotFound)?;
    let is_border = |letter: char| letter.is_whitespace() || "'\"`;|&()<>$=".contains(letter);
    for word in settings.commands().flat_map(|command| command.split(is_border)) {
        // What is no file of the folder, such as a program of the system, is not the project's.
        if let Ok(Some(script)) = folder.bytes(word, MAX_SCRIPT) {
            add(word.as_bytes());
            add(&script);
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}
