//! The clients of all protocols against a server that is as strict as the providers are.

mod addresses;
mod assistant;
mod broken_turns;
mod clients;
mod conversations;
mod delivery;
mod embeddings;
mod failures;
mod handover;
mod images;
mod paused_turns;
mod secrets;
mod structured;
pub(crate) mod transcripts;
