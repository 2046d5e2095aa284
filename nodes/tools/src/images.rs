//! The tools that make images.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep_nodes::__private::media_type;
use superstep_nodes::message::Image;
use superstep_nodes::model::{ImageModel, ImageRequest, ImageShape};
use superstep_nodes::tool::{
    InvalidInput, PermissionMatcher, ToolContext, ToolEffect, ToolFailure, ToolOutput,
};

use super::built_in::{BuiltIn, blocking, built_in};
use super::files_read::FilesRead;
use super::path_rule::path_matcher;
use super::text_file::shortened;
use super::workspace::{Workspace, display};
use super::write_file::{target, write};

/// The tool `generate_image`: has a model make an image, and writes it to a file of the workspace.
///
/// Each call costs what the model costs, and asks for permission like any call that changes something. The result says
/// the usage of the call in its data, and the budget of an assistant counts it.
#[derive(Clone, Debug)]
pub struct GenerateImage(Maker);

/// The tool `edit_image`: has a model change images of the workspace, or make a new one in their style, and writes the
/// result to a file. The originals stay.
///
/// Each call costs what the model costs, as of [`GenerateImage`].
#[derive(Clone, Debug)]
pub struct EditImage(Maker);

/// The input of [`GenerateImage`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GenerateImageInput {
    /// The file to write, relative to the workspace: its name ends with .png, .jpg, .jpeg or .webp.
    pub path: String,
    /// A description of the image.
    #[schemars(length(min = 1))]
    pub prompt: String,
    /// The shape of the image; by default the model chooses.
    pub shape: Option<ImageShape>,
}

/// The input of [`EditImage`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditImageInput {
    /// The images to change or to take the style from, relative to the workspace: PNG, JPEG or WebP, 16 at most.
    #[schemars(length(min = 1, max = 16))]
    pub sources: Vec<String>,
    /// The file to write, relative to the workspace: its name ends with .png, .jpg, .jpeg or .webp.
    pub path: String,
    /// A description of the change.
    #[schemars(length(min = 1))]
    pub prompt: String,
    /// The shape of the image; by default the model chooses.
    pub shape: Option<ImageShape>,
}

/// The model and the folder of a tool.
#[derive(Clone)]
struct Maker {
    workspace: Workspace,
    model: Arc<dyn ImageModel>,
}

/// The time limit of a call. Image models take minutes.
const TIME: Duration = Duration::from_secs(300);

/// The size in bytes above which an image is not sent to a model.
const MOST_BYTES: u64 = 20 << 20;

const MOST_SOURCES: usize = 16;

impl GenerateImage {
    /// The name of the tool.
    pub const NAME: &'static str = "generate_image";

    /// Makes a tool that writes the images of this model to a workspace.
    pub fn new(workspace: Workspace, model: impl ImageModel) -> Self {
        Self(Maker { workspace, model: Arc::new(model) })
    }
}

impl EditImage {
    /// The name of the tool.
    pub const NAME: &'static str = "edit_image";

    /// Makes a tool that has this model change images of a workspace.
    pub fn new(workspace: Workspace, model: impl ImageModel) -> Self {
        Self(Maker { workspace, model: Arc::new(model) })
    }
}

impl Maker {
    /// Checks, before anything is paid for, that the file can be written.
    async fn check(&self, path: &str, context: &ToolContext) -> Result<(), InvalidInput> {
        let extension = Path::new(path).extension().and_then(|it| it.to_str()).unwrap_or_default();
        if !["png", "jpg", "jpeg", "webp"].iter().any(|known| extension.eq_ignore_ascii_case(known)) {
            return Err(InvalidInput::new("the name of the file has to end with .png, .jpg, .jpeg or .webp"));
        }
        let check = async {
            let (folder, files) = (self.workspace.open(context)?, FilesRead::of(context));
            let path = path.to_owned();
            blocking(move || target(&folder, &files, &path, None).map(drop)).await
        };
        check.await.map_err(|refused| InvalidInput::new(refused.to_string()))
    }

    /// Reads images of the workspace.
    async fn read(&self, paths: Vec<String>, context: &ToolContext) -> Result<Vec<Image>, ToolFailure> {
        let folder = self.workspace.open(context)?;
        blocking(move || {
            let image = |path: &String| {
                let path = folder.resolve(path)?;
                let bytes = folder.read(&path, MOST_BYTES)?;
                let kind = media_type(&bytes).filter(|kind| *kind != "image/gif").ok_or_else(|| {
                    ToolFailure::new(format!("`{}` is no PNG, JPEG or WebP image", display(&path)))
                })?;
                Ok(Image::base64(kind, STANDARD.encode(bytes)))
            };
            paths.iter().map(image).collect()
        })
        .await
    }

    async fn make(
        &self,
        path: String,
        request: ImageRequest,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolFailure> {
        let made = self.model.make(request).await?;
        let kind = media_type(&made.bytes).ok_or_else(|| {
            ToolFailure::new(format!("the model `{}` returned no image of a known kind", self.model.name()))
        })?;
        let (folder, files) = (self.workspace.open(context)?, FilesRead::of(context));
        let stop = context.cancellation().clone();
        let model = self.model.name().to_owned();
        blocking(move || {
            let named = write(&folder, &files, &path, &made.bytes, &stop)?.named;
            let text = format!("{named} was written: {kind}, {} bytes.", made.bytes.len());
            let data = json!({
                "path": named, "media_type": kind, "bytes": made.bytes.len(), "model": model, "usage": made.usage,
            });
            Ok(ToolOutput::text(text).with_data(data))
        })
        .await
    }
}

#[async_trait]
impl BuiltIn for GenerateImage {
    type Input = GenerateImageInput;

    fn describe(&self) -> String {
        "Makes an image from a description and writes it to a file of the workspace: a new one, or one that you made or read. \
         It takes up to five minutes and costs money. Look at the result with `read_file`."
            .to_owned()
    }

    fn effect_of(&self, _: &GenerateImageInput) -> ToolEffect {
        ToolEffect::Changes
    }

    fn in_short(&self, input: &GenerateImageInput) -> String {
        format!("make the image {}: {}", input.path, shortened(&input.prompt, 1_000))
    }

    fn matcher(&self, input: &GenerateImageInput) -> Option<PermissionMatcher> {
        path_matcher(&input.path)
    }

    fn time(&self, _: &GenerateImageInput) -> Duration {
        TIME
    }

    fn paid_model(&self) -> Option<&str> {
        Some(self.0.model.name())
    }

    async fn validate(&self, input: &GenerateImageInput, context: &ToolContext) -> Result<(), InvalidInput> {
        self.0.check(&input.path, context).await
    }

    async fn run(&self, input: GenerateImageInput, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let GenerateImageInput { path, prompt, shape } = input;
        self.0.make(path, ImageRequest { prompt, shape, sources: Vec::new() }, context).await
    }
}

built_in!(GenerateImage);

#[async_trait]
impl BuiltIn for EditImage {
    type Input = EditImageInput;

    fn describe(&self) -> String {
        "Makes an image from up to 16 images of the workspace and a description: changes them, puts them together, or takes \
         over their style. Writes the result to a file and leaves the originals. It takes up to five minutes and costs \
         money. Look at the result with `read_file`."
            .to_owned()
    }

    fn effect_of(&self, _: &EditImageInput) -> ToolEffect {
        ToolEffect::Changes
    }

    fn in_short(&self, input: &EditImageInput) -> String {
        let sources = input.sources.join(", ");
        format!("make the image {} of {sources}: {}", input.path, shortened(&input.prompt, 1_000))
    }

    fn matcher(&self, input: &EditImageInput) -> Option<PermissionMatcher> {
        path_matcher(&input.path)
    }

    fn time(&self, _: &EditImageInput) -> Duration {
        TIME
    }

    fn paid_model(&self) -> Option<&str> {
        Some(self.0.model.name())
    }

    async fn validate(&self, input: &EditImageInput, context: &ToolContext) -> Result<(), InvalidInput> {
        if !(1..=MOST_SOURCES).contains(&input.sources.len()) {
            return Err(InvalidInput::new(format!("there have to be 1 to {MOST_SOURCES} sources")));
        }
        self.0.check(&input.path, context).await
    }

    async fn run(&self, input: EditImageInput, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let EditImageInput { sources, path, prompt, shape } = input;
        let sources = self.0.read(sources, context).await?;
        self.0.make(path, ImageRequest { prompt, shape, sources }, context).await
    }
}

built_in!(EditImage);

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Maker")
            .field("workspace", &self.workspace)
            .field("model", &self.model.name())
            .finish()
    }
}

#[cfg(test)]
mod tests;
