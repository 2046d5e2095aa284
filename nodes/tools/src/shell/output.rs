//! The output of a command.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Seek, Write};

use superstep_nodes::tool::LongResults;

/// The number of bytes kept of the beginning, and of the end.
const KEPT: usize = 20_000;

/// The maximum number of bytes that are stored of a long output.
const STORED: u64 = 256 << 20;

/// The output of a command: all of it if it is short, otherwise its beginning and its end. The beginning shows what the
/// output is, and the end shows how the command ended.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// The number of bytes kept of the beginning, and of the end.
    kept: usize,
    begin: Vec<u8>,
    end: VecDeque<u8>,
    bytes: u64,
    /// The whole output, if it is long and is to be stored.
    whole: Whole,
}

/// The file with the whole output, which nothing else can open.
#[derive(Debug, Default)]
enum Whole {
    /// The output is not stored.
    #[default]
    NotStored,
    /// It is not long so far.
    Short,
    Long(File),
    Failed(io::Error),
}

impl Output {
    /// Output that is stored in this place if it is long.
    pub(super) fn new(place: Option<&dyn LongResults>) -> Self {
        // With room for the mark between the beginning and the end.
        let kept = place.map_or(KEPT, |place| KEPT.min(place.max_chars().saturating_sub(400) / 2));
        let whole = if place.is_some() { Whole::Short } else { Whole::NotStored };
        Self { kept, whole, ..Self::default() }
    }

    pub(super) fn push(&mut self, more: &[u8]) {
        self.write(more);
        self.bytes += more.len() as u64;
        let (first, rest) = more.split_at(more.len().min(self.kept - self.begin.len()));
        self.begin.extend_from_slice(first);
        // Only the last of what is much would stay.
        self.end.extend(&rest[rest.len().saturating_sub(self.kept)..]);
        self.end.drain(..self.end.len().saturating_sub(self.kept));
    }

    /// Writes output to the file, which begins with all that came before.
    fn write(&mut self, more: &[u8]) {
        let after = self.bytes + more.len() as u64;
        let written = match &mut self.whole {
            Whole::Short if after > 2 * self.kept as u64 => {
                let (one, other) = self.end.as_slices();
                tempfile::tempfile().and_then(|mut file| {
                    [&self.begin, one, other, more].into_iter().try_for_each(|part| file.write_all(part))?;
                    Ok(Some(file))
                })
            }
            Whole::Long(file) if after <= STORED => file.write_all(more).map(|()| None),
            _ => Ok(None),
        };
        match written {
            Ok(Some(file)) => self.whole = Whole::Long(file),
            Ok(None) => {}
            Err(error) => self.whole = Whole::Failed(error),
        }
    }

    /// Returns the number of bytes printed.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of bytes printed but not kept.
    pub(super) fn missing(&self) -> u64 {
        self.bytes - (self.begin.len() + self.end.len()) as u64
    }

    /// Returns the text, after the whole output was stored in this place.
    pub(super) fn into_text(mut self, place: Option<&dyn LongResults>) -> String {
        let missing = self.missing();
        let stored = match (std::mem::take(&mut self.whole), place) {
            (Whole::Long(mut file), Some(place)) => Some(file.rewind().and_then(|()| place.store(&mut file))),
            (Whole::Failed(error), _) => Some(Err(error)),
            _ => None,
        };
        let whole = match stored {
            None => String::new(),
            Some(Ok(path)) if self.bytes > STORED => {
                format!("; the first {} MiB are in {path}", STORED >> 20)
            }
            Some(Ok(path)) => format!("; the whole output is in {path}"),
            Some(Err(error)) => format!("; the whole output could not be stored: {error}"),
        };
        let mut bytes = self.begin;
        if missing > 0 {
            bytes.extend(format!("\n[… {missing} bytes left out{whole} …]\n").into_bytes());
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
            let mut output = Output::new(None);
            let all: Vec<u8> = (0..70_000_u32).map(|number| b'a' + (number % 26) as u8).collect();
            all.chunks(piece).for_each(|piece| output.push(piece));
            assert_eq!((output.bytes(), output.missing()), (70_000, 30_000));
            let text = String::from_utf8(all).unwrap();
            let shown = format!("{}\n[… 30000 bytes left out …]\n{}", &text[..KEPT], &text[50_000..]);
            assert!(output.into_text(None) == shown, "in pieces of {piece}");
        }
    }

    #[test]
    fn all_of_little_stays() {
        let mut output = Output::new(None);
        output.push(&[b'a'; 30_000]);
        output.push(&[b'b'; 10_000]);
        assert_eq!(output.missing(), 0);
        let text = output.into_text(None);
        assert_eq!((text.len(), text.matches('b').count()), (40_000, 10_000));
    }

    /// A place that keeps what is stored, of results with at most 10,000 characters.
    #[derive(Default)]
    struct Place(std::sync::Mutex<Vec<u8>>);

    impl LongResults for Place {
        fn max_chars(&self) -> usize {
            10_000
        }

        fn store(&self, text: &mut dyn superstep_nodes::tool::ReadSeek) -> io::Result<String> {
            let mut kept = self.0.lock().unwrap();
            text.read_to_end(&mut kept)?;
            Ok("a/b.txt".to_owned())
        }
    }

    #[test]
    fn s2_058_much_is_stored_whole_and_little_is_not() {
        let all: Vec<u8> = (0..70_000_u32).map(|number| b'a' + (number % 26) as u8).collect();
        for piece in [1, 7, 30_000, 70_000] {
            let place = Place::default();
            let mut output = Output::new(Some(&place));
            all.chunks(piece).for_each(|piece| output.push(piece));
            let text = output.into_text(Some(&place));
            assert!(*place.0.lock().unwrap() == all, "in pieces of {piece}");
            let mark = "\n[… 60400 bytes left out; the whole output is in a/b.txt …]\n";
            assert!(text.contains(mark) && text.chars().count() <= 10_000, "{}", text.len());
        }
        let place = Place::default();
        let mut output = Output::new(Some(&place));
        output.push(&all[..9_600]);
        assert_eq!(output.into_text(Some(&place)).len(), 9_600);
        assert!(place.0.lock().unwrap().is_empty());
    }
}
