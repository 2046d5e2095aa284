//! `--print-config`: the settings with their sources.

use serde::Serialize;
use superstep_assistant::permission::{Rule, RuleKind, RulePlace, RuleSource, Trust};
use superstep_assistant::settings::{McpAddress, McpServer};

use super::arguments::Options;
use super::settings::{Row, Source};
use super::workbench::Files;
use crate::page::{DIM, NAME, NOTE, Page, plain, span};
use crate::screen::Answer;

/// The longest default that is shown whole, in characters. JSON has all of it.
const LONGEST: usize = 60;

/// All settings.
#[derive(Debug, Serialize)]
pub(crate) struct Configuration {
    settings: Vec<Row>,
    rules: Vec<RuleRow>,
    /// The commands that are asked before calls and before the end of the work.
    hooks: Vec<String>,
    /// The MCP servers: names, and programs or addresses. Their variables may be secrets, and are not listed.
    servers: Vec<(String, String)>,
    warnings: Vec<String>,
}

/// A rule.
#[derive(Debug, Serialize)]
struct RuleRow {
    kind: RuleKind,
    #[serde(flatten)]
    place: RulePlace,
    /// `false` for a rule that allows, of a project that is not trusted.
    counts: bool,
}

impl Configuration {
    pub(crate) fn new(settings: Vec<Row>, files: &Files, options: &Options, warnings: Vec<String>) -> Self {
        let given = |kind, rules: &[Rule]| {
            let place = |rule: &Rule| RulePlace::new(rule.clone(), RuleSource::CommandLine);
            let row = |rule| RuleRow { kind, place: place(rule), counts: true };
            rules.iter().map(row).collect::<Vec<_>>()
        };
        let mut rules = given(RuleKind::Allow, &options.allow);
        rules.extend(given(RuleKind::Deny, &options.deny));
        let (mut hooks, mut servers) = (Vec::new(), Vec::new());
        for file in files.all() {
            rules.extend(file.rules().map(|(kind, place)| {
                let counts = kind != RuleKind::Allow || file.trust() == Trust::Trusted;
                RuleRow { kind, place: place.clone(), counts }
            }));
            hooks.extend(file.hook_commands().map(str::to_owned));
            servers.extend(file.servers().iter().map(|McpServer { name, at, .. }| {
                let at = match at {
                    McpAddress::Command(words) => words.join(" "),
                    McpAddress::Url(url) => url.clone(),
                };
                (name.clone(), at)
            }));
        }
        Self { settings, rules, hooks, servers, warnings }
    }
}

impl Answer for Configuration {
    fn show(&self, page: &mut Page) {
        let Self { settings, rules, hooks, servers, warnings } = self;
        let longest = settings.iter().map(|row| row.key.len()).max().unwrap_or(0);
        for Row { key, value, source } in settings {
            let value = match value {
                serde_json::Value::Null => "–".to_owned(),
                serde_json::Value::String(text) => text.clone(),
                value => value.to_string(),
            };
            let value = match *source {
                // Those who have not set a table need not read all of it.
                Source::Default if value.chars().count() > LONGEST => {
                    format!("{}…", value.chars().take(LONGEST).collect::<String>())
                }
                _ => value,
            };
            let source = if *source == Source::Default { "default".to_owned() } else { source.to_string() };
            let source = span(DIM, format!("({source})"));
            // Values of any length are not padded, so that the others stay readable.
            let room = " ".repeat(longest + 2 - key.len());
            page.line([span(NAME, key), plain(room), plain(value), plain("  "), source]);
        }
        for RuleRow { kind, place, counts } in rules {
            let kind = match kind {
                RuleKind::Allow => "allow",
                RuleKind::Ask => "ask",
                RuleKind::Deny => "deny",
            };
            let source = if place.file.is_none() { " (argument)" } else { "" };
            let trust = span(NOTE, if *counts { "" } else { "  (not trusted: it does not count)" });
            page.line([span(NAME, kind), plain(format!(" {place}{source}")), trust]);
        }
        for hook in hooks {
            page.line([span(NAME, "hook"), plain(format!(" {hook}"))]);
        }
        for (name, at) in servers {
            page.line([span(NAME, "server"), plain(format!(" {name}: {at}"))]);
        }
        for warning in warnings {
            page.line([span(NOTE, format!("warning: {warning}"))]);
        }
    }
}
