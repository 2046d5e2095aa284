//! Conversions of names: serde's `rename_all` rules, and the case of constants.

use syn::LitStr;

/// A rule of `#[serde(rename_all = "..")]`, for field names.
#[derive(Clone, Copy)]
pub(crate) enum Rule {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

impl Rule {
    const NAMES: [(&'static str, Self); 8] = [
        ("lowercase", Self::Lower),
        ("UPPERCASE", Self::Upper),
        ("PascalCase", Self::Pascal),
        ("camelCase", Self::Camel),
        ("snake_case", Self::Snake),
        ("SCREAMING_SNAKE_CASE", Self::ScreamingSnake),
        ("kebab-case", Self::Kebab),
        ("SCREAMING-KEBAB-CASE", Self::ScreamingKebab),
    ];

    /// Returns the rule with the name `text`, or an error if there is none.
    pub(crate) fn parse(text: &LitStr) -> syn::Result<Self> {
        let value = text.value();
        match Self::NAMES.iter().find(|(name, _)| *name == value) {
            Some((_, rule)) => Ok(*rule),
            None => {
                let names: Vec<String> = Self::NAMES.iter().map(|(name, _)| format!("`{name}`")).collect();
                let names = names.join(", ");
                Err(syn::Error::new(text.span(), format!("there is no case `{value}`; serde knows {names}")))
            }
        }
    }

    /// Converts the snake-case field name `name` by this rule, in the same way as serde.
    pub(crate) fn apply(self, name: &str) -> String {
        match self {
            Self::Lower | Self::Snake => name.to_owned(),
            Self::Upper | Self::ScreamingSnake => name.to_ascii_uppercase(),
            Self::Pascal => pascal(name),
            Self::Camel => {
                let pascal = pascal(name);
                let mut chars = pascal.chars();
                chars
                    .next()
                    .map_or_else(String::new, |first| first.to_ascii_lowercase().to_string() + chars.as_str())
            }
            Self::Kebab => name.replace('_', "-"),
            Self::ScreamingKebab => name.to_ascii_uppercase().replace('_', "-"),
        }
    }
}

fn pascal(name: &str) -> String {
    let mut pascal = String::with_capacity(name.len());
    let mut starts_word = true;
    for letter in name.chars() {
        match (letter, starts_word) {
            ('_', _) => starts_word = true,
            (_, true) => {
                pascal.push(letter.to_ascii_uppercase());
                starts_word = false;
            }
            (_, false) => pascal.push(letter),
        }
    }
    pascal
}

/// Returns the name of the constant for a field.
pub(crate) fn screaming_snake(name: &str) -> String {
    name.to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::Rule;

    #[test]
    fn rules_are_those_of_serde() {
        let all: Vec<String> = Rule::NAMES.iter().map(|(_, rule)| rule.apply("old_draft_2")).collect();
        let expected = [
            "old_draft_2",
            "OLD_DRAFT_2",
            "OldDraft2",
            "oldDraft2",
            "old_draft_2",
            "OLD_DRAFT_2",
            "old-draft-2",
            "OLD-DRAFT-2",
        ];
        assert_eq!(all, expected);
    }
}
