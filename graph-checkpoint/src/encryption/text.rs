//! The form of encrypted texts: text for short ones, bytes for long ones.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use chacha20poly1305::{AeadInOut, Tag, XChaCha20Poly1305, XNonce};
use superstep_core::checkpoint::StoreError;

use super::random;
use crate::error::corrupt;

const NONCE: usize = 24;
const TAG: usize = 16;

/// Encrypts a text; `stored` is its prefix.
pub(crate) fn encrypt(
    cipher: &XChaCha20Poly1305,
    mut stored: String,
    text: &str,
    authenticated: &[u8],
) -> Result<String, StoreError> {
    let sealed = sealed_behind(String::new(), cipher, text, authenticated)?;
    STANDARD_NO_PAD.encode_string(&sealed, &mut stored);
    Ok(stored)
}

/// Returns the nonce, the ciphertext and the tag, after a prefix.
pub(crate) fn sealed_behind(
    prefix: String,
    cipher: &XChaCha20Poly1305,
    text: &str,
    authenticated: &[u8],
) -> Result<Vec<u8>, StoreError> {
    let nonce: [u8; NONCE] = random()?;
    let mut sealed = prefix.into_bytes();
    sealed.reserve_exact(NONCE + text.len() + TAG);
    sealed.extend_from_slice(&nonce);
    let begin = sealed.len();
    sealed.extend_from_slice(text.as_bytes());
    let tag = cipher
        .encrypt_inout_detached(&XNonce::from(nonce), authenticated, (&mut sealed[begin..]).into())
        .map_err(|_| corrupt("a text", "it is too long to be encrypted"))?;
    sealed.extend_from_slice(&tag);
    Ok(sealed)
}

/// Decrypts a text; `None` if it was encrypted with another key or for another cell, or was changed.
pub(crate) fn open(cipher: &XChaCha20Poly1305, sealed: &str, authenticated: &[u8]) -> Option<String> {
    open_bytes(cipher, STANDARD_NO_PAD.decode(sealed).ok()?, authenticated)
}

/// Decrypts a text that is stored as bytes, like [`open`].
pub(crate) fn open_bytes(
    cipher: &XChaCha20Poly1305,
    mut sealed: Vec<u8>,
    authenticated: &[u8],
) -> Option<String> {
    let end = sealed.len().checked_sub(TAG).filter(|end| *end >= NONCE)?;
    let nonce: [u8; NONCE] = sealed[..NONCE].try_into().ok()?;
    let tag = Tag::try_from(&sealed[end..]).ok()?;
    let text = &mut sealed[NONCE..end];
    cipher.decrypt_inout_detached(&XNonce::from(nonce), authenticated, text.into(), &tag).ok()?;
    sealed.truncate(end);
    sealed.drain(..NONCE);
    String::from_utf8(sealed).ok()
}
