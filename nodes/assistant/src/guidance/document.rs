//! Markdown files with properties in front.

use std::collections::BTreeMap;

/// A skill: a `SKILL.md` with its name and description in front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// The name: letters, digits, `-` and `_`, at most 64.
    pub name: String,
    /// The description, which tells the model when to use it.
    pub description: String,
    /// The text behind the properties.
    pub body: String,
}

/// An error in a Markdown file with properties.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// The properties have no end. Write a line `---` behind them.
    #[error("{file}:1: the properties have no end; write a line `---` behind them")]
    Open {
        /// The file.
        file: String,
    },
    /// A line is no property. Write `key: value`.
    #[error("{file}:{line}: the line is not `key: value`")]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
    },
    /// A property is missing or empty. Write `name` and `description` in front of a skill, between lines `---`.
    #[error("{file}:1: the property `{key}` is missing")]
    Missing {
        /// The file.
        file: String,
        /// The property.
        key: &'static str,
    },
    /// The name has other characters than letters, digits, `-` and `_`, or more than 64.
    #[error(
        "{file}:{line}: the name `{name}` has more than 64 characters, or others than letters, digits, `-` and `_`"
    )]
    Name {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The name.
        name: String,
    },
}

/// A Markdown file: its properties, each with its line, and the text behind them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Document {
    pub(super) properties: BTreeMap<String, (usize, String)>,
    pub(super) body: String,
}

/// Reads a `SKILL.md`; errors name the file as `file`.
///
/// # Errors
/// Fails if the properties cannot be read, or the name or the description is missing.
///
/// ```
/// use superstep_assistant::guidance::read_skill;
///
/// let text = "---\nname: release\ndescription: Use it to make a release.\n---\n1. Run the tests.\n";
/// let skill = read_skill("release/SKILL.md", text)?;
/// assert_eq!((skill.name.as_str(), skill.body.as_str()), ("release", "1. Run the tests."));
/// let error = read_skill("release/SKILL.md", "---\nname\n---\n").unwrap_err().to_string();
/// assert_eq!(error, "release/SKILL.md:2: the line is not `key: value`");
/// # Ok::<(), superstep_assistant::guidance::DocumentError>(())
/// ```
pub fn read_skill(file: &str, text: &str) -> Result<Skill, DocumentError> {
    let document = Document::parse(file, text)?;
    let property = |key: &'static str| {
        let found = document.properties.get(key).filter(|(_, value)| !value.is_empty());
        found.cloned().ok_or_else(|| DocumentError::Missing { file: file.to_owned(), key })
    };
    let ((line, name), (_, description)) = (property("name")?, property("description")?);
    match is_name(&name) {
        true => Ok(Skill { name, description, body: document.body }),
        false => Err(DocumentError::Name { file: file.to_owned(), line, name }),
    }
}

/// Returns `true` for names of skills, commands and files of the memory. They are names of files, too.
pub(super) fn is_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&name.len()) && name.bytes().all(letter)
}

impl Document {
    /// Reads a file. Of YAML it understands lines `key: value`, also with quotes, and values on the indented lines
    /// below the key. Comments and lists are skipped.
    pub(super) fn parse(file: &str, text: &str) -> Result<Self, DocumentError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.lines().enumerate();
        if lines.next().is_none_or(|(_, first)| first.trim_end() != "---") {
            return Ok(Self { properties: BTreeMap::new(), body: text.trim().to_owned() });
        }
        let (mut properties, mut last) = (BTreeMap::<String, (usize, String)>::new(), None);
        for (at, line) in &mut lines {
            if line.trim_end() == "---" {
                let body = lines.map(|(_, line)| line).collect::<Vec<_>>().join("\n").trim().to_owned();
                return Ok(Self { properties, body });
            }
            let is_skipped = line.trim().is_empty() || line.starts_with(['#', '-']);
            if line.starts_with([' ', '\t']) {
                let below = last.as_ref().and_then(|key| properties.get_mut(key));
                if let Some((_, value)) = below.filter(|_| !line.trim().is_empty()) {
                    value.extend([if value.is_empty() { "" } else { " " }, line.trim()]);
                }
            } else if !is_skipped {
                let Some((key, value)) = line.split_once(':') else {
                    return Err(DocumentError::Line { file: file.to_owned(), line: at + 1 });
                };
                let key = key.trim().to_owned();
                properties.insert(key.clone(), (at + 1, unquoted(value.trim()).to_owned()));
                last = Some(key);
            }
        }
        Err(DocumentError::Open { file: file.to_owned() })
    }

    /// Returns the description of a file: the property, else its first line.
    pub(super) fn description(&self) -> &str {
        let property = self.properties.get("description").map(|(_, value)| value.as_str());
        let first = || self.body.lines().next().unwrap_or_default().trim_start_matches('#').trim();
        property.filter(|value| !value.is_empty()).unwrap_or_else(first)
    }
}

/// Returns a value without its quotes. The sign of a value on the lines below is none.
fn unquoted(value: &str) -> &str {
    if matches!(value, ">" | ">-" | ">+" | "|" | "|-" | "|+") {
        return "";
    }
    let inside = |quote: char| value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(value)
}
