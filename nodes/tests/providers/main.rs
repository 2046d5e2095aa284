//! The clients of all protocols against a server that is as strict as the providers are.

mod clients;
mod conversations;
mod delivery;
mod embeddings;
mod failures;
mod handover;
mod secrets;
