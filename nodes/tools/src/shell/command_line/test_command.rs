//! Tests, `[ … ]` and `[[ … ]]`, and commands that declare variables.

use tree_sitter::Node;

use super::parse::{Dialect, Unclear, Walk, children};
use super::words::{Word, is_name, is_word};
use super::{Needs, Step};

/// Operators that compare texts or look at files. Those that compare numbers evaluate their operands.
const OPERATORS: [&str; 26] = [
    "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-p", "-r", "-s", "-t", "-u", "-w", "-x", "-L",
    "-O", "-G", "-S", "-N", "-n", "-z", "-ef", "-nt", "-ot",
];

impl Walk<'_> {
    /// Takes a test apart. It changes nothing, and its substitutions are parts of their own.
    pub(super) fn test(&mut self, node: Node<'_>) -> Result<(), Unclear> {
        let is_bash = self.text(node).starts_with("[[");
        if is_bash && self.dialect == Dialect::Posix {
            return Err("`[[` is not understood");
        }
        let words = vec![Word::new(if is_bash { "[[" } else { "[" }), Word::any()];
        self.steps.push(Step::Command { words, needs: Needs::Nothing });
        self.operands(node, is_bash)
    }

    fn operands(&mut self, node: Node<'_>, is_bash: bool) -> Result<(), Unclear> {
        const NOT_UNDERSTOOD: Unclear = "a test is not understood";
        let mut end = node.start_byte();
        for child in children(node) {
            let gap = &self.source[end..child.start_byte()];
            if gap.contains(|c| c != ' ') {
                return Err(NOT_UNDERSTOOD);
            }
            let text = self.text(child).trim();
            match child.kind() {
                "[" | "[[" | "]" | "]]" | "!" | "=" | "==" | "!=" => {}
                "&&" | "||" | "<" | ">" | "(" | ")" if is_bash => {}
                "test_operator" if OPERATORS.contains(&text) => {}
                "unary_expression" | "binary_expression" => self.operands(child, is_bash)?,
                "parenthesized_expression" if is_bash => self.operands(child, is_bash)?,
                // Without quotes `[` takes the text of a variable for operators, too.
                "simple_expansion" | "expansion" | "command_substitution" if !is_bash => {
                    return Err(NOT_UNDERSTOOD);
                }
                "extglob_pattern" | "regex" | "ansi_c_string" | "process_substitution" if !is_bash => {
                    return Err(NOT_UNDERSTOOD);
                }
                kind if is_word(kind)
                    && (!gap.is_empty()
                        || matches!(
                            node.kind(),
                            "unary_expression" | "binary_expression" | "parenthesized_expression"
                        )) =>
                {
                    self.word(child)?;
                }
                _ => return Err(NOT_UNDERSTOOD),
            }
            end = child.end_byte();
        }
        Ok(())
    }

    /// Takes `export`, `declare`, `readonly`, `local`, `typeset` and `unset` apart.
    pub(super) fn declaration(&mut self, node: Node<'_>) -> Result<(), Unclear> {
        const OPTIONS: [&str; 5] = ["-x", "-r", "-g", "-p", "-gx"];
        let mut words = Vec::new();
        let mut end = node.start_byte();
        for child in children(node) {
            let gap = &self.source[end..child.start_byte()];
            if gap.contains(|c| c != ' ') || (gap.is_empty() && !words.is_empty()) {
                return Err("a declaration is not understood");
            }
            end = child.end_byte();
            let text = self.text(child);
            match child.kind() {
                "variable_assignment" => {
                    let (name, value) = self.variable(child)?;
                    words.push(Word::new(format!("{name}={}", value.text())));
                    self.assignment(name, value);
                }
                "variable_name" if is_name(text) => words.push(Word::new(text)),
                "word" if OPTIONS.contains(&text) => words.push(Word::new(text)),
                kind if kind == text && is_name(kind) => words.push(Word::new(text)),
                _ => return Err("a declaration is not understood"),
            }
        }
        self.steps.push(Step::Command { words, needs: Needs::Rule });
        Ok(())
    }
}
