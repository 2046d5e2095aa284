//! The parameters of an address of a database.

use percent_encoding::percent_decode_str;

fn is_url(address: &str) -> bool {
    address.starts_with("postgres://") || address.starts_with("postgresql://")
}

/// Removes the parameters with these names from an address, and returns them with their values.
pub(crate) fn without(address: &str, names: &[&str]) -> (String, Vec<(String, String)>) {
    let mut taken = Vec::new();
    let mut take = |name: &str, value: &dyn Fn() -> String| {
        let is_taken = names.contains(&name);
        if is_taken {
            taken.push((name.to_owned(), value()));
        }
        is_taken
    };
    if is_url(address) {
        let Some((before, parameters)) = address.split_once('?') else { return (address.to_owned(), taken) };
        let parameters = parameters.split('&').filter(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            !take(name, &|| percent_decode_str(value).decode_utf8_lossy().into_owned())
        });
        let parameters: Vec<&str> = parameters.collect();
        let mark = if parameters.is_empty() { "" } else { "?" };
        return (format!("{before}{mark}{}", parameters.join("&")), taken);
    }
    let mut kept = String::new();
    let mut rest = address;
    while let Some((name, value, after)) = pair(rest) {
        if !take(name, &|| unquoted(value)) {
            kept.push_str(&rest[..rest.len() - after.len()]);
        }
        rest = after;
    }
    // The client library returns the error of what is not a pair.
    (format!("{kept}{rest}"), taken)
}

/// Splits an address of the form `name=value name='a value'` after its first pair; the value keeps its quotes.
fn pair(address: &str) -> Option<(&str, &str, &str)> {
    let (name, value) = address.split_once('=')?;
    let value = value.trim_start();
    let mut is_escaped = false;
    let is_quoted = value.starts_with('\'');
    let end = value.char_indices().skip(usize::from(is_quoted)).find(|(_, letter)| {
        let ends = !is_escaped && if is_quoted { *letter == '\'' } else { letter.is_whitespace() };
        is_escaped = !is_escaped && *letter == '\\';
        ends
    });
    let end = end.map_or(value.len(), |(at, _)| at + usize::from(is_quoted));
    Some((name.trim(), &value[..end], &value[end..]))
}

/// Returns a value without quotes and escapes.
fn unquoted(value: &str) -> String {
    let value = value.strip_prefix('\'').map_or(value, |value| value.strip_suffix('\'').unwrap_or(value));
    let mut text = String::new();
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        text.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    text
}

/// Adds a parameter to an address.
pub(crate) fn with(address: &str, name: &str, value: &str) -> String {
    if is_url(address) {
        let mark = if address.contains('?') { '&' } else { '?' };
        return format!("{address}{mark}{name}={value}");
    }
    format!("{address} {name}='{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_taken_from_both_forms_of_an_address() {
        let split = |address| {
            let (rest, taken) = without(address, &["schema"]);
            (rest, taken.into_iter().map(|(_, value)| value).collect::<Vec<_>>())
        };
        let all = |rest: &str, schemas: &[&str]| {
            (rest.to_owned(), schemas.iter().map(|schema| (*schema).to_owned()).collect::<Vec<_>>())
        };
        for (address, expected) in [
            ("postgres://u@h/d", all("postgres://u@h/d", &[])),
            ("postgres://u@h/d?schema=essays", all("postgres://u@h/d", &["essays"])),
            (
                "postgresql://h/d?host=/run&schema=a&connect_timeout=3",
                all("postgresql://h/d?host=/run&connect_timeout=3", &["a"]),
            ),
            ("host=/run password='?schema=a'", all("host=/run password='?schema=a'", &[])),
            ("host=/run schema=a", all("host=/run", &["a"])),
        ] {
            assert_eq!(split(address), expected, "{address}");
        }
    }
}
