//! The example `analyst` as a program.

use std::process::Command;

use tempfile::TempDir;

use crate::example;

#[test]
fn a_question_is_answered_from_a_database_with_a_chart_and_the_next_one_continues_the_session() {
    let folder = TempDir::new().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(example("analyst"));
        command.current_dir(folder.path()).args(arguments).env_remove("SUPERSTEP_MODEL");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let said = run(&[]);
    assert!(
        said.ends_with("Bern and Oslo sell the most, 7 umbrellas each. The chart is charts/cities.svg.\n"),
        "{said}"
    );
    assert!(said.contains("[sql_query: Allow, it changes nothing]"), "{said}");
    assert!(said.contains("[draw_chart: Allow, allowed by draw_chart(charts/**)]"), "{said}");
    let chart = std::fs::read_to_string(folder.path().join("analyst/charts/cities.svg")).unwrap();
    assert_eq!(chart.matches("<rect").count(), 1 + 3 + 1, "the paper, three bars and the legend: {chart}");

    let said = run(&["And", "now?"]);
    assert_eq!(
        said.matches("[sql_query: Allow").count(),
        2,
        "the session has the decisions of both questions: {said}"
    );
    let log = run(&["debug", "log", "session"]);
    assert!(log.contains("authorize") && log.contains("tools"), "{log}");
}
