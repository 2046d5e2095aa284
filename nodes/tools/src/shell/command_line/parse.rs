//! The walk through the syntax tree of a command line.

use tree_sitter::{Node, Parser};

use super::words::{Word, between, is_plain_pattern, is_word};
use super::{Access, Needs, Step};

/// The length in bytes above which a line is not taken apart.
const LONGEST: usize = 32 << 10;

/// The depth of the syntax tree, and of shells in shells, above which a line is not taken apart.
const DEEPEST: usize = 200;

/// The reason for which a construct cannot be taken apart.
pub(super) type Unclear = &'static str;

/// The language of a command line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Bash,
    /// That of `sh`, in which the extensions of bash mean something else.
    Posix,
}

/// A walk through one syntax tree.
pub(super) struct Walk<'s> {
    pub(super) source: &'s str,
    pub(super) dialect: Dialect,
    pub(super) depth: usize,
    pub(super) steps: Vec<Step>,
}

/// Takes a command line apart.
pub(super) fn parse(source: &str) -> Vec<Step> {
    parse_at(source, Dialect::Bash, 0)
}

pub(super) fn parse_at(source: &str, dialect: Dialect, depth: usize) -> Vec<Step> {
    let mut walk = Walk { source, dialect, depth, steps: Vec::new() };
    if let Err(reason) = walk.whole() {
        walk.steps.push(Step::Unclear(reason));
    }
    walk.steps
}

pub(super) fn children(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    (0..node.child_count()).filter_map(move |index| node.child(index))
}

/// The gaps between tokens that end no command, or may end one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gaps {
    Blanks,
    Lines,
}

impl<'s> Walk<'s> {
    pub(super) fn text(&self, node: Node<'_>) -> &'s str {
        &self.source[node.byte_range()]
    }

    fn whole(&mut self) -> Result<(), Unclear> {
        if self.source.len() > LONGEST || self.depth > DEEPEST {
            return Err("the command line is too long");
        }
        if self.source.contains(|c: char| c.is_control() && c != '\n' && c != '\t') {
            return Err("the command line has control characters");
        }
        let mut parser = Parser::new();
        let loaded = parser.set_language(&tree_sitter_bash::LANGUAGE.into());
        loaded.expect("the grammar is of a version that the library reads");
        let tree = parser.parse(self.source, None).ok_or("the command line cannot be parsed")?;
        let root = tree.root_node();
        if root.has_error() {
            self.steps.push(Step::Unclear("the command line cannot be parsed"));
        }
        self.block(root)?;
        let first = root.child(0).map_or(self.source.len(), |child| child.start_byte());
        self.gap(0, first, Gaps::Lines)?;
        self.gap(root.end_byte(), self.source.len(), Gaps::Lines)
    }

    /// Takes a node apart that holds commands. One that is not understood does not hide those beside it.
    pub(super) fn block(&mut self, node: Node<'_>) -> Result<(), Unclear> {
        self.depth += 1;
        let mut result = self.gaps(node, Gaps::Lines);
        if self.depth > DEEPEST {
            result = Err("the command line is nested too deeply");
        } else {
            for child in children(node) {
                if let Err(reason) = self.child(child) {
                    self.steps.push(Step::Unclear(reason));
                }
            }
        }
        self.depth -= 1;
        result
    }

    fn child(&mut self, node: Node<'_>) -> Result<(), Unclear> {
        match node.kind() {
            // The commands in it may still be denied.
            "ERROR" => self.block(node),
            "subshell" if self.text(node).starts_with("((") => Err("`((` is not understood"),
            "list"
            | "pipeline"
            | "compound_statement"
            | "subshell"
            | "if_statement"
            | "elif_clause"
            | "else_clause"
            | "while_statement"
            | "do_group"
            | "negated_command"
            | "redirected_statement"
            | "case_statement"
            | "case_item" => self.block(node),
            "for_statement" => {
                let name = node.child_by_field_name("variable").ok_or("a loop is not understood")?;
                let name = self.text(name).to_owned();
                self.assignment(name, Word::any());
                self.block(node)
            }
            "command" => self.command(node),
            "variable_assignment" => self.assignments([node]),
            "variable_assignments" => {
                self.gaps(node, Gaps::Blanks)?;
                self.assignments(children(node))
            }
            "declaration_command" | "unset_command" => self.declaration(node),
            "test_command" => self.test(node),
            "file_redirect" | "heredoc_redirect" | "herestring_redirect" => self.redirection(node),
            // The name of a loop's variable, which is taken above.
            "variable_name" => Ok(()),
            "comment" => self.comment(node),
            "extglob_pattern" => match is_plain_pattern(self.text(node)) {
                true => Ok(()),
                false => Err("a pattern is not understood"),
            },
            kind if is_word(kind) => self.word(node).map(drop),
            "|&" if self.dialect == Dialect::Posix => Err("`|&` is not understood"),
            ";" | "&" | "&&" | "||" | "|" | "|&" | "\n" | ";;" | ";&" | ";;&" | "(" | ")" | "{" | "}"
            | "!" | "`" | "$(" | "<(" | ">(" | "if" | "then" | "elif" | "else" | "fi" | "for" | "in"
            | "do" | "done" | "while" | "until" | "case" | "esac" => Ok(()),
            _ => Err("a construct is not understood"),
        }
    }

    /// Takes a simple command apart.
    fn command(&mut self, node: Node<'_>) -> Result<(), Unclear> {
        let gaps = self.gaps(node, Gaps::Blanks).and_then(|()| self.words_are_apart(node));
        let (mut words, mut assigned) = (Vec::new(), Vec::new());
        for child in children(node) {
            match child.kind() {
                "command_name" if child.child_count() == 1 => {
                    let name = child.child(0).ok_or("a command has no name")?;
                    words.push(self.word(name)?);
                }
                "variable_assignment" => assigned.push(self.variable(child)?),
                "file_redirect" | "herestring_redirect" => self.redirection(child)?,
                kind if is_word(kind) => words.push(self.word(child)?),
                _ => return Err("a construct in a command is not understood"),
            }
        }
        for (name, value) in assigned {
            self.steps.push(Step::Assignment { name, value, needs: Needs::Rule });
        }
        self.run(words);
        gaps
    }

    /// Takes assignments apart that hold for the rest of the line.
    fn assignments<'n>(&mut self, nodes: impl IntoIterator<Item = Node<'n>>) -> Result<(), Unclear> {
        for node in nodes {
            if node.kind() != "variable_assignment" {
                return Err("an assignment is not understood");
            }
            let (name, value) = self.variable(node)?;
            self.assignment(name, value);
        }
        Ok(())
    }

    /// Adds an assignment that holds for the rest of the line. A variable in small letters is one of the line's own,
    /// and no program knows it.
    pub(super) fn assignment(&mut self, name: String, value: Word) {
        let is_own = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
            && !name.ends_with("_proxy")
            && !name.starts_with("npm_")
            && name != "histchars";
        let needs = if is_own { Needs::Nothing } else { Needs::Rule };
        self.steps.push(Step::Assignment { name, value, needs });
    }

    /// Returns the name and the value of an assignment.
    pub(super) fn variable(&mut self, node: Node<'_>) -> Result<(String, Word), Unclear> {
        const NOT_UNDERSTOOD: Unclear = "an assignment is not understood";
        let parts: Vec<_> = children(node).collect();
        let (name, sign, value) = match parts[..] {
            [name, sign] => (name, sign, None),
            [name, sign, value] => (name, sign, Some(value)),
            _ => return Err(NOT_UNDERSTOOD),
        };
        let is_whole = name.end_byte() == sign.start_byte()
            && value.is_none_or(|value| sign.end_byte() == value.start_byte());
        if name.kind() != "variable_name" || !matches!(sign.kind(), "=" | "+=") || !is_whole {
            return Err(NOT_UNDERSTOOD);
        }
        let text = match value {
            None => Word::new(""),
            Some(value) if is_word(value.kind()) => self.word(value)?,
            Some(_) => return Err(NOT_UNDERSTOOD),
        };
        Ok((self.text(name).to_owned(), text))
    }

    /// Takes a redirection apart.
    fn redirection(&mut self, node: Node<'_>) -> Result<(), Unclear> {
        if node.kind() == "heredoc_redirect" {
            return self.here_document(node);
        }
        self.gaps(node, Gaps::Blanks)?;
        let mut parts = children(node).peekable();
        let descriptor = parts.next_if(|part| part.kind() == "file_descriptor");
        if descriptor.is_some_and(|node| !self.text(node).bytes().all(|byte| byte.is_ascii_digit())) {
            return Err("a redirection is not understood");
        }
        let sign = parts.next().ok_or("a redirection is not understood")?.kind();
        let (Some(target), None) = (parts.next(), parts.next()) else {
            let closes = matches!(sign, ">&-" | "<&-");
            return if closes { Ok(()) } else { Err("a redirection is not understood") };
        };
        let path = self.word(target)?;
        let duplicates = || !path.text().is_empty() && path.text().bytes().all(|it| it.is_ascii_digit());
        let access = match sign {
            "<<<" | "&>" | "&>>" if self.dialect == Dialect::Posix => {
                return Err("a redirection is not understood");
            }
            "<<<" => return Ok(()),
            ">&" | "<&" if duplicates() || path.text() == "-" => return Ok(()),
            "<" => Access::Read,
            ">" | ">>" | ">|" | "&>" | "&>>" | ">&" => Access::Write,
            _ => return Err("a redirection is not understood"),
        };
        self.steps.push(Step::File { access, path });
        Ok(())
    }

    /// Takes a here-document apart, and checks that it ends where bash ends it.
    fn here_document(&mut self, node: Node<'_>) -> Result<(), Unclear> {
        const NOT_UNDERSTOOD: Unclear = "a here-document is not understood";
        let parts: Vec<_> = children(node).collect();
        let find = |kind| parts.iter().find(|part| part.kind() == kind).copied();
        let (start, end) = (find("heredoc_start"), find("heredoc_end"));
        let (start, end) = (start.ok_or(NOT_UNDERSTOOD)?, end.ok_or(NOT_UNDERSTOOD)?);
        let quoted = ["'", "\""].into_iter().find_map(|quote| between(self.text(start), quote, quote));
        let delimiter = quoted.unwrap_or(self.text(start));
        if delimiter.is_empty() || !delimiter.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            return Err(NOT_UNDERSTOOD);
        }
        let line = &self.source[start.end_byte()..];
        let line = &line[..line.find('\n').ok_or(NOT_UNDERSTOOD)?];
        let from = start.end_byte() + line.len() + 1;
        if line.contains("<<") || line.ends_with('\\') {
            return Err(NOT_UNDERSTOOD);
        }
        let tabs: &[char] = if find("<<-").is_some() { &['\t'] } else { &[] };
        let mut at = from;
        let body = self.source[from..].lines().find_map(|line| {
            let ends = line.trim_start_matches(tabs) == delimiter;
            let body = ends.then(|| (from..at, at + line.len()));
            at += line.len() + 1;
            body
        });
        let (body, ended) = body.ok_or(NOT_UNDERSTOOD)?;
        if ended != end.end_byte() {
            return Err(NOT_UNDERSTOOD);
        }
        let mut before = node.start_byte();
        for part in parts.iter().copied() {
            if part.end_byte() < from {
                self.gap(before, part.start_byte(), Gaps::Blanks)?;
                before = part.end_byte();
            }
            match part.kind() {
                "heredoc_body" if quoted.is_none() => self.expansions_in(part, body.clone())?,
                "heredoc_body" | "heredoc_end" | "heredoc_start" | "<<" | "<<-" => {}
                _ if part.end_byte() > from => return Err(NOT_UNDERSTOOD),
                "file_descriptor" => {}
                kind if is_word(kind) => return Err(NOT_UNDERSTOOD),
                _ => self.child(part)?,
            }
        }
        match quoted.is_none() && find("heredoc_body").is_none() && !body.is_empty() {
            true => Err(NOT_UNDERSTOOD),
            false => Ok(()),
        }
    }

    /// Takes the expansions of a here-document apart, and checks that there are no others.
    fn expansions_in(&mut self, node: Node<'_>, body: std::ops::Range<usize>) -> Result<(), Unclear> {
        let mut rest = String::new();
        let mut at = body.start;
        for child in children(node).filter(|child| child.kind() != "heredoc_content") {
            rest.push_str(
                self.source.get(at..child.start_byte()).ok_or("a here-document is not understood")?,
            );
            rest.push(' ');
            self.expansion(child)?;
            at = child.end_byte();
        }
        rest.push_str(self.source.get(at..body.end).ok_or("a here-document is not understood")?);
        match rest.contains(['$', '`', '\\']) {
            true => Err("an expansion in a here-document is not understood"),
            false => Ok(()),
        }
    }

    /// Checks that bash takes a text for a comment, too: a `#` begins one only at the start of a word.
    fn comment(&self, node: Node<'_>) -> Result<(), Unclear> {
        let before = self.source[..node.start_byte()].chars().next_back();
        let begins = before.is_none_or(|before| " \t\n;&|()".contains(before));
        let text = self.text(node);
        match begins && text.starts_with('#') && !text.contains('\n') {
            true => Ok(()),
            false => Err("a comment is not understood"),
        }
    }

    /// Checks that words have blanks between them.
    fn words_are_apart(&self, node: Node<'_>) -> Result<(), Unclear> {
        let parts: Vec<_> = children(node).collect();
        let is_part = |kind: &str| is_word(kind) || matches!(kind, "command_name" | "variable_assignment");
        let touch = parts.windows(2).any(|pair| {
            pair[0].end_byte() == pair[1].start_byte() && pair.iter().all(|part| is_part(part.kind()))
        });
        if touch { Err("two words have no blank between them") } else { Ok(()) }
    }

    /// Checks the text between the parts of a node. Tree-sitter skips more there than bash does.
    fn gaps(&self, node: Node<'_>, allowed: Gaps) -> Result<(), Unclear> {
        let mut end = node.start_byte();
        for child in children(node) {
            self.gap(end, child.start_byte(), allowed)?;
            // A token may begin with the blanks before it.
            end = child.end_byte();
        }
        self.gap(end, node.end_byte(), allowed)
    }

    fn gap(&self, from: usize, to: usize, allowed: Gaps) -> Result<(), Unclear> {
        let mut gap = self.source.get(from..to).unwrap_or_default();
        let mut before = self.source[..from].chars().next_back();
        while let Some(c) = gap.chars().next() {
            let ends_token = before.is_none_or(|before| " \t\n;&|()".contains(before));
            let length = match c {
                ' ' | '\t' => 1,
                '\n' if allowed == Gaps::Lines => 1,
                // Bash removes it, so it must not stand within a word.
                '\\' if gap[1..].starts_with('\n') && ends_token => 2,
                _ => return Err("the blanks between words are not understood"),
            };
            before = gap[..length].chars().next_back();
            gap = &gap[length..];
        }
        Ok(())
    }
}
