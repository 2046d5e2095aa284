//! Registries of tools that go together.

use superstep_nodes::tool::{RegistryError, ToolRegistry};

use super::{EditFile, Glob, Grep, ReadCsv, ReadFile, ReadJson, Workspace, WriteFile};

/// Makes a registry of the tools that look at the files of a workspace and change nothing: `read_file`, `read_csv`,
/// `read_json`, `glob` and `grep`.
pub fn read_only(workspace: Workspace) -> ToolRegistry {
    registry(|tools| {
        tools
            .with(ReadFile::new(workspace.clone()))?
            .with(Glob::new(workspace.clone()))?
            .with(Grep::new(workspace.clone()))?
            .with(ReadCsv::new(workspace.clone()))?
            .with(ReadJson::new(workspace))
    })
}

/// Makes a registry of the tools that work on the files of a workspace: those of [`read_only()`], `write_file` and
/// `edit_file`.
pub fn workspace(workspace: Workspace) -> ToolRegistry {
    let tools = read_only(workspace.clone());
    registry(|_| tools.with(WriteFile::new(workspace.clone()))?.with(EditFile::new(workspace)))
}

fn registry(make: impl FnOnce(ToolRegistry) -> Result<ToolRegistry, RegistryError>) -> ToolRegistry {
    make(ToolRegistry::new())
        .expect("built-in tools have names and schemas that are in order, and none twice")
}

#[cfg(test)]
mod tests;
