//! Benchmarks of permissions: the decision on a call under 200 rules.

use std::hint::black_box;
use std::time::Instant;

use serde_json::{Map, Value, json};
use superstep::nodes::assistant::permission::{
    CallView, PermissionMode, Permissions, RuleKind, RulePlace, RuleSource, Verdict,
};
use superstep::nodes::message::ToolCall;
use superstep::nodes::tool::{Permission, Tool};
use superstep::nodes::tools::{EditFile, Workspace};
use tempfile::TempDir;

use crate::report::{Figure, median, round};

const RULES: usize = 200;
const DECISIONS: usize = 2_000;
const ROUNDS: usize = 9;

/// Makes permissions with rules about a tool, of which the last one allows everything in `last`.
fn permissions(tool: &str, rules: usize, pattern: fn(usize) -> String, last: &[&str]) -> Permissions {
    let place = |pattern: &str| {
        let rule = format!("{tool}({pattern})").parse().expect("a sound rule");
        RulePlace::new(rule, RuleSource::User)
    };
    let kind = |n| [RuleKind::Allow, RuleKind::Ask, RuleKind::Allow, RuleKind::Deny][n % 4];
    let add = |all: Permissions, n| all.rule(kind(n), place(&pattern(n)));
    let all = (last.len()..rules).fold(Permissions::new(), add);
    last.iter().fold(all, |all, pattern| all.rule(RuleKind::Allow, place(pattern)))
}

/// Returns the time of a decision in microseconds, with the matcher of the call.
fn decided(permissions: &Permissions, tool: &dyn Tool, input: &Value) -> f64 {
    let call = ToolCall::new("c", tool.name(), input.clone());
    let begun = Instant::now();
    for _ in 0..DECISIONS {
        let matcher = tool.permission_matcher(black_box(&call.input));
        let view = CallView {
            call: &call,
            is_read_only: false,
            matcher: matcher.as_ref(),
            check: &Permission::Passthrough,
            hooks: &[],
        };
        let decision = permissions.decide(&view, PermissionMode::Default, &[]);
        assert_eq!(decision.verdict, Verdict::Allow, "{}", decision.reason);
    }
    begun.elapsed().as_secs_f64() * 1e6 / DECISIONS as f64
}

fn path_pattern(n: usize) -> String {
    match n % 5 {
        0 => format!("src/module_{n}/**"),
        1 => format!("**/*.suffix{n}"),
        2 => format!("{{docs,notes}}/part{n}/**"),
        3 => format!("tests/case_{n}?.rs"),
        _ => format!("src/deep/*/file_{n}.rs"),
    }
}

/// W17d: the decision on a call with a path under 200 rules, against one under the rule that allows it.
pub(crate) fn decisions() -> Figure {
    let folder = TempDir::new().expect("a folder");
    let workspace = || Workspace::at(folder.path()).expect("it opens");
    let edit = EditFile::new(workspace());
    let input = json!({ "path": "src/deep/down/below/the/file.rs", "old": "a", "new": "b" });
    let paths = |rules| permissions("edit_file", rules, path_pattern, &["src/deep/**"]);
    let (many, one) = (paths(RULES), paths(1));
    let (mut values, mut baselines) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        baselines.push(decided(&one, &edit, &input));
        values.push(decided(&many, &edit, &input));
    }
    let mut extra = Map::new();
    #[cfg(all(feature = "tools-shell", unix))]
    {
        let bash = superstep::nodes::tools::Bash::new(workspace());
        let line = "ls src && cargo test --lib parser | grep failed > failures.log; git status --short";
        let input = json!({ "command": line });
        let allowed = ["ls *", "cargo test*", "grep *", "> *", "git status*"];
        let commands = |rules| permissions("bash", rules, command_pattern, &allowed);
        let (many, one) = (commands(RULES), commands(allowed.len()));
        let (mut lines, mut alone, mut parses) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            alone.push(decided(&one, &bash, &input));
            lines.push(decided(&many, &bash, &input));
            let begun = Instant::now();
            (0..DECISIONS).for_each(|_| drop(black_box(bash.permission_matcher(black_box(&input)))));
            parses.push(begun.elapsed().as_secs_f64() * 1e6 / DECISIONS as f64);
        }
        extra.insert("us_command_line".into(), round(median(&lines)).into());
        extra.insert("us_command_line_under_five_rules".into(), round(median(&alone)).into());
        extra.insert("us_parse_of_command_line".into(), round(median(&parses)).into());
    }
    let target = "under one rule; ≤ 5 µs, a command line of five parts ≤ 50 µs";
    Figure { unit: "µs/decision", values, baselines, extra, target }
}

#[cfg(all(feature = "tools-shell", unix))]
fn command_pattern(n: usize) -> String {
    match n % 4 {
        0 => format!("cargo task{n}*"),
        1 => format!("git step{n} *"),
        2 => format!("npm run script{n} *"),
        _ => format!("tool{n} --flag *"),
    }
}
