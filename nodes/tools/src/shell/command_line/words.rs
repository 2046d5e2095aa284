//! The words of a command, after quote removal.

use tree_sitter::Node;

use super::parse::{Dialect, Unclear, Walk, children};
use crate::wildcard::ANY;

/// A word after quote removal. [`ANY`] stands for expansions, whose text is known only when the command runs.
#[derive(Clone)]
pub(super) struct Word(String);

impl Word {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A word that is known only when the command runs. It may become several words, or none.
    pub(super) fn any() -> Self {
        Self(ANY.to_string())
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }

    pub(super) fn is_literal(&self) -> bool {
        !self.0.contains(ANY)
    }

    /// Returns `true` if the word may become no word.
    pub(super) fn may_vanish(&self) -> bool {
        !self.0.is_empty() && self.0.chars().all(|c| c == ANY)
    }

    /// The word with single quotes around it, if its end would not be clear without.
    pub(super) fn quoted(&self) -> String {
        let unclear = |c: char| c.is_whitespace() || "'\"\\|&;<>()".contains(c);
        match self.0.is_empty() || self.0.contains(unclear) {
            true => format!("'{}'", self.0.replace('\'', r"'\''")),
            false => self.0.clone(),
        }
    }
}

/// Returns `true` for the kinds of nodes that are words.
pub(super) fn is_word(kind: &str) -> bool {
    matches!(
        kind,
        "word"
            | "number"
            | "string"
            | "raw_string"
            | "ansi_c_string"
            | "concatenation"
            | "simple_expansion"
            | "expansion"
            | "command_substitution"
            | "process_substitution"
            | "arithmetic_expansion"
            | "brace_expression"
            | "extglob_pattern"
            | "regex"
            | "$"
    )
}

impl Walk<'_> {
    /// Returns a word after quote removal. The commands of substitutions in it become steps.
    pub(super) fn word(&mut self, node: Node<'_>) -> Result<Word, Unclear> {
        let mut text = String::new();
        if self.text(node).is_empty() {
            return Err("a word is missing");
        }
        self.add_to_word(node, &mut text)?;
        if self.text(node).starts_with('#') {
            return Err("a word begins with `#`");
        }
        let opens = |part: Node<'_>| part.kind() == "word" && self.text(part).contains('{');
        let is_list =
            (opens(node) || children(node).any(opens)) && (text.contains(',') || text.contains(".."));
        Ok(if is_list { Word::any() } else { Word::new(text) })
    }

    fn add_to_word(&mut self, node: Node<'_>, text: &mut String) -> Result<(), Unclear> {
        let source = self.text(node);
        match node.kind() {
            "word" | "number" if node.child_count() == 0 => unquoted(source, text)?,
            "raw_string" => text.push_str(between(source, "'", "'").ok_or("a quote does not end")?),
            "ansi_c_string" if self.dialect == Dialect::Bash && !source.contains('\\') => {
                text.push_str(between(source, "$'", "'").ok_or("a quote does not end")?);
            }
            "ansi_c_string" if self.dialect == Dialect::Bash => text.push(ANY),
            "string" => self.add_string(node, text)?,
            "concatenation" => {
                let mut end = node.start_byte();
                for child in children(node) {
                    if child.start_byte() != end {
                        return Err("there is a gap in a word");
                    }
                    end = child.end_byte();
                    self.add_to_word(child, text)?;
                }
            }
            "$" if self.ends_word(node.end_byte()) => text.push('$'),
            "brace_expression" | "extglob_pattern" | "regex" if is_plain_pattern(source) => text.push(ANY),
            _ => {
                self.expansion(node)?;
                text.push(ANY);
            }
        }
        Ok(())
    }

    /// Adds a text in double quotes, in which tree-sitter finds the expansions, but not all blanks between them.
    fn add_string(&mut self, node: Node<'_>, text: &mut String) -> Result<(), Unclear> {
        between(self.text(node), "\"", "\"").ok_or("a quote does not end")?;
        let (mut at, end) = (node.start_byte() + 1, node.end_byte() - 1);
        for child in children(node) {
            if matches!(child.kind(), "\"" | "string_content") {
                continue;
            }
            in_double_quotes(&self.source[at..child.start_byte()], text)?;
            self.expansion(child)?;
            text.push(ANY);
            at = child.end_byte();
        }
        in_double_quotes(self.source.get(at..end).ok_or("a quote does not end")?, text)
    }

    /// Takes an expansion apart: it may run commands.
    pub(super) fn expansion(&mut self, node: Node<'_>) -> Result<(), Unclear> {
        let source = self.text(node).trim_start();
        match node.kind() {
            "simple_expansion" if is_variable(source) => Ok(()),
            "simple_expansion" => Err("a variable is not understood"),
            "expansion" => self.parameter(node),
            "command_substitution" => {
                let inner = between(source, "`", "`");
                if source.starts_with('`') && inner.is_none_or(|inner| inner.contains(['`', '\\', '"'])) {
                    return Err("quotes in backticks are not understood");
                }
                if source.starts_with("$((") {
                    return Err("`$((` is not understood");
                }
                self.block(node)
            }
            "process_substitution" if self.dialect == Dialect::Bash => self.block(node),
            // Arithmetic evaluates the values of variables, which may run commands.
            "arithmetic_expansion" if is_arithmetic(source) => Ok(()),
            "arithmetic_expansion" => Err("arithmetic with variables is not understood"),
            _ => Err("a kind of expansion is not understood"),
        }
    }

    /// Takes `${…}` apart: forms that evaluate nothing but the parts that are found in them.
    fn parameter(&mut self, node: Node<'_>) -> Result<(), Unclear> {
        const NOT_UNDERSTOOD: Unclear = "a form of `${…}` is not understood";
        const OPERATORS: [&str; 18] = [
            ":-", "-", ":+", "+", ":?", "?", "#", "##", "%", "%%", "/", "//", "^", "^^", ",", ",,", "${", "}",
        ];
        let mut end = node.start_byte();
        for child in children(node) {
            if child.start_byte() != end {
                return Err(NOT_UNDERSTOOD);
            }
            end = child.end_byte();
            match child.kind() {
                "variable_name" | "special_variable_name" => {}
                "word" | "regex" | "number" if is_plain_pattern(self.text(child)) => {}
                "simple_expansion" | "command_substitution" => self.expansion(child)?,
                kind if OPERATORS.contains(&kind) => {}
                _ => return Err(NOT_UNDERSTOOD),
            }
        }
        let named = between(self.text(node), "${", "}").ok_or(NOT_UNDERSTOOD)?;
        match named.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '#') {
            true => Ok(()),
            false => Err(NOT_UNDERSTOOD),
        }
    }

    fn ends_word(&self, at: usize) -> bool {
        self.source[at..].chars().next().is_none_or(|next| " \t\n;|&)".contains(next))
    }
}

pub(super) fn between<'t>(text: &'t str, open: &str, close: &str) -> Option<&'t str> {
    text.strip_prefix(open)?.strip_suffix(close)
}

/// Adds a text outside of quotes.
fn unquoted(source: &str, text: &mut String) -> Result<(), Unclear> {
    let mut chars = source.chars();
    let mut before = None;
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped) if escaped != '\n' => text.push(escaped),
                Some(_) | None => return Err("a backslash is not understood"),
            },
            '\'' | '"' | '`' | '$' | '|' | '&' | ';' | '<' | '>' | '(' | ')' => {
                return Err("a word is not understood");
            }
            c if c.is_whitespace() => return Err("a word is not understood"),
            '*' | '?' | '[' => text.push(ANY),
            '~' if before.is_none_or(|before| before == ':' || before == '=') => text.push(ANY),
            c => text.push(c),
        }
        before = Some(c);
    }
    Ok(())
}

/// Adds a text in double quotes without its expansions.
fn in_double_quotes(source: &str, text: &mut String) -> Result<(), Unclear> {
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('\n')) => drop(chars.next()),
            ('\\', Some('$' | '`' | '"' | '\\')) => text.extend(chars.next()),
            ('"' | '`', _) => return Err("a quote is not understood"),
            ('$', next) if next != Some(&' ') => return Err("a `$` is not understood"),
            (c, _) => text.push(c),
        }
    }
    Ok(())
}

/// Returns `true` for `$name`, `$1`, `$?` and the like.
fn is_variable(source: &str) -> bool {
    let Some(name) = source.strip_prefix('$') else { return false };
    match name.as_bytes() {
        [special] if b"*@#?$!-_0123456789".contains(special) => true,
        _ => is_name(name),
    }
}

/// Returns `true` for the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns `true` for a pattern of file names that has neither quotes nor expansions.
pub(super) fn is_plain_pattern(source: &str) -> bool {
    source.chars().all(|c| c.is_ascii_alphanumeric() || "_-.*?/:,%+=@[]{}".contains(c))
}

fn is_arithmetic(source: &str) -> bool {
    let inner = between(source, "$((", "))");
    inner.is_some_and(|inner| inner.chars().all(|c| c.is_ascii_digit() || "+-*/%()<>=!&|^~?: \t".contains(c)))
}
