//! The output of a command.

use std::collections::VecDeque;

/// The number of bytes kept of the beginning, and of the end.
const KEPT: usize = 20_000;

/// The output of a command: all of it if it is short, otherwise its beginning and its end. The beginning shows what the
/// output is, and the end shows how the command ended.
#[derive(Debug, Default)]
pub(super) struct Output {
    begin: Vec<u8>,
    end: VecDeque<u8>,
    bytes: u64,
}

impl Output {
    pub(super) fn push(&mut self, more: &[u8]) {
        self.bytes += more.len() as u64;
        let (first, rest) = more.split_at(more.len().min(KEPT - self.begin.len()));
        self.begin.extend_from_slice(first);
        // Only the last of what is much would stay.
        self.end.extend(&rest[rest.len().saturating_sub(KEPT)..]);
        self.end.drain(..self.end.len().saturating_sub(KEPT));
    }

    /// Returns the number of bytes printed.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of bytes printed but not kept.
    pub(super) fn missing(&self) -> u64 {
        self.bytes - (self.begin.len() + self.end.len()) as u64
    }

    pub(super) fn into_text(mut self) -> String {
        let missing = self.missing();
        let mut bytes = self.begin;
        if missing > 0 {
            bytes.extend(format!("\n[… {missing} bytes left out …]\n").into_bytes());
        }
        bytes.extend(self.end.make_contiguous().iter());
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_much_is_left_out_and_counted() {
        for piece in [1, 7, 30_000, 70_000] {
            let mut output = Output::default();
            let all: Vec<u8> = (0..70_000_u32).map(|number| b'a' + (number % 26) as u8).collect();
            all.chunks(piece).for_each(|piece| output.push(piece));
            assert_eq!((output.bytes(), output.missing()), (70_000, 30_000));
            let text = String::from_utf8(all).unwrap();
            let shown = format!("{}\n[… 30000 bytes left out …]\n{}", &text[..KEPT], &text[50_000..]);
            assert!(output.into_text() == shown, "in pieces of {piece}");
        }
    }

    #[test]
    fn all_of_little_stays() {
        let mut output = Output::default();
        output.push(&[b'a'; 30_000]);
        output.push(&[b'b'; 10_000]);
        assert_eq!(output.missing(), 0);
        let text = output.into_text();
        assert_eq!((text.len(), text.matches('b').count()), (40_000, 10_000));
    }
}
