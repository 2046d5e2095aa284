//! The tools of an agent.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::input_schema::InputSchema;
use super::permission::AllowUnlessAsked;
use super::{
    PermissionPolicy, PreparedCall, Tool, ToolContext, ToolError, ToolResult, ToolSession, ToolSpec,
};
use crate::message::{MessageId, ToolCall, ToolMessage};

/// The tools of an agent, by name, and the policy that decides on their calls.
///
/// They are listed in order of their names, whatever the order they were added in, and those of other programs after
/// the agent's own: two processes with the same tools send the same request, and a server that adds a tool changes only
/// the end of it. A tool's description for the model is read once, when the tool is added.
#[derive(Clone)]
pub struct ToolRegistry {
    own: BTreeMap<String, Arc<Registered>>,
    external: BTreeMap<String, Arc<Registered>>,
    policy: Arc<dyn PermissionPolicy>,
}

/// A tool with its description and schema, which were read when it was added.
pub(super) struct Registered {
    pub(super) tool: Arc<dyn Tool>,
    pub(super) schema: InputSchema,
    spec: ToolSpec,
}

/// An error of adding a tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// Two tools have the same name. Rename one of them.
    #[error("there is already a tool named `{name}`")]
    Duplicate {
        /// The name both tools have.
        name: String,
    },
    /// Model providers take no such name. Rename the tool.
    #[error("`{name}` is not a valid tool name: a name has 1 to 64 letters of a-z, A-Z, 0-9, `_` and `-`")]
    InvalidName {
        /// The name.
        name: String,
    },
    /// The schema of the tool's input is none, or is not of an object. Mend it.
    #[error("the tool `{name}` has no usable input schema: {reason}")]
    InvalidSchema {
        /// The name of the tool.
        name: String,
        /// A description of the error in the schema.
        reason: String,
    },
}

impl ToolRegistry {
    /// The number of characters below which the description of a tool is too short.
    pub const MIN_DESCRIPTION_CHARS: usize = 40;

    /// Makes a registry without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool. One that is not enabled is left out.
    ///
    /// # Errors
    ///
    /// Fails if there is a tool of that name already, or its name or schema cannot be used.
    pub fn with(mut self, tool: impl Tool) -> Result<Self, RegistryError> {
        self.add(Arc::new(tool))?;
        Ok(self)
    }

    /// Adds a tool that is shared. One that is not enabled is left out.
    ///
    /// # Errors
    ///
    /// Fails if there is a tool of that name already, or its name or schema cannot be used; the registry is then as it
    /// was.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), RegistryError> {
        add(&mut self.own, tool)
    }

    /// Adds a tool of another program, such as an MCP server. It is listed after the agent's own tools. If one of those
    /// has its name, it is not listed: another program's tool does not replace one of the agent's own.
    ///
    /// # Errors
    ///
    /// Fails if another program's tool has that name already, or its name or schema cannot be used; the registry is
    /// then unchanged.
    pub fn add_external(&mut self, tool: Arc<dyn Tool>) -> Result<(), RegistryError> {
        add(&mut self.external, tool)
    }

    /// Has this policy decide on calls that their tool neither allows nor denies. The default is [`AllowUnlessAsked`].
    #[must_use]
    pub fn permissions(mut self, policy: impl PermissionPolicy) -> Self {
        self.policy = Arc::new(policy);
        self
    }

    /// Takes a tool out, own or of another program: models are not shown it, and a call of it is one of an unknown
    /// tool.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.own.remove(name);
        self.external.remove(name);
        self
    }

    /// Returns the tool of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.registered(name).map(|registered| &registered.tool)
    }

    /// Returns the descriptions of the tools for a model, in order.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.listed().map(|registered| registered.spec.clone()).collect()
    }

    /// Returns the names of other programs' tools that are not listed because an own tool has their name.
    pub fn shadowed(&self) -> Vec<&str> {
        self.external.keys().filter(|name| self.own.contains_key(*name)).map(String::as_str).collect()
    }

    /// Returns the names of tools whose description is shorter than
    /// [`MIN_DESCRIPTION_CHARS`](Self::MIN_DESCRIPTION_CHARS): too short to tell a model when to use them, and within
    /// which limits. It is meant for a test of your tools.
    pub fn short_descriptions(&self) -> Vec<&str> {
        let is_short = |spec: &ToolSpec| spec.description.chars().count() < Self::MIN_DESCRIPTION_CHARS;
        let listed = self.listed().map(|registered| &registered.spec);
        listed.filter(|spec| is_short(spec)).map(|spec| spec.name.as_str()).collect()
    }

    /// Tells whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty() && self.external.is_empty()
    }

    /// Returns a text that stays the same as long as the descriptions of the tools for a model do: a provider's cache
    /// of requests with them is then of use.
    pub fn fingerprint(&self) -> String {
        let specs = serde_json::to_vec(&self.specs()).expect("a spec is texts and a JSON value");
        blake3::hash(&specs).to_hex().to_string()
    }

    /// Looks a call's tool up and checks the input against its schema. Nothing is run yet.
    pub fn prepare(&self, call: &ToolCall) -> PreparedCall {
        let Some(registered) = self.registered(&call.name) else {
            let known = self.listed().map(|registered| registered.spec.name.clone()).collect();
            let error = ToolError::Unknown { name: call.name.clone(), known };
            return PreparedCall::refused(call, None, error);
        };
        match registered.schema.check(&call.input) {
            Ok(()) => PreparedCall::ready(call, Arc::clone(&registered.tool), Arc::clone(&self.policy)),
            Err(invalid) => {
                let (name, reason) = (call.name.clone(), invalid.reason);
                let tool = Some(Arc::clone(&registered.tool));
                PreparedCall::refused(call, tool, ToolError::InvalidInput { name, reason })
            }
        }
    }

    /// Makes a call, whatever becomes of it: an error is a result for the model to read.
    pub async fn call(&self, call: &ToolCall, context: &ToolContext) -> ToolResult {
        self.prepare(call).run(context).await
    }

    /// Makes a call in a session of its own and returns the message that answers it.
    pub async fn answer(&self, id: impl Into<MessageId>, call: &ToolCall) -> ToolMessage {
        let id = id.into();
        self.call(call, &ToolContext::new(call, ToolSession::new())).await.into_message(id, call)
    }

    fn registered(&self, name: &str) -> Option<&Arc<Registered>> {
        self.own.get(name).or_else(|| self.external.get(name))
    }

    fn listed(&self) -> impl Iterator<Item = &Arc<Registered>> {
        let external = self.external.iter().filter(|(name, _)| !self.own.contains_key(*name));
        self.own.iter().chain(external).map(|(_, registered)| registered)
    }
}

fn add(tools: &mut BTreeMap<String, Arc<Registered>>, tool: Arc<dyn Tool>) -> Result<(), RegistryError> {
    let name = tool.name().to_owned();
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !(1..=64).contains(&name.len()) || !name.bytes().all(letter) {
        return Err(RegistryError::InvalidName { name });
    }
    if tools.contains_key(&name) {
        return Err(RegistryError::Duplicate { name });
    }
    let input_schema = tool.input_schema();
    let schema = InputSchema::compile(&input_schema)
        .map_err(|reason| RegistryError::InvalidSchema { name: name.clone(), reason })?;
    if tool.is_enabled() {
        let spec = ToolSpec { name: name.clone(), description: tool.prompt(), input_schema };
        tools.insert(name, Arc::new(Registered { tool, schema, spec }));
    }
    Ok(())
}

impl Default for ToolRegistry {
    fn default() -> Self {
        Self { own: BTreeMap::new(), external: BTreeMap::new(), policy: Arc::new(AllowUnlessAsked) }
    }
}

impl fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.listed().map(|registered| &registered.spec.name)).finish()
    }
}

#[cfg(test)]
mod tests;
