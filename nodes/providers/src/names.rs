//! Names of tools, as providers take them.

use std::borrow::Cow;
use std::collections::BTreeSet;

use superstep_nodes::model::ModelRequest;

/// The longest name of a tool that all providers take.
const MOST_CHARS: usize = 64;

/// The name as providers take it: models are known to make up others, and a conversation keeps what they said.
pub(super) fn tool_name(name: &str) -> Cow<'_, str> {
    let fits = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-');
    if !name.is_empty() && name.len() <= MOST_CHARS && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let plain: String =
        name.chars().take(MOST_CHARS).map(|sign| if fits(sign) { sign } else { '_' }).collect();
    if plain.is_empty() { Cow::Borrowed("unnamed") } else { Cow::Owned(plain) }
}

/// The tools that the conversation mentions, where the request offers none: some providers refuse a conversation with
/// tools that are not in the request.
pub(super) fn mentioned_tools(request: &ModelRequest) -> impl Iterator<Item = &str> {
    let offers_none = request.tools.is_empty();
    let calls = request.messages.iter().flat_map(|message| message.tool_calls());
    let names: BTreeSet<&str> = calls.filter(|_| offers_none).map(|call| call.name.as_str()).collect();
    let mut told = BTreeSet::new();
    names.into_iter().filter(move |name| told.insert(tool_name(name).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_providers_refuse_is_made_plain() {
        assert_eq!(tool_name("search_docs-2"), "search_docs-2");
        assert_eq!(tool_name("search docs!"), "search_docs_");
        assert_eq!(tool_name(""), "unnamed");
        assert_eq!(tool_name(&"ä".repeat(100)), "_".repeat(64));
    }
}
