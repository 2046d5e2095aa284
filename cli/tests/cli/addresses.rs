//! Names of checkpoints, and errors about them.

use superstep::cli::{Exit, Look};

use crate::program::{Written, written};
use crate::said;

#[tokio::test]
async fn a_name_that_is_a_thread_and_a_step_is_refused_with_both() {
    let Written { path, folder: _folder } = written().await;
    let says = |line: &str| said(&path, Look::PIPED, line);
    let show = |what: &str| {
        let said = says(&format!("show FILE {what} --json"));
        let shown: serde_json::Value = serde_json::from_str(&said.out).expect(&said.err);
        (shown["id"].as_str().unwrap().to_owned(), shown["step"].as_i64().unwrap())
    };
    let (step, _) = show("rust@3");
    let (head, _) = show("rust@4");
    assert_eq!(says("fork FILE rust@4 --name rust@3").exit, Exit::Fine);
    let both = says("show FILE rust@3");
    assert_eq!(
        (both.exit, &*both.err),
        (
            Exit::Unusable,
            &*format!(
                "error: rust@3 is the thread rust@3 (say rust@3~0) and a checkpoint of rust (say {step})\n"
            )
        )
    );
    assert_eq!(show(&step), (step.clone(), 3));
    assert_eq!(show("rust@3~0"), (head, 4));
    assert_eq!(show("rust@3~0~1").1, 3);
    assert_eq!(says("show FILE rust@3~1").exit, Exit::Unusable, "that is no clearer");
    assert_eq!(says("fork FILE rust@4 --name rust@77").exit, Exit::Fine);
    assert_eq!(show("rust@77").1, 4, "rust has no step 77");
}

#[tokio::test]
async fn a_name_that_goes_back_very_often_is_refused() {
    let Written { path, folder: _folder } = written().await;
    let says = |tildes: usize| said(&path, Look::PIPED, &format!("show FILE rust{}", "~0".repeat(tildes)));
    assert_eq!(says(64).exit, Exit::Fine);
    let refused = says(50_000);
    assert_eq!(
        (refused.exit, &*refused.err),
        (Exit::Unusable, "error: it has ~ more than 64 times: write ~N once\n")
    );
}

#[tokio::test]
async fn the_beginning_of_what_tables_show_is_enough() {
    let Written { path, folder: _folder } = written().await;
    let edited = said(&path, Look::PIPED, "edit FILE rust --set rounds=9 --json");
    let edited: serde_json::Value = serde_json::from_str(&edited.out).unwrap();
    let id = edited["checkpoint"].as_str().unwrap();
    let shown = &id[id.len() - 8..];
    for digits in [&shown[..6], &shown[2..], shown] {
        let found = said(&path, Look::PIPED, &format!("show FILE {digits} --json"));
        assert!(found.out.contains(id), "{digits} of {id}: {}", found.err);
    }
    assert_eq!(said(&path, Look::PIPED, &format!("show FILE {}", &shown[1..7])).exit, Exit::No);
}

#[tokio::test]
async fn invisible_names_are_quoted() {
    let Written { path, folder: _folder } = written().await;
    let error = |line: &str| said(&path, Look::PIPED, line).err;
    assert_eq!(
        error("show FILE @3"),
        "error: there is no thread \"\"; `superstep threads` lists the 3 there are\n"
    );
    assert_eq!(error("show FILE ''"), "error: there is no thread or checkpoint \"\"\n");
    let saver = superstep::prelude::SqliteSaver::open(&path).await.unwrap();
    let essays = crate::program::essays(saver, 500);
    essays.thread("").run(crate::program::essay("quick")).await.unwrap().finished().unwrap();
    assert_eq!(error("show FILE z"), "error: there is no thread or checkpoint z; did you mean \"\", zig?\n");
}

#[tokio::test]
async fn a_bisection_that_looks_at_every_state_does_not_advise_to_do_so() {
    let Written { path, folder: _folder } = written().await;
    let told = |line: &str| said(&path, Look::PIPED, line).out;
    let few = told("bisect FILE rust --path rounds --is '< 1'");
    assert!(few.ends_with("8 of 8 states checked\nit does not hold in some later state\n"), "{few}");
    let command = r#"bisect FILE rust --test 'grep -q "rounds[^0-9]*0"'"#;
    let halves = told(command);
    let advice = "it does not hold in some later state: --linear finds where it holds first\n";
    assert!(halves.ends_with(advice), "{halves}");
    let linear = told(&format!("{command} --linear"));
    assert!(linear.ends_with("it does not hold in some later state\n"), "{linear}");
    let nowhere = told("bisect FILE rust --test 'grep -q nothing'");
    assert!(nowhere.starts_with("it holds in no state checked: --linear checks all\n"), "{nowhere}");
}

/// The texts below the lists: a line ends where the next word does not fit.
#[tokio::test]
async fn paragraphs_of_the_help_fill_their_lines() {
    let mut program = crate::debugger::Program::new().await;
    let helps =
        [said(program.path(), Look::PIPED, "--help").out, program.says(Look::PIPED, "--help").await.out];
    for help in helps {
        let after = help.split_once("CHECKPOINT is one of").unwrap().1;
        let forms = after.split("\n\n").next().unwrap();
        assert_eq!(forms.trim().lines().count(), 6, "a form is a line: {forms}");
        let paragraphs = after.split("\n\n").filter(|text| !text.trim().is_empty()).skip(1);
        let lines: Vec<Vec<&str>> = paragraphs.map(|text| text.trim().lines().collect()).collect();
        assert!(!lines.is_empty(), "{help}");
        for pair in lines.iter().flat_map(|lines| lines.windows(2)) {
            let next = pair[1].split(' ').next().unwrap();
            assert!(pair[0].len() + 1 + next.len() > 100, "{} | {}", pair[0], pair[1]);
        }
    }
}
