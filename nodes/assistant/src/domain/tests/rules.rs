use super::*;
use crate::permission::PermissionMode;

/// Returns the verdict on each call, before a person is asked.
async fn verdicts(
    folder: &Path,
    domain: Domain,
    mode: PermissionMode,
    calls: Vec<(&str, Value)>,
) -> Vec<String> {
    let script = calls.iter().enumerate();
    let script = script.fold(Scripted::new(), |script, (n, (tool, input))| {
        script.call(format!("c{n}"), *tool, input.clone())
    });
    let model = Arc::new(script.say("Done."));
    // The classifier of mode `auto` allows everything that it is asked about.
    let small =
        (0..9).fold(Scripted::new(), |script, _| script.say(r#"{ "verdict": "allow", "reason": "x" }"#));
    let config =
        config(&model, folder).small_model(small).permissions(Permissions::new().headless()).domain(domain);
    let input = AssistantState::ask("Do it.").mode(mode);
    let state = thread(config).run(input).await.unwrap().finished().unwrap();
    let verdict = |it: &crate::permission::Decision| match it.verdict {
        Verdict::Allow => "allow".to_owned(),
        _ if it.reason.contains("needs consent") => "ask".to_owned(),
        _ => it.reason.clone(),
    };
    state.decisions.iter().map(verdict).collect()
}

#[tokio::test]
async fn s2_181_reading_is_allowed_and_changes_exports_and_costs_are_asked_about() {
    let folder = folder();
    let [code, data, api, creative] = cases(folder.path());
    let chart = |path: &str| {
        let sql = "SELECT city, sold FROM sales";
        json!({ "path": path, "title": "", "form": "bars", "sql": sql, "x": "city", "y": ["sold"] })
    };
    let push = ("bash", json!({ "command": "git push" }));
    let calls = vec![code.look, code.change.clone(), push.clone()];
    let of = |domain: &Domain, mode, calls| verdicts(folder.path(), domain.clone(), mode, calls);
    assert_eq!(of(&code.domain, PermissionMode::Default, calls).await, ["allow", "ask", "ask"]);
    let auto = of(&code.domain, PermissionMode::Auto, vec![code.change, push]).await;
    assert_eq!(auto, ["allow", "ask"], "a push is asked about in every mode");

    let calls =
        vec![data.look, data.change, ("draw_chart", chart("charts/a.svg")), ("draw_chart", chart("a.svg"))];
    assert_eq!(of(&data.domain, PermissionMode::Default, calls).await, ["allow", "ask", "allow", "ask"]);
    let reading = Domain::data(SqlQuery::new(folder.path().join("sales.db")));
    let select = ("sql_query", json!({ "sql": "SELECT 1" }));
    assert_eq!(of(&reading, PermissionMode::Default, vec![select]).await, ["allow"]);

    let calls = vec![api.look, api.change];
    assert_eq!(of(&api.domain, PermissionMode::Default, calls).await, ["allow", "ask"]);
    let calls = vec![creative.look, creative.change.clone()];
    assert_eq!(of(&creative.domain, PermissionMode::Default, calls).await, ["allow", "ask"]);
    let auto = of(&creative.domain, PermissionMode::Auto, vec![creative.change]).await;
    assert_eq!(auto, ["ask"], "an image costs money");
}

#[tokio::test]
async fn s2_181_other_hosts_than_those_of_the_domain_are_not_reached() {
    let folder = folder();
    let address = server();
    let http = HttpRequest::new().only_host("api.example.org").unwrap();
    let model = Arc::new(
        Scripted::new()
            .call("c", "http_request", json!({ "url": format!("http://{address}/ok") }))
            .say("Done."),
    );
    let state =
        ask(&thread(config(&model, folder.path()).domain(Domain::api(http, "api.json"))), "Do it.").await;
    let answer = state
        .messages
        .iter()
        .find(|message| matches!(message, Message::Tool(_)))
        .unwrap()
        .text()
        .into_owned();
    assert!(!answer.contains("word"), "{answer}");
}
