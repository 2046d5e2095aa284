//! The work of the commands.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anstyle::Style;
use superstep_assistant::agents::BackgroundAgent;
use superstep_assistant::context::AutoCompact;
use superstep_assistant::guidance::Guidance;
use superstep_assistant::permission::{PermissionMode, Trust};
use superstep_assistant::plan::TodoStatus;
use superstep_assistant::{AssistantState, AssistantStateUpdate, Session, SessionSummary};
use superstep_names::ModelName;

use super::commands::{COMMANDS, Work};
use super::front::{Front, Gone};
use super::keys::ACTIONS;
use crate::agent::arguments::Which;
use crate::agent::hold::{Held, Hold};
use crate::agent::past::claim;
use crate::agent::places::Places;
use crate::agent::screen::{Line, count, dollars, wrap};
use crate::agent::values::FromText;
use crate::agent::workbench::{Trusting, Workbench};
use crate::failure::Failure;
use crate::page::{BAD, DIM, GOOD, NAME, NOTE, PLAIN, Span, plain, span};
use crate::time::readable;

/// The number of sessions in a list.
const MOST_SESSIONS: usize = 20;

impl Front {
    /// Carries out a command.
    pub(super) fn order(&mut self, work: Work, arguments: &str) -> Result<(), Gone> {
        let done = match work {
            Work::Agents => self.agents(arguments),
            Work::Compact => self.compact(),
            Work::Context => self.context(),
            Work::Cost => self.cost(),
            Work::Fork => self.fork(arguments),
            Work::Help => self.help().map_err(Gone::from),
            Work::Mcp => self.mcp().map_err(Gone::from),
            Work::Memory => self.memory(arguments),
            Work::Mode => self.mode(arguments),
            Work::Model => self.model(arguments),
            Work::Permissions => self.permissions(),
            Work::Plan => self.plan(arguments),
            Work::Quit => {
                self.is_over = true;
                Ok(())
            }
            Work::Resume => self.resume(arguments),
            Work::Rewind => self.rewind(arguments),
            Work::Todo => self.todo(),
        };
        match done {
            // A command that fails leaves the session as it is.
            Err(Gone::Failed(failure)) => Ok(self.say(BAD, &failure.told_by("superstep"))?),
            done => done,
        }
    }

    fn lines(&mut self, lines: Vec<Line>) -> io::Result<()> {
        self.terminal.print(&lines)
    }

    /// Prints rows of a name and a text.
    pub(super) fn rows(&mut self, rows: impl IntoIterator<Item = (Style, String, String)>) -> io::Result<()> {
        let rows: Vec<_> = rows.into_iter().collect();
        let columns = self.terminal.look().width.unwrap_or(usize::MAX);
        let longest = rows.iter().map(|(_, name, _)| name.chars().count()).max().unwrap_or(0);
        // On a narrow terminal the texts stand below the names.
        let margin = if longest + 30 > columns { 4 } else { longest + 4 };
        let row = |(style, name, text): (Style, String, String)| {
            let room = (margin - 2).saturating_sub(name.chars().count());
            let first: Vec<Span> = vec![plain("  "), span(style, &name), plain(" ".repeat(room))];
            let rest = [plain(" ".repeat(margin))];
            if name.chars().count() + 2 < margin {
                return wrap(&[plain(text)], columns, &first, &rest);
            }
            let mut lines = vec![Line::of(first)];
            lines.extend(wrap(&[plain(text)], columns, &rest, &rest));
            lines
        };
        let lines = rows.into_iter().flat_map(row).collect();
        self.lines(lines)
    }

    fn help(&mut self) -> io::Result<()> {
        let command = |it: &super::commands::Command| {
            let name = format!("/{} {}", it.name, it.arguments);
            (NAME, name.trim_end().to_owned(), it.help.to_owned())
        };
        self.rows(COMMANDS.iter().map(command))?;
        let own = own_commands(&self.bench.places);
        self.rows(own.into_iter().map(|(name, help)| (NOTE, format!("/{name}"), help)))?;
        let keys = [
            ("enter", "sends the message; while the agent works, it steers"),
            ("@", "begins the path of a file"),
            ("ctrl-c", "stops the turn; a second time leaves"),
        ];
        let bound = ACTIONS.iter().map(|(action, _, _)| (self.keys.named(*action), action.help().to_owned()));
        let keys = keys.into_iter().map(|(key, help)| (key.to_owned(), help.to_owned())).chain(bound);
        let keys: Vec<_> = keys.map(|(key, help)| (DIM, key, help)).collect();
        self.rows(keys)
    }

    fn agents(&mut self, arguments: &str) -> Result<(), Gone> {
        let session = self.session.thread().id().clone();
        if let Some(name) = arguments.strip_prefix("stop ") {
            let stopped = self.bench.background.stop(&session, name.trim());
            let text = if stopped { "stopping" } else { "no agent of this name is running" };
            return Ok(self.say(NOTE, text)?);
        }
        let state = self.state()?;
        let agents: &[BackgroundAgent] = state.as_deref().map_or(&[], |state| &state.background);
        if agents.is_empty() {
            return Ok(self.say(DIM, "No agent runs in the background.")?);
        }
        let mut rows = Vec::new();
        for agent in agents {
            let is_running = self.background.running().any(|running| running == agent.name);
            let tokens = self.tokens_of(agent);
            let task = agent.delegation.task.lines().next().unwrap_or_default().to_owned();
            let work = if is_running { "works" } else { "waits" };
            let text = format!("{} · {work} · {} tokens · {task}", agent.delegation.agent, count(tokens));
            rows.push((NAME, agent.name.clone(), text));
        }
        Ok(self.rows(rows)?)
    }

    /// Returns the tokens that an agent has used so far.
    fn tokens_of(&self, agent: &BackgroundAgent) -> u64 {
        let thread = self.bench.background.thread(self.session.thread().id(), agent);
        let head = thread.ok().and_then(|thread| self.runtime.block_on(thread.head()).ok());
        head.map_or(0, |head| {
            let usage = head.state().ledger.total().usage;
            usage.input_tokens + usage.output_tokens
        })
    }

    /// Changes the state of the session, unless another process works on it.
    fn edit(&self, update: AssistantStateUpdate) -> Result<(), Failure> {
        let _hold = self.runtime.block_on(claim(&self.bench, &self.session))?;
        self.runtime.block_on(self.session.thread().edit(update))?;
        Ok(())
    }

    fn compact(&mut self) -> Result<(), Gone> {
        let Some(state) = self.editable()? else { return Ok(()) };
        let requested = AutoCompact { is_requested: true, ..state.auto_compact };
        let update = AssistantState::update().auto_compact(requested);
        self.edit(update)?;
        Ok(self.say(NOTE, "The conversation is compacted before the next request to the model.")?)
    }

    /// Returns the state if it may be edited now; otherwise says why not.
    pub(super) fn editable(&mut self) -> Result<Option<Arc<AssistantState>>, Gone> {
        let Some(state) = self.state()? else {
            self.say(DIM, "The session has no message yet.")?;
            return Ok(None);
        };
        if self.waits_for_answer() {
            self.say(BAD, "Answer the open question first. Enter asks it again.")?;
            return Ok(None);
        }
        Ok(Some(state))
    }

    fn context(&mut self) -> Result<(), Gone> {
        let Some(state) = self.editable()? else { return Ok(()) };
        let model = self.bench.models.main.name().to_owned();
        let windows = [&state.windows, &self.bench.settings.windows];
        let window = windows.iter().find_map(|windows| windows.of(&model));
        let tokens = state.anchor.as_ref().map_or(0, |anchor| anchor.tokens);
        let full = match window {
            Some(window) => {
                let percent = tokens.saturating_mul(100) / window.tokens.max(1);
                format!("{} of {} ({percent} %)", count(tokens), count(window.tokens))
            }
            None => format!("{}; the window of {model} is not known", count(tokens)),
        };
        let tail = state
            .compactions
            .last()
            .and_then(|last| state.messages.iter().rposition(|message| *message.id() == last.through));
        let shown = state.messages.len() - tail.map_or(0, |at| at + 1);
        let row = |name: &str, text: String| (DIM, name.to_owned(), text);
        Ok(self.rows([
            row("tokens", full),
            row("messages", format!("{} ({shown} are not behind a summary)", state.messages.len())),
            row("compactions", state.compactions.len().to_string()),
            row("shortened results", state.trims.len().to_string()),
        ])?)
    }

    fn cost(&mut self) -> Result<(), Gone> {
        let Some(state) = self.state()? else {
            return Ok(self.say(DIM, "The session has no message yet.")?);
        };
        let mut rows = Vec::new();
        for (purpose, model, account) in state.ledger.accounts() {
            let usage = account.usage;
            let price = self.bench.settings.prices.of(model);
            let cost = price.map_or("no price".to_owned(), |price| dollars(price.micro_usd(&usage)));
            let (read, written) = (count(usage.input_tokens), count(usage.output_tokens));
            let cached = match usage.cache_read_tokens {
                0 => String::new(),
                cached => format!(" ({} from the cache)", count(cached)),
            };
            let calls = account.calls;
            rows.push((
                DIM,
                purpose.as_str().to_owned(),
                format!("{model} · {calls} calls · {read} read{cached} · {written} written · {cost}"),
            ));
        }
        let cost = state.ledger.cost(&self.bench.settings.prices);
        let limits = self.bench.settings.limits();
        let most = limits.micro_usd.map(|most| format!(" of {}", dollars(most))).unwrap_or_default();
        rows.push((NAME, "total".to_owned(), format!("{}{most}", dollars(cost.micro_usd))));
        Ok(self.rows(rows)?)
    }

    fn mcp(&mut self) -> io::Result<()> {
        if self.bench.servers.is_empty() {
            return self.say(DIM, "No MCP server is connected. Name servers in the settings, under [mcp].");
        }
        let row = |server: &superstep_mcp::McpServer| {
            let tools: Vec<_> = server.tools().tools().iter().map(|tool| tool.name().to_owned()).collect();
            (NAME, server.name().to_owned(), tools.join(", "))
        };
        let rows: Vec<_> = self.bench.servers.iter().map(row).collect();
        self.rows(rows)
    }

    fn memory(&mut self, name: &str) -> Result<(), Gone> {
        let files = memory_files(&self.bench.places);
        if !name.is_empty() {
            let Some((_, path)) = files.iter().find(|(file, _)| file == name) else {
                return Ok(self.say(BAD, &format!("There is no memory {name}. /memory lists all."))?);
            };
            let text = fs::read_to_string(path).map_err(Failure::of)?;
            return Ok(self.say(PLAIN, &text)?);
        }
        if files.is_empty() {
            let text = "There are no instructions and no memory. Write AGENTS.md, or say what to remember.";
            return Ok(self.say(DIM, text)?);
        }
        let row = |(name, path): (String, PathBuf)| {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned();
            (NAME, name, first)
        };
        Ok(self.rows(files.into_iter().map(row))?)
    }

    fn mode(&mut self, arguments: &str) -> Result<(), Gone> {
        if arguments.is_empty() {
            let state = self.state()?;
            let present = state.map_or(self.bench.mode(), |state| state.mode);
            let row = |mode: PermissionMode| {
                let style = if mode == present { GOOD } else { DIM };
                (style, mode.to_string(), mode_help(mode).to_owned())
            };
            return Ok(self.rows(PermissionMode::ALL.map(row))?);
        }
        let mode = PermissionMode::from_text(arguments).map_err(Failure::unusable)?;
        self.set_mode(mode)
    }

    fn set_mode(&mut self, mode: PermissionMode) -> Result<(), Gone> {
        if self.state()?.is_none() {
            self.options.mode = Some(mode);
            self.reopen()?;
        } else if self.editable()?.is_some() {
            self.edit(AssistantState::update().mode(mode))?;
            self.bench.take_given_mode();
        } else {
            return Ok(());
        }
        Ok(self.say(NOTE, &format!("mode {mode}: {}", mode_help(mode)))?)
    }

    fn model(&mut self, arguments: &str) -> Result<(), Gone> {
        if arguments.is_empty() {
            let name = self.bench.models.name.to_string();
            return Ok(self.say(NOTE, &format!("{name}. Change it with /model PROVIDER:MODEL"))?);
        }
        let before = self.options.model.replace(ModelName::from_text(arguments).map_err(Failure::unusable)?);
        if let Err(error) = self.reopen() {
            self.options.model = before;
            return Err(error);
        }
        Ok(self.say(NOTE, &format!("The next request goes to {arguments}."))?)
    }

    /// Sets the workbench up again, with other options.
    fn reopen(&mut self) -> Result<(), Gone> {
        if self.background.running().next().is_some() {
            return Err(Failure::unusable(
                "agents work in the background: stop them first, with /agents stop NAME",
            )
            .into());
        }
        if self.state()?.is_some() {
            self.options.mode = self.bench.take_given_mode();
        }
        let bench = self.runtime.block_on(Workbench::open(&self.options, Trusting::Nothing))?;
        let session = Session::open(&bench.graph, self.session.thread().id().clone());
        self.session = self.runtime.block_on(session).map_err(Failure::from)?;
        self.bench = Arc::new(bench);
        self.see_state().map(drop)
    }

    fn permissions(&mut self) -> Result<(), Gone> {
        let state = self.state()?;
        let mode = state.as_ref().map_or(self.bench.mode(), |state| state.mode);
        let mut rows = vec![(NAME, format!("mode {mode}"), mode_help(mode).to_owned())];
        let files = &self.bench.files;
        for file in [&files.user, &files.always, &files.project] {
            for (kind, place) in file.rules() {
                let from = match (&place.file, place.line) {
                    (Some(file), Some(line)) => format!("{file}:{line}"),
                    _ => "settings".to_owned(),
                };
                let kind = format!("{kind:?}").to_lowercase();
                let trusted =
                    if file.trust() == Trust::Trusted || kind != "allow" { "" } else { " (not trusted)" };
                rows.push((DIM, format!("{kind} {}", place.rule), format!("{from}{trusted}")));
            }
        }
        let given = [("allow", &self.options.allow), ("deny", &self.options.deny)];
        for (kind, rules) in given {
            rows.extend(rules.iter().map(|rule| (DIM, format!("{kind} {rule}"), format!("--{kind}"))));
        }
        let grants = state.iter().flat_map(|state| &state.grants);
        rows.extend(grants.map(|grant| (DIM, format!("allow {}", grant.rule), "in this session".to_owned())));
        Ok(self.rows(rows)?)
    }

    fn plan(&mut self, message: &str) -> Result<(), Gone> {
        if !message.is_empty() {
            self.set_mode(PermissionMode::Plan)?;
            self.next.push_back(message.to_owned());
            return Ok(());
        }
        match self.state()?.and_then(|state| state.plan.clone()) {
            Some(plan) => Ok(self.say(PLAIN, &plan)?),
            None => Ok(self.say(DIM, "There is no plan. /plan MESSAGE works on a message in mode plan.")?),
        }
    }

    fn resume(&mut self, name: &str) -> Result<(), Gone> {
        if !name.is_empty() {
            let session = self.runtime.block_on(self.bench.session(&Which::Named(name.to_owned())))?;
            let claim = Hold::take(&self.bench.places, &self.bench.saver, session.thread().id());
            if let Err(Held { by }) = self.runtime.block_on(claim)? {
                return Ok(self.say_held(session.thread().id(), &by)?);
            }
            let present = self.session.thread().id().clone();
            self.background.stop(&self.bench, &present);
            self.session = session;
            self.forget_questions();
            self.say(NAME, &format!("session {}", self.session.thread().id()))?;
            return self.take_up();
        }
        let sessions = self.runtime.block_on(self.bench.sessions())?;
        let row = |it: &SessionSummary| {
            let left = match (it.is_finished, it.questions) {
                (_, 1..) => " · waits for an answer",
                (false, _) if self.is_rewound(it)? => " · rewound",
                (false, _) => " · cut off",
                (true, _) => "",
            };
            let title = it.title.clone().unwrap_or_default();
            Ok((NAME, it.session.to_string(), format!("{}{left} · {title}", readable(it.updated_ms))))
        };
        if sessions.is_empty() {
            return Ok(self.say(DIM, "This folder has no other session.")?);
        }
        let rows = sessions.iter().take(MOST_SESSIONS).map(row).collect::<Result<Vec<_>, Failure>>()?;
        Ok(self.rows(rows)?)
    }

    fn is_rewound(&self, session: &SessionSummary) -> Result<bool, Failure> {
        let thread = self.bench.graph.thread(session.session.clone());
        Ok(self.runtime.block_on(thread.head())?.state().rewound.is_some())
    }

    fn todo(&mut self) -> Result<(), Gone> {
        let state = self.state()?;
        let items = state.iter().flat_map(|state| &state.todo);
        let lines: Vec<_> = items
            .map(|item| match item.status {
                TodoStatus::Pending => Line::of([span(DIM, "  [ ] "), plain(&item.task)]),
                TodoStatus::InProgress => Line::of([span(NOTE, "  [~] "), plain(&item.task)]),
                TodoStatus::Done => Line::of([span(GOOD, "  [x] "), span(DIM, &item.task)]),
            })
            .collect();
        match lines.is_empty() {
            true => Ok(self.say(DIM, "The list of tasks is empty.")?),
            false => Ok(self.lines(lines)?),
        }
    }
}

/// Returns a sentence about a mode.
const fn mode_help(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Default => "reading needs no consent; everything else is asked about",
        PermissionMode::Plan => "only reading is allowed",
        PermissionMode::Auto => "a classifier decides on changes; it asks when it is unsure",
        PermissionMode::AcceptEdits => "reading and editing files need no consent",
    }
}

/// Returns the commands of the user and of the project, by name, with their descriptions.
pub(super) fn own_commands(places: &Places) -> BTreeMap<String, String> {
    let guidance = Guidance::new(&places.workspace).user(&places.configuration);
    // A folder that cannot be opened has no commands; the session names the problem when it reads its instructions.
    guidance.commands().unwrap_or_default()
}

/// Returns the files of instructions and of the memory, by name.
fn memory_files(places: &Places) -> Vec<(String, PathBuf)> {
    let named = |folder: &Path, name: &'static str| (name.to_owned(), folder.join(name));
    let instructions = ["AGENTS.md", "CLAUDE.md"].map(|name| named(&places.workspace, name));
    let user = (String::from("user AGENTS.md"), places.configuration.join("AGENTS.md"));
    let instructions = instructions.into_iter().chain([user]).filter(|(_, path)| path.is_file());
    let memory = markdown_files(&places.workspace.join(".superstep/memory"));
    instructions.chain(memory).collect()
}

/// Returns the Markdown files of a folder, by their names without the end.
fn markdown_files(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .filter_map(|entry| {
            let path = entry.path();
            let name = path.file_stem()?.to_str()?.to_owned();
            path.extension().is_some_and(|end| end == "md").then_some((name, path))
        })
        .collect();
    files.sort();
    files
}
