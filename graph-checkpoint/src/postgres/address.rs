//! The address of a database.

use std::str::FromStr;

use superstep_core::checkpoint::StoreError;
use tokio_postgres::Config;

use super::error::{PostgresError, with_causes};

/// Parses an address. A URL may name a schema with the parameter `schema`, which the client library does not know.
pub(crate) fn parse(address: &str) -> Result<(Config, Option<String>), StoreError> {
    let (address, schema) = without_schema(address);
    let config = Config::from_str(&address);
    Ok((config.map_err(|error| PostgresError::Address(with_causes(&error)))?, schema))
}

fn without_schema(address: &str) -> (String, Option<String>) {
    let is_url = address.starts_with("postgres://") || address.starts_with("postgresql://");
    let Some((before, parameters)) = address.split_once('?').filter(|_| is_url) else {
        return (address.to_owned(), None);
    };
    let schema = |parameter: &&str| parameter.starts_with("schema=");
    let (named, others): (Vec<&str>, Vec<&str>) = parameters.split('&').partition(schema);
    let named = named.last().and_then(|named| named.split_once('=')).map(|(_, name)| name.to_owned());
    match others.is_empty() {
        true => (before.to_owned(), named),
        false => (format!("{before}?{}", others.join("&")), named),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_url_names_a_schema_with_a_parameter() {
        let split = |address| {
            let (rest, schema) = without_schema(address);
            (rest, schema.unwrap_or_default())
        };
        let both = |rest: &str, schema: &str| (rest.to_owned(), schema.to_owned());
        assert_eq!(split("postgres://u@h/d"), both("postgres://u@h/d", ""));
        assert_eq!(split("postgres://u@h/d?schema=essays"), both("postgres://u@h/d", "essays"));
        assert_eq!(
            split("postgresql://h/d?host=/run&schema=a&connect_timeout=3"),
            both("postgresql://h/d?host=/run&connect_timeout=3", "a")
        );
        assert_eq!(split("host=/run password='?schema=a'"), both("host=/run password='?schema=a'", ""));
    }
}
