//! The node that reads the photograph's file.

use std::io;

use superstep::error::NodeError;
use superstep::node::Snapshot;
use superstep::nodes::images::{ImageFileError, ImagePreparation, PreparedImage};
use superstep::nodes::message::{Content, Message, Part};

use super::state::{CriticState, CriticStateUpdate};

/// The id of the message with the photograph.
const MESSAGE: &str = "photo";

/// Prepares the photograph, and begins the conversation with it: one message of two parts.
pub(super) async fn begin(
    state: Snapshot<CriticState>,
    instructions: &str,
) -> Result<CriticStateUpdate, NodeError> {
    let photo = read(state.image_path.clone(), state.max_size).await.map_err(NodeError::terminal)?;
    let text = match instructions.trim() {
        "" => state.prompt.clone(),
        instructions => format!("{instructions}\n\n{}", state.prompt),
    };
    let image = Part::Image(photo.to_image(state.detail.into()));
    let asked = Message::human(MESSAGE, Content::from_iter([Part::text(text), image]));
    Ok(CriticState::update().messages([asked]))
}

/// Decodes the photograph on a thread for blocking work.
async fn read(path: String, max_size: u32) -> Result<PreparedImage, ImageFileError> {
    let preparation = ImagePreparation::new().max_size(max_size);
    let file = path.clone();
    let ending =
        || ImageFileError::Unreadable { path: path.into(), source: io::Error::other("the program ends") };
    tokio::task::spawn_blocking(move || preparation.read(file)).await.unwrap_or_else(|_| Err(ending()))
}
