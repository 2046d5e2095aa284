//! Files of variables.

use std::cell::Cell;
use std::io::{self, Read};

use dotenvy::Error;

/// Reads the variables of a file, in their order; otherwise why that cannot be done, without anything of what it holds.
pub(super) fn variables(file: &[u8]) -> Result<Vec<(String, String)>, String> {
    let taken = Cell::new(0);
    let file = file.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(file);
    let lines = Lines { rest: file, taken: &taken };
    dotenvy::from_read_iter(lines).collect::<Result<_, _>>().map_err(|error| match error {
        // Such files hold keys, and the error quotes what cannot be read: only its first line is shown.
        Error::LineParse(text, _) => {
            let line = (taken.get() + 1).saturating_sub(text.lines().count());
            format!("line {line} is not NAME=VALUE; a value with spaces takes quotes, and quotes have to end")
        }
        Error::Io(error) => error.to_string(),
        _ => "it is no file of variables".to_owned(),
    })
}

/// Gives a line at a time, so that no more are taken than were looked at.
struct Lines<'a> {
    rest: &'a [u8],
    taken: &'a Cell<usize>,
}

impl Read for Lines<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let line = self.rest.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
        let (given, rest) = self.rest.split_at(line.len().min(buffer.len()));
        buffer[..given.len()].copy_from_slice(given);
        self.rest = rest;
        if given.ends_with(b"\n") || (rest.is_empty() && !given.is_empty()) {
            self.taken.set(self.taken.get() + 1);
        }
        Ok(given.len())
    }
}
