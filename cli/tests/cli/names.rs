//! Names of checkpoints.

use superstep::cli::{Exit, Look};

use crate::program::written;
use crate::{golden, said};

#[tokio::test]
async fn names_are_given_shown_changed_and_taken_away() {
    let file = written().await;
    let told = |line: &str| said(&file.path, Look::PIPED, line);
    let fine = |line: &str| {
        let said = told(line);
        assert_eq!((said.exit, &*said.err), (Exit::Fine, ""), "{line}");
        said.out
    };
    assert_eq!(fine("name FILE rust"), "no checkpoint of thread rust has a name\n");
    fine("name FILE rust@3 draft");
    fine("name FILE rust@5 second");
    golden(&file.path, "name", "name FILE rust");
    golden(&file.path, "name_log", "log FILE rust");
    golden(&file.path, "name_diff", "diff FILE rust@draft rust@second");
    golden(&file.path, "name_show", "show FILE rust@draft rounds");
    assert!(fine("show FILE rust@draft").contains("\nnamed   draft\n"));
    assert_eq!(fine("show FILE rust@draft~1 --json"), fine("show FILE rust@2 --json"));
    fine("name FILE rust final --rename second");
    fine("name FILE rust --remove draft");
    let names: serde_json::Value = serde_json::from_str(&fine("name FILE rust --json")).unwrap();
    assert_eq!(
        (names["names"][0]["name"].as_str(), names["names"][0]["step"].as_i64()),
        (Some("final"), Some(5))
    );
    assert_eq!(names["names"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn an_impossible_name_is_an_error() {
    let file = written().await;
    let told = |line: &str| {
        let said = said(&file.path, Look::PIPED, line);
        (said.exit as u8, said.err.trim_end().to_owned())
    };
    assert_eq!(told("name FILE rust@3 draft").0, 0);
    let (code, taken) = told("name FILE rust@4 draft");
    let expected = "error: the name draft is taken: on thread rust it names checkpoint 0";
    assert!(code == 2 && taken.starts_with(expected), "{taken}");
    let gone = "error: thread rust has no checkpoint named dratf";
    assert_eq!(told("name FILE rust --remove dratf"), (1, gone.into()));
    let near = "error: thread rust has no checkpoint named dratf; did you mean draft?";
    assert_eq!(told("show FILE rust@dratf"), (1, near.into()));
    let (code, wrong) = told("name FILE rust a@b");
    assert!(
        code == 2 && wrong.starts_with("error: \"a@b\" is not a valid checkpoint name: a name has 1 to 100"),
        "{wrong}"
    );
    assert_eq!(told("name FILE rust a --remove b").0, 2);
    assert_eq!(
        told("show FILE nobody@draft"),
        (1, "error: there is no thread or checkpoint nobody@draft".into())
    );
}

#[tokio::test]
async fn names_go_along_with_an_export_and_stay_when_older_ones_go() {
    let file = written().await;
    let (document, other) = (file.folder.path().join("rust.json"), file.folder.path().join("other.db"));
    let fine = |path: &std::path::Path, line: &str| {
        let said = said(path, Look::PIPED, &line.replace("EXPORT", document.to_str().unwrap()));
        assert_eq!((said.exit, &*said.err), (Exit::Fine, ""), "{line}");
        said.out
    };
    fine(&file.path, "name FILE rust@1 draft");
    fine(&file.path, "export FILE rust -o EXPORT");
    fine(&other, "import FILE EXPORT --as r");
    assert_eq!(fine(&other, "show FILE r@draft rounds"), fine(&file.path, "show FILE rust@draft rounds"));
    let pruned = fine(&file.path, "gc FILE --keep-last 1 --thread 'ru*' --json --dry-run");
    let done = fine(&file.path, "gc FILE --keep-last 1 --thread 'ru*' --json")
        .replace("\"dry_run\": false", "\"dry_run\": true");
    assert_eq!(pruned, done, "a dry run tells what is done");
    assert_eq!(fine(&file.path, "show FILE rust@draft rounds"), fine(&other, "show FILE r@draft rounds"));
    fine(&file.path, "verify FILE");
}
