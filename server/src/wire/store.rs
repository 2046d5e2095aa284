//! Items of the store: requests, and entries as JSON.

use serde_json::{Map, Value, json};
use superstep_core::store::Entry;

use super::members::{Members, Page};
use super::query::Query;
use super::{Failure, time};

/// The address of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ItemKey {
    /// The labels of its namespace.
    pub(crate) namespace: Vec<String>,
    /// Its key.
    pub(crate) key: String,
}

impl ItemKey {
    /// Reads the query of `GET /store/items`.
    ///
    /// # Errors
    /// Returns status 422 without a key.
    pub(crate) fn of_query(query: &Query) -> Result<Self, Failure> {
        let key = query.text("key").ok_or_else(|| Failure::invalid("\"key\" is a required parameter"))?;
        let namespace = query.text("namespace").map(|text| text.split('.').map(str::to_owned).collect());
        Ok(Self { namespace: namespace.unwrap_or_default(), key: key.to_owned() })
    }

    /// Reads the body of `DELETE /store/items`.
    ///
    /// # Errors
    /// Returns status 422 for a member of a wrong form, and 400 for a namespace that cannot be.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        Self::of(&Members::of(body)?)
    }

    fn of(members: &Members<'_>) -> Result<Self, Failure> {
        let namespace = members.texts("namespace")?.ok_or_else(|| members.missing("namespace"))?;
        Ok(Self { namespace, key: members.required("key")?.to_owned() })
    }
}

/// A request to store an item.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ItemPut {
    /// The address.
    pub(crate) at: ItemKey,
    /// The value.
    pub(crate) value: Map<String, Value>,
    /// The lifetime, in minutes.
    pub(crate) ttl_minutes: Option<f64>,
}

impl ItemPut {
    /// Reads the body of `PUT /store/items`.
    ///
    /// # Errors
    /// Returns status 422 for a member of a wrong form, and 400 for a namespace that cannot be.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let members = Members::of(body)?;
        let at = ItemKey::of(&members)?;
        check_namespace(&at.namespace)?;
        let value = members.object("value")?.ok_or_else(|| members.missing("value"))?.clone();
        Ok(Self { at, value, ttl_minutes: members.number("ttl")? })
    }
}

/// Checks the namespace of a new item.
fn check_namespace(namespace: &[String]) -> Result<(), Failure> {
    if namespace.is_empty() {
        return Err(Failure::bad_request("Namespace cannot be empty"));
    }
    match namespace.iter().find(|label| label.is_empty() || label.contains('.')) {
        Some(label) => Err(Failure::bad_request(format!(
            "Invalid namespace label {label:?}: labels cannot be empty or contain periods"
        ))),
        None => Ok(()),
    }
}

/// A request for items.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ItemSearch {
    /// The labels that the namespaces begin with.
    pub(crate) prefix: Vec<String>,
    /// Conditions on members of the values.
    pub(crate) filter: Map<String, Value>,
    /// Words to search for.
    pub(crate) query: Option<String>,
    /// The page.
    pub(crate) page: Page,
}

impl ItemSearch {
    /// Reads the body of `POST /store/items/search`.
    ///
    /// # Errors
    /// Returns status 422 for a member of a wrong form.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let members = Members::of(body)?;
        Ok(Self {
            prefix: members.texts("namespace_prefix")?.unwrap_or_default(),
            filter: members.object_or_empty("filter")?,
            query: members.text("query")?.map(str::to_owned),
            page: members.page()?,
        })
    }
}

/// A request for namespaces.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamespaceSearch {
    /// The labels that they begin with.
    pub(crate) prefix: Vec<String>,
    /// The labels that they end with.
    pub(crate) suffix: Vec<String>,
    /// The number of labels that are kept of each.
    pub(crate) max_depth: Option<usize>,
    /// The page.
    pub(crate) page: Page,
}

impl NamespaceSearch {
    /// Reads the body of `POST /store/namespaces`.
    ///
    /// # Errors
    /// Returns status 422 for a member of a wrong form.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let members = Members::of(body)?;
        Ok(Self {
            prefix: members.texts("prefix")?.unwrap_or_default(),
            suffix: members.texts("suffix")?.unwrap_or_default(),
            max_depth: members.whole("max_depth")?.map(super::members::index),
            page: members.page()?,
        })
    }
}

/// Returns an entry of the store as JSON.
pub(crate) fn item(entry: &Entry) -> Value {
    json!({
        "namespace": entry.namespace.names(),
        "key": entry.key,
        "value": entry.value.decode::<Value>().unwrap_or_default(),
        "created_at": time::text(entry.created_ms),
        "updated_at": time::text(entry.updated_ms),
    })
}

/// Returns an entry that a search found as JSON. `score` is the rank of a search with words.
pub(crate) fn found(entry: &Entry, score: Option<f64>) -> Value {
    let mut item = item(entry);
    item["score"] = json!(score);
    item
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_has_labels_without_periods() {
        let put = |namespace: Value| {
            ItemPut::read(&json!({ "namespace": namespace, "key": "k", "value": { "a": 1 } }))
        };
        assert_eq!(put(json!(["users", "u1"])).unwrap().at.namespace, ["users", "u1"]);
        for wrong in [json!([]), json!(["a.b"]), json!([""])] {
            assert_eq!(put(wrong).unwrap_err().status, 400);
        }
        assert_eq!(put(json!("users")).unwrap_err().status, 422);
        let key = ItemKey::of_query(&Query::parse("namespace=users.u1&key=k")).unwrap();
        assert_eq!(key, ItemKey { namespace: vec!["users".into(), "u1".into()], key: "k".into() });
    }
}
