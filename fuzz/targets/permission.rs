//! Compares arbitrary rules with arbitrary command lines: the rule on the first line, the command line after it.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use serde_json::json;
use superstep::nodes::assistant::permission::Rule;
use superstep::nodes::tool::{Tool, Touch};
use superstep::nodes::tools::{Bash, Workspace};

static BASH: LazyLock<Bash> = LazyLock::new(|| Bash::new(Workspace::of_session()));

fuzz_target!(|text: &str| {
    let (rule, command) = text.split_once('\n').unwrap_or((text, ""));
    let rule: Option<Rule> = rule.parse().ok();
    if let Some(rule) = &rule {
        assert_eq!(rule.to_string().parse().as_ref(), Ok(rule), "it is read as it was written");
    }
    let Some(line) = BASH.permission_matcher(&json!({ "command": command })) else { return };
    let pattern = rule.as_ref().and_then(Rule::pattern);
    for pattern in pattern.into_iter().chain(["*", "**", "* *"]) {
        let is_covered = line.matches(pattern);
        assert!(!is_covered || line.unclear().is_none(), "`{pattern}` covers a part that was not understood");
        let is_about = line.touches(pattern) != Touch::No;
        assert!(
            !is_covered || line.parts() == 0 || is_about,
            "`{pattern}` covers a line that it is not about"
        );
    }
    for part in 0..line.parts() {
        if let Some(offer) = line.offer(part) {
            assert!(line.fits(part, &offer), "`{offer}` is offered, and does not cover the part");
        }
    }
});
