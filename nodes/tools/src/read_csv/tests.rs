use serde_json::json;
use superstep_nodes::tool::ToolRegistry;

use super::*;
use crate::session::Session;

const PEOPLE: &str = "name,town,age\nAda,\"London, England\",36\nGrace,New York,85\nAlan,Wilmslow,41\n";

#[tokio::test]
async fn rows_come_with_the_columns_and_their_number() {
    let session = Session::with(&[("a.csv", PEOPLE)]);
    let result = session.call("read_csv", json!({ "path": "a.csv" })).await;
    assert_eq!(result.content.to_text(), format!("a.csv: rows 1 to 3 of 3, 3 columns\n{PEOPLE}"));
    let data = json!({ "path": "a.csv", "columns": ["name", "town", "age"], "rows": 3, "returned": 3 });
    assert_eq!(result.data, Some(data));
}

#[tokio::test]
async fn rows_and_columns_are_returned_that_are_asked_for() {
    let session = Session::with(&[("a.csv", PEOPLE)]);
    let input = json!({ "path": "a.csv", "columns": ["age", "name"], "from_row": 2, "rows": 1 });
    let read = session.done("read_csv", input).await;
    assert_eq!(read, "a.csv: rows 2 to 2 of 3, 3 columns\nage,name\n85,Grace\n[read on with from_row 3]\n");
    let read = session.done("read_csv", json!({ "path": "a.csv", "rows": 0 })).await;
    assert_eq!(read, "a.csv: 3 rows, 3 columns\nname,town,age\n");
    let (_, said) = session.refused("read_csv", json!({ "path": "a.csv", "columns": ["height"] })).await;
    assert!(said.ends_with("there is no column `height`; the columns are: name, town, age"), "{said}");
    let (_, said) = session.refused("read_csv", json!({ "path": "a.csv", "from_row": 4 })).await;
    assert!(said.ends_with("`a.csv` has only 3 rows"), "{said}");
}

#[tokio::test]
async fn a_table_may_have_tabs_and_rows_of_any_length() {
    let session = Session::with(&[("a.tsv", "a\tb\n1\n1\t2\t3\n"), ("none.csv", "a,b\n")]);
    let read = session.done("read_csv", json!({ "path": "a.tsv" })).await;
    assert_eq!(read, "a.tsv: rows 1 to 2 of 2, 2 columns\na,b\n1\n1,2,3\n");
    let read = session.done("read_csv", json!({ "path": "none.csv" })).await;
    assert_eq!(read, "none.csv: 0 rows, 2 columns\na,b\n");
}

#[tokio::test]
async fn what_is_too_large_is_cut_or_refused() {
    let rows = format!("{}\n", "x".repeat(600)).repeat(200);
    let tools =
        ToolRegistry::new().with(ReadCsv::new(Workspace::of_session()).with_max_file_bytes(130_000)).unwrap();
    let session = Session::of(tools, &[("a.csv", &format!("a\n{rows}")), ("b.csv", &"y".repeat(130_001))]);
    let read = session.done("read_csv", json!({ "path": "a.csv", "rows": 1_000 })).await;
    assert!(read.starts_with("a.csv: rows 1 to 76 of 200, 1 columns\n"), "{}", &read[..60]);
    assert!(read.contains("x [… 100 characters more]\n") && read.ends_with("[read on with from_row 77]\n"));
    let (_, said) = session.refused("read_csv", json!({ "path": "b.csv" })).await;
    assert!(said.ends_with("`b.csv` has 130001 bytes, and more than 130000 are not read"), "{said}");
}

#[tokio::test]
async fn what_is_no_text_is_refused() {
    let session = Session::with(&[]);
    session.put("a.csv", b"a,b\n\xff,2\n");
    let (_, said) = session.refused("read_csv", json!({ "path": "a.csv" })).await;
    assert!(said.contains("`a.csv` is no table: ") && said.contains("UTF-8"), "{said}");
}
