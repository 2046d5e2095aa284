//! A call of a function of the schema, or a statement with arguments.

use tokio_postgres::types::{ToSql, Type};

/// The name of a function, or a statement, with its arguments.
pub(crate) struct Call<'c> {
    what: What,
    arguments: Vec<(Box<dyn ToSql + Sync + Send + 'c>, Type)>,
}

enum What {
    Function(&'static str),
    /// `@` stands for the schema.
    Statement(&'static str),
}

impl<'c> Call<'c> {
    pub(crate) fn of(function: &'static str) -> Self {
        Self { what: What::Function(function), arguments: Vec::new() }
    }

    /// Begins a statement in which `@` stands for the schema.
    pub(crate) fn sql(statement: &'static str) -> Self {
        Self { what: What::Statement(statement), arguments: Vec::new() }
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
        match self.what {
            What::Function(function) => {
                let places: Vec<String> =
                    (1..=self.arguments.len()).map(|place| format!("${place}")).collect();
                format!("SELECT * FROM {schema}.{function}({})", places.join(","))
            }
            What::Statement(statement) => statement.replace('@', schema),
        }
    }

    pub(crate) fn arguments(&self) -> Vec<(&(dyn ToSql + Sync), Type)> {
        self.arguments.iter().map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone())).collect()
    }
}
