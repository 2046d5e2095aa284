//! Assistants: requests, and rows as JSON.

use serde_json::{Map, Value, json};
use superstep_core::records::{AssistantRow, Column, Order};

use super::members::{Members, Page};
use super::request::config_of_context;
use super::thread::order;
use super::{Failure, time};

/// A request for a new assistant.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AssistantCreate {
    /// The graph.
    pub(crate) graph: String,
    /// The id; `None` for a new one.
    pub(crate) id: Option<String>,
    /// The name.
    pub(crate) name: Option<String>,
    /// The description.
    pub(crate) description: Option<String>,
    /// The configuration of its runs.
    pub(crate) config: Map<String, Value>,
    /// The context of its runs.
    pub(crate) context: Map<String, Value>,
    /// Entries for its metadata.
    pub(crate) metadata: Map<String, Value>,
    /// `true` to return an existing assistant with this id.
    pub(crate) returns_existing: bool,
}

impl AssistantCreate {
    /// Reads the body of `POST /assistants`.
    ///
    /// # Errors
    /// Returns status 422 for a member of a wrong form, and 400 for both `context` and `config.configurable`.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let members = Members::of(body)?;
        let (config, context) = configuration(&members)?;
        Ok(Self {
            graph: members.required("graph_id")?.to_owned(),
            id: members.text("assistant_id")?.map(str::to_owned),
            name: members.text("name")?.map(str::to_owned),
            description: members.text("description")?.map(str::to_owned),
            config: config.unwrap_or_default(),
            context: context.unwrap_or_default(),
            metadata: members.object_or_empty("metadata")?,
            returns_existing: members
                .choice("if_exists", &[("raise", false), ("do_nothing", true)])?
                .unwrap_or(false),
        })
    }
}

/// A change of an assistant, which makes a new version. Members that are `None` stay as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AssistantPatch {
    /// The graph.
    pub(crate) graph: Option<String>,
    /// The name.
    pub(crate) name: Option<String>,
    /// The description.
    pub(crate) description: Option<String>,
    /// The configuration of its runs.
    pub(crate) config: Option<Map<String, Value>>,
    /// The context of its runs.
    pub(crate) context: Option<Map<String, Value>>,
    /// Entries that are merged into its metadata.
    pub(crate) metadata: Map<String, Value>,
}

impl AssistantPatch {
    /// Reads the body of `PATCH /assistants/{assistant}`.
    ///
    /// # Errors
    /// Returns status 422 for a member of a wrong form, and 400 for both `context` and `config.configurable`.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let members = Members::of(body)?;
        let (config, context) = configuration(&members)?;
        Ok(Self {
            graph: members.text("graph_id")?.map(str::to_owned),
            name: members.text("name")?.map(str::to_owned),
            description: members.text("description")?.map(str::to_owned),
            config,
            context,
            metadata: members.object_or_empty("metadata")?,
        })
    }
}

type Configuration = (Option<Map<String, Value>>, Option<Map<String, Value>>);

/// Reads `config` and `context`. The context and `config.configurable` are the same values: either sets both.
fn configuration(members: &Members<'_>) -> Result<Configuration, Failure> {
    let config = members.object("config")?.cloned();
    let context = members.object("context")?.cloned();
    let configurable =
        config.as_ref().and_then(|config| config.get("configurable")).and_then(Value::as_object);
    let configurable = configurable.filter(|values| !values.is_empty()).cloned();
    match (context, configurable) {
        (Some(context), Some(_)) if !context.is_empty() => Err(Failure::bad_request(
            "Cannot specify both configurable and context. Prefer setting context alone.",
        )),
        (Some(context), None) if !context.is_empty() => {
            let mut config = config.unwrap_or_default();
            config.extend(config_of_context(&context));
            Ok((Some(config), Some(context)))
        }
        (_, Some(configurable)) => Ok((config, Some(configurable))),
        (context, None) => Ok((config, context)),
    }
}

/// A request for assistants, or for their number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AssistantSearch {
    /// Only assistants of this graph.
    pub(crate) graph: Option<String>,
    /// Only assistants with this text in their names.
    pub(crate) name: Option<String>,
    /// Entries that the metadata must contain.
    pub(crate) metadata: Map<String, Value>,
    /// The page.
    pub(crate) page: Page,
    /// The order.
    pub(crate) order: Order,
    /// The members of each assistant; `None` for all.
    pub(crate) select: Option<Vec<String>>,
}

impl AssistantSearch {
    /// Reads the body of `POST /assistants/search` or `POST /assistants/count`.
    ///
    /// # Errors
    /// Returns status 422 for a member of a wrong form.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let members = Members::of(body)?;
        let columns = [
            ("assistant_id", Column::Id),
            ("graph_id", Column::Graph),
            ("name", Column::Name),
            ("created_at", Column::Created),
            ("updated_at", Column::Updated),
        ];
        Ok(Self {
            graph: members.text("graph_id")?.map(str::to_owned),
            name: members.text("name")?.map(str::to_owned),
            metadata: members.object_or_empty("metadata")?,
            page: members.page()?,
            order: order(&members, &columns)?,
            select: members.texts("select")?,
        })
    }
}

/// A request for the versions of an assistant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VersionSearch {
    /// Entries that the metadata must contain.
    pub(crate) metadata: Map<String, Value>,
    /// The page.
    pub(crate) page: Page,
}

impl VersionSearch {
    /// Reads the body of `POST /assistants/{assistant}/versions`.
    ///
    /// # Errors
    /// Returns status 422 for a member of a wrong form.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let members = Members::of(body)?;
        Ok(Self { metadata: members.object_or_empty("metadata")?, page: members.page()? })
    }
}

/// Reads the body of `POST /assistants/{assistant}/latest`.
///
/// # Errors
/// Returns status 422 if the version is missing or no positive number.
pub(crate) fn version(body: &Value) -> Result<u32, Failure> {
    let members = Members::of(body)?;
    let version = members.whole("version")?.ok_or_else(|| members.missing("version"))?;
    let version = u32::try_from(version).ok().filter(|version| *version > 0);
    version.ok_or_else(|| members.invalid("version", "expected a number from 1"))
}

/// Returns a version of an assistant as JSON.
pub(crate) fn assistant(row: &AssistantRow) -> Value {
    let object = |json: &superstep_core::state::Json| json.decode::<Value>().unwrap_or_else(|_| json!({}));
    json!({
        "assistant_id": row.id,
        "graph_id": row.graph,
        "config": object(&row.config),
        "context": object(&row.context),
        "metadata": row.metadata,
        "name": row.name,
        "created_at": time::text(row.created_ms),
        "updated_at": time::text(row.updated_ms),
        "version": row.version,
        "description": row.description,
    })
}

#[cfg(test)]
mod tests {
    use superstep_core::state::Json;

    use super::*;

    #[test]
    fn a_context_is_also_the_configurable_values() {
        let patch = AssistantPatch::read(&json!({ "name": "mine2", "context": { "model": "m" } })).unwrap();
        assert_eq!(json!(patch.config), json!({ "configurable": { "model": "m" } }));
        let create = AssistantCreate::read(
            &json!({ "graph_id": "g", "config": { "configurable": { "model": "m" } } }),
        );
        assert_eq!(json!(create.unwrap().context), json!({ "model": "m" }));
        let both =
            json!({ "graph_id": "g", "context": { "a": 1 }, "config": { "configurable": { "a": 2 } } });
        assert_eq!(AssistantCreate::read(&both).unwrap_err().status, 400);
        let neither = AssistantPatch::read(&json!({ "config": { "recursion_limit": 3 } })).unwrap();
        assert_eq!((json!(neither.config), neither.context), (json!({ "recursion_limit": 3 }), None));
    }

    #[test]
    fn an_assistant_has_all_members() {
        let row = AssistantRow {
            id: "a".into(),
            version: 2,
            graph: "g".into(),
            name: "mine".into(),
            description: None,
            config: Json::encode(&json!({})).unwrap(),
            context: Json::encode(&json!({ "x": 1 })).unwrap(),
            metadata: Map::new(),
            created_ms: 0,
            updated_ms: 0,
        };
        let time = "1970-01-01T00:00:00.000000+00:00";
        let expected = json!({
            "assistant_id": "a", "graph_id": "g", "config": {}, "context": { "x": 1 }, "metadata": {}, "name": "mine",
            "created_at": time, "updated_at": time, "version": 2, "description": null,
        });
        assert_eq!(assistant(&row), expected);
        assert_eq!(version(&json!({ "version": 2 })), Ok(2));
        assert_eq!(version(&json!({ "version": 0 })).unwrap_err().status, 422);
    }
}
