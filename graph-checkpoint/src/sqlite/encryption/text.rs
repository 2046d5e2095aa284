//! The number of a key before an encrypted text.

use chacha20poly1305::XChaCha20Poly1305;
use superstep_core::checkpoint::StoreError;

use crate::encryption::MARK;
use crate::encryption::text::sealed_behind;

/// Returns the prefix of texts that are encrypted with the key of this number.
pub(super) fn prefix(number: i64) -> String {
    format!("{MARK}{number}.")
}

/// Splits an encrypted text into the number of its key and the rest.
pub(super) fn parts(stored: &str) -> Option<(i64, &str)> {
    let (number, sealed) = stored.strip_prefix(MARK)?.split_once('.')?;
    Some((number.parse().ok()?, sealed))
}

/// Splits an encrypted text that is stored as bytes into the number of its key and the rest.
pub(super) fn parts_of_bytes(stored: &[u8]) -> Option<(i64, &[u8])> {
    let end = stored.iter().position(|byte| *byte == b'.')?;
    let (prefix, sealed) = (std::str::from_utf8(&stored[..=end]).ok()?, &stored[end + 1..]);
    Some((parts(prefix)?.0, sealed))
}

/// Encrypts a text as bytes.
pub(super) fn encrypt_as_bytes(
    cipher: &XChaCha20Poly1305,
    number: i64,
    text: &str,
    authenticated: &[u8],
) -> Result<Vec<u8>, StoreError> {
    sealed_behind(prefix(number), cipher, text, authenticated)
}
