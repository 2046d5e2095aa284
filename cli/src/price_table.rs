//! The prices of tokens that the user gives.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use superstep_nodes::model::Prices;

use super::failure::Failure;

/// The environment variable that names the file with prices.
const PRICES: &str = "SUPERSTEP_PRICES";

/// Returns the prices of the file that the environment variable names; none without that variable.
pub(crate) fn prices() -> Result<Arc<Prices>, Failure> {
    let named = std::env::var_os(PRICES).filter(|named| !named.is_empty());
    Ok(Arc::new(named.map_or_else(|| Ok(Prices::none()), |named| read(&named))?))
}

fn read(named: &OsStr) -> Result<Prices, Failure> {
    let path = Path::new(named).display();
    let text = fs::read_to_string(named).map_err(|error| {
        Failure::unusable(format!("{PRICES} names {path}, which cannot be read: {error}; name a file with prices, or unset the variable"))
    })?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::unusable(format!("the prices in {path} are wrong: {error}; write them as {{\"MODEL\": {{\"input\": 3.0, \"output\": 15.0}}}}, in US dollars per million tokens"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_read_and_mistakes_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prices.json");
        let missing = read(path.as_os_str()).unwrap_err().text;
        assert!(missing.contains("prices.json, which cannot be read"), "{missing}");
        fs::write(&path, r#"{"a": {"input": 1.0, "ouput": 2.0}}"#).unwrap();
        let wrong = read(path.as_os_str()).unwrap_err().text;
        assert!(wrong.contains("unknown field `ouput`"), "{wrong}");
        fs::write(&path, r#"{"a*": {"input": 1.0, "output": 2.0}}"#).unwrap();
        assert_eq!(read(path.as_os_str()).unwrap().of("a-1").unwrap().output, 2.0);
    }
}
