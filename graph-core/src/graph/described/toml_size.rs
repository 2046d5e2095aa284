//! Checks the size of a description in TOML before it is parsed.

use alloc::vec::Vec;

use memchr::{memchr, memchr2};

use crate::state::{Excess, SizeLimits};

/// Checks a text against the limits. It counts an upper bound of the values and levels: each dot, comma, line and
/// bracket may be one.
pub(super) fn check(text: &str, limits: SizeLimits) -> Result<(), Excess> {
    if text.len() > limits.most_bytes() {
        return Err(Excess::Bytes(limits.most_bytes()));
    }
    let mut found = Found::default();
    let mut left = text.as_bytes();
    while let [byte, rest @ ..] = left {
        left = match byte {
            b'"' | b'\'' => after_text(*byte, rest),
            b'#' => &rest[memchr(b'\n', rest).unwrap_or(rest.len())..],
            _ => rest,
        };
        found.meet(*byte);
        if found.depth > SizeLimits::DEPTH {
            return Err(Excess::Depth(SizeLimits::DEPTH));
        }
        if found.values > limits.most_values() {
            return Err(Excess::Values(limits.most_values()));
        }
    }
    Ok(())
}

/// The counts and levels found so far.
struct Found {
    values: usize,
    /// The number of levels around the next value.
    depth: usize,
    /// The number of levels around the entries of the current table.
    of_table: usize,
    /// The numbers of levels around each open list and inline table.
    around: Vec<usize>,
    line: Line,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Empty,
    Header,
    Entry,
}

impl Default for Found {
    fn default() -> Self {
        Self { values: 1, depth: 1, of_table: 1, around: Vec::new(), line: Line::Empty }
    }
}

impl Found {
    fn meet(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' | b'\r' => return,
            b'\n' => {
                self.values += 1;
                if self.line == Line::Header {
                    self.of_table = self.depth;
                }
                self.depth = self.within();
                if self.around.is_empty() {
                    self.line = Line::Empty;
                }
                return;
            }
            b'.' => {
                self.values += 1;
                self.depth += 1;
            }
            b',' => {
                self.values += 1;
                self.depth = self.within();
            }
            // A header names a table by its full path; two brackets add an item to a list of tables.
            b'[' if self.line == Line::Empty => {
                self.values += 1;
                (self.line, self.depth) = (Line::Header, 2);
            }
            b'[' | b'{' => {
                self.values += 1;
                if self.line != Line::Header {
                    self.around.push(self.depth);
                }
                self.depth += 1;
            }
            b']' | b'}' if self.line != Line::Header => {
                self.depth = self.around.pop().unwrap_or(self.of_table);
            }
            _ => {}
        }
        if self.line == Line::Empty {
            self.line = Line::Entry;
        }
    }

    /// Returns the number of levels around the next item or entry.
    fn within(&self) -> usize {
        self.around.last().map_or(self.of_table, |around| around + 1)
    }
}

/// Returns the rest after the closing quotation mark, or the closing three, of a string.
fn after_text(mark: u8, text: &[u8]) -> &[u8] {
    let is_long = text.starts_with(&[mark, mark]);
    let mut left = if is_long { &text[2..] } else { text };
    // An escaped quotation mark does not end a string of this kind.
    let escape = if mark == b'"' { b'\\' } else { mark };
    while let Some(at) = memchr2(mark, escape, left) {
        if left[at] != mark {
            left = left.get(at + 2..).unwrap_or_default();
        } else if !is_long || left[at..].starts_with(&[mark; 3]) {
            return &left[at + if is_long { 3 } else { 1 }..];
        } else {
            left = &left[at + 1..];
        }
    }
    &[]
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    fn levels(value: &serde_json::Value) -> (usize, usize) {
        let inner: Vec<_> = match value {
            serde_json::Value::Array(items) => items.iter().map(levels).collect(),
            serde_json::Value::Object(members) => members.values().map(levels).collect(),
            _ => return (0, 1),
        };
        let deepest = inner.iter().map(|(depth, _)| *depth).max().unwrap_or_default();
        (1 + deepest, 1 + inner.iter().map(|(_, values)| *values).sum::<usize>())
    }

    /// Returns the number of values in a text: the lowest limit for which the check succeeds.
    fn values(text: &str) -> usize {
        let limits = SizeLimits::default();
        (1..1000).find(|most| check(text, limits.values(*most)).is_ok()).expect("some limit is enough")
    }

    fn deepest(text: &str) -> usize {
        let (mut found, mut deepest) = (Found::default(), 1);
        for byte in text.bytes() {
            found.meet(byte);
            deepest = deepest.max(found.depth);
        }
        deepest
    }

    #[test]
    fn no_text_has_more_than_is_counted() {
        for text in [
            "graph = \"g\"\nstart = [\"a\", \"b\"]\n",
            "[nodes.a]\nto = \"b\"\n[nodes.b]\nto = \"END\"\nretry = { attempts = 3, fixed_ms = 5 }\n",
            "[[joins]]\nof = [\"a\", \"b\"]\nto = \"c\"\n[[joins]]\nof = []\nto = \"d\"\n",
            "a.b.c.d = { e.f = [[1, 2], [3, { g.h = 4 }]] }\nb = 1\n",
            "  [ a . b ]\n c . d = [\n  [1], # not [[[[ this\n  [2],\n ]\n",
            "x = 1.5\ny = 2020-01-01T00:00:00.5Z\nz = '''it's [[[[\n'''\n",
        ] {
            let value: serde_json::Value = toml::from_str(text).unwrap();
            let (depth, count) = levels(&value);
            assert!(deepest(text) >= depth, "{} levels of {depth} in {text}", deepest(text));
            assert!(values(text) >= count, "{} values of {count} in {text}", values(text));
        }
    }

    #[test]
    fn what_is_in_texts_and_comments_does_not_count() {
        let full = "[".repeat(500) + &".,".repeat(500);
        for text in [
            format!("a = \"{full}\\\"{full}\"\n"),
            format!("a = '{full}\\'\n"),
            format!("a = \"\"\"\n{full}\"{full}\"\"{full}\\\"\"\"{full}\"\"\"\n"),
            format!("a = '''\n{full}''{full}'''\n"),
            format!("# {full}\na = 1\n"),
            format!("a = \"\" # {full}\n"),
            format!("\"{full}\".b = 1\n"),
        ] {
            assert!(values(&text) < 12, "{} values in {text}", values(&text));
            assert_eq!(check(&text, SizeLimits::default()), Ok(()), "{text}");
        }
        let texts = "p = \"a. b. c.\"\n".repeat(100);
        assert_eq!(check(&texts, SizeLimits::default()), Ok(()));
    }

    #[test]
    fn what_is_too_much_is_refused() {
        let limits = SizeLimits::default();
        let nested = |open: &str| format!("a = {}1\n", open.repeat(200));
        for text in [nested("["), nested("{a="), format!("a{} = 1", ".a".repeat(200)), nested("{a.a.a.a=")] {
            assert_eq!(check(&text, limits), Err(Excess::Depth(128)), "{text}");
        }
        assert_eq!(check("a = [1, 2]", limits.bytes(9)), Err(Excess::Bytes(9)));
        assert_eq!(check(&"a = [1, 2]\n".repeat(40), limits.values(50)), Err(Excess::Values(50)));
        assert_eq!(check(&format!("[a{}]\n b.c = 1\n", ".a".repeat(126)), limits), Err(Excess::Depth(128)));
    }
}
