//! Quotes of pieces of passages.

use crate::docs::{Passage, PassageKind};
use crate::text::{is_code, units};

/// Returns the quoted form of a piece of a passage: a sentence with the code block that it introduces, and a code block
/// with the sentence before it.
pub(super) fn quote(passage: &Passage, unit: String) -> String {
    if passage.kind != PassageKind::Code {
        return unit;
    }
    let units = units(&passage.text);
    let Some(place) = units.iter().position(|other| *other == unit) else { return unit };
    let (said, code) = if is_code(&unit) {
        (place.checked_sub(1).map(|before| &units[before]), Some(&unit))
    } else {
        (Some(&unit), units[place..].iter().find(|unit| is_code(unit)))
    };
    match (said, code) {
        (Some(said), Some(code)) => format!("{said}\n{code}"),
        _ => unit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_and_its_code_are_quoted_together() {
        let code = "```rust\nthread.fork(\"b\")\n```";
        let text = format!("A fork is cheap. Call `fork`:\n\n{code}");
        let mut passage = Passage {
            path: "a.md".into(),
            heading: String::new(),
            kind: PassageKind::Code,
            line_start: 1,
            line_end: 5,
            text: text.clone(),
            score: 0.0,
        };
        let quoted = |passage: &Passage, unit: &str| quote(passage, unit.to_owned());
        assert_eq!(quoted(&passage, "A fork is cheap."), format!("A fork is cheap.\n{code}"));
        assert_eq!(quoted(&passage, code), format!("Call `fork`:\n{code}"));
        passage.text = code.to_owned();
        assert_eq!(quoted(&passage, code), code);
        passage.kind = PassageKind::List;
        assert_eq!(quoted(&passage, "A fork is cheap."), "A fork is cheap.");
    }
}
