//! The demo: a small project with a failing test, and a scripted model that mends it.
//!
//! The project has settings of its own, which name the script. So `superstep agent -c` continues the demo like any
//! session, also after a crash.

use std::env;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use superstep_assistant::settings::{Checked, PROJECT_FILE, Settings as File, TrustedFolders};
use superstep_core::run::{Ambient, System};

use super::arguments::{Options, Which};
use super::headless;
use super::interactive;
use super::places::Places;
use super::screen::{Line, View};
use super::sessions::past;
use super::work::{Start, WorkEnd};
use super::workbench::{Trusting, Workbench};
use crate::failure::Failure;
use crate::screen::{Exit, Screen};

/// The message of the user.
const MESSAGE: &str = "sh test.sh fails. Find out why, and mend it.";

/// The files of the project.
const FILES: [(&str, &str); 4] = [
    ("README.md", include_str!("demo/project/README.md")),
    ("convert.sh", include_str!("demo/project/convert.sh")),
    ("test.sh", include_str!("demo/project/test.sh")),
    (".superstep/script.json", include_str!("demo/script.json")),
];

/// The setting with which the demo asks nothing.
const ALLOW_EDIT: &str =
    "\n[[permissions.if]]\nrule = \"edit_file(convert.sh)\"\nthen = \"allow\"\nreason = \"--yes\"\n";

/// Runs the demo at the terminal.
pub(crate) async fn talk(options: &Options, screen: &mut Screen<'_>) -> Result<Exit, Failure> {
    let places = enter("")?;
    let folder = places.workspace.display();
    let greeting = format!(
        "A demo in {folder}, with a scripted model.\n\
         Allow its edit; then try /rewind, and leave with /quit.\n\n"
    );
    print(screen, &greeting)?;
    // The terminal belongs to this thread.
    let exit =
        tokio::task::block_in_place(|| interactive::run(Some(MESSAGE), &Which::New, options, screen.look))?;
    print(screen, &next_steps(&places).await?)?;
    Ok(exit)
}

/// Runs the demo without a question.
pub(crate) async fn run_alone(options: &Options, screen: &mut Screen<'_>) -> Result<Exit, Failure> {
    let places = enter(ALLOW_EDIT)?;
    let bench = Workbench::open(options, Trusting::Nothing).await?;
    let mut session = bench.session(&Which::New).await?;
    let mut work = match bench.begin(&mut session, Start::Ask(MESSAGE.to_owned())).await? {
        Ok(work) => work,
        Err(end) => return Err(Failure::nothing(format!("the demo did not begin: {end:?}"))),
    };
    let mut view = View::new(screen.look, bench.settings.prices.clone());
    while let Some(event) = work.next().await {
        let lines = view.event(&event);
        print_lines(screen, &lines)?;
    }
    print_lines(screen, &view.end())?;
    let exit = match work.end().await? {
        WorkEnd::Exited { exit, .. } => headless::code(exit),
        other => return Err(Failure::nothing(format!("the demo did not end: {other:?}"))),
    };
    print(screen, &next_steps(&places).await?)?;
    Ok(exit)
}

/// Copies the project to a new folder, and enters it. Its settings, with these lines behind them, are trusted, as they
/// come from this program.
fn enter(more_settings: &str) -> Result<Places, Failure> {
    let id = System.id().simple().to_string();
    let folder = env::temp_dir().join(format!("superstep-demo-{}", &id[id.len() - 8..]));
    let copied = copy(&folder, more_settings).and_then(|()| env::set_current_dir(&folder));
    let failed = |error: &dyn std::error::Error| {
        Failure::unusable(format!("the demo cannot be copied to {}: {error}", folder.display()))
    };
    copied.map_err(|error| failed(&error))?;
    let places = Places::here()?;
    places.make()?;
    let project = File::of_project(&places.workspace).map_err(|error| failed(&error))?;
    let trusted = TrustedFolders::in_file(places.trusted());
    if let Checked::Asks(question) =
        trusted.check(&places.workspace, project).map_err(|error| failed(&error))?
    {
        trusted.trust(question).map_err(|error| failed(&error))?;
    }
    Ok(places)
}

fn copy(folder: &Path, more_settings: &str) -> std::io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)?;
    fs::create_dir(folder.join(".superstep"))?;
    FILES.iter().try_for_each(|(name, text)| fs::write(folder.join(name), text))?;
    fs::write(folder.join(PROJECT_FILE), [include_str!("demo/settings.toml"), more_settings].concat())
}

/// Returns the commands to try after the demo.
async fn next_steps(places: &Places) -> Result<String, Failure> {
    let (folder, program) = (places.workspace.display(), program());
    let sessions = past().await?.sessions().await?;
    let session = sessions.first().map_or("SESSION", |latest| latest.session.as_str());
    Ok(format!(
        "\nThe files are in {folder}. Try next:\n  cd {folder}\n  \
         {program} agent rewind {session}@0   take the session back, with its files\n  \
         {program} agent redo                 take the rewind back\n  \
         {program} log {} {session}\n",
        places.checkpoints().display()
    ))
}

/// Returns the name of this program for a command line: its path, if it is not installed.
fn program() -> String {
    let path = env::current_exe().unwrap_or_default();
    let folders = env::var_os("PATH").unwrap_or_default();
    match env::split_paths(&folders).any(|folder| Some(folder.as_path()) == path.parent()) {
        true => "superstep".to_owned(),
        false => path.display().to_string(),
    }
}

fn print_lines(screen: &mut Screen<'_>, lines: &[Line]) -> Result<(), Failure> {
    lines.iter().try_for_each(|line| {
        let text = line.text(screen.look.color);
        print(screen, &format!("{text}\n"))
    })
}

fn print(screen: &mut Screen<'_>, text: &str) -> Result<(), Failure> {
    let written = screen.out.write_all(text.as_bytes()).and_then(|()| screen.out.flush());
    written.map_err(|error| Failure::unusable(format!("the demo cannot be printed: {error}")))
}
