//! Identifies a file by its first bytes, even if SQLite cannot read the rest.

use std::io::{self, Read};
use std::path::Path;

/// Marks a checkpoint file in SQLite's header: "SSTP".
pub(crate) const APPLICATION_ID: u32 = 0x5353_5450;

/// The first bytes of every SQLite file.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// The position in the header of the application's id, in big-endian order.
const APPLICATION_ID_AT: usize = 68;

/// The position in the header of the version of the format.
const FORMAT_AT: usize = 60;

/// Returns the format of the file at `path`, whether it is damaged or not, if it begins like a checkpoint file.
///
/// Opens and closes the file: see [`is_ours`].
pub(crate) fn format(path: &Path) -> io::Result<Option<u32>> {
    let mut header = [0; APPLICATION_ID_AT + 4];
    match std::fs::File::open(path)?.read_exact(&mut header) {
        Ok(()) if !(header.starts_with(MAGIC) && header.ends_with(&APPLICATION_ID.to_be_bytes())) => Ok(None),
        Ok(()) => {
            let mut format = [0; 4];
            format.copy_from_slice(&header[FORMAT_AT..FORMAT_AT + 4]);
            Ok(Some(u32::from_be_bytes(format)))
        }
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns `true` if the file at `path` begins like a checkpoint file, whether it is damaged or not.
///
/// Opens and closes the file, which releases the locks that this process holds on it. Call it only for files that no
/// connection of this process works with.
pub(crate) fn is_ours(path: &Path) -> io::Result<bool> {
    Ok(format(path)?.is_some())
}
