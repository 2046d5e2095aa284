//! The folders of the user, and the files of a workspace.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The places of the files that the agent reads and writes beside those of the workspace.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// The folder that the agent works in.
    pub(crate) workspace: PathBuf,
    /// The user's settings, skills, commands and memory.
    pub(crate) configuration: PathBuf,
    /// The sessions of all folders, and the history of inputs.
    pub(crate) data: PathBuf,
}

/// The variable that replaces both folders of the user.
const HOME: &str = "SUPERSTEP_HOME";

/// The number of digits of a path's digest that make the name of its folder of sessions unique.
const DIGITS: usize = 12;

/// The maximum number of characters of a workspace's name in that of its folder of sessions.
const LONGEST_NAME: usize = 40;

impl Places {
    /// Finds the places for the present folder.
    pub(crate) fn here() -> Result<Self, Failure> {
        let workspace = env::current_dir().and_then(|folder| folder.canonicalize());
        let workspace = workspace.map_err(|error| unusable("the present folder", &error))?;
        let base = |variable: &str, below: &str| -> Result<PathBuf, Failure> {
            let set = env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
            let home = || env::var_os("HOME").filter(|home| !home.is_empty());
            let base = set.or_else(|| Some(Path::new(&home()?).join(below)));
            let missing = || Failure::unusable(format!("there is no home folder: set HOME, or {HOME}"));
            Ok(base.ok_or_else(missing)?.join("superstep"))
        };
        let (configuration, data) = match env::var_os(HOME).filter(|home| !home.is_empty()) {
            Some(home) => {
                let home = workspace.join(home);
                (home.clone(), home)
            }
            None => (base("XDG_CONFIG_HOME", ".config")?, base("XDG_DATA_HOME", ".local/share")?),
        };
        Ok(Self { workspace, configuration, data })
    }

    /// Returns the user's file of settings.
    pub(crate) fn settings(&self) -> PathBuf {
        self.configuration.join("settings.toml")
    }

    /// Returns the file with the rules that the user allowed with the answer `always`.
    pub(crate) fn always(&self) -> PathBuf {
        self.configuration.join("always.toml")
    }

    /// Returns the file of the digests of trusted project settings.
    pub(crate) fn trusted(&self) -> PathBuf {
        self.data.join("trusted.json")
    }

    /// Returns the folder of the sessions of all folders.
    pub(crate) fn all_sessions(&self) -> PathBuf {
        self.data.join("sessions")
    }

    /// Returns the folder of the sessions of this workspace.
    pub(crate) fn sessions(&self) -> PathBuf {
        let name = self.workspace.file_name().map(|name| name.to_string_lossy().into_owned());
        let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let name: String = name.unwrap_or_default().chars().take(LONGEST_NAME).map(letter).collect();
        let digest = blake3::hash(self.workspace.as_os_str().as_encoded_bytes()).to_hex();
        self.all_sessions().join(format!("{name}-{}", &digest[..DIGITS]))
    }

    /// Returns the checkpoint file of the sessions.
    pub(crate) fn checkpoints(&self) -> PathBuf {
        self.sessions().join("sessions.db")
    }

    /// Returns the file of the snapshots.
    pub(crate) fn snapshots(&self) -> PathBuf {
        self.sessions().join("snapshots").join("snapshots.sqlite")
    }

    /// Returns the file that a running session has locked.
    pub(crate) fn lock(&self, session: &str) -> PathBuf {
        self.sessions().join("running").join(session)
    }

    /// Makes the folders for the sessions of this workspace. Only the user may read them.
    pub(crate) fn make(&self) -> Result<(), Failure> {
        let sessions = self.sessions();
        let make = |folder: &Path| DirBuilder::new().recursive(true).mode(0o700).create(folder);
        make(&self.data)
            .and_then(|()| make(&self.configuration))
            .map_err(|error| unusable("the user's folder", &error))?;
        let made = [sessions.join("running"), sessions.join("snapshots")].iter().try_for_each(|it| make(it));
        let named = made.and_then(|()| {
            let file = sessions.join(WORKSPACE);
            if file.exists() {
                Ok(())
            } else {
                fs::write(file, self.workspace.as_os_str().as_encoded_bytes())
            }
        });
        named.map_err(|error| unusable(&sessions.display().to_string(), &error))
    }

    /// Returns the same places for another workspace.
    pub(crate) fn of(&self, workspace: PathBuf) -> Self {
        Self { workspace, ..self.clone() }
    }

    /// Returns the workspaces that have sessions, in the order of their names.
    pub(crate) fn workspaces(&self) -> Vec<PathBuf> {
        let folders = fs::read_dir(self.all_sessions()).into_iter().flatten().flatten();
        let mut found: Vec<PathBuf> = folders
            .filter_map(|folder| fs::read_to_string(folder.path().join(WORKSPACE)).ok())
            .map(PathBuf::from)
            .collect();
        found.sort();
        found
    }
}

/// The file that has the path of the workspace, in its folder of sessions.
const WORKSPACE: &str = "workspace";

fn unusable(what: &str, error: &io::Error) -> Failure {
    Failure::unusable(format!("{what} cannot be used: {error}"))
}
