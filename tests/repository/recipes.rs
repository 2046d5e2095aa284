//! The recipes of the justfile run existing tests.

use std::collections::BTreeSet;

use crate::house_rules::{MEMBERS, files, is_workspace, read, root};

/// The recipes of the justfile, each with its parameters and commands.
fn recipes() -> Vec<(String, String)> {
    let mut recipes: Vec<(String, String)> = Vec::new();
    for line in read("justfile").lines() {
        let begins = line.starts_with(|letter: char| letter.is_ascii_lowercase());
        match (line.split_once(':'), recipes.last_mut()) {
            (Some((head, needs)), _) if begins => {
                let name = head.split(' ').next().unwrap_or(head);
                recipes.push((name.to_owned(), format!("{needs} ")));
            }
            (_, Some((_, runs))) if line.starts_with(' ') => *runs += &format!("{} ", line.trim()),
            _ => {}
        }
    }
    recipes
}

/// The filters that select or skip tests, from the words of a recipe.
fn filters<'w>(words: &[&'w str]) -> Vec<&'w str> {
    let at = words.iter().position(|word| *word == "--test").expect("it runs a test");
    let named = words[at + 2..].iter().take_while(|word| !["&&", ";", "|"].contains(word));
    named.filter(|word| !word.starts_with('-') && **word != "\\").copied().collect()
}

/// The names of the tests of a member in `tests/<test>`, with their modules, as filters see them.
fn tests_of(member: &str, test: &str) -> BTreeSet<String> {
    let folder = format!("{member}/tests/{test}");
    let sources = match root().join(&folder).is_dir() {
        true => files(&folder, ".rs"),
        false => vec![format!("{folder}.rs")],
    };
    let mut tests = BTreeSet::new();
    for path in sources {
        let module = path.split_once(&format!("tests/{test}")).map_or("", |(_, inside)| inside);
        let module = module.trim_start_matches('/').trim_end_matches(".rs").trim_end_matches("/mod");
        let module = if module == "main" { String::new() } else { module.replace('/', "::") };
        let mut is_test = false;
        for line in read(&path).lines().map(str::trim) {
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            let name = line.trim_start_matches("async ").strip_prefix("fn ");
            if let Some(name) = name.filter(|_| is_test).and_then(|line| line.split(['(', '<']).next()) {
                tests.insert(format!("{module}::{name}"));
                is_test = false;
            }
        }
    }
    tests
}

#[test]
fn a_filter_is_found_where_a_test_is_called_so() {
    let words = |line: &'static str| line.split_whitespace().collect::<Vec<_>>();
    let line =
        "N=20 cargo test --release --test processes torture::power_cut -- \\ --ignored --skip damage::";
    assert_eq!(filters(&words(line)), ["torture::power_cut", "damage::"]);
    assert_eq!(filters(&words("cargo test --test cli -- --nocapture")), [""; 0]);
    let tests = tests_of(".", "repository");
    assert!(tests.contains("recipes::a_filter_is_found_where_a_test_is_called_so"), "{tests:?}");
    assert!(!tests.iter().any(|test| test.contains("tests_of")), "that is none: {tests:?}");
    let tests = tests_of("cli", "cli");
    assert!(tests.iter().any(|test| test.contains("canary::")), "{tests:?}");
}

#[test]
fn what_recipes_run_is_there() {
    if !is_workspace() {
        return;
    }
    let recipes = recipes();
    for (recipe, runs) in &recipes {
        let words: Vec<&str> = runs.split_whitespace().collect();
        let after = |option: &str| {
            let at = words.iter().position(|word| *word == option)?;
            words.get(at + 1).copied()
        };
        let package = after("-p").map_or("", |package| package.trim_start_matches("superstep-"));
        let folder = MEMBERS
            .map(|(folder, _)| folder)
            .into_iter()
            .find(|folder| !package.is_empty() && folder.ends_with(package));
        if let Some(test) = after("--test") {
            let path = root().join(folder.unwrap_or(".")).join("tests").join(test);
            assert!(
                path.join("main.rs").is_file() || path.with_extension("rs").is_file(),
                "{recipe}: {runs}"
            );
            let tests = tests_of(folder.unwrap_or("."), test);
            for filter in filters(&words) {
                assert!(
                    tests.iter().any(|test| test.contains(filter)),
                    "{recipe}: {filter} is in the name of no test of {test}: {tests:?}"
                );
            }
        }
    }
    let night = &recipes.iter().find(|(name, _)| name == "torture").expect("a recipe").1;
    // Text in quotation marks is an argument of a recipe.
    let parts = night.split('"').step_by(2).flat_map(|part| part.split([' ', '(', ')', '\\']));
    for part in parts.filter(|part| !part.is_empty()) {
        assert!(recipes.iter().any(|(name, _)| name == part), "torture runs {part}, which is no recipe");
    }
    let mut documents = files("docs", ".md");
    documents.push("CONTRIBUTING.md".to_owned());
    for document in documents {
        for named in read(&document).split("`just ").skip(1) {
            let named = named.split(|letter: char| "` \n".contains(letter)).next().unwrap_or(named);
            let is_there = named.starts_with('-') || recipes.iter().any(|(name, _)| name == named);
            assert!(is_there, "{document}: there is no recipe {named}");
        }
    }
}
