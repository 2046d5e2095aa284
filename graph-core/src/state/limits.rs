//! Limits on the size of a stored text, so that a small file cannot fill the memory of its reader.

use alloc::string::String;

use memchr::memchr2;

/// The maximum size of stored data, checked when it is written and when it is read.
///
/// The same limits apply to the state of a thread, all its fields together, and to each other record: a
/// checkpoint's record of its superstep, a result, a question, an answer, an effect. Larger data is rejected when
/// it is written, with [`StoreError::TooLarge`](crate::checkpoint::StoreError::TooLarge), and the thread stays as
/// it was. A reader with the writer's limits can therefore read everything that was written; a file with larger
/// data was made by another program.
///
/// | limit | default | why |
/// |---|---|---|
/// | bytes | [`BYTES`](Self::BYTES), 64 MiB | a text is in memory twice while it is folded or parsed, in addition to the decoded values |
/// | values | [`VALUES`](Self::VALUES), 1,048,576 | a value of two bytes takes up to 32 bytes as a `serde_json::Value`, and an object with one member 600 |
/// | levels | [`DEPTH`](Self::DEPTH), 128 | code that walks a value is recursive; this limit cannot be changed |
///
/// A value is a number, a text, a list, an object, `true`, `false` or `null`; the names of members do not count.
/// Both limits are reached at the same time with 64 bytes per value, so a log of messages reaches the limit of
/// bytes long before it has too many values. Store larger data in a file or another store, and its name in the
/// state; or raise the limits for all users of the file.
///
/// ```
/// use superstep_core::state::SizeLimits;
///
/// let limits = SizeLimits::default().bytes(256 << 20).values(8 << 20);
/// assert!(limits.check("[1, 2, 3]").is_ok());
/// assert!(limits.values(3).check("[1, 2, 3]").is_err(), "the list is a value, too");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeLimits {
    bytes: usize,
    values: usize,
    /// The number of additional levels that are allowed around the values.
    frame: usize,
}

/// The limit that a text exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Excess {
    /// The text has more bytes.
    #[error("more than {0} bytes")]
    Bytes(usize),
    /// The text has more values.
    #[error("more than {0} values")]
    Values(usize),
    /// The values are nested more deeply.
    #[error("more than {0} levels of lists and objects")]
    Depth(usize),
    /// The row is longer than any row that the store would write, so the store does not return it.
    #[error("more bytes than a row may have")]
    Row,
}

impl Excess {
    /// Returns a message with the exceeded limit and the way to raise it.
    pub(crate) fn allowed_by(self, raises: impl core::fmt::Display) -> String {
        match self {
            // This limit cannot be raised.
            Self::Depth(_) => alloc::format!("{self}, and this limit cannot be raised"),
            _ => alloc::format!("{self}; {raises} allows more"),
        }
    }
}

impl Default for SizeLimits {
    fn default() -> Self {
        Self { bytes: Self::BYTES, values: Self::VALUES, frame: 0 }
    }
}

/// The fraction of the limits that is reserved between writing and reading. A saver that does not know the size of
/// a state accepts up to 64 supersteps that each add less than a 64th of that part.
const MARGIN: usize = 32;

impl SizeLimits {
    /// The default limit of bytes.
    pub const BYTES: usize = 64 << 20;
    /// The default limit of values.
    pub const VALUES: usize = 1 << 20;
    /// The maximum nesting of a value: `serde_json` decodes self-describing types to no greater depth.
    pub const DEPTH: usize = 128;
    /// The maximum nesting of a value that a program writes; sixteen levels are reserved for the containers around
    /// it.
    pub const WRITTEN_DEPTH: usize = Self::DEPTH - Self::FRAME;
    /// The number of levels reserved for the containers around a stored value.
    const FRAME: usize = 16;

    /// Sets the maximum number of bytes.
    #[must_use]
    pub const fn bytes(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }

    /// Sets the maximum number of values.
    #[must_use]
    pub const fn values(self, values: usize) -> Self {
        Self { values, ..self }
    }

    /// Returns the maximum number of bytes.
    #[must_use]
    pub const fn most_bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the maximum number of values.
    #[must_use]
    pub const fn most_values(&self) -> usize {
        self.values
    }

    /// Returns the limits for a record: twice as many values, because the values in it are not checked one by one.
    #[must_use]
    pub const fn of_record(self) -> Self {
        Self { values: self.values.saturating_mul(2), frame: Self::FRAME, ..self }
    }

    /// Returns the limits for a document of many records, such as an exported thread: four times these.
    #[must_use]
    pub const fn of_document(self) -> Self {
        let (bytes, values) = (self.bytes.saturating_mul(4), self.values.saturating_mul(4));
        Self { bytes, values, frame: Self::FRAME }
    }

    /// Returns the limits for writing: a 32nd less, so that a state that reaches the limit can still be read.
    #[must_use]
    pub const fn to_write(self) -> Self {
        let (bytes, values) = (self.bytes - self.bytes / MARGIN, self.values - self.values / MARGIN);
        Self { bytes, values, ..self }
    }

    /// Returns the limits on the data that one superstep may add to a state of unknown size: a 64th of the part
    /// that [`to_write`](Self::to_write) reserves.
    #[must_use]
    pub const fn unseen(self) -> Self {
        let (bytes, values) = (self.bytes / MARGIN / 64, self.values / MARGIN / 64);
        Self { bytes, values, ..self }
    }

    /// Checks a text against the limits before it is parsed. If the text is not JSON, it is unspecified which limit
    /// the error names.
    ///
    /// # Errors
    /// Returns the limit that the text exceeds.
    pub fn check(&self, text: &str) -> Result<(), Excess> {
        if text.len() > self.bytes {
            return Err(Excess::Bytes(self.bytes));
        }
        shape(text, self.values, Self::DEPTH + self.frame)
    }

    /// Checks a text of this shape against the limits. Looks at the text only where the shape is beyond them.
    pub(crate) fn check_shape(&self, text: &str, shape: Shape) -> Result<(), Excess> {
        let is_small = shape.values <= self.values && shape.depth <= Self::DEPTH + self.frame;
        if is_small && text.len() <= self.bytes { Ok(()) } else { self.check(text) }
    }

    /// Checks a size against the limits.
    pub(crate) fn check_size(&self, size: Size) -> Result<(), Excess> {
        match size {
            Size { bytes, .. } if bytes > self.bytes => Err(Excess::Bytes(self.bytes)),
            Size { values, .. } if values > self.values => Err(Excess::Values(self.values)),
            _ => Ok(()),
        }
    }
}

/// The most values and levels that a text may have. It is known for a list whose parts were looked at one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    values: usize,
    depth: usize,
}

impl Shape {
    /// That of a text, or of items with commas between them. Commas and brackets in texts count.
    pub(crate) fn at_most(text: &str) -> Self {
        let Marks { commas, levels } = Marks::of(text);
        Self { values: 1 + commas + levels, depth: levels }
    }

    /// That of a list of the items of both.
    pub(crate) fn beside(self, other: Self) -> Self {
        Self { values: self.values.saturating_add(other.values), depth: self.depth.max(other.depth) }
    }

    /// That of a list of these items.
    pub(crate) fn within_list(self) -> Self {
        Self { values: self.values.saturating_add(1), depth: self.depth + 1 }
    }
}

/// The size of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) bytes: usize,
    pub(crate) values: usize,
}

impl Size {
    /// Returns an upper bound of the size of a text, close to its size. Commas inside strings count.
    pub(crate) fn at_most(text: &str) -> Self {
        let Marks { commas, levels } = Marks::of(text);
        Self { bytes: text.len(), values: 1 + commas + levels }
    }

    /// Returns the exact size of a JSON text.
    pub(crate) fn of(text: &str) -> Self {
        Self { bytes: text.len(), values: scan(text).values }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            values: self.values.saturating_add(other.values),
        }
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(other.bytes),
            values: self.values.saturating_sub(other.values),
        }
    }
}

/// Checks that a text is not nested too deeply.
pub(super) fn depth(text: &str, most: usize) -> Result<(), Excess> {
    shape(text, usize::MAX, most)
}

/// Reads as little of a text as necessary: each level takes at least two bytes, and so does each value.
fn shape(text: &str, values: usize, depth: usize) -> Result<(), Excess> {
    if text.len() / 2 < values.min(depth) {
        return Ok(());
    }
    let Marks { commas, levels } = Marks::of(text);
    if levels <= depth && commas + levels < values {
        return Ok(());
    }
    let found = scan(text);
    if found.depth > depth {
        return Err(Excess::Depth(depth));
    }
    if found.values > values { Err(Excess::Values(values)) } else { Ok(()) }
}

/// The numbers of characters that may mark values and levels, including those inside strings.
struct Marks {
    commas: usize,
    levels: usize,
}

impl Marks {
    fn of(text: &str) -> Self {
        Self {
            commas: count(text, |byte| byte == b','),
            // Matches both brackets, which differ in this bit.
            levels: count(text, |byte| byte | 0x20 == b'{'),
        }
    }
}

/// Counts the matching bytes. It counts in blocks small enough that each count fits into a byte, so that many bytes
/// are compared at once.
fn count(text: &str, is_meant: impl Fn(u8) -> bool) -> usize {
    const AT_ONCE: usize = 240;
    let blocks = text.as_bytes().chunks(AT_ONCE);
    blocks.map(|block| usize::from(block.iter().map(|byte| u8::from(is_meant(*byte))).sum::<u8>())).sum()
}

struct Scanned {
    values: usize,
    depth: usize,
}

/// Counts the values and the levels of a JSON text.
fn scan(text: &str) -> Scanned {
    let (mut values, mut depth, mut deepest) = (1, 0_usize, 0);
    let mut is_empty = false;
    let mut left = text.as_bytes();
    while let [byte, rest @ ..] = left {
        left = rest;
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => continue,
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                is_empty = false;
                continue;
            }
            _ => {}
        }
        values += usize::from(core::mem::take(&mut is_empty));
        match byte {
            b',' => values += 1,
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
                is_empty = true;
            }
            b'"' => left = after_string(rest),
            _ => {}
        }
    }
    Scanned { values, depth: deepest }
}

/// Returns the rest after the quotation mark that ends a string.
fn after_string(mut left: &[u8]) -> &[u8] {
    while let Some(at) = memchr2(b'"', b'\\', left) {
        if left[at] == b'"' {
            return &left[at + 1..];
        }
        // An escaped quotation mark does not end the string.
        left = left.get(at + 2..).unwrap_or_default();
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_levels_are_counted_as_they_are() {
        for (text, values, depth) in [
            ("1", 1, 0),
            ("[]", 1, 1),
            (" [ ] ", 1, 1),
            ("[1]", 2, 1),
            ("[1, [ ], {}]", 4, 2),
            (r#"{"a": "x,y[{\"", "b": [1, 2]}"#, 5, 2),
            (r#""\\""#, 1, 0),
            (r#"["\\", 1]"#, 3, 1),
            ("[[[[]]]]", 4, 4),
        ] {
            let found = scan(text);
            assert_eq!((found.values, found.depth), (values, depth), "{text}");
            assert!(Size::at_most(text).values >= values, "{text}");
        }
    }

    #[test]
    fn marks_are_counted_many_at_a_time_as_one_by_one() {
        let letters = [",", "[", "{", "]", "-", "+", ";", "{,", "\u{7b}\u{fb}", "\u{5b}", "\u{ac}", "a"];
        let mut text = String::new();
        let mut number = 7_usize;
        for _ in 0..2000 {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text.push_str(letters[(number >> 33) % letters.len()]);
            let found = Marks::of(&text);
            assert_eq!(found.commas, text.matches(',').count());
            assert_eq!(found.levels, text.matches(['[', '{']).count(), "{text}");
        }
    }

    #[test]
    fn what_is_at_the_limit_keeps_to_it() {
        let limits = SizeLimits::default().bytes(1000).values(100);
        let list = |items: usize, item: &str| alloc::format!("[{}]", alloc::vec![item; items].join(","));
        let nested = |levels| alloc::format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        for (text, expected) in [
            (list(99, "7"), Ok(())),
            (list(100, "7"), Err(Excess::Values(100))),
            (list(50, "\",,,,[\""), Ok(())),
            (alloc::format!("\"{}\"", "x".repeat(998)), Ok(())),
            (alloc::format!("\"{}\"", "x".repeat(999)), Err(Excess::Bytes(1000))),
            (nested(128).replace("[]", "[1,{},{}]"), Err(Excess::Depth(128))),
            (list(64, "[[]]"), Err(Excess::Values(100))),
        ] {
            assert_eq!(limits.check(&text), expected, "{text}");
        }
        assert_eq!(SizeLimits::default().check(&nested(128)), Ok(()));
        assert_eq!(SizeLimits::default().check(&nested(129)), Err(Excess::Depth(128)));
    }

    #[test]
    fn a_state_that_comes_to_the_limit_of_who_writes_keeps_to_that_of_who_reads() {
        let limits = SizeLimits::default();
        let unseen = limits.unseen();
        assert!(limits.to_write().most_bytes() + 64 * unseen.most_bytes() <= limits.most_bytes());
        assert!(limits.to_write().most_values() + 64 * unseen.most_values() <= limits.most_values());
        assert!(limits.to_write().most_values() > 1_000_000, "a list of a million texts is none too many");
    }
}
