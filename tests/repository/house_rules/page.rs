//! The sources of the studio's page: types are strict, and nothing of a file becomes markup or code.

use serde_json::Value;

use super::{LONGEST, VAGUE, files, is_workspace, read, report, words};

const FOLDER: &str = "studio/page";

/// Words that the sources do not contain, each with the reason.
const FORBIDDEN: [(&str, &str); 8] = [
    ("any", "values are `unknown` until a decoder has checked them"),
    ("innerHTML", "texts of a file must not become markup"),
    ("outerHTML", "texts of a file must not become markup"),
    ("insertAdjacentHTML", "texts of a file must not become markup"),
    ("dangerouslySetInnerHTML", "texts of a file must not become markup"),
    ("eval", "texts of a file must not become code"),
    ("Function", "texts of a file must not become code"),
    ("ignore", "a comment that silences the compiler hides an error"),
];

fn sources() -> Vec<String> {
    [".ts", ".tsx", ".mjs", ".css"].iter().flat_map(|ending| files(FOLDER, ending)).collect()
}

/// Returns a line without its texts and comments.
fn code(line: &str) -> String {
    let line = line.split("// ").next().unwrap_or_default();
    let is_comment = line.trim_start().starts_with('*') || line.trim_start().starts_with("/*");
    if is_comment { String::new() } else { line.split('"').step_by(2).collect() }
}

#[test]
fn sources_of_the_page_are_short_and_named_after_what_is_in_them() {
    if !is_workspace() {
        return;
    }
    let mut broken = Vec::new();
    let sources = sources();
    assert!(sources.len() > 20, "the sources of the page are elsewhere: {sources:?}");
    for path in sources {
        let length = read(&path).lines().count();
        if length > LONGEST {
            broken.push(format!("{path} has {length} lines; split it by topic"));
        }
        let name = path.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or_default();
        if VAGUE.contains(&name) {
            broken.push(format!("{path} says nothing of what is in it"));
        }
    }
    report(&broken);
}

#[test]
fn the_page_is_typed_and_shows_texts_as_texts() {
    if !is_workspace() {
        return;
    }
    let mut broken = Vec::new();
    for path in
        files(&format!("{FOLDER}/src"), ".ts").into_iter().chain(files(&format!("{FOLDER}/src"), ".tsx"))
    {
        for (at, line) in read(&path).lines().enumerate() {
            let code = if line.contains("@ts-") { line.to_owned() } else { code(line) };
            let found = FORBIDDEN.iter().find(|(word, _)| words(&code).any(|found| found == *word));
            broken.extend(found.map(|(word, why)| format!("{path}:{}: `{word}`: {why}", at + 1)));
        }
    }
    report(&broken);
    let settings: Value = serde_json::from_str(&read(format!("{FOLDER}/tsconfig.json"))).expect("JSON");
    for setting in ["strict", "noUncheckedIndexedAccess", "exactOptionalPropertyTypes"] {
        assert_eq!(settings["compilerOptions"][setting], true, "{setting}");
    }
}

/// The page contains only libraries that were chosen, in versions that cannot change by themselves.
#[test]
fn the_page_has_two_libraries_of_exact_versions() {
    if !is_workspace() {
        return;
    }
    let package: Value = serde_json::from_str(&read(format!("{FOLDER}/package.json"))).expect("JSON");
    let of = |section: &str| package[section].as_object().cloned().unwrap_or_default();
    let libraries: Vec<String> = of("dependencies").into_iter().map(|(name, _)| name).collect();
    assert_eq!(libraries, ["@preact/signals", "preact"]);
    for (name, version) in of("dependencies").into_iter().chain(of("devDependencies")) {
        let version = version.as_str().unwrap_or_default();
        assert!(version.chars().all(|letter| letter.is_ascii_digit() || letter == '.'), "{name}: {version}");
    }
}
