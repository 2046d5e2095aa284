//! A call of a function of the schema, or a query of its tables.

use tokio_postgres::types::{ToSql, Type};

/// The name of a function with its arguments, or a query with its values.
pub(crate) struct Call<'c> {
    called: Called,
    arguments: Vec<(Box<dyn ToSql + Sync + Send + 'c>, Type)>,
}

enum Called {
    Function(&'static str),
    /// A query, with `@.` before the names of tables.
    Query(String),
}

impl<'c> Call<'c> {
    pub(crate) fn of(function: &'static str) -> Self {
        Self { called: Called::Function(function), arguments: Vec::new() }
    }

    /// Returns a query without its values. It has `@.` before each name of a table.
    pub(crate) fn query(sql: impl Into<String>) -> Self {
        Self { called: Called::Query(sql.into()), arguments: Vec::new() }
    }

    pub(crate) fn argument(mut self, value: impl ToSql + Sync + Send + 'c, kind: Type) -> Self {
        self.arguments.push((Box::new(value), kind));
        self
    }

    /// Adds the bytes of a name; `None` is null.
    pub(crate) fn bytes(self, bytes: Option<&'c [u8]>) -> Self {
        self.argument(bytes, Type::BYTEA)
    }

    /// Adds a name.
    pub(crate) fn name(self, name: &'c str) -> Self {
        self.bytes(Some(name.as_bytes()))
    }

    pub(crate) fn text(self, text: impl ToSql + Sync + Send + 'c) -> Self {
        self.argument(text, Type::TEXT)
    }

    pub(crate) fn int(self, value: impl Into<Option<i64>>) -> Self {
        self.argument(value.into(), Type::INT8)
    }

    pub(crate) fn small(self, value: i32) -> Self {
        self.argument(value, Type::INT4)
    }

    pub(crate) fn uuid(self, id: Option<uuid::Uuid>) -> Self {
        self.argument(id, Type::UUID)
    }

    /// Returns the statement for this schema, which is quoted.
    pub(crate) fn statement(&self, schema: &str) -> String {
        let function = match &self.called {
            Called::Function(function) => function,
            Called::Query(sql) => return sql.replace("@.", &format!("{schema}.")),
        };
        let places: Vec<String> = (1..=self.arguments.len()).map(|place| format!("${place}")).collect();
        format!("SELECT * FROM {schema}.{function}({})", places.join(","))
    }

    /// Returns this query with its values.
    pub(crate) fn with_query(self, sql: String) -> Self {
        Self { called: Called::Query(sql), ..self }
    }

    /// Returns the number of the last value, as a query names it.
    pub(crate) fn place(&self) -> usize {
        self.arguments.len()
    }

    pub(crate) fn arguments(&self) -> Vec<(&(dyn ToSql + Sync), Type)> {
        self.arguments.iter().map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone())).collect()
    }
}
