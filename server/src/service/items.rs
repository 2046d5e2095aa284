//! Items of the graphs' store.

use std::time::Duration;

use serde_json::{Value, json};
use superstep_core::store::{Entry, Search, Store};

use super::Service;
use crate::wire::Failure;
use crate::wire::store::{ItemKey, ItemPut, ItemSearch, NamespaceSearch, found, item};

impl Service {
    /// Returns the store that the graphs use.
    fn store(&self) -> Result<&Store, Failure> {
        let store = self.0.graphs.iter().find_map(|graph| graph.store_in_use());
        store.ok_or_else(|| Failure::not_found("no graph has a store; give one its own with `.store(..)`"))
    }

    /// Stores an item.
    pub(crate) async fn put_item(&self, request: ItemPut) -> Result<(), Failure> {
        let namespace = names(&request.at.namespace);
        let store = self.store()?;
        match request.ttl_minutes {
            None => store.put(&namespace, &request.at.key, &request.value).await?,
            Some(minutes) => {
                let lifetime = Duration::try_from_secs_f64(minutes * 60.0);
                let lifetime = lifetime.map_err(|error| Failure::invalid(format!("ttl: {error}")))?;
                store.put_for(&namespace, &request.at.key, &request.value, lifetime).await?;
            }
        }
        Ok(())
    }

    /// Returns an item; `null` if there is none.
    pub(crate) async fn item(&self, at: ItemKey) -> Result<Value, Failure> {
        let entry = self.store()?.entry(&names(&at.namespace), &at.key).await?;
        Ok(entry.map_or(Value::Null, |entry| item(&entry)))
    }

    /// Deletes an item, if there is one.
    pub(crate) async fn delete_item(&self, at: ItemKey) -> Result<(), Failure> {
        self.store()?.delete(&names(&at.namespace), &at.key).await?;
        Ok(())
    }

    /// Finds items.
    pub(crate) async fn search_items(&self, request: ItemSearch) -> Result<Value, Failure> {
        let mut search = Search::under(&names(&request.prefix))?;
        for (field, condition) in &request.filter {
            search = conditions(search, field, condition);
        }
        if let Some(words) = &request.query {
            search = search.words(words);
        }
        let search = search.skip(request.page.offset).limit(request.page.limit);
        let entries = self.store()?.search(search).await?;
        let shown = |entry: &Entry| found(entry, None);
        Ok(json!({ "items": entries.iter().map(shown).collect::<Vec<_>>() }))
    }

    /// Returns namespaces with items, sorted.
    pub(crate) async fn namespaces(&self, request: NamespaceSearch) -> Result<Value, Failure> {
        let all = self.store()?.namespaces(&names(&request.prefix)).await?;
        let depth = request.max_depth.unwrap_or(usize::MAX);
        let mut namespaces: Vec<Vec<String>> = all
            .iter()
            .map(|namespace| namespace.names())
            .filter(|names| names.ends_with(&request.suffix))
            .map(|names| names.iter().take(depth).cloned().collect())
            .collect();
        namespaces.sort();
        namespaces.dedup();
        let page = namespaces.into_iter().skip(request.page.offset).take(request.page.limit);
        Ok(json!({ "namespaces": page.collect::<Vec<_>>() }))
    }
}

/// Adds the conditions on a member: a value that it equals, or an object of comparisons such as `{"$gt": 3}`.
fn conditions(search: Search, field: &str, condition: &Value) -> Search {
    let comparisons =
        condition.as_object().filter(|all| !all.is_empty() && all.keys().all(|name| name.starts_with('$')));
    let Some(comparisons) = comparisons else { return search.equal(field, condition) };
    comparisons.iter().fold(search, |search, (comparison, value)| match comparison.as_str() {
        "$ne" => search.not_equal(field, value),
        "$gt" => search.more(field, value),
        "$gte" => search.at_least(field, value),
        "$lt" => search.less(field, value),
        "$lte" => search.at_most(field, value),
        _ => search.equal(field, value),
    })
}

fn names(namespace: &[String]) -> Vec<&str> {
    namespace.iter().map(String::as_str).collect()
}
