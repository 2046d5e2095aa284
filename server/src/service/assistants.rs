//! Assistants: graphs with configuration, in versions. Each graph has a default one.

use serde_json::{Map, Value, json};
use superstep_core::id::NodeName;
use superstep_core::records::{AssistantQuery, AssistantRow};
use superstep_core::run::JsonSchemas;
use superstep_core::state::Json;

use super::state::has;
use super::{Scope, Service, new_id};
use crate::wire::assistant::{AssistantCreate, AssistantPatch, AssistantSearch, VersionSearch, assistant};
use crate::wire::select::select;
use crate::wire::{Failure, graph, ids};

impl Service {
    /// Returns the default assistants. The first call stores them, unless the server only reads.
    pub(super) async fn defaults(&self) -> Result<&[AssistantRow], Failure> {
        let store = || async {
            let mut defaults = Vec::new();
            // Each is a little newer than the one before, so that a list has a stable order.
            for (at, graph) in (0..).zip(self.0.graphs.iter()) {
                let name = graph.name();
                let metadata = Map::from_iter([("created_by".to_owned(), json!("system"))]);
                let create = AssistantCreate {
                    graph: name.to_string(),
                    id: Some(ids::default_assistant(name.as_str())),
                    metadata,
                    ..AssistantCreate::default()
                };
                let row = self.first_version(create);
                let (created_ms, updated_ms) = (row.created_ms + at, row.updated_ms + at);
                let row = AssistantRow { created_ms, updated_ms, ..row };
                if !self.0.options.is_read_only {
                    self.0.records.put_assistant(row.clone()).await?;
                }
                defaults.push(row);
            }
            Ok::<_, Failure>(defaults)
        };
        Ok(self.0.defaults.get_or_try_init(store).await?)
    }

    fn first_version(&self, request: AssistantCreate) -> AssistantRow {
        let now = self.now_ms();
        AssistantRow {
            id: request.id.unwrap_or_else(new_id),
            version: 1,
            name: request.name.unwrap_or_else(|| request.graph.clone()),
            graph: request.graph.into(),
            description: request.description,
            config: json(&request.config),
            context: json(&request.context),
            metadata: request.metadata,
            created_ms: now,
            updated_ms: now,
        }
    }

    /// Returns an assistant that the client may use, by its id or by the name of its graph.
    pub(super) async fn assistant_row(&self, scope: &Scope, id: &str) -> Result<AssistantRow, Failure> {
        let default = self.0.graphs.named(id).map(|graph| ids::default_assistant(graph.name().as_str()));
        let named = default.as_deref().unwrap_or(id);
        let row = self.current_assistant(named).await?;
        row.filter(|row| self.is_visible(scope, row))
            .ok_or_else(|| Failure::not_found(format!("Assistant {id} not found")))
    }

    /// Returns `true` if the client may use the assistant. All clients may use the default ones.
    fn is_visible(&self, scope: &Scope, row: &AssistantRow) -> bool {
        scope.admits(&row.metadata) || is_default(row)
    }

    /// Creates an assistant.
    pub(crate) async fn create_assistant(
        &self,
        scope: &Scope,
        request: AssistantCreate,
    ) -> Result<Value, Failure> {
        self.defaults().await?;
        self.graph(&request.graph)?;
        if let Some(id) = &request.id {
            ids::check("assistant", id)?;
        }
        let returns_existing = request.returns_existing;
        let metadata = scope.stamped(request.metadata.clone());
        let row = self.first_version(AssistantCreate { metadata, ..request });
        match self.0.records.put_assistant(row).await? {
            (row, true) => Ok(assistant(&row)),
            (row, false) if returns_existing && self.is_visible(scope, &row) => Ok(assistant(&row)),
            (row, false) => Err(Failure::conflict(format!("Assistant {} already exists", row.id))),
        }
    }

    /// Returns an assistant.
    pub(crate) async fn assistant(&self, scope: &Scope, id: &str) -> Result<Value, Failure> {
        Ok(assistant(&self.assistant_row(scope, id).await?))
    }

    /// Stores the next version of an assistant.
    pub(crate) async fn patch_assistant(
        &self,
        scope: &Scope,
        id: &str,
        patch: AssistantPatch,
    ) -> Result<Value, Failure> {
        loop {
            let old = self.owned(scope, id).await?;
            let graph = match &patch.graph {
                Some(graph) => self.graph(graph)?.name().clone(),
                None => old.graph.clone(),
            };
            let newest =
                self.0.records.versions(&old.id).await?.first().map_or(old.version, |row| row.version);
            let mut metadata = old.metadata.clone();
            metadata.extend(scope.stamped(patch.metadata.clone()));
            let row = AssistantRow {
                version: newest + 1,
                graph,
                name: patch.name.clone().unwrap_or_else(|| old.name.clone()),
                description: patch.description.clone().or_else(|| old.description.clone()),
                config: patch.config.as_ref().map_or_else(|| old.config.clone(), json),
                context: patch.context.as_ref().map_or_else(|| old.context.clone(), json),
                metadata,
                updated_ms: self.now_ms(),
                ..old
            };
            // Another request may have stored this version first.
            if let (row, true) = self.0.records.put_assistant(row).await? {
                return Ok(assistant(&row));
            }
        }
    }

    /// Returns an assistant that the client may change. The default ones belong to the server.
    async fn owned(&self, scope: &Scope, id: &str) -> Result<AssistantRow, Failure> {
        let row = self.assistant_row(scope, id).await?;
        match scope.admits(&row.metadata) {
            true => Ok(row),
            false => Err(Failure::new(403, "the default assistant of a graph cannot be changed")),
        }
    }

    /// Deletes an assistant with its versions.
    pub(crate) async fn delete_assistant(&self, scope: &Scope, id: &str) -> Result<(), Failure> {
        let row = self.owned(scope, id).await?;
        if is_default(&row) && row.id == ids::default_assistant(row.graph.as_str()) {
            return Err(Failure::new(403, "the default assistant of a graph cannot be deleted"));
        }
        match self.0.records.delete_assistant(&row.id).await? {
            true => Ok(()),
            false => Err(Failure::not_found(format!("Assistant {id} not found"))),
        }
    }

    /// Returns the versions of an assistant, newest first.
    pub(crate) async fn versions(
        &self,
        scope: &Scope,
        id: &str,
        request: VersionSearch,
    ) -> Result<Vec<Value>, Failure> {
        let row = self.assistant_row(scope, id).await?;
        let mut versions = self.0.records.versions(&row.id).await?;
        if versions.is_empty() {
            versions.push(row);
        }
        let fitting = versions.iter().filter(|row| has(&json!(row.metadata), &request.metadata));
        Ok(fitting.skip(request.page.offset).take(request.page.limit).map(assistant).collect())
    }

    /// Makes a version of an assistant the current one.
    pub(crate) async fn set_version(&self, scope: &Scope, id: &str, version: u32) -> Result<Value, Failure> {
        let row = self.owned(scope, id).await?;
        let changed = self.0.records.set_version(&row.id, version, self.now_ms()).await?;
        let unknown = || Failure::not_found(format!("Assistant {id} has no version {version}"));
        changed.as_ref().map(assistant).ok_or_else(unknown)
    }

    /// Finds assistants. Returns a page and the number of all that fit.
    pub(crate) async fn search_assistants(
        &self,
        scope: &Scope,
        request: AssistantSearch,
    ) -> Result<(Vec<Value>, u64), Failure> {
        let select_ = request.select.clone();
        let query = self.assistants_of(scope, request).await?;
        let found = self.found_assistants(&query).await?;
        Ok((found.rows.iter().map(|row| select(assistant(row), select_.as_deref())).collect(), found.total))
    }

    /// Returns the number of assistants that fit.
    pub(crate) async fn count_assistants(
        &self,
        scope: &Scope,
        request: AssistantSearch,
    ) -> Result<u64, Failure> {
        let query = self.assistants_of(scope, request).await?;
        Ok(self.found_assistants(&AssistantQuery { offset: 0, limit: 0, ..query }).await?.total)
    }

    pub(super) async fn assistants_of(
        &self,
        scope: &Scope,
        request: AssistantSearch,
    ) -> Result<AssistantQuery, Failure> {
        self.defaults().await?;
        Ok(AssistantQuery {
            graph: request.graph.map(Into::into),
            name: request.name,
            metadata: scope.narrowed(request.metadata),
            order: request.order,
            offset: request.page.offset,
            limit: request.page.limit,
        })
    }

    /// Returns the drawing of an assistant's graph, with so many levels of subgraphs.
    pub(crate) async fn drawing(&self, scope: &Scope, id: &str, levels: usize) -> Result<Value, Failure> {
        let row = self.assistant_row(scope, id).await?;
        let topology = self.graph(row.graph.as_str())?.description().topology.decode().unwrap_or_default();
        Ok(graph::drawing(&topology, levels))
    }

    /// Returns the JSON Schemas of an assistant's graph.
    pub(crate) async fn schemas(&self, scope: &Scope, id: &str) -> Result<Value, Failure> {
        let row = self.assistant_row(scope, id).await?;
        let graph = self.graph(row.graph.as_str())?;
        Ok(schemas(graph.name().as_str(), &graph.json_schemas()))
    }

    /// Returns the JSON Schemas of an assistant's subgraphs by namespace: the names of the nodes that lead to each,
    /// joined by `|`. They are those of the nodes of the graph; with `recurse`, those below, too; with `namespace`, only
    /// this one.
    pub(crate) async fn subgraph_schemas(
        &self,
        scope: &Scope,
        id: &str,
        namespace: Option<&str>,
        recurse: bool,
    ) -> Result<Value, Failure> {
        let row = self.assistant_row(scope, id).await?;
        let mut found = Map::new();
        for (path, of) in self.graph(row.graph.as_str())?.subgraph_json_schemas() {
            let Some(node) = path.last() else { continue };
            let name = path.iter().map(NodeName::as_str).collect::<Vec<_>>().join("|");
            if namespace.map_or(recurse || path.len() == 1, |namespace| namespace == name) {
                found.insert(name, schemas(node.as_str(), &of));
            }
        }
        Ok(found.into())
    }
}

/// Returns `true` for an assistant that the server made.
pub(super) fn is_default(row: &AssistantRow) -> bool {
    row.metadata.get("created_by").is_some_and(|by| by == "system")
}

fn schemas(name: &str, schemas: &JsonSchemas) -> Value {
    json!({
        "graph_id": name,
        "input_schema": schemas.input,
        "output_schema": schemas.output,
        "state_schema": schemas.state,
        "config_schema": schemas.config,
        "context_schema": schemas.config,
    })
}

fn json(object: &Map<String, Value>) -> Json {
    Json::encode(object).expect("an object has a JSON form")
}
