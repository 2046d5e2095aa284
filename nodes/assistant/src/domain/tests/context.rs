use super::*;

/// Returns the context messages of a request.
fn contexts(request: &ModelRequest) -> Vec<String> {
    let texts = request.messages.iter().map(|message| message.text().into_owned());
    texts.filter(|text| text.starts_with("Context from ")).collect()
}

#[tokio::test]
async fn s2_182_each_domain_shows_the_model_what_there_is_to_work_on() {
    let folder = folder();
    let shown = [
        "main.sh",
        "CREATE TABLE sales (city, sold);\n[\"city\",\"sold\"]\n[\"Bern\",3]",
        "GET /ok Says a word",
        "fox.png",
    ];
    for (case, part) in cases(folder.path()).into_iter().zip(shown) {
        let model = Arc::new(Scripted::new().say("Done."));
        let state = ask(&thread(config(&model, folder.path()).domain(case.domain)), "Do it.").await;
        let request = &model.requests()[0];
        let [context] = &contexts(request)[..] else { panic!("{request:?}") };
        assert!(context.contains(part), "{context}");
        assert_eq!(request.messages.last().unwrap().text(), "Do it.", "the context comes before the message");
        assert_eq!(state.task(), "Do it.");
    }
}

#[tokio::test]
async fn context_is_shown_again_only_when_it_has_changed() {
    let folder = folder();
    let database = folder.path().join("sales.db");
    let model = Arc::new(Scripted::new().say("One.").say("Two.").say("Three."));
    let thread = thread(config(&model, folder.path()).domain(Domain::data(SqlQuery::new(&database))));
    for request in ["first", "second"] {
        ask(&thread, request).await;
    }
    rusqlite::Connection::open(&database).unwrap().execute_batch("CREATE TABLE costs (day)").unwrap();
    ask(&thread, "third").await;
    let shown: Vec<_> = model.requests().iter().map(|request| contexts(request).len()).collect();
    assert_eq!(shown, [1, 1, 2]);
}

#[tokio::test]
async fn context_that_was_compacted_is_shown_again() {
    let folder = folder();
    let big = "x".repeat(12_000);
    std::fs::write(folder.path().join("big.csv"), format!("a\n{big}\n")).unwrap();
    let read = |id: &str| (id.to_owned(), json!({ "path": "big.csv" }));
    let script = ["c1", "c2", "c3"].map(read).into_iter();
    let script = script.fold(Scripted::new(), |script, (id, input)| script.call(id, "read_csv", input));
    let model = Arc::new(script.say("Done."));
    let mut config = config(&model, folder.path())
        .small_model(Scripted::new().say("They talked.").say("They talked.").say("They talked."))
        .windows(ContextWindows::none().with(Scripted::NAME, ContextWindow::new(4_000, 500)))
        .compaction(ContextManager::new().target(600).recent(1))
        .domain(Domain::data(SqlQuery::new(folder.path().join("sales.db"))));
    config.context.auto = vec![crate::context::Trigger::Fraction(0.5)];
    let state = ask(&thread(config), "Do it.").await;
    assert!(!state.compactions.is_empty() && state.exit == Some(Exit::Completed), "{:?}", state.exit);
    let is_behind_summary =
        |request: &ModelRequest| request.messages.iter().any(|it| it.text().contains("They talked."));
    let behind = model.requests().into_iter().filter(is_behind_summary);
    assert!(
        behind.filter(|request| contexts(request).len() == 1).count() > 0,
        "in the round after the compaction"
    );
    let written = state.messages.iter().filter(|message| message.text().starts_with("Context from "));
    assert!(written.count() > 1, "it was covered, and written again");
}

#[test]
fn a_source_of_context_may_not_change_anything() {
    let folder = folder();
    let [code, ..] = cases(folder.path());
    let refused =
        code.domain.context(Bash::new(Workspace::of_session()), json!({ "command": "ls" })).unwrap_err();
    assert_eq!(refused, DomainError::NotReadOnly { tool: "bash".into() });
}
