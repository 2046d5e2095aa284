//! The file with the rules that the user allowed with the answer `always`.

use std::fs;
use std::io;
use std::path::Path;

use superstep_assistant::permission::{Rule, RuleKind};
use superstep_assistant::settings::Settings;

use crate::failure::Failure;

/// Adds rules to the file, which is made if it does not exist. It has the form of other settings, and may be edited:
/// only lines are added.
pub(crate) fn add(file: &Path, rules: &[Rule]) -> Result<(), Failure> {
    let before = Settings::of_user(file).map_err(Failure::of)?;
    let is_known = |rule: &Rule| {
        before
            .rules()
            .any(|(kind, place)| kind == RuleKind::Allow && place.rule.to_string() == rule.to_string())
    };
    let new: Vec<_> = rules.iter().filter(|rule| !is_known(rule)).map(ToString::to_string).collect();
    if new.is_empty() {
        return Ok(());
    }
    let text = if before.text().trim().is_empty() { EMPTY } else { before.text() };
    let Some(text) = with_rules(text, &new) else {
        let (file, rules) = (file.display(), new.join(", "));
        return Err(Failure::unusable(format!(
            "{file} has no line `{LIST}`: add {rules} to its rules yourself"
        )));
    };
    let failed =
        |error: io::Error| Failure::unusable(format!("{} cannot be written: {error}", file.display()));
    write(file, &text).map_err(failed)
}

/// A file without rules.
const EMPTY: &str = "# Calls that you allowed with the answer `always`. Delete a line to be asked again.\n\
    [permissions]\nallow = [\n]\n";

/// The line behind which rules are added.
const LIST: &str = "allow = [";

/// Returns the text with rules added; `None` if there is no list of one rule a line.
fn with_rules(text: &str, rules: &[String]) -> Option<String> {
    let at = text.find(&format!("\n{LIST}\n"))? + LIST.len() + 2;
    // A JSON text is a TOML text, too.
    let lines = rules.iter().map(|rule| Some(format!("    {},\n", serde_json::to_string(rule).ok()?)));
    Some([&text[..at], &lines.collect::<Option<String>>()?, &text[at..]].concat())
}

/// Writes a new file over the old one, so that a crash leaves one of them.
fn write(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let new = file.with_extension(format!("new-{}", std::process::id()));
    fs::write(&new, text)?;
    fs::rename(&new, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file was written again from its rules that allow, without the others and without comments.
    #[test]
    fn what_the_user_wrote_into_the_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("always.toml");
        let rule = |text: &str| [text.parse::<Rule>().unwrap()];
        add(&file, &rule("bash(ls*)")).unwrap();
        let edited = format!("{}deny = [\"bash(rm*)\"] # never\n", fs::read_to_string(&file).unwrap());
        fs::write(&file, &edited).unwrap();
        add(&file, &rule("bash(cargo test*)")).unwrap();
        add(&file, &rule("bash(ls*)")).unwrap();
        let expected = edited.replace("allow = [\n", "allow = [\n    \"bash(cargo test*)\",\n");
        assert_eq!(fs::read_to_string(&file).unwrap(), expected);

        fs::write(&file, "[permissions]\ndeny = [\"bash(rm*)\"]\n").unwrap();
        let error = add(&file, &rule("bash(ls*)")).unwrap_err().text;
        assert!(error.contains("add bash(ls*) to its rules yourself"), "{error}");
    }
}
