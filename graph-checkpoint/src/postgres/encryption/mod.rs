//! Encryption of a schema. The cipher, the cells and the keys are those of [encrypted files](crate::encryption).
//!
//! An encrypted text is `~`, the name of its key, a full stop, and in base64 a random nonce of 24 bytes, the ciphertext and
//! its tag. The authenticated data are the schema's own id and the [`Cell`] of the text. The table `encryption` has a row for
//! each key: the schema's secret, which keys its hashes, encrypted with the key. A schema without rows there is not encrypted;
//! constraints on its tables let it have no encrypted texts, and an encrypted one no plain texts.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

use chacha20poly1305::XChaCha20Poly1305;
use superstep_core::checkpoint::{KeyProblem, StoreError};
use tokio_postgres::{Client, Row};
use zeroize::Zeroizing;

use super::call::Call;
use super::database::Database;
use super::error::{Fault, PostgresError};
use crate::encryption::{Cell, KeyId, SharedKeys, cipher, random, secret_of, secret_text, text};
use crate::error::{corrupt, keys as wrong};

/// The keys and the secret of an encrypted schema.
pub(crate) struct Encryption {
    keys: SharedKeys,
    /// The name of the schema in errors.
    name: String,
    schema: [u8; 16],
    secret: Zeroizing<[u8; 32]>,
    /// The key that encrypts.
    current: KeyId,
    /// `true` if the table named it when the keys were read.
    is_named: bool,
    ciphers: Mutex<HashMap<KeyId, Arc<XChaCha20Poly1305>>>,
}

/// A row of the table `encryption`.
struct Proof {
    key: KeyId,
    schema: [u8; 16],
    proof: String,
}

const PROOFS: &str = "SELECT e.key, e.schema, e.proof FROM @.encryption e ORDER BY e.added DESC, e.key";

const ADD: &str = "
INSERT INTO @.encryption(key, schema, proof) SELECT $1, $2, $3
WHERE NOT EXISTS (SELECT 1 FROM @.encryption e WHERE e.schema <> $2) ON CONFLICT DO NOTHING";

impl Proof {
    fn read(row: &Row) -> Result<Self, StoreError> {
        let bad = |error: tokio_postgres::Error| StoreError::from(PostgresError::Answer(error.to_string()));
        let key: &[u8] = row.try_get(0).map_err(bad)?;
        let key = std::str::from_utf8(key).map_err(|error| corrupt("the name of a key", error))?;
        let schema: &[u8] = row.try_get(1).map_err(bad)?;
        let schema =
            schema.try_into().map_err(|_| corrupt("the table of keys", "its id has another length"))?;
        Ok(Self { key: key.into(), schema, proof: row.try_get(2).map_err(bad)? })
    }

    fn cell(key: &KeyId) -> Cell {
        Cell::of("encryption", "proof").text(key.as_str())
    }
}

impl Encryption {
    /// Returns the encryption of a schema; `None` if it is not encrypted and there are no keys.
    pub(crate) async fn find(
        database: &Database,
        client: &Client,
        keys: Option<&SharedKeys>,
    ) -> Result<Option<Self>, Fault> {
        let rows = database.on(client, &Call::query(PROOFS)).await?;
        let proofs: Vec<Proof> = rows.iter().map(Proof::read).collect::<Result<_, _>>()?;
        let name = database.name();
        let (Some(first), Some(keys)) = (proofs.first(), keys) else {
            let problem = match (proofs.first(), keys) {
                (None, None) => return Ok(None),
                (None, Some(_)) => KeyProblem::NotEncrypted,
                (Some(first), _) => KeyProblem::NoKeys { key: first.key.to_string() },
            };
            return Err(wrong(&name, problem).into());
        };
        let schema = first.schema;
        if proofs.iter().any(|proof| proof.schema != schema) {
            return Err(corrupt("the table of keys", "its rows are of several schemas").into());
        }
        // One right key is enough. The others are requested when they are needed.
        let mut lacking = None;
        for proof in &proofs {
            match keys.key(&proof.key) {
                Err(reason) => {
                    let (key, reason) = (proof.key.to_string(), reason.to_string());
                    lacking.get_or_insert(KeyProblem::Lacking { key, reason });
                }
                Ok(key) => {
                    let cipher = cipher(&key, &schema);
                    let cell = authenticated(&schema, &Proof::cell(&proof.key));
                    let opened = text::open(&cipher, &proof.proof, &cell);
                    let secret = opened.and_then(|text| secret_of(&Zeroizing::new(text)));
                    let wrong_key = || wrong(&name, KeyProblem::WrongKey { key: proof.key.to_string() });
                    let secret = secret.ok_or_else(wrong_key)?;
                    let known = HashMap::from([(proof.key.clone(), Arc::new(cipher))]);
                    let (keys, ciphers) = (Arc::clone(keys), Mutex::new(known));
                    let current = keys.current();
                    let is_named = proofs.iter().any(|proof| proof.key == current);
                    return Ok(Some(Self { keys, name, schema, secret, current, is_named, ciphers }));
                }
            }
        }
        Err(wrong(&name, lacking.expect("there is a row, and its key is lacking")).into())
    }

    /// Creates the encryption of a schema that has none. [`add_current`](Self::add_current) stores it.
    pub(crate) fn new(database: &Database, keys: &SharedKeys) -> Result<Self, StoreError> {
        let (schema, secret) = (random()?, Zeroizing::new(random()?));
        let current = keys.current();
        let (name, ciphers) = (database.name(), Mutex::default());
        Ok(Self { keys: Arc::clone(keys), name, schema, secret, current, is_named: false, ciphers })
    }

    /// Names the current key in the table, if it is not there yet.
    pub(crate) async fn add_current(&self, database: &Database, client: &Client) -> Result<(), Fault> {
        if self.is_named {
            return Ok(());
        }
        if self.current.as_str().contains('\0') {
            let problem = "the name of the current key contains a zero byte, which Postgres cannot store";
            return Err(StoreError::from(PostgresError::Other(problem.into())).into());
        }
        let cipher = self.cipher(&self.current)?;
        let cell = authenticated(&self.schema, &Proof::cell(&self.current));
        let proof = text::encrypt(&cipher, String::new(), &secret_text(&self.secret), &cell)?;
        let call = Call::query(ADD).name(self.current.as_str()).bytes(Some(&self.schema)).text(proof);
        database.on(client, &call).await.map(drop)
    }

    pub(crate) fn encrypt(&self, cell: &Cell, text: &str) -> Result<String, StoreError> {
        let cipher = self.cipher(&self.current)?;
        text::encrypt(&cipher, self.current_prefix(), text, &authenticated(&self.schema, cell))
    }

    pub(crate) fn decrypt(
        &self,
        cell: &Cell,
        stored: &str,
        what: impl Display,
    ) -> Result<String, StoreError> {
        let Some((key, sealed)) = stored.strip_prefix('~').and_then(|stored| stored.rsplit_once('.')) else {
            const REASON: &str = "it is not encrypted; it was changed, or the schema was decrypted after this program opened it";
            return Err(corrupt(what, REASON));
        };
        let cipher = self.cipher(&key.into())?;
        text::open(&cipher, sealed, &authenticated(&self.schema, cell)).ok_or_else(|| {
            corrupt(what, "it was changed, or was not encrypted for this place in this schema")
        })
    }

    /// Returns the beginning of texts that are encrypted with the current key.
    pub(crate) fn current_prefix(&self) -> String {
        format!("~{}.", self.current)
    }

    pub(crate) fn current(&self) -> &KeyId {
        &self.current
    }

    pub(crate) fn digest(&self, text: &str) -> blake3::Hash {
        blake3::keyed_hash(&self.secret, text.as_bytes())
    }

    /// Returns a random number, in place of the digest of a recorded result.
    pub(crate) fn number(&self) -> Result<u128, StoreError> {
        random().map(u128::from_le_bytes)
    }

    fn cipher(&self, key: &KeyId) -> Result<Arc<XChaCha20Poly1305>, StoreError> {
        let mut ciphers = self.ciphers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cipher) = ciphers.get(key) {
            return Ok(Arc::clone(cipher));
        }
        let given = self.keys.key(key).map_err(|reason| {
            let (key, reason) = (key.to_string(), reason.to_string());
            wrong(&self.name, KeyProblem::Lacking { key, reason })
        })?;
        let cipher = Arc::new(cipher(&given, &self.schema));
        ciphers.insert(key.clone(), Arc::clone(&cipher));
        Ok(cipher)
    }
}

fn authenticated(schema: &[u8; 16], cell: &Cell) -> Vec<u8> {
    [schema, cell.as_bytes()].concat()
}
