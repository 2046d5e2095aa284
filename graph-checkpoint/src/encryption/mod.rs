//! Encryption: texts are encrypted when they are written, and decrypted when they are read.
//!
//! An encrypted text is `~`, the number of its key in the table `seal`, a full stop, and in base64 a random nonce of 24
//! bytes, the ciphertext of XChaCha20-Poly1305 and its tag. A long text is the same bytes without base64. The
//! authenticated data are the file's own id and the [`Cell`] of the text. No JSON text begins with `~`.
//!
//! A file has an id and a secret, both random. The cipher's key is derived from a key of the program and the file's id.
//! The secret, which keys the hashes of long texts, is stored encrypted with each key in use. A key is the right one if
//! it decrypts the secret.

mod cell;
mod keys;
pub(crate) mod text;

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use chacha20poly1305::{KeyInit, XChaCha20Poly1305};
use superstep_core::checkpoint::StoreError;
use zeroize::Zeroizing;

#[cfg(feature = "sqlite")]
pub(crate) use self::cell::MARK;
pub(crate) use self::cell::{Cell, is_sealed};
pub use self::keys::{Key, KeyError, KeyId, KeyRing, Keys};

/// The keys of a file, for all connections to it.
pub(crate) type SharedKeys = Arc<dyn Keys>;

/// The context for deriving the cipher's keys.
const CIPHER_KEY: &str = "superstep checkpoint file 2026-11 key of sealed texts";

/// Returns the text of a secret, which is encrypted with each key in use.
pub(crate) fn secret_text(secret: &Zeroizing<[u8; 32]>) -> Zeroizing<String> {
    Zeroizing::new(STANDARD_NO_PAD.encode(**secret))
}

/// Returns the secret of a decrypted text.
pub(crate) fn secret_of(text: &Zeroizing<String>) -> Option<Zeroizing<[u8; 32]>> {
    let bytes = STANDARD_NO_PAD.decode(&**text).ok().map(Zeroizing::new)?;
    Some(Zeroizing::new(bytes.as_slice().try_into().ok()?))
}

/// Returns random bytes.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Io(Box::new(error)))?;
    Ok(bytes)
}

pub(crate) fn cipher(key: &Key, file: &[u8; 16]) -> XChaCha20Poly1305 {
    let mut derived = blake3::Hasher::new_derive_key(CIPHER_KEY);
    derived.update(key.bytes()).update(file);
    let derived = Zeroizing::new(*derived.finalize().as_bytes());
    XChaCha20Poly1305::new((&*derived).into())
}
