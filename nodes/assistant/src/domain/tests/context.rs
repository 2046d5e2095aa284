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
    let model = Arc::new(Scripted::new().call("c1", "sql_query", json!({ "sql": "SELECT 1" })).say("Done."));
    let config = config(&model, folder.path())
        .small_model(Scripted::new().say("They talked."))
        .windows(ContextWindows::none().with(Scripted::NAME, ContextWindow::new(6_000, 500)))
        .compaction(ContextManager::new().target(1_000).recent(1))
        .domain(Domain::data(SqlQuery::new(folder.path().join("sales.db"))));
    let earlier: Vec<_> = (0..45).map(|n| Message::human(format!("m{n}"), "word ".repeat(100))).collect();
    let input = AssistantState::ask("Do it.").messages(earlier);
    let state = thread(config).run(input).await.unwrap().finished().unwrap();
    assert_eq!((state.exit, state.compactions.len()), (Some(Exit::Completed), 1));
    let written = state.messages.iter().filter(|message| message.text().starts_with("Context from "));
    assert_eq!((written.count(), state.attachments.len()), (1, 1), "it stands behind the summary");
    let shown: Vec<_> = model.requests().iter().map(|request| contexts(request).len()).collect();
    assert_eq!(shown, [1, 1]);
}

#[test]
fn a_source_of_context_may_not_change_anything() {
    let folder = folder();
    let [code, ..] = cases(folder.path());
    let refused =
        code.domain.context(Bash::new(Workspace::of_session()), json!({ "command": "ls" })).unwrap_err();
    assert_eq!(refused, DomainError::NotReadOnly { tool: "bash".into() });
}
