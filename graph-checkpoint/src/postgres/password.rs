//! Passwords from the environment, and from a file in the format of `libpq`.

use std::path::{Path, PathBuf};

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::error::PostgresError;

/// Completes an address that has no password: with that of `file`, of `PGPASSWORD`, or of the file in `PGPASSFILE`.
pub(crate) fn complete(config: &mut Config, file: Option<&Path>) -> Result<(), PostgresError> {
    if config.get_password().is_some() {
        return Ok(());
    }
    let password = match (file, std::env::var("PGPASSWORD"), std::env::var_os("PGPASSFILE")) {
        (Some(file), ..) => {
            let found = read(file, config)?;
            Some(found.ok_or_else(|| failed(file, "it has no line for this address"))?)
        }
        (None, Ok(password), _) => Some(password),
        (None, Err(_), Some(file)) => read(&PathBuf::from(file), config)?,
        (None, Err(_), None) => None,
    };
    if let Some(password) = password {
        config.password(password);
    }
    Ok(())
}

fn failed(file: &Path, reason: impl ToString) -> PostgresError {
    PostgresError::PasswordFile { file: file.to_owned(), reason: reason.to_string() }
}

fn read(file: &Path, config: &Config) -> Result<Option<String>, PostgresError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let metadata = std::fs::metadata(file).map_err(|error| failed(file, error))?;
        if metadata.mode() & 0o077 != 0 {
            return Err(failed(file, "other users may read it: take that right away with `chmod 600`"));
        }
    }
    let text = std::fs::read_to_string(file).map_err(|error| failed(file, error))?;
    let user = config.get_user().unwrap_or_default();
    let database = config.get_dbname().unwrap_or(user);
    let ports = config.get_ports();
    let mut hosts = config.get_hosts().iter().enumerate();
    Ok(hosts.find_map(|(number, host)| {
        let port = ports.get(number).or(ports.first()).unwrap_or(&5432).to_string();
        let names = match host {
            Host::Tcp(name) => vec![name.clone()],
            #[cfg(unix)]
            Host::Unix(folder) => vec![folder.display().to_string(), "localhost".to_owned()],
        };
        names.iter().find_map(|host| find(&text, [host, &port, database, user]))
    }))
}

/// Returns the password of the first line `host:port:database:user:password` that fits.
fn find(text: &str, place: [&str; 4]) -> Option<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(fields).find_map(|fields| {
        let (password, names) = fields.split_last()?;
        let fits = names.iter().zip(place).all(|(name, wanted)| name == "*" || name == wanted);
        (names.len() == place.len() && fits).then(|| password.clone())
    })
}

/// Splits a line at its colons. A backslash takes the next character as it is.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields.last_mut().expect("it is not empty").extend(letters.next()),
            letter => fields.last_mut().expect("it is not empty").push(letter),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let text = "# db:5432:essays:ann:comment\ndb:5432:essays:ann:first\ndb:*:*:ann:second\n\n\
                    odd\\:host:1:a\\\\b:*:c:o\\:l\\\\on\n*:*:*:bob:last";
        for (place, password) in [
            (["db", "5432", "essays", "ann"], Some("first")),
            (["db", "5433", "essays", "ann"], Some("second")),
            (["odd:host", "1", "a\\b", "x"], Some("c:o:l\\on")),
            (["elsewhere", "1", "x", "bob"], Some("last")),
            (["elsewhere", "1", "x", "ann"], None),
        ] {
            assert_eq!(find(text, place).as_deref(), password, "{place:?}");
        }
    }
}
