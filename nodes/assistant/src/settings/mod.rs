//! Rules, hooks and MCP servers from files, and the trust in those of a project.
//!
//! ```toml
//! [permissions]
//! allow = ["bash(cargo test*)"]
//! deny = ["bash(rm*)"]
//!
//! [[permissions.if]]
//! rule = "bash(npm *)"
//! then = "deny"
//! reason = "this project uses pnpm"
//!
//! [[hooks.before_call]]
//! rule = "edit_file"
//! command = "scripts/may-edit.sh"
//!
//! [[hooks.stop]]
//! command = "cargo test"
//!
//! [mcp.issues]
//! command = ["issues-server", "--stdio"]
//! ```
//!
//! The table `agent` is for the program, which reads it from the [text](Settings::text).
//!
//! A user's file is trusted. That of a project, `.superstep/settings.toml`, may come from anyone: until the user
//! [trusts](TrustedFolders) its digest, its rules may ask and deny, and its rules that allow, its hooks and its servers
//! do not exist for the session. Nothing in this library trusts by itself, with a person or without one.

mod trust;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use superstep_nodes::tool::Tool;
use toml::Spanned;

use crate::guidance::Folder;
use crate::hook::{CommandHook, Hooks};
use crate::permission::{Permissions, Rule, RuleError, RuleKind, RulePlace, RuleSource, Trust};

pub use trust::{Checked, TrustError, TrustQuestion, TrustedFolders};

/// The settings of one file.
#[derive(Clone, Debug)]
pub struct Settings {
    source: RuleSource,
    trust: Trust,
    rules: Vec<(RuleKind, RulePlace, Option<String>)>,
    hooks: Vec<HookCommand>,
    servers: Vec<McpServer>,
    program: toml::Table,
    text: String,
}

/// A command that is a hook.
#[derive(Clone, Debug)]
struct HookCommand {
    name: String,
    command: String,
    /// `None` for a stop hook.
    before_call: Option<Option<Rule>>,
}

/// An MCP server, for the program that starts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    /// The name.
    pub name: String,
    /// The way to reach it.
    pub at: McpAddress,
    /// Variables of its environment.
    pub environment: BTreeMap<String, String>,
}

/// The way to reach an MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpAddress {
    /// A program, with its arguments.
    Command(Vec<String>),
    /// A URL.
    Url(String),
}

/// An error in a file of settings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The file cannot be read, or a link leads out of the folder. Make it a readable file.
    #[error("the settings {} cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is too long to be one of settings.
    #[error("the settings {} are longer than {MAX_FILE} bytes", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// The file is not TOML, or has a key or a value that settings do not have.
    #[error("{file}:{line}: {reason}")]
    Form {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u32,
        /// A description of the error.
        reason: String,
    },
    /// A rule is none. Write `tool` or `tool(pattern)`.
    #[error("{file}:{line}: {source}")]
    Rule {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u32,
        /// The error in the rule.
        source: RuleError,
    },
}

/// The file of a project's settings.
pub const PROJECT_FILE: &str = ".superstep/settings.toml";

/// The maximum size of a file, in bytes.
const MAX_FILE: usize = 256 << 10;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Form {
    permissions: PermissionsForm,
    hooks: HooksForm,
    mcp: BTreeMap<String, Spanned<ServerForm>>,
    /// The settings of the program.
    agent: toml::Table,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PermissionsForm {
    allow: Vec<Spanned<String>>,
    ask: Vec<Spanned<String>>,
    deny: Vec<Spanned<String>>,
    r#if: Vec<IfForm>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IfForm {
    rule: Spanned<String>,
    then: RuleKind,
    reason: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct HooksForm {
    before_call: Vec<CallHookForm>,
    stop: Vec<StopHookForm>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallHookForm {
    name: Option<String>,
    rule: Option<Spanned<String>>,
    command: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StopHookForm {
    name: Option<String>,
    command: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerForm {
    command: Option<Vec<String>>,
    url: Option<String>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
}

impl Settings {
    /// Reads the text of a file, which errors and decisions name as `file`. Settings of a project are not trusted.
    ///
    /// # Errors
    /// Fails if the text is not TOML, or has something else in it than settings.
    pub fn parse(text: &str, file: &str, source: RuleSource) -> Result<Self, SettingsError> {
        let place = Place { text, file, source };
        let form: Form = toml::from_str(text).map_err(|error| {
            place.form(error.span().map_or(0, |span| span.start), error.message().to_owned())
        })?;
        let PermissionsForm { allow, ask, deny, r#if } = form.permissions;
        let mut rules = Vec::new();
        for (kind, texts) in [(RuleKind::Allow, allow), (RuleKind::Ask, ask), (RuleKind::Deny, deny)] {
            for rule in texts {
                rules.push((kind, place.rule(&rule)?, None));
            }
        }
        for IfForm { rule, then, reason } in r#if {
            rules.push((then, place.rule(&rule)?, Some(reason)));
        }
        let mut hooks = Vec::new();
        for CallHookForm { name, rule, command } in form.hooks.before_call {
            let rule = rule.map(|rule| place.rule(&rule)).transpose()?.map(|place| place.rule);
            let name = name.unwrap_or_else(|| command.clone());
            hooks.push(HookCommand { name, command, before_call: Some(rule) });
        }
        for StopHookForm { name, command } in form.hooks.stop {
            hooks.push(HookCommand {
                name: name.unwrap_or_else(|| command.clone()),
                command,
                before_call: None,
            });
        }
        let servers = form.mcp.into_iter().map(|(name, server)| place.server(name, server));
        let trust = if source == RuleSource::Project { Trust::Untrusted } else { Trust::Trusted };
        let servers = servers.collect::<Result<_, _>>()?;
        Ok(Self { source, trust, rules, hooks, servers, program: form.agent, text: text.to_owned() })
    }

    /// Reads the user's file; settings without anything if there is none.
    ///
    /// # Errors
    /// See [`parse`](Self::parse); fails also if the file cannot be read.
    pub fn of_user(path: &Path) -> Result<Self, SettingsError> {
        let (folder, name) = (path.parent().unwrap_or(Path::new(".")), path.file_name().unwrap_or_default());
        Self::read(folder, &name.to_string_lossy(), &path.display().to_string(), RuleSource::User)
    }

    /// Reads the settings of a project from its folder, from [`PROJECT_FILE`]. They are not trusted; see
    /// [`TrustedFolders::check`].
    ///
    /// # Errors
    /// See [`parse`](Self::parse); fails also if the file cannot be read, or a link in it leads out of the folder.
    pub fn of_project(folder: &Path) -> Result<Self, SettingsError> {
        Self::read(folder, PROJECT_FILE, PROJECT_FILE, RuleSource::Project)
    }

    fn read(folder: &Path, path: &str, file: &str, source: RuleSource) -> Result<Self, SettingsError> {
        let whole = || folder.join(path);
        let text = Folder::open(folder).and_then(|folder| match folder {
            Some(folder) => folder.text(path, MAX_FILE),
            None => Ok(None),
        });
        match text.map_err(|source| SettingsError::Read { path: whole(), source })? {
            Some(text) if text.is_cut => Err(SettingsError::TooLong { path: whole() }),
            Some(text) => Self::parse(&text.text, file, source),
            None => Self::parse("", file, source),
        }
    }

    /// Adds the rules to permissions. Those of a project that allow count if it is trusted.
    #[must_use]
    pub fn permissions(&self, permissions: Permissions) -> Permissions {
        let added = self.rules.iter().fold(permissions, |permissions, (kind, place, reason)| match reason {
            None => permissions.rule(*kind, place.clone()),
            Some(reason) => permissions.if_then(place.clone(), *kind, reason.as_str()),
        });
        if self.source == RuleSource::Project { added.trust_project(self.trust) } else { added }
    }

    /// Returns the hooks, which this tool runs, such as `bash`; none of a project that is not trusted.
    pub fn hooks(&self, shell: &Arc<dyn Tool>) -> Hooks {
        self.hooks.iter().filter(|_| self.trust == Trust::Trusted).fold(Hooks::new(), |hooks, hook| {
            let command = CommandHook::new(hook.name.clone(), hook.command.clone(), Arc::clone(shell));
            match &hook.before_call {
                Some(Some(rule)) => hooks.before_call_of(rule.clone(), command),
                Some(None) => hooks.before_call(command),
                None => hooks.before_end(command),
            }
        })
    }

    /// Returns the rules with their kinds and places. Those of a project that is not trusted allow nothing.
    pub fn rules(&self) -> impl Iterator<Item = (RuleKind, &RulePlace)> {
        self.rules.iter().map(|(kind, place, _)| (*kind, place))
    }

    /// Returns the commands of the hooks; none of a project that is not trusted.
    pub fn hook_commands(&self) -> impl Iterator<Item = &str> {
        let is_trusted = self.trust == Trust::Trusted;
        self.hooks.iter().filter(move |_| is_trusted).map(|hook| hook.command.as_str())
    }

    /// Returns the MCP servers; none of a project that is not trusted.
    pub fn servers(&self) -> &[McpServer] {
        if self.trust == Trust::Trusted { &self.servers } else { &[] }
    }

    /// Returns the text of the file, in which a program finds its own settings: those of the table `agent`. If a
    /// project is not trusted, they must not have an effect either.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the trust in these settings.
    pub const fn trust(&self) -> Trust {
        self.trust
    }

    /// Returns the settings that need trust, each in one line.
    fn needing_trust(&self) -> Vec<String> {
        let allows = self.rules.iter().filter(|(kind, ..)| *kind == RuleKind::Allow);
        let allows = allows.map(|(_, place, _)| format!("allow without a question: {place}"));
        let hooks = self.hooks.iter().map(|HookCommand { command, before_call, .. }| match before_call {
            Some(Some(rule)) => format!("run before calls of {rule}: {command}"),
            Some(None) => format!("run before each call: {command}"),
            None => format!("run before the end: {command}"),
        });
        let servers = self.servers.iter().map(|McpServer { name, at, environment }| {
            let variables: String =
                environment.iter().map(|(name, value)| format!(" {name}={value}")).collect();
            match at {
                McpAddress::Command(words) => {
                    format!("start the server {name}: {}{variables}", words.join(" "))
                }
                McpAddress::Url(url) => format!("connect with the server {name}: {url}{variables}"),
            }
        });
        let program = self.program.iter().map(|(key, value)| {
            let value = serde_json::to_string(value).unwrap_or_else(|error| error.to_string());
            format!("set {key} = {value}")
        });
        allows.chain(hooks).chain(servers).chain(program).collect()
    }

    /// Returns the commands of hooks and servers.
    fn commands(&self) -> impl Iterator<Item = &str> {
        let servers = self.servers.iter().flat_map(|server| match &server.at {
            McpAddress::Command(words) => words.iter().map(String::as_str).collect::<Vec<_>>(),
            McpAddress::Url(_) => Vec::new(),
        });
        self.hooks.iter().map(|hook| hook.command.as_str()).chain(servers)
    }
}

/// The file of settings that are parsed.
struct Place<'f> {
    text: &'f str,
    file: &'f str,
    source: RuleSource,
}

impl Place<'_> {
    /// Returns the line of a position, from 1.
    fn line(&self, at: usize) -> u32 {
        let breaks = self.text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count();
        u32::try_from(breaks).map_or(u32::MAX, |breaks| breaks.saturating_add(1))
    }

    fn form(&self, at: usize, reason: String) -> SettingsError {
        SettingsError::Form { file: self.file.to_owned(), line: self.line(at), reason }
    }

    fn rule(&self, rule: &Spanned<String>) -> Result<RulePlace, SettingsError> {
        let line = self.line(rule.span().start);
        match rule.get_ref().parse() {
            Ok(rule) => Ok(RulePlace::new(rule, self.source).at(self.file, line)),
            Err(source) => Err(SettingsError::Rule { file: self.file.to_owned(), line, source }),
        }
    }

    fn server(&self, name: String, server: Spanned<ServerForm>) -> Result<McpServer, SettingsError> {
        let at = server.span().start;
        let ServerForm { command, url, environment } = server.into_inner();
        let at = match (command, url) {
            (Some(words), None) if !words.is_empty() => McpAddress::Command(words),
            (None, Some(url)) => McpAddress::Url(url),
            _ => {
                return Err(self.form(at, format!("the server `{name}` needs either a `command` or a `url`")));
            }
        };
        Ok(McpServer { name, at, environment })
    }
}

#[cfg(test)]
mod tests;
