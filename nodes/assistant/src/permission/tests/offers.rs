//! Questions, what they offer, and what is not asked again.

use super::*;

/// Asks about a call, and returns the grants of an approval for the session.
fn approved(permissions: &Permissions, call: &Call, grants: &[Grant]) -> (PermissionQuestion, Vec<Grant>) {
    let ask = permissions.decide(&call.view(), PermissionMode::Default, grants);
    assert_eq!(ask.verdict, Verdict::Ask, "{:?}", call.call);
    let question = permissions.question(&call.view(), &ask, grants);
    let (decision, given) = question.answered(ask, &PermissionAnswer::Session);
    assert_eq!((decision.verdict, decision.layer), (Verdict::Allow, Layer::Mode));
    (question, given)
}

fn offered(question: &PermissionQuestion) -> Vec<String> {
    question.offer.iter().map(ToString::to_string).collect()
}

#[test]
fn s2_037_120_an_approved_offer_is_not_asked_again_in_another_spelling() {
    let permissions = Permissions::new();
    let (question, grants) = approved(&permissions, &bash("git commit -m \"x\""), &[]);
    assert_eq!(offered(&question), ["bash(git commit*)"]);
    let verdict = |call: &Call| permissions.decide(&call.view(), PermissionMode::Default, &grants).verdict;
    for line in [
        "git commit -m \"x\"",
        "git  commit   -m 'y z'",
        "git 'commit' --amend",
        "g\"it\" commit",
        "env git commit -m x",
        "timeout 5 git commit",
        "git commit -m \"$(git commit)\"",
        "git commit && git commit\ngit commit",
        "sh -c 'git commit -m x'",
        "git commit > /dev/null 2>&1",
        "if git commit; then git commit; fi",
    ] {
        assert_eq!(verdict(&bash(line)), Verdict::Allow, "{line}");
    }
    for line in
        ["git push", "git commit; rm x", "git commit > x", "sudo git commit", "git $x", "./git commit"]
    {
        assert_eq!(verdict(&bash(line)), Verdict::Ask, "{line}");
    }
}

#[test]
fn an_offer_is_for_what_is_not_covered_yet() {
    let permissions = Permissions::new().rule(RuleKind::Allow, user("bash(git add*)"));
    let line = "git add . && git commit -m x && RUST_LOG=1 cargo test > target/log";
    let (question, grants) = approved(&permissions, &bash(line), &[]);
    let mut offer = offered(&question);
    offer.sort();
    assert_eq!(offer, ["bash(> target/*)", "bash(RUST_LOG=1)", "bash(cargo test*)", "bash(git commit*)"]);
    let again = permissions.decide(&bash("cargo test && git add b").view(), PermissionMode::Default, &grants);
    assert_eq!(again.reason, "allowed by bash(cargo test*), bash(git add*)");
    let (question, _) = approved(&permissions, &bash("git push && git commit"), &grants);
    assert_eq!(offered(&question), ["bash(git push*)"]);
}

#[test]
fn an_edit_offers_its_folder_and_shows_its_change() {
    let permissions = Permissions::new();
    let (question, grants) = approved(&permissions, &edit("src/a/b.rs"), &[]);
    assert_eq!(offered(&question), ["edit_file(src/a/**)"]);
    assert_eq!(question.change, Some(FileChange::new("src/a/b.rs", Extent::OnePlace, Some("a"), "b")));
    let verdict = |call: Call| permissions.decide(&call.view(), PermissionMode::Default, &grants).verdict;
    assert_eq!(verdict(edit("./src/x/../a/c.rs")), Verdict::Allow);
    assert_eq!(verdict(edit("src/b.rs")), Verdict::Ask);
    let (question, _) = approved(&permissions, &edit("a.rs"), &[]);
    assert_eq!(offered(&question), [""; 0], "the folder of a file at the top is the whole workspace");
}

#[test]
fn what_a_deny_rule_may_be_about_is_asked_each_time() {
    let permissions = Permissions::new().rule(RuleKind::Deny, user("bash(git push --force*)"));
    let (question, grants) = approved(&permissions, &bash("git push $x"), &[]);
    assert_eq!((offered(&question).len(), grants.len()), (0, 0));
    let (_, grants) = approved(&permissions, &bash("git push origin"), &[]);
    let verdict = |line| permissions.decide(&bash(line).view(), PermissionMode::Default, &grants).verdict;
    assert_eq!(verdict("git push main"), Verdict::Allow);
    assert_eq!(verdict("git push $x"), Verdict::Ask);
    assert_eq!(verdict("git push --force"), Verdict::Deny);
}

#[test]
fn a_grant_answers_what_the_tool_and_the_rules_ask() {
    let permissions = Permissions::new()
        .rule(RuleKind::Ask, user("bash(git push*)"))
        .rule(RuleKind::Allow, user("bash(git *)"));
    let call = bash("git push").checked(Permission::Ask("it is public".to_owned()));
    let (question, grants) = approved(&permissions, &call, &[]);
    assert_eq!(offered(&question), ["bash(git push*)"]);
    assert_eq!(permissions.decide(&call.view(), PermissionMode::Default, &grants).verdict, Verdict::Allow);
}

#[test]
fn an_answer_is_a_decision_with_its_reason() {
    let permissions = Permissions::new();
    let call = bash("make");
    let ask = call.decided(&permissions);
    let question = permissions.question(&call.view(), &ask, &[]).from_agent("tester");
    let deny = PermissionAnswer::Deny { reason: "use just".to_owned() };
    let (denied, grants) = question.answered(ask.clone(), &deny);
    assert_eq!(
        (denied.verdict, denied.reason.as_str()),
        (Verdict::Deny, "a person denied this call: use just")
    );
    assert!(grants.is_empty());
    let (once, grants) = question.answered(ask.clone(), &PermissionAnswer::Once);
    assert_eq!((once.verdict, grants.len()), (Verdict::Allow, 0));
    let (_, grants) = question.answered(ask, &PermissionAnswer::Always);
    assert_eq!(grants, [grant("bash(make)")].map(|grant| Grant { call: "c1".to_owned(), ..grant }));
    let stored = serde_json::to_string(&question).unwrap();
    assert_eq!(serde_json::from_str::<PermissionQuestion>(&stored).unwrap(), question);
}

#[test]
fn a_question_is_bounded() {
    let text = "x".repeat(10 << 20);
    let write = call("write_file", json!({ "path": "a", "content": text }));
    let ask = write.decided(&Permissions::new());
    let question = Permissions::new().question(&write.view(), &ask, &[]);
    assert!(serde_json::to_string(&question).unwrap().len() < 100 << 10);
    assert_eq!(question.change.unwrap().left_out as usize, (10 << 20) - FileChange::MAX_BYTES);
}
