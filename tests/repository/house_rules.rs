//! The invariants of ARCHITECTURE.md that can be seen in the source files, and the consistency of the documents with
//! them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

mod arrows;
mod page;
mod rooms;

/// The folders of the members, each with the packages that it may depend on. "." is the workspace's root, which may depend
/// on all.
pub(crate) const MEMBERS: [(&str, &[&str]); 19] = [
    (".", &[]),
    ("graph-macros", &[]),
    ("graph-core", &["superstep-macros"]),
    ("graph-restate", &["superstep-core"]),
    ("graph-checkpoint", &["superstep-core"]),
    ("graph-checkpoint/conformance", &["superstep-core"]),
    ("graph-checkpoint/inspect", &["superstep-core"]),
    (
        "cli",
        &[
            "superstep-assistant",
            "superstep-checkpoint",
            "superstep-core",
            "superstep-inspect",
            "superstep-mcp",
            "superstep-names",
            "superstep-nodes",
            "superstep-tools",
        ],
    ),
    ("nodes", &["superstep-core", "superstep-macros"]),
    ("nodes/assistant", &["superstep-core", "superstep-nodes", "superstep-tools"]),
    ("nodes/knowledge", &["superstep-nodes"]),
    ("nodes/mcp", &["superstep-core", "superstep-nodes"]),
    ("nodes/names", &["superstep-core", "superstep-knowledge", "superstep-nodes", "superstep-providers"]),
    ("nodes/providers", &["superstep-nodes"]),
    ("nodes/testkit", &[]),
    ("nodes/tools", &["superstep-core", "superstep-nodes"]),
    (
        "server",
        &["superstep-checkpoint", "superstep-cli", "superstep-core", "superstep-nodes", "superstep-studio"],
    ),
    ("studio", &[]),
    ("examples", &["superstep"]),
];

/// Unpublished packages.
const OURS: [&str; 1] = ["examples"];

/// Names of files that say nothing of what is in them.
const VAGUE: [&str; 6] = ["utils", "helpers", "common", "types", "manager", "misc"];

/// The maximum number of lines of a file without its tests.
const LONGEST: usize = 500;

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns `true` if the members exist. The published package of the root has none of them, and nothing to check.
pub(crate) fn is_workspace() -> bool {
    root().join("graph-core").is_dir()
}

pub(crate) fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files below a folder whose names have this ending, relative to the root, in order.
pub(crate) fn files(folder: &str, extension: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository") {
            let path = entry.expect("an entry of a folder").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() && !["target", "node_modules"].contains(&&*name) && !name.starts_with('.') {
                folders.push(path);
            } else if name.ends_with(extension) {
                let inside = path.strip_prefix(root()).expect("a path below the root");
                found.push(inside.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    found.sort();
    found
}

/// The lines of a file up to its tests, without comments.
fn code(path: &str) -> Vec<String> {
    let text = read(path);
    let lines = text.lines().take_while(|line| *line != "#[cfg(test)]");
    lines.filter(|line| !line.trim_start().starts_with("//")).map(str::to_owned).collect()
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
}

/// The Markdown documents that people read.
fn documents() -> Vec<String> {
    let pages = files(".", ".md").into_iter();
    pages.filter(|page| !page.contains("/examples/")).collect()
}

fn report(broken: &[String]) {
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn crate_roots_forbid_unsafe_code() {
    for (member, _) in MEMBERS.iter().filter(|_| is_workspace()) {
        let path = format!("{member}/src/lib.rs");
        assert!(read(&path).contains("\n#![forbid(unsafe_code)]\n"), "{path} does not forbid unsafe code");
    }
}

#[test]
fn the_engine_reads_no_clock_draws_no_chance_and_never_waits() {
    if !is_workspace() {
        return;
    }
    const FOREIGN: [&str; 9] =
        ["tokio", "std", "SystemTime", "Instant", "rand", "async", "await", "Future", "Uuid"];
    let mut broken = Vec::new();
    for path in files("graph-core/src/engine", ".rs") {
        for line in code(&path) {
            let named = words(&line).find(|word| FOREIGN.contains(word));
            broken.extend(named.map(|word| format!("{path} names `{word}`: {line}")));
        }
    }
    report(&broken);
}

#[test]
fn files_are_short_and_named_after_what_is_in_them() {
    let mut broken = Vec::new();
    for path in files(".", ".rs") {
        let length = read(&path).lines().take_while(|line| *line != "#[cfg(test)]").count();
        if length > LONGEST {
            broken.push(format!("{path} has {length} lines before its tests; split it by topic"));
        }
        let name = Path::new(&path).file_stem().unwrap().to_str().unwrap();
        if VAGUE.contains(&name) {
            broken.push(format!("{path} says nothing of what is in it"));
        }
    }
    report(&broken);
}

/// Attributes `#[path]` said for 43 modules where rustc looks anyway.
#[test]
fn modules_are_where_rustc_looks_for_them() {
    let mut broken = Vec::new();
    for path in files(".", ".rs") {
        let name = Path::new(&path).file_stem().unwrap().to_str().unwrap();
        let restates = |line: &&str| line.trim_start().starts_with(&format!("#[path = \"{name}/"));
        broken.extend(read(&path).lines().find(restates).map(|line| format!("{path}: delete {line}")));
    }
    report(&broken);
}

/// ARCHITECTURE.md used to list one counter as all global state, although five statics change.
#[test]
fn all_global_state_is_listed() {
    if !is_workspace() {
        return;
    }
    let listed = read("ARCHITECTURE.md");
    let mut broken = Vec::new();
    for path in MEMBERS.iter().flat_map(|(member, _)| files(&format!("{member}/src"), ".rs")) {
        for line in code(&path) {
            broken
                .extend(line.contains("thread_local!").then(|| format!("{path} has a thread-local: {line}")));
            let declared = line.trim_start().trim_start_matches("pub(crate) ").strip_prefix("static ");
            let Some((name, _)) = declared.and_then(|rest| rest.split_once(':')) else { continue };
            let path = path.trim_start_matches("./");
            if !listed.lines().any(|row| row.contains(&format!("`{name}`")) && row.contains(path)) {
                broken.push(format!("ARCHITECTURE.md does not list `{name}` of {path} as global state"));
            }
        }
    }
    report(&broken);
}

/// Packages used to be published with their tests, which are useless for programs and need the whole workspace.
#[test]
fn published_packages_hold_no_tests() {
    if !is_workspace() {
        return;
    }
    for (member, _) in MEMBERS.into_iter().filter(|(member, _)| !OURS.contains(member)) {
        let manifest = read(format!("{member}/Cargo.toml"));
        let include = manifest.lines().find_map(|line| line.strip_prefix("include = ")).unwrap_or_default();
        let included: Vec<&str> = include.split('"').skip(1).step_by(2).collect();
        for needed in ["/src", "/LICENSE-*", "/README.md"] {
            assert!(included.contains(&needed), "{member}: the package has no {needed}: {include}");
        }
        let unneeded = included.iter().find(|path| ["/tests", "/benches", "/fuzz"].contains(path));
        assert_eq!(unneeded, None, "{member}: {include}");
    }
}

#[test]
fn crates_depend_one_way() {
    if !is_workspace() {
        return;
    }
    let mut broken = Vec::new();
    for (member, allowed) in MEMBERS {
        let manifest = read(format!("{member}/Cargo.toml"));
        let mut section = "";
        for line in manifest.lines() {
            if line.starts_with('[') {
                section = line;
            }
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            if !name.starts_with("superstep-") {
                continue;
            }
            if member != "." && section == "[dependencies]" && !allowed.contains(&name) {
                broken.push(format!("{member} may not depend on {name}"));
            }
            // With a version, a member could not be packaged before its dev-dependency.
            if section == "[dev-dependencies]" && !line.contains("path =") {
                broken.push(format!("{member}: the dev-dependency {name} must be by path only"));
            }
        }
    }
    report(&broken);
}

#[test]
fn the_readme_names_examples_that_exist_and_commands_that_the_gate_runs() {
    let readme = read("README.md");
    for (_, rest) in readme.match_indices("--bin ").map(|(at, found)| readme.split_at(at + found.len())) {
        let name = words(rest).next().unwrap_or_default();
        let exists = ["", "/main"].map(|main| root().join(format!("examples/{name}{main}.rs")).is_file());
        assert!(exists.contains(&true), "there is no example {name}");
    }
    if is_workspace() {
        let gate = read(".ci/run");
        for command in readme.split("```sh\n").skip(1).filter_map(|block| block.lines().next()) {
            assert!(gate.contains(command), "the gate does not run `{command}`");
        }
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    if !is_workspace() {
        return;
    }
    let mut broken = Vec::new();
    for page in documents() {
        let folder = root().join(&page).parent().unwrap().to_owned();
        for link in links(&read(&page)) {
            if link.contains("://") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { root().join(&page) } else { folder.join(path) };
            if !target.exists() {
                broken.push(format!("{page} links to {link}, which does not exist"));
            } else if !anchor.is_empty() && !anchors(&fs::read_to_string(&target).unwrap()).contains(anchor) {
                broken.push(format!("{page} links to {link}, which has no such heading"));
            }
        }
    }
    report(&broken);
}

/// The targets of the links in a Markdown text, without code blocks.
fn links(text: &str) -> Vec<String> {
    let prose: String = text.split("```").step_by(2).collect();
    let starts = prose.match_indices("](").map(|(at, found)| at + found.len());
    let inline = starts.filter_map(|at| prose[at..].split(')').next().map(str::to_owned));
    inline.chain(references(&prose).into_iter().map(|(_, target)| target)).collect()
}

/// The references that a Markdown text defines, one per line, with their targets.
fn references(text: &str) -> Vec<(String, String)> {
    let defined = text.lines().filter_map(|line| line.strip_prefix('[')?.split_once("]: "));
    defined.map(|(label, target)| (label.to_owned(), target.to_owned())).collect()
}

/// A page is a file, whose links lead to files, and a module of the guide, whose links lead to modules: so its links
/// are references, which both define.
#[test]
fn every_page_is_a_module_of_the_guide() {
    let guide = read("src/guide.rs");
    let mut broken = Vec::new();
    for page in files("docs", ".md").iter().filter(|page| !page.ends_with("README.md")) {
        let (name, text) = (page.trim_start_matches("docs/"), read(page));
        if !guide.contains(&format!(" \"{name}\"")) {
            broken.push(format!("{page} is not in src/guide.rs"));
        }
        let prose: String = text.split("```").step_by(2).collect();
        let inline = prose.match_indices("](").map(|(at, found)| &prose[at + found.len()..]);
        for link in inline.filter(|link| !link.starts_with("http") && !link.starts_with('#')) {
            let link = link.split(')').next().unwrap_or_default();
            broken.push(format!("{page} links to ({link}); write [{link}], and define that at the end"));
        }
        for (label, _) in references(&prose) {
            if !guide.contains(&format!("\"[{label}]: ")) {
                broken.push(format!("{page} defines [{label}], and src/guide.rs does not"));
            }
        }
    }
    report(&broken);
}

/// The anchors of the headings in a Markdown text, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let kept = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = kept.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
    };
    headings.map(anchor).collect()
}

/// Every Rust block of the README and of `docs/` is a part of a program in `examples/tests/guide` or of an example,
/// which is compiled and run.
#[test]
fn snippets_are_pieces_of_programs_that_run() {
    let programs: Vec<String> = files("examples", ".rs").into_iter().map(|path| pure(&read(path))).collect();
    let mut broken = Vec::new();
    for page in documents().iter().filter(|page| *page == "README.md" || page.starts_with("docs/")) {
        for block in read(page).split("```rust\n").skip(1) {
            let snippet = block.split("```").next().unwrap_or_default();
            if !programs.iter().any(|program| program.contains(&pure(snippet))) {
                broken.push(format!("{page}: no program of examples has this:\n{snippet}"));
            }
        }
    }
    report(&broken);
}

/// Snippets used to lack their imports, so a reader who pasted one had to guess them. A page shows the `use`
/// declarations of its program for every name in its snippets.
#[test]
fn pages_show_what_their_snippets_import() {
    let mut broken = Vec::new();
    for page in files("docs", ".md") {
        let name = page.trim_start_matches("docs/").trim_end_matches(".md").replace('-', "_");
        let program = format!("examples/tests/guide/{name}.rs");
        if !root().join(&program).is_file() {
            continue;
        }
        let text = read(&page);
        let snippets = text.split("```rust\n").skip(1).filter_map(|block| block.split("```").next());
        let snippets: String = snippets.map(|snippet| format!("\n{snippet}")).collect();
        let shown = imports(&snippets);
        let code = snippets.split("\nuse ").map(|rest| rest.split_once(';').map_or(rest, |(_, code)| code));
        let mentioned: BTreeSet<&str> = code.flat_map(words).collect();
        for path in imports(&read(&program)).iter().filter(|path| !path.starts_with("super::")) {
            let name = path.trim_end_matches("::self").rsplit("::").next().unwrap_or_default();
            if (name == "*" || mentioned.contains(name)) && !shown.contains(path) {
                broken.push(format!("{page} mentions {name} and does not show `use {path};`"));
            }
        }
    }
    report(&broken);
}

/// The paths that the `use` declarations of a program name.
fn imports(program: &str) -> BTreeSet<String> {
    let declared = program.split("\nuse ").skip(1).filter_map(|rest| rest.split(';').next());
    let paths = declared.flat_map(|path| match path.split_once('{') {
        Some((module, names)) => {
            let names = names.trim_end_matches('}').split(',').map(str::trim);
            names.filter(|name| !name.is_empty()).map(|name| format!("{module}{name}")).collect()
        }
        None => vec![path.to_owned()],
    });
    paths.collect()
}

/// A program without the parts that formatting changes: white space, and trailing commas.
fn pure(program: &str) -> String {
    program.chars().filter(|letter| !letter.is_whitespace() && *letter != ',').collect()
}
