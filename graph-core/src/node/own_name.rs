//! The stored names of a node's asks and effects, distinguished from those of its error handler, because both
//! belong to the same task.

use alloc::borrow::Cow;
use alloc::format;

/// The prefix of the asks and effects of an error handler.
pub(crate) const HANDLER: &str = "on_error/";

/// The prefix that escapes a name of the node itself, if the name starts with the handler's prefix or is already
/// escaped.
const OWN: char = '~';

/// Returns the name under which an ask or an effect of a node is stored. `is_stored` returns `true` for names that
/// the task has stored.
pub(super) fn own_name(text: &str, is_stored: impl Fn(&str) -> bool) -> Cow<'_, str> {
    if !text.trim_start_matches(OWN).starts_with(HANDLER) {
        return Cow::Borrowed(text);
    }
    let own = format!("{OWN}{text}");
    // Earlier versions stored the name without the escape.
    if text.starts_with(HANDLER) && is_stored(text) && !is_stored(&own) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_names_are_stored_as_one_and_none_as_a_handlers() {
        let nothing = |_: &str| false;
        let names = ["pay", "~pay", "on_error/pay", "~on_error/pay", "~~on_error/pay"];
        let stored = names.map(|name| own_name(name, nothing));
        assert_eq!(stored, ["pay", "~pay", "~on_error/pay", "~~on_error/pay", "~~~on_error/pay"]);
    }

    #[test]
    fn a_record_of_an_earlier_version_is_found() {
        assert_eq!(own_name("on_error/pay", |name| name == "on_error/pay"), "on_error/pay");
        assert_eq!(own_name("on_error/pay", |_| true), "~on_error/pay", "the newer one counts");
    }
}
