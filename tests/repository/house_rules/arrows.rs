//! The arrows between modules: each module of a package names only those below it.

use super::{code, files, is_workspace, report, words};

/// The modules that each module of graph-core may name. Leaves first; `state` and `reducer` depend on each other.
const ARROWS: [(&str, &[&str]); 14] = [
    ("error", &[]),
    ("id", &[]),
    ("nonprinting", &[]),
    ("route", &[]),
    // `node` for one bound: a node may return every update.
    ("state", &["id", "reducer", "node"]),
    ("reducer", &["state"]),
    // `records` for one method: a saver may keep the rows of a server.
    ("checkpoint", &["error", "id", "records", "state"]),
    ("records", &["checkpoint", "id", "state"]),
    ("store", &["error", "state"]),
    ("node", &["checkpoint", "error", "id", "route", "state", "store"]),
    ("graph", &["checkpoint", "error", "id", "node", "route", "state"]),
    ("engine", &["checkpoint", "graph", "id", "node", "state"]),
    ("testing", &["checkpoint", "engine", "error", "graph", "id", "node", "route", "run", "state", "store"]),
    ("run", &["checkpoint", "engine", "error", "graph", "id", "node", "route", "state", "store"]),
];

/// The modules that each module of nodes may name: the loop of an agent is above its permissions and its context, and
/// these are above models and tools. `prompt` and `verification` depend on each other.
const ARROWS_OF_NODES: [(&str, &[&str]); 9] = [
    ("message", &[]),
    ("text", &[]),
    ("tool", &["message", "text"]),
    ("model", &["message", "text", "tool"]),
    ("prompt", &["message", "model", "text", "verification"]),
    ("verification", &["message", "model", "prompt", "text"]),
    ("compaction", &["message", "model", "prompt", "text"]),
    ("node", &["compaction", "message", "model", "prompt", "text", "tool", "verification"]),
    ("graphs", &["compaction", "message", "model", "node", "prompt", "tool", "verification"]),
];

/// The same for the assistant. `config` and `state` name the types of the modules below the loop.
const ARROWS_OF_THE_ASSISTANT: [(&str, &[&str]); 25] = [
    ("exit", &[]),
    ("budget", &["exit"]),
    ("recovery", &["exit"]),
    ("context", &[]),
    ("permission", &[]),
    ("snapshot", &[]),
    ("inbox", &["snapshot"]),
    ("interrupts", &[]),
    ("agents", &["budget", "exit", "permission"]),
    ("guidance", &[]),
    ("hook", &["exit", "permission"]),
    ("plan", &["permission"]),
    ("settings", &["guidance", "hook", "permission"]),
    (
        "state",
        &["agents", "budget", "context", "exit", "guidance", "permission", "plan", "recovery", "snapshot"],
    ),
    ("event", &["exit", "permission", "state"]),
    ("session", &["permission", "state"]),
    ("transcript", &["state"]),
    (
        "config",
        &[
            "agents",
            "budget",
            "context",
            "guidance",
            "hook",
            "inbox",
            "interrupts",
            "permission",
            "plan",
            "recovery",
            "snapshot",
            "state",
        ],
    ),
    (
        "node",
        &[
            "agents",
            "budget",
            "config",
            "context",
            "exit",
            "guidance",
            "hook",
            "inbox",
            "interrupts",
            "permission",
            "plan",
            "recovery",
            "snapshot",
            "state",
        ],
    ),
    ("domain", &["config", "hook", "permission"]),
    ("profile", &["config", "context", "permission"]),
    ("graph", &["agents", "budget", "config", "node", "state"]),
    ("background", &["agents", "config", "graph", "inbox", "state"]),
    ("rewind", &["agents", "node", "snapshot", "state"]),
    ("unknown", &["node", "rewind", "snapshot", "state"]),
];

/// The same for the server.
const ARROWS_OF_THE_SERVER: [(&str, &[&str]); 17] = [
    ("clock", &[]),
    ("counts", &[]),
    ("graphs", &[]),
    ("scope", &[]),
    ("wire", &[]),
    ("legacy", &["log", "wire"]),
    ("protocol", &["legacy", "log", "wire"]),
    // `legacy` and `protocol` name the entries of the log, and nothing else of it.
    ("log", &["clock", "graphs", "scope", "wire"]),
    ("webhook", &["wire"]),
    ("ingress", &[]),
    ("work", &["clock", "graphs", "ingress", "log", "wire"]),
    (
        "service",
        &["clock", "graphs", "ingress", "legacy", "log", "protocol", "scope", "webhook", "wire", "work"],
    ),
    ("guard", &["counts", "wire"]),
    ("api", &["counts", "guard", "log", "protocol", "service", "wire"]),
    ("listen", &["guard", "serve"]),
    ("serve", &["api", "counts", "graphs", "guard", "ingress", "listen", "service", "webhook"]),
    ("command_line", &["serve"]),
];

/// The same for the services of Restate.
const ARROWS_OF_RESTATE: [(&str, &[&str]); 7] = [
    ("outcome", &[]),
    ("register", &[]),
    ("work", &["outcome"]),
    ("thread", &["outcome", "work"]),
    ("service", &["thread", "work"]),
    ("endpoint", &["register", "service", "work"]),
    ("command_line", &["endpoint"]),
];

/// The parts of the server without a runtime or without HTTP, each with the crates that it does not name. The life of a
/// run is a state machine of the core.
const WITHOUT: [(&str, &[&str]); 6] = [
    ("server/src/wire", &["axum", "tokio"]),
    ("server/src/legacy", &["axum", "tokio"]),
    ("server/src/protocol", &["axum", "tokio"]),
    ("server/src/log/entry.rs", &["axum", "tokio"]),
    ("server/src/service", &["axum"]),
    ("graph-core/src/records/life", &["axum", "tokio"]),
];

#[test]
fn modules_of_the_core_depend_one_way() {
    modules_depend_one_way("graph-core/src", &ARROWS);
}

#[test]
fn s2_026_modules_of_the_agent_packages_depend_one_way() {
    modules_depend_one_way("nodes/src", &ARROWS_OF_NODES);
    modules_depend_one_way("nodes/assistant/src", &ARROWS_OF_THE_ASSISTANT);
}

#[test]
fn modules_of_the_server_depend_one_way() {
    modules_depend_one_way("server/src", &ARROWS_OF_THE_SERVER);
}

#[test]
fn modules_of_the_services_of_restate_depend_one_way() {
    modules_depend_one_way("graph-restate/src", &ARROWS_OF_RESTATE);
}

#[test]
fn the_shapes_and_streams_of_the_server_name_no_runtime_and_its_service_no_http() {
    if !is_workspace() {
        return;
    }
    let sources = [files("server/src", ".rs"), files("graph-core/src/records", ".rs")].concat();
    let mut broken = Vec::new();
    for (part, crates) in WITHOUT {
        let mut found = sources.iter().filter(|path| path.starts_with(part) && !is_test(path)).peekable();
        assert!(found.peek().is_some(), "there is no {part}");
        for path in found {
            let lines = code(path);
            let named = lines.iter().find(|line| words(line).any(|word| crates.contains(&word)));
            broken.extend(named.map(|line| format!("{path} is without {crates:?}: {line}")));
        }
    }
    report(&broken);
}

/// Returns `true` for a file that holds only tests.
fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// Checks that each module of a folder names only modules that it may name.
fn modules_depend_one_way(folder: &str, arrows: &[(&str, &[&str])]) {
    if !is_workspace() {
        return;
    }
    let mut broken = Vec::new();
    for (module, allowed) in arrows {
        let sources = files(folder, ".rs").into_iter().filter(|path| {
            let inside = path.strip_prefix(folder).unwrap_or_default().trim_start_matches('/');
            inside == format!("{module}.rs") || inside.starts_with(&format!("{module}/"))
        });
        for path in sources.filter(|path| !is_test(path)) {
            for line in code(&path) {
                for (_, named) in line.match_indices("crate::").map(|(at, _)| line.split_at(at + 7)) {
                    let named = words(named).next().unwrap_or_default();
                    let known = arrows.iter().any(|(module, _)| *module == named);
                    if known && named != *module && !allowed.contains(&named) {
                        broken.push(format!("{path} names `{named}`, which is not below `{module}`"));
                    }
                }
            }
        }
    }
    report(&broken);
}
