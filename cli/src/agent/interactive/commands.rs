//! The table of the commands of a session, and the parsing of entered lines.

/// A command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    /// The name, without the slash.
    pub(crate) name: &'static str,
    /// Its arguments, for the help.
    pub(crate) arguments: &'static str,
    /// The help: one line.
    pub(crate) help: &'static str,
    /// The work.
    pub(crate) work: Work,
}

/// The work of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Agents,
    Compact,
    Context,
    Cost,
    Fork,
    Help,
    Mcp,
    Memory,
    Mode,
    Model,
    Permissions,
    Plan,
    Quit,
    Resume,
    Rewind,
    Todo,
}

impl Work {
    /// Returns `true` if it can be done while the agent works.
    pub(crate) fn is_harmless(self, arguments: &str) -> bool {
        match self {
            Self::Agents
            | Self::Cost
            | Self::Help
            | Self::Mcp
            | Self::Memory
            | Self::Permissions
            | Self::Todo => true,
            Self::Mode | Self::Model | Self::Plan | Self::Resume => arguments.is_empty(),
            Self::Compact | Self::Context | Self::Fork | Self::Quit | Self::Rewind => false,
        }
    }
}

const fn command(name: &'static str, arguments: &'static str, help: &'static str, work: Work) -> Command {
    Command { name, arguments, help, work }
}

/// All commands, in the order of their names.
pub(crate) const COMMANDS: [Command; 16] = [
    command("agents", "[stop NAME]", "list agents at work with their tokens, or stop one", Work::Agents),
    command("compact", "", "replace the older part of the conversation by a summary", Work::Compact),
    command("context", "", "show how full the model's window is", Work::Context),
    command("cost", "", "show tokens and costs of the session, by model", Work::Cost),
    command("fork", "FOLDER", "make a new session in another folder, with a copy of the files", Work::Fork),
    command("help", "", "list the commands and keys", Work::Help),
    command("mcp", "", "list the MCP servers and their tools", Work::Mcp),
    command("memory", "[NAME]", "list the instructions and the memory, or show one", Work::Memory),
    command("mode", "[MODE]", "show or set the permission mode", Work::Mode),
    command("model", "[MODEL]", "show or change the model", Work::Model),
    command("permissions", "", "list the permission rules with their files", Work::Permissions),
    command("plan", "[MESSAGE]", "show the plan, or work on a message in mode plan", Work::Plan),
    command("quit", "", "leave; the session can be continued with -c", Work::Quit),
    command("resume", "[SESSION]", "list the sessions of this folder, or change to one", Work::Resume),
    command(
        "rewind",
        "[STEP | redo]",
        "take the session and its files back to an earlier message",
        Work::Rewind,
    ),
    command("todo", "", "show the list of tasks", Work::Todo),
];

/// A line that the user typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entered {
    /// Nothing.
    Nothing,
    /// A message, or a command of the user's own, which the session reads.
    Message(String),
    /// A command with its arguments.
    Command(Work, String),
    /// A name that no command has.
    Unknown(String),
}

impl Entered {
    /// Reads a line. `is_own` tells the commands of the user's own by their names.
    pub(crate) fn read(line: &str, is_own: impl FnOnce(&str) -> bool) -> Self {
        let line = line.trim();
        if line.is_empty() {
            return Self::Nothing;
        }
        let Some(rest) = line.strip_prefix('/') else { return Self::Message(line.to_owned()) };
        let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if let Some(command) = COMMANDS.iter().find(|command| command.name == name) {
            return Self::Command(command.work, arguments.trim().to_owned());
        }
        // A path is no command.
        match is_own(name) || name.contains('/') || name.is_empty() {
            true => Self::Message(line.to_owned()),
            false => Self::Unknown(name.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_sorted_and_told_from_messages() {
        assert!(COMMANDS.is_sorted_by_key(|command| command.name));
        let read = |line| Entered::read(line, |name| name == "review");
        assert_eq!(read("  "), Entered::Nothing);
        assert_eq!(read(" hello "), Entered::Message("hello".into()));
        assert_eq!(read("/mode plan"), Entered::Command(Work::Mode, "plan".into()));
        assert_eq!(read("/review the last change"), Entered::Message("/review the last change".into()));
        assert_eq!(read("/usr/bin is a folder"), Entered::Message("/usr/bin is a folder".into()));
        assert_eq!(read("/hlep"), Entered::Unknown("hlep".into()));
    }
}
