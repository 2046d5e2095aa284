//! Material for a model, as XML: written so that nothing in it can be taken for a tag, and read back.

use std::borrow::Cow;

/// Writes a text so that it is nothing but text, also between quotation marks. What XML has no way to say is replaced
/// by the sign for that, U+FFFD.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    let is_plain = |sign: char| is_allowed(sign) && entity(sign).is_none();
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for sign in text.chars() {
        match entity(sign) {
            Some(entity) => escaped.push_str(entity),
            None if is_allowed(sign) => escaped.push(sign),
            None => escaped.push(char::REPLACEMENT_CHARACTER),
        }
    }
    Cow::Owned(escaped)
}

/// Reads a text back that was [`escaped`].
pub(super) fn unescaped(text: &str) -> String {
    let mut rest = text;
    let mut read = String::with_capacity(text.len());
    while let Some(at) = rest.find('&') {
        let (before, entity_on) = rest.split_at(at);
        read.push_str(before);
        let known = ENTITIES.iter().find(|(_, entity)| entity_on.starts_with(entity));
        let (sign, entity) = known.copied().unwrap_or(('&', "&"));
        read.push(sign);
        rest = &entity_on[entity.len()..];
    }
    read.push_str(rest);
    read
}

/// The characters that are escaped. A line end of Windows would be read as one of Unix.
const ENTITIES: [(char, &str); 5] =
    [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\r', "&#13;")];

fn entity(sign: char) -> Option<&'static str> {
    ENTITIES.iter().find(|(escaped, _)| *escaped == sign).map(|(_, entity)| *entity)
}

/// Tells whether XML 1.0 has the character.
fn is_allowed(sign: char) -> bool {
    matches!(sign, '\t' | '\n' | '\r' | '\u{20}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}

/// Reads written XML: tags and texts in their order.
pub(super) struct Reader<'x>(&'x str);

impl<'x> Reader<'x> {
    pub(super) const fn new(xml: &'x str) -> Self {
        Self(xml)
    }

    /// Reads exactly this.
    pub(super) fn expect(&mut self, written: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(written)?;
        Some(())
    }

    /// Reads this if it is next.
    pub(super) fn next_is(&mut self, written: &str) -> bool {
        self.expect(written).is_some()
    }

    /// Reads a text up to this, and this.
    pub(super) fn text_until(&mut self, end: &str) -> Option<String> {
        let (text, rest) = self.0.split_once(end)?;
        self.0 = rest;
        Some(unescaped(text))
    }

    /// Tells whether everything is read.
    pub(super) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}
