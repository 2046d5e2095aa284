//! In what the servers of the protocol differ.

/// The member of a request that limits the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputLimit {
    /// `max_completion_tokens`, which counts thinking too: OpenAI.
    MaxCompletionTokens,
    /// `max_tokens`, the older name, which compatible servers know.
    MaxTokens,
}

impl OutputLimit {
    pub(super) const fn member(self) -> &'static str {
        match self {
            Self::MaxCompletionTokens => "max_completion_tokens",
            Self::MaxTokens => "max_tokens",
        }
    }
}

/// The messages in which a server takes instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstructionRole {
    /// Those of the role `system`, wherever they stand: OpenAI.
    System,
    /// Those of the role `developer`, wherever they stand: models of OpenAI that think, which take `system` as well.
    Developer,
    /// One of the role `system` before all others, as the templates of many open models have it. Later instructions
    /// are notes in what the user says.
    SystemFirst,
}

impl InstructionRole {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::System | Self::SystemFirst => "system",
            Self::Developer => "developer",
        }
    }
}

/// The port on which it listens.
const PORT: &str = "11434";

/// The address of the protocol on the host of `OLLAMA_HOST`, which may be a name, a name with a port or an address.
pub(super) fn ollama_url(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    let (scheme, place) = host.split_once("://").unwrap_or(("", host));
    let (name, path) = place.find('/').map_or((place, ""), |slash| place.split_at(slash));
    // A server listens on all addresses; a client calls one.
    let name = match (name.strip_prefix("0.0.0.0"), name.strip_prefix("[::]")) {
        (Some(port), _) => format!("127.0.0.1{port}"),
        (_, Some(port)) => format!("[::1]{port}"),
        _ if name.is_empty() || name.starts_with(':') => format!("127.0.0.1{name}"),
        _ => name.to_owned(),
    };
    // An address with a scheme has that scheme's port, unless it says another.
    if !scheme.is_empty() {
        return format!("{scheme}://{name}{path}/v1");
    }
    let after_brackets = name.rsplit(']').next().unwrap_or_default();
    let port = if after_brackets.contains(':') { String::new() } else { format!(":{PORT}") };
    format!("http://{name}{port}{path}/v1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_said_in_many_ways() {
        for (host, url) in [
            ("", "http://127.0.0.1:11434/v1"),
            ("0.0.0.0", "http://127.0.0.1:11434/v1"),
            ("0.0.0.0:8080", "http://127.0.0.1:8080/v1"),
            ("[::]:8080", "http://[::1]:8080/v1"),
            (":8080", "http://127.0.0.1:8080/v1"),
            ("box", "http://box:11434/v1"),
            ("box:8080/", "http://box:8080/v1"),
            ("[::1]", "http://[::1]:11434/v1"),
            ("[::1]:8080", "http://[::1]:8080/v1"),
            ("https://box", "https://box/v1"),
            (" http://box:8080/ollama/ ", "http://box:8080/ollama/v1"),
        ] {
            assert_eq!(ollama_url(host), url, "{host}");
        }
    }
}
