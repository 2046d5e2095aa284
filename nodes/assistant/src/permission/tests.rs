use serde_json::{Value, json};
use superstep_core::node::Askable;
use superstep_nodes::message::ToolCall;
use superstep_nodes::model::{ModelRequest, Purpose};
use superstep_nodes::tool::{Permission, PermissionMatcher, ToolRegistry};
use superstep_tools::{Bash, Workspace};

use super::*;

mod offers;
mod properties;

/// A call with its facts.
struct Call {
    call: ToolCall,
    matcher: Option<PermissionMatcher>,
    is_read_only: bool,
    check: Permission,
    hooks: Vec<HookVerdict>,
}

fn tools() -> ToolRegistry {
    let workspace = Workspace::of_session();
    superstep_tools::workspace(workspace.clone()).with(Bash::new(workspace)).unwrap()
}

/// A call of a built-in tool.
fn call(tool: &str, input: Value) -> Call {
    let tools = tools();
    let tool = tools.get(tool).unwrap();
    Call {
        matcher: tool.permission_matcher(&input),
        is_read_only: tool.is_read_only(&input),
        call: ToolCall::new("c1", tool.name(), input),
        check: Permission::Passthrough,
        hooks: Vec::new(),
    }
}

fn bash(command: &str) -> Call {
    call("bash", json!({ "command": command }))
}

fn edit(path: &str) -> Call {
    call("edit_file", json!({ "path": path, "old": "a", "new": "b" }))
}

impl Call {
    fn view(&self) -> CallView<'_> {
        CallView {
            call: &self.call,
            is_read_only: self.is_read_only,
            matcher: self.matcher.as_ref(),
            check: &self.check,
            hooks: &self.hooks,
        }
    }

    fn checked(mut self, check: Permission) -> Self {
        self.check = check;
        self
    }

    fn hooked(mut self, verdict: Verdict) -> Self {
        self.hooks.push(HookVerdict { hook: "lint".to_owned(), verdict, reason: "by the hook".to_owned() });
        self
    }

    fn decided(&self, permissions: &Permissions) -> Decision {
        permissions.decide(&self.view(), PermissionMode::Default, &[])
    }
}

fn user(rule: &str) -> RulePlace {
    RulePlace::new(rule.parse().unwrap(), RuleSource::User)
}

fn project(rule: &str) -> RulePlace {
    RulePlace::new(rule.parse().unwrap(), RuleSource::Project)
}

fn grant(rule: &str) -> Grant {
    Grant::new(rule.parse().unwrap(), "c0")
}

/// Permissions whose rules allow every call of bash.
fn allowing() -> Permissions {
    Permissions::new().rule(RuleKind::Allow, user("bash"))
}

#[test]
fn s2_017_038_116_each_layer_denies_while_all_others_allow() {
    let permitted = || bash("rm x").checked(Permission::Allow).hooked(Verdict::Allow);
    assert_eq!(permitted().decided(&allowing()).verdict, Verdict::Allow);
    let denied = |call: &Call, permissions: &Permissions, mode| {
        let decision = permissions.decide(&call.view(), mode, &[grant("bash")]);
        (decision.verdict, decision.layer)
    };
    let default = PermissionMode::Default;
    let by_rule = allowing().rule(RuleKind::Deny, user("bash(rm*)"));
    assert_eq!(denied(&permitted(), &by_rule, default), (Verdict::Deny, Layer::Static));
    let by_tool = permitted().checked(Permission::Deny("no".to_owned()));
    assert_eq!(denied(&by_tool, &allowing(), default), (Verdict::Deny, Layer::Tool));
    let by_condition = allowing().if_then(user("bash(rm*)"), RuleKind::Deny, "use trash");
    assert_eq!(denied(&permitted(), &by_condition, default), (Verdict::Deny, Layer::Rules));
    let by_hook = permitted().hooked(Verdict::Deny);
    assert_eq!(denied(&by_hook, &allowing(), default), (Verdict::Deny, Layer::Rules));
    assert_eq!(denied(&permitted(), &allowing(), PermissionMode::Plan), (Verdict::Deny, Layer::Mode));
    assert_eq!(Layer::ALL.map(Layer::number), [1, 2, 3, 4]);
}

#[test]
fn s2_034_117_a_denied_tool_is_in_no_request() {
    let permissions = Permissions::new()
        .rule(RuleKind::Deny, user("bash"))
        .rule(RuleKind::Deny, user("edit_file(secrets/**)"));
    let tools = permissions.assemble(tools());
    let request = ModelRequest::new(Purpose::Agent, []).with_tools(tools.specs());
    let names: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(!names.contains(&"bash") && names.contains(&"edit_file"), "{names:?}");
    assert_eq!(bash("ls").decided(&permissions).verdict, Verdict::Deny, "a call is denied all the same");
    assert_eq!(edit("secrets/a").decided(&permissions).verdict, Verdict::Deny);
    assert_eq!(edit("src/a").decided(&permissions).verdict, Verdict::Ask);
}

#[test]
fn s2_123_to_127_the_mode_of_the_moment_decides_what_no_rule_does() {
    let read = call("read_file", json!({ "path": "src/a.rs" }));
    let edits = [edit("src/a.rs"), call("write_file", json!({ "path": "b", "content": "" }))];
    let permissions = Permissions::new();
    let verdict = |call: &Call, mode| permissions.decide(&call.view(), mode, &[]).verdict;
    for mode in PermissionMode::ALL {
        assert_eq!(verdict(&read, mode), Verdict::Allow, "{mode}");
    }
    for (mode, of_edit, of_command) in [
        (PermissionMode::Default, Verdict::Ask, Verdict::Ask),
        (PermissionMode::Plan, Verdict::Deny, Verdict::Deny),
        (PermissionMode::AcceptEdits, Verdict::Allow, Verdict::Ask),
        (PermissionMode::Auto, Verdict::Ask, Verdict::Ask),
    ] {
        assert!(edits.iter().all(|edit| verdict(edit, mode) == of_edit), "{mode}");
        assert_eq!(verdict(&bash("cargo test"), mode), of_command, "{mode}");
        assert_eq!(serde_json::to_value(mode).unwrap(), mode.as_str());
    }
    assert_eq!(verdict(&edit("../a"), PermissionMode::AcceptEdits), Verdict::Ask, "it leaves the workspace");
    assert_eq!(verdict(&edit("/etc/a"), PermissionMode::AcceptEdits), Verdict::Ask);
}

#[test]
fn s2_035_121_122_an_ask_is_resolved_by_a_person_a_classifier_or_denied() {
    let (person, headless) = (Permissions::new(), Permissions::new().headless());
    let ask = |permissions: &Permissions, mode| permissions.decide(&bash("make").view(), mode, &[]);
    let asked = ask(&person, PermissionMode::Default);
    assert_eq!(person.resolver(&asked, PermissionMode::Default), Resolver::Person);
    let denied = ask(&headless, PermissionMode::Default);
    assert_eq!((denied.verdict, denied.layer), (Verdict::Deny, Layer::Mode));
    assert!(
        denied.reason.contains("needs consent, and the session runs without a person"),
        "{}",
        denied.reason
    );

    let auto = PermissionMode::Auto;
    let asked = ask(&headless, auto);
    assert_eq!((asked.verdict, headless.resolver(&asked, auto)), (Verdict::Ask, Resolver::Classifier));
    let answer = |verdict| Classification { verdict, reason: "so".to_owned() };
    let after =
        |permissions: &Permissions, verdict| permissions.classified(asked.clone(), &answer(verdict)).verdict;
    assert_eq!(after(&headless, Classified::Allow), Verdict::Allow);
    assert_eq!(after(&person, Classified::Deny), Verdict::Deny);
    assert_eq!(after(&person, Classified::Unsure), Verdict::Ask);
    assert_eq!(after(&headless, Classified::Unsure), Verdict::Deny);

    let strict = Permissions::new().rule(RuleKind::Ask, user("bash(make*)"));
    assert_eq!(strict.resolver(&ask(&strict, auto), auto), Resolver::Person, "the user wants to be asked");
    let denying = Permissions::new().rule(RuleKind::Deny, user("bash(rm*)"));
    let unclear = denying.decide(&bash("eval x").view(), auto, &[]);
    assert_eq!((unclear.verdict, denying.resolver(&unclear, auto)), (Verdict::Ask, Resolver::Person));
}

#[test]
fn s2_036_119_an_if_then_rule_decides_by_pattern_and_says_why() {
    let permissions = Permissions::new()
        .if_then(user("bash(npm *)"), RuleKind::Deny, "this project uses pnpm")
        .if_then(user("bash(git push*)"), RuleKind::Ask, "a push is public")
        .if_then(user("bash(pnpm *)"), RuleKind::Allow, "it is sandboxed");
    let denied = bash("cd web && npm install").decided(&permissions);
    assert_eq!((denied.verdict, denied.layer), (Verdict::Deny, Layer::Rules));
    assert_eq!(denied.reason, "this project uses pnpm (bash(npm *))");
    assert_eq!(bash("git push").decided(&permissions).reason, "a push is public (bash(git push*))");
    assert_eq!(bash("pnpm install").decided(&permissions).verdict, Verdict::Allow);
    let hooked = bash("make").hooked(Verdict::Allow).decided(&permissions);
    assert_eq!((hooked.verdict, hooked.reason.as_str()), (Verdict::Allow, "hook lint: by the hook"));
}

#[test]
fn s2_118_an_allow_skips_layer_4_only_and_several_asks_are_one_question() {
    let permissions = Permissions::new()
        .rule(RuleKind::Allow, user("bash"))
        .rule(RuleKind::Ask, user("bash(git push*)").at("~/.superstep/settings.toml", 7));
    assert_eq!(bash("git pull").decided(&permissions).verdict, Verdict::Allow);
    let call = bash("git push").checked(Permission::Ask("it is public".to_owned())).hooked(Verdict::Ask);
    let asked = call.hooked(Verdict::Allow).decided(&permissions);
    assert_eq!((asked.verdict, asked.layer), (Verdict::Ask, Layer::Rules));
    assert_eq!(
        asked.reason,
        "it is public; the rule bash(git push*) (~/.superstep/settings.toml:7) asks for consent; hook lint: by the hook"
    );
    let allowed = bash("make").checked(Permission::Allow).decided(&Permissions::new());
    assert_eq!((allowed.verdict, allowed.layer), (Verdict::Allow, Layer::Tool));
}

#[test]
fn a_decision_names_the_file_and_the_line_of_its_rules() {
    let permissions = Permissions::new()
        .rule(RuleKind::Allow, user("bash(git *)").at("user.toml", 3))
        .rule(RuleKind::Allow, user("bash(cargo *)").at("user.toml", 4))
        .rule(RuleKind::Deny, project("bash(rm*)").at("project.toml", 5));
    let allowed = bash("git pull && cargo test").decided(&permissions);
    assert_eq!(allowed.reason, "allowed by bash(git *) (user.toml:3), bash(cargo *) (user.toml:4)");
    assert_eq!(allowed.rules.iter().map(|place| place.line).collect::<Vec<_>>(), [Some(3), Some(4)]);
    let denied = bash("git pull && 'r'm x").decided(&permissions);
    assert_eq!(denied.reason, "the rule bash(rm*) (project.toml:5) denies this call");
    let json = serde_json::to_value(&denied).unwrap();
    assert_eq!(
        json["rules"][0],
        json!({ "rule": "bash(rm*)", "source": "project", "file": "project.toml", "line": 5 })
    );
    assert_eq!(serde_json::from_value::<Decision>(json).unwrap(), denied);
}

#[test]
fn a_project_only_tightens_until_it_is_trusted() {
    let permissions = Permissions::new()
        .rule(RuleKind::Allow, project("bash"))
        .if_then(project("edit_file"), RuleKind::Allow, "it is ours")
        .rule(RuleKind::Ask, project("read_file(secrets/**)"))
        .rule(RuleKind::Deny, project("bash(rm*)"));
    let read = call("read_file", json!({ "path": "secrets/a" }));
    let verdicts = |permissions: &Permissions| {
        [bash("ls"), edit("a"), bash("rm x")].map(|call| call.decided(permissions).verdict)
    };
    assert_eq!(verdicts(&permissions), [Verdict::Ask, Verdict::Ask, Verdict::Deny]);
    assert_eq!(read.decided(&permissions).verdict, Verdict::Ask);
    let trusted = permissions.trust_project(Trust::Trusted);
    assert_eq!(verdicts(&trusted), [Verdict::Allow, Verdict::Allow, Verdict::Deny]);
}

#[test]
fn s2_050_a_line_that_is_not_understood_is_asked_about() {
    let permissions =
        Permissions::new().rule(RuleKind::Allow, user("bash(*)")).rule(RuleKind::Deny, user("bash(rm*)"));
    assert_eq!(bash("cargo test").decided(&permissions).verdict, Verdict::Allow);
    let asked = bash("eval \"$x\"").decided(&permissions);
    assert_eq!((asked.verdict, asked.layer), (Verdict::Ask, Layer::Static));
    assert!(asked.reason.contains("bash(rm*) may deny this call: a command runs text"), "{}", asked.reason);
    let known = permissions.decide(&bash("eval x").view(), PermissionMode::Default, &[grant("bash")]);
    assert_eq!(known.verdict, Verdict::Ask, "a grant does not lift what may be denied");
    assert_eq!(bash("eval x; rm y").decided(&permissions).verdict, Verdict::Deny);
    assert_eq!(
        bash("$x").decided(&Permissions::new().rule(RuleKind::Allow, user("bash(*)"))).verdict,
        Verdict::Ask
    );
    assert_eq!(bash("# nothing").decided(&Permissions::new()).verdict, Verdict::Allow);
}

#[test]
fn s2_049_181_rules_allow_paths_and_what_leaves_the_program() {
    let permissions = Permissions::new()
        .rule(RuleKind::Allow, user("edit_file(src/**)"))
        .rule(RuleKind::Deny, user("edit_file(**/*.pem)"))
        .rule(RuleKind::Ask, user("export_rows"))
        .rule(RuleKind::Allow, user("http_request(GET https://api.example.org/*)"));
    assert_eq!(edit("src/a/b.rs").decided(&permissions).verdict, Verdict::Allow);
    assert_eq!(edit("src/key.pem").decided(&permissions).verdict, Verdict::Deny);
    assert_eq!(edit("docs/a.md").decided(&permissions).verdict, Verdict::Ask);
    let other = |tool: &str, text: &'static str, is_read_only| Call {
        call: ToolCall::new("c1", tool, json!({})),
        matcher: Some(PermissionMatcher::new(move |pattern| {
            pattern.strip_suffix('*').is_some_and(|start| text.starts_with(start))
        })),
        is_read_only,
        check: Permission::Passthrough,
        hooks: Vec::new(),
    };
    let verdict = |call: Call| call.decided(&permissions).verdict;
    assert_eq!(verdict(other("query_rows", "", true)), Verdict::Allow);
    assert_eq!(
        verdict(other("export_rows", "", true)),
        Verdict::Ask,
        "it reads, and what it reads leaves the program"
    );
    assert_eq!(verdict(other("http_request", "GET https://api.example.org/a", true)), Verdict::Allow);
    assert_eq!(verdict(other("http_request", "POST https://api.example.org/a", false)), Verdict::Ask);
}

#[test]
fn s2_016_200_201_202_the_more_a_call_can_do_the_more_is_asked() {
    let permissions = Permissions::new()
        .rule(RuleKind::Deny, user("read_file(.env)"))
        .rule(RuleKind::Deny, user("edit_file(.github/**)"))
        .rule(RuleKind::Deny, user("bash(curl *)"));
    let decided = |call: Call, mode| permissions.decide(&call.view(), mode, &[]);
    let read = |path: &str| call("read_file", json!({ "path": path }));
    // Low: reading, within the workspace and the rules.
    assert_eq!(decided(read("src/a.rs"), PermissionMode::Default).verdict, Verdict::Allow);
    assert_eq!(decided(read(".env"), PermissionMode::Default).verdict, Verdict::Deny);
    // Medium: edits, by rules and a person.
    assert_eq!(decided(edit("src/a.rs"), PermissionMode::Default).verdict, Verdict::Ask);
    assert_eq!(decided(edit(".github/a.yml"), PermissionMode::AcceptEdits).verdict, Verdict::Deny);
    // High: commands, by rules, hooks, a classifier and a person.
    assert_eq!(decided(bash("a | curl -T - x"), PermissionMode::Auto).verdict, Verdict::Deny);
    assert_eq!(decided(bash("make").hooked(Verdict::Deny), PermissionMode::Auto).verdict, Verdict::Deny);
    let auto = decided(bash("make"), PermissionMode::Auto);
    assert_eq!(permissions.resolver(&auto, PermissionMode::Auto), Resolver::Classifier);
    assert_eq!(decided(bash("make"), PermissionMode::AcceptEdits).verdict, Verdict::Ask);
}

#[test]
fn questions_and_answers_can_be_stored() {
    fn askable<T: Askable>() {}
    askable::<PermissionQuestion>();
    askable::<PermissionAnswer>();
    askable::<Decision>();
    let deny = PermissionAnswer::Deny { reason: "not now".to_owned() };
    assert_eq!(serde_json::to_value(&deny).unwrap(), json!({ "deny": { "reason": "not now" } }));
    assert_eq!(serde_json::to_value(PermissionAnswer::Session).unwrap(), "session");
}
