use super::*;
use crate::exit::Transition;

#[tokio::test]
async fn s2_183_a_response_after_work_that_failed_is_sent_back() {
    let folder = folder();
    let reasons = [
        "tests objects to your response: it ended with the exit code 1",
        "query returns objects to your response: the last call of sql_query failed",
        "request succeeds objects to your response: the last call of http_request failed: the server answered with the status 500",
        "image made objects to your response: the last call of generate_image failed",
    ];
    for (case, reason) in cases(folder.path()).into_iter().zip(reasons) {
        let [(fail, failing), (change, changed)] = [case.fail, case.change];
        // The API has nothing to change: its request succeeds by looking.
        let (change, changed) = if fail == "http_request" { case.look } else { (change, changed) };
        let script = Scripted::new().call("c1", fail, failing).say("Done.").call("c2", change, changed);
        let model = Arc::new(script.say("Done now."));
        let tools = ["bash", "sql_query", "generate_image"].into_iter();
        let permissions = tools.fold(Permissions::new(), |all, tool| all.rule(RuleKind::Allow, allow(tool)));
        let mut domain = case.domain;
        // Images are asked about in every mode, which is another test's matter.
        domain.rules.clear();
        let state =
            ask(&thread(config(&model, folder.path()).permissions(permissions).domain(domain)), "Do it.")
                .await;
        assert_eq!(
            (state.exit, state.transition),
            (Some(Exit::Completed), Some(Transition::Tools)),
            "{reason}"
        );
        assert_eq!((state.response().as_str(), state.objections), ("Done now.", 1));
        let objection =
            state.messages.iter().find(|it| it.text().contains("objects")).unwrap().text().into_owned();
        assert!(objection.contains(reason), "{objection}");
    }
}

/// A model that answers to the objection without doing anything must not pass the tests by that.
#[tokio::test]
async fn s2_183_the_tests_are_run_again_for_each_response_until_they_pass() {
    let folder = folder();
    let [code, ..] = cases(folder.path());
    let (fail, failing) = code.fail;
    let model =
        Arc::new((0..6).fold(Scripted::new().call("c1", fail, failing), |script, _| script.say("Done.")));
    let permissions = Permissions::new().rule(RuleKind::Allow, allow("bash"));
    let config = config(&model, folder.path()).permissions(permissions).domain(code.domain);
    let state = ask(&thread(config), "Do it.").await;
    assert_eq!((state.exit, state.objections), (Some(Exit::StopHookPrevented), 4));
}

#[tokio::test]
async fn s2_183_a_question_without_work_needs_no_success() {
    let folder = folder();
    for case in cases(folder.path()) {
        let model = Arc::new(Scripted::new().say("It prints 3."));
        let state = ask(&thread(config(&model, folder.path()).domain(case.domain)), "What does it do?").await;
        assert_eq!((state.exit, state.objections), (Some(Exit::Completed), 0));
    }
}
