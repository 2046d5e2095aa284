//! The graph of the assistant, with all that it needs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use superstep_assistant::agents::{AgentError, AgentKind};
use superstep_assistant::budget::NoPrice;
use superstep_assistant::context::ContextProfile;
use superstep_assistant::guidance::Guidance;
use superstep_assistant::hook::Hooks;
use superstep_assistant::inbox::Inbox;
use superstep_assistant::permission::{PermissionMode, Permissions, Rule, RuleKind, RulePlace, RuleSource};
use superstep_assistant::plan::SessionTool;
use superstep_assistant::settings::{
    Checked, McpAddress, McpServer as McpSetting, PROJECT_FILE, Settings as File, TrustQuestion,
    TrustedFolders,
};
use superstep_assistant::snapshot::{SnapshotOptions, Snapshots};
use superstep_assistant::{
    AssistantConfig, AssistantError, AssistantState, BackgroundAgents, Domain, Interrupts, Session,
    SessionSummary, assistant,
};
use superstep_checkpoint::SqliteSaver;
use superstep_core::id::ThreadId;
use superstep_core::run::{Graph, Lease, Thread};
use superstep_core::store::Store;
use superstep_mcp::{McpCommand, McpOptions, McpServer, McpUrl};
use superstep_nodes::tool::{Tool, ToolRegistry};
use superstep_tools::{Bash, CommandRunner, HttpRequest, Network, Sandbox, Ssh, Workspace};

use super::arguments::{Options, Which};
use super::hold::holder;
use super::model::Models;
use super::past::new_name;
use super::places::Places;
use super::settings::Settings;
use super::values;
use crate::failure::Failure;
use crate::suggestion::did_you_mean;

/// The assistant of a folder, ready to work on its sessions.
pub(crate) struct Workbench {
    pub(crate) places: Places,
    pub(crate) settings: Settings,
    pub(crate) files: Files,
    pub(crate) models: Models,
    /// The configuration of the graph.
    pub(crate) config: AssistantConfig,
    pub(crate) graph: Graph<AssistantState>,
    pub(crate) saver: SqliteSaver,
    /// The store in the checkpoint file: messages, and requests to stop.
    pub(crate) store: Store,
    pub(crate) inbox: Inbox,
    pub(crate) interrupts: Interrupts,
    /// The mode that an argument sets from the next message on.
    given_mode: Mutex<Option<PermissionMode>>,
    pub(crate) snapshots: Option<Snapshots>,
    pub(crate) background: BackgroundAgents,
    /// The MCP servers that are connected.
    pub(crate) servers: Vec<McpServer>,
    /// Problems that do not keep the assistant from working.
    pub(crate) warnings: Vec<String>,
}

/// The files with rules, hooks and servers.
pub(crate) struct Files {
    pub(crate) user: File,
    /// The rules that the user allowed with the answer `always`.
    pub(crate) always: File,
    pub(crate) project: File,
}

/// The authority that trusts the settings of a project.
pub(crate) enum Trusting<'t> {
    /// Only settings that the user has trusted before count.
    Nothing,
    /// The user is asked.
    Ask(&'t mut (dyn FnMut(&TrustQuestion) -> bool + Send)),
}

/// The use of a workbench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Work on sessions: models and servers are needed.
    Work,
    /// Decisions on calls: servers are needed.
    Decisions,
    /// Reading and changing what is stored.
    Past,
}

/// The time within which an MCP server has to list its tools.
const CONNECT: Duration = Duration::from_secs(10);

const EXPLORE: &str = "You search a project for the answer to a question. Look at the files, and change nothing. Answer with \
    paths and lines, and say what you have not found.";

impl Workbench {
    /// Sets up the assistant of the present folder for work.
    pub(crate) async fn open(options: &Options, trusting: Trusting<'_>) -> Result<Self, Failure> {
        Self::open_for(Use::Work, Places::here()?, options, trusting).await
    }

    /// Sets up the assistant of a folder.
    pub(crate) async fn open_for(
        purpose: Use,
        places: Places,
        options: &Options,
        trusting: Trusting<'_>,
    ) -> Result<Self, Failure> {
        let mut warnings = Vec::new();
        if purpose != Use::Past {
            places.make()?;
        }
        let files = Files::read(&places, trusting, &mut warnings)?;
        let settings = Settings::of(&places, &files.user, &files.project, options)?;
        if purpose == Use::Past && !places.checkpoints().exists() {
            return Err(Failure::nothing("this folder has no session"));
        }
        let models = match purpose {
            Use::Work => Models::of(&settings).await?,
            Use::Decisions | Use::Past => Models::none(),
        };
        let servers = match purpose {
            Use::Past => Vec::new(),
            Use::Work | Use::Decisions => connected(&places, &files, &mut warnings).await,
        };
        let saver = SqliteSaver::open(places.checkpoints()).await?;
        let store = Store::new(saver.store().await?);
        let snapshots = Snapshots::open(&places.workspace, SnapshotOptions::new(places.snapshots()));
        let snapshots = snapshots
            .map_err(|error| warnings.push(format!("files cannot be restored by a rewind: {error}")))
            .ok();
        let (inbox, interrupts) = (Inbox::new(store.clone()), Interrupts::new());
        let bash = bash(&settings.commands)?;
        let config = configuration(&places, &settings, &files, &models, options, &bash);
        // Without a model, a limit on money has nothing to limit, and no price.
        let config = match purpose {
            Use::Work => config.budget(settings.limits(), settings.prices.clone()),
            Use::Decisions | Use::Past => config,
        };
        let config = config.inbox(inbox.clone()).interrupts(interrupts.clone());
        let config = match &snapshots {
            Some(snapshots) => config.snapshots(snapshots.clone()),
            None => config,
        };
        let config = with_tools(config, &settings, &servers, bash, &mut warnings)?;
        if purpose != Use::Past {
            warnings.extend(unknown_tools(&config, &files, options));
        }
        let prepare = |graph: Graph<AssistantState>| {
            graph.checkpointer(saver.clone()).lease(Lease::new().holder(holder()))
        };
        let unusable = |error| no_assistant(error, &places);
        let background = BackgroundAgents::new(&config, prepare).map_err(unusable)?;
        let graph = prepare(assistant(config.clone()).map_err(unusable)?);
        Ok(Self {
            places,
            settings,
            files,
            models,
            config,
            graph,
            saver,
            store,
            inbox,
            interrupts,
            given_mode: Mutex::new(options.mode),
            snapshots,
            background,
            servers,
            warnings,
        })
    }

    /// Returns the permission mode of new sessions.
    pub(crate) fn mode(&self) -> PermissionMode {
        self.config.initial_mode()
    }

    /// Returns the mode of the arguments once, for the first message; afterwards the session has a mode of its own.
    pub(crate) fn take_given_mode(&self) -> Option<PermissionMode> {
        self.given_mode.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns the sessions of the folder, the latest first.
    pub(crate) async fn sessions(&self) -> Result<Vec<SessionSummary>, Failure> {
        let sessions = SessionSummary::list(&self.graph).await?;
        // Agents that work beside a session have threads of their own.
        Ok(sessions.into_iter().filter(|it| !it.session.as_str().contains('/')).collect())
    }

    /// Opens a session.
    pub(crate) async fn session(&self, which: &Which) -> Result<Session, Failure> {
        let id = match which {
            Which::New => ThreadId::from(new_name()),
            Which::Latest => {
                let latest = self.sessions().await?.into_iter().next();
                latest.ok_or_else(|| Failure::nothing("this folder has no session"))?.session
            }
            Which::Named(name) => self.named(name).await?,
        };
        Ok(Session::open(&self.graph, id).await?)
    }

    /// Returns the thread of an agent in the background of a session.
    pub(crate) async fn background_agent(
        &self,
        session: &Session,
        name: &str,
    ) -> Result<Thread<AssistantState>, Failure> {
        let (id, head) = (session.thread().id(), session.thread().head().await?);
        let agents = &head.state().background;
        let agent = agents.iter().find(|agent| agent.name == name).ok_or_else(|| {
            let near = did_you_mean(name, agents.iter().map(|agent| agent.name.as_str()));
            Failure::nothing(format!("session {id} has no agent {name} in the background{near}"))
        })?;
        self.background.thread(id, agent).map_err(Failure::of)
    }

    /// Finds the session of a name, or the only one whose name begins so.
    async fn named(&self, name: &str) -> Result<ThreadId, Failure> {
        let sessions = self.sessions().await?;
        let all = || sessions.iter().map(|it| &it.session);
        if let Some(found) = all().find(|it| it.as_str() == name) {
            return Ok(found.clone());
        }
        let mut found = all().filter(|it| it.as_str().starts_with(name));
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(one.clone()),
            (Some(_), Some(_)) => Err(Failure::unusable(format!("several sessions begin with {name}"))),
            (None, _) => {
                let near = did_you_mean(name, all().map(ThreadId::as_str));
                Err(Failure::nothing(format!("this folder has no session {name}{near}")))
            }
        }
    }
}

impl Files {
    pub(crate) fn read(
        places: &Places,
        trusting: Trusting<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<Self, Failure> {
        let unusable = |error: &dyn std::error::Error| Failure::unusable(error.to_string());
        let user = File::of_user(&places.settings()).map_err(|error| unusable(&error))?;
        let always = File::of_user(&places.always()).map_err(|error| unusable(&error))?;
        let project = File::of_project(&places.workspace).map_err(|error| unusable(&error))?;
        let trusted = TrustedFolders::in_file(places.trusted());
        let project = match trusted.check(&places.workspace, project).map_err(|error| unusable(&error))? {
            Checked::Settled(project) => project,
            Checked::Asks(question) => {
                let trusts = match trusting {
                    Trusting::Nothing => false,
                    Trusting::Ask(ask) => ask(&question),
                };
                if trusts {
                    trusted.trust(question).map_err(|error| unusable(&error))?
                } else {
                    let count = question.items.len();
                    warnings
                        .push(format!("{PROJECT_FILE} is not trusted: {count} of its settings do not count"));
                    question.without_trust()
                }
            }
        };
        Ok(Self { user, always, project })
    }

    pub(crate) fn all(&self) -> [&File; 3] {
        [&self.user, &self.always, &self.project]
    }
}

/// Makes the configuration without the tools.
fn configuration(
    places: &Places,
    settings: &Settings,
    files: &Files,
    models: &Models,
    options: &Options,
    bash: &Bash,
) -> AssistantConfig {
    let mut permissions = Permissions::new();
    let given = |rule: &Rule| RulePlace::new(rule.clone(), RuleSource::CommandLine);
    for (kind, rules) in [(RuleKind::Allow, &options.allow), (RuleKind::Deny, &options.deny)] {
        permissions = rules.iter().fold(permissions, |all, rule| all.rule(kind, given(rule)));
    }
    permissions = files.all().into_iter().fold(permissions, |all, file| file.permissions(all));
    let explore = AgentKind::reader("explore", "Finds the places in the project that a question is about.")
        .system(EXPLORE)
        .tools(["read_file", "glob", "grep"]);
    let helper = AgentKind::writer("helper", "Does a part of the work that can be described completely.");
    let mut config = AssistantConfig::new(Arc::clone(&models.main))
        .workspace(&places.workspace)
        .permissions(permissions)
        .length(ContextProfile::Long)
        .windows(settings.windows.clone())
        .guidance(Guidance::new(&places.workspace).user(&places.configuration))
        .session_tools(SessionTool::ALL)
        .agents([explore, helper]);
    if let Some(small) = &models.small {
        config = config.small_model(Arc::clone(small));
    }
    if let Some(fallback) = &models.fallback {
        config = config.fallback(Arc::clone(fallback));
    }
    if let Some(turns) = settings.turns {
        config = config.max_turns(turns);
    }
    if let Some(sensitivity) = settings.sensitivity {
        config = config.sensitivity(sensitivity);
    }
    if let Some(mode) = settings.mode {
        config = config.mode(mode);
    }
    let bash: Arc<dyn Tool> = Arc::new(bash.clone());
    let hooks = files.all().into_iter().fold(Hooks::new(), |all, file| all.and(file.hooks(&bash)));
    config.hooks(hooks)
}

/// Adds the tools of the program and of the servers.
fn with_tools(
    config: AssistantConfig,
    settings: &Settings,
    servers: &[McpServer],
    bash: Bash,
    warnings: &mut Vec<String>,
) -> Result<AssistantConfig, Failure> {
    let mut tools: ToolRegistry = superstep_tools::workspace(Workspace::of_session());
    let failed = |error: &dyn std::error::Error| Failure::unusable(error.to_string());
    // A request sends data away, also one that only reads.
    if settings.commands.network {
        tools.add(Arc::new(HttpRequest::new())).map_err(|error| failed(&error))?;
    }
    for server in servers {
        if let Err(error) = server.tools().add_to(&mut tools) {
            warnings.push(format!("the tools of the MCP server {}: {error}", server.name()));
        }
    }
    let domain = match &settings.tests {
        Some(tests) => Domain::code(bash, tests.clone()),
        None => Domain::code_without_tests(bash),
    };
    Ok(config.tools(tools).domain(domain))
}

/// Tools that the model has only with certain settings.
const OPTIONAL_TOOLS: [&str; 1] = ["http_request"];

/// What stands between a server and a tool in the name of an MCP tool.
const OF_SERVER: &str = "__";

/// Returns a warning for each rule about a tool that does not exist. Tools of servers that are not connected may exist.
fn unknown_tools(config: &AssistantConfig, files: &Files, options: &Options) -> Vec<String> {
    let known = config.tool_names();
    let known = || known.iter().map(String::as_str).chain(OPTIONAL_TOOLS);
    let given = [("--allow", &options.allow), ("--deny", &options.deny)];
    let given =
        given.into_iter().flat_map(|(name, rules)| rules.iter().map(move |rule| (name.to_owned(), rule)));
    let in_files = files.all().into_iter().flat_map(File::rules).map(|(_, place)| {
        let place_of = |file: &String| format!("{file}:{}", place.line.unwrap_or(1));
        (place.file.as_ref().map_or_else(|| "settings".to_owned(), place_of), &place.rule)
    });
    let unknown = |(_, rule): &(String, &Rule)| {
        !rule.tool().contains(OF_SERVER) && known().all(|tool| tool != rule.tool())
    };
    let warning = |(place, rule): (String, &Rule)| {
        let near = did_you_mean(rule.tool(), known());
        format!("{place}: the rule {rule} has no effect: there is no tool `{}`{near}", rule.tool())
    };
    in_files.chain(given).filter(unknown).map(warning).collect()
}

/// Returns the failure of a graph that cannot be made.
fn no_assistant(error: AssistantError, places: &Places) -> Failure {
    match error {
        AssistantError::NoPrice(NoPrice { model })
        | AssistantError::Agent(AgentError::NoPrice(NoPrice { model })) => {
            let file = places.settings();
            Failure::unusable(format!(
                "a limit on money needs the price of the model `{model}`; add it to {}, in US dollars for a million \
                 tokens, such as:\n  [agent.prices]\n  {model:?} = {{ input = 3.0, output = 15.0 }}",
                file.display()
            ))
        }
        error => Failure::of(error),
    }
}

fn bash(commands: &values::Commands) -> Result<Bash, Failure> {
    let sandbox = match commands.sandbox {
        values::Sandbox::Required => Sandbox::Required,
        values::Sandbox::WhereThereIsOne => Sandbox::WhereThereIsOne,
        values::Sandbox::None => Sandbox::None,
    };
    let network = if commands.network { Network::Allowed } else { Network::Denied };
    let mut bash = Bash::new(Workspace::of_session()).sandbox(sandbox).network(network);
    bash = commands.readable.iter().fold(bash, |bash, path| bash.readable(path));
    bash = commands.writable.iter().fold(bash, |bash, path| bash.writable(path));
    bash = commands.variables.iter().fold(bash, |bash, (name, value)| bash.variable(name, value));
    let Some(host) = &commands.ssh else { return Ok(bash) };
    let mut ssh = Ssh::new(host).map_err(Failure::of)?;
    if let Some(folder) = &commands.ssh_folder {
        ssh = ssh.folder(folder);
    }
    Ok(bash.runner(CommandRunner::Ssh(ssh)))
}

/// Connects with the servers of the settings, all at once. One that fails is a warning.
async fn connected(places: &Places, files: &Files, warnings: &mut Vec<String>) -> Vec<McpServer> {
    let all = files.all().into_iter().flat_map(File::servers);
    let connect = all.map(|setting| async move {
        let McpSetting { name, at, environment } = setting;
        // A rule or a person allows each call.
        let options = McpOptions::new().allow_all_tools().connect_time(CONNECT);
        match at {
            McpAddress::Command(words) => {
                let (program, arguments) = words.split_first().expect("the settings have a program");
                let command = McpCommand::new(program).args(arguments).folder(&places.workspace);
                let command =
                    environment.iter().fold(command, |command, (name, value)| command.variable(name, value));
                McpServer::connect(name, command, options).await
            }
            McpAddress::Url(url) => McpServer::connect(name, McpUrl::new(url)?, options).await,
        }
    });
    let mut servers = Vec::new();
    for connected in futures_util::future::join_all(connect).await {
        match connected {
            Ok(server) => {
                let left_out = server.tools().left_out().iter();
                warnings.extend(left_out.map(|it| {
                    format!("the tool {} of the MCP server {} is left out: {}", it.tool, it.server, it.reason)
                }));
                servers.push(server);
            }
            Err(error) => warnings.push(error.to_string()),
        }
    }
    servers
}
