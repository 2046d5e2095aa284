use std::sync::{Arc, Mutex};

use superstep_nodes::model::{MadeImage, ModelError, Usage};
use superstep_nodes::tool::{ToolOutcome, ToolRegistry};

use super::*;
use crate::session::Session;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n a picture";

/// A model that returns these bytes and notes its requests.
#[derive(Default)]
struct Painter {
    bytes: Vec<u8>,
    requests: Mutex<Vec<ImageRequest>>,
}

#[async_trait]
impl ImageModel for Painter {
    fn name(&self) -> &str {
        "painter"
    }

    async fn make(&self, request: ImageRequest) -> Result<MadeImage, ModelError> {
        self.requests.lock().unwrap().push(request);
        Ok(MadeImage { bytes: self.bytes.clone(), usage: Usage::of(5, 272) })
    }
}

fn session(bytes: &[u8]) -> (Session, Arc<Painter>) {
    let painter = Arc::new(Painter { bytes: bytes.to_vec(), ..Painter::default() });
    let generate = GenerateImage::new(Workspace::of_session(), Arc::clone(&painter));
    let edit = EditImage::new(Workspace::of_session(), Arc::clone(&painter));
    let tools = ToolRegistry::new().with(generate).unwrap().with(edit).unwrap();
    (Session::of(tools, &[("notes.png", "no image"), ("theirs.png", "theirs")]), painter)
}

#[tokio::test]
async fn s2_179_an_image_is_written_to_the_workspace_and_may_be_made_again() {
    let (session, painter) = session(PNG);
    let input = json!({ "path": "art/fox.png", "prompt": "a fox", "shape": "portrait" });
    let result = session.call("generate_image", input.clone()).await;
    assert_eq!(result.content.to_text(), "art/fox.png was written: image/png, 18 bytes.");
    assert_eq!(result.data.unwrap()["usage"]["output_tokens"], 272);
    assert_eq!(std::fs::read(session.path("art/fox.png")).unwrap(), PNG);
    session.done("generate_image", input).await;
    let requests = painter.requests.lock().unwrap().clone();
    assert_eq!((requests.len(), requests[0].shape), (2, Some(ImageShape::Portrait)));
}

#[tokio::test]
async fn s2_179_images_of_the_workspace_are_sent_with_the_change_and_stay() {
    let (session, painter) = session(b"\x89PNG\r\n\x1a\n another");
    session.put("fox.png", PNG);
    let edit = json!({ "sources": ["fox.png"], "path": "night.png", "prompt": "at night" });
    session.done("edit_image", edit).await;
    assert_eq!(std::fs::read(session.path("fox.png")).unwrap(), PNG);
    assert_eq!(
        painter.requests.lock().unwrap()[0].sources,
        [Image::base64("image/png", STANDARD.encode(PNG))]
    );
    let edit = json!({ "sources": ["notes.png"], "path": "night.png", "prompt": "at night" });
    let (_, said) = session.refused("edit_image", edit).await;
    assert!(said.ends_with("`notes.png` is no PNG, JPEG or WebP image"), "{said}");
    let edit = json!({ "sources": [], "path": "night.png", "prompt": "at night" });
    assert_eq!(session.refused("edit_image", edit).await.0, ToolOutcome::Invalid);
}

/// Images cost money, so a call whose result could not be kept is refused before it is made.
#[tokio::test]
async fn no_image_is_made_for_a_file_that_may_not_be_written() {
    let (session, painter) = session(PNG);
    for (path, reason) in [
        ("fox.txt", "has to end with .png"),
        ("../fox.png", "leads out of the workspace"),
        (".git/fox.png", "belongs to git"),
        ("theirs.png", "was not read yet"),
    ] {
        let (outcome, said) =
            session.refused("generate_image", json!({ "path": path, "prompt": "a fox" })).await;
        assert_eq!(outcome, ToolOutcome::Invalid, "{said}");
        assert!(said.contains(reason), "{said}");
    }
    assert_eq!(*painter.requests.lock().unwrap(), []);
    assert_eq!(session.get("theirs.png"), "theirs");
}

#[tokio::test]
async fn an_answer_that_is_no_image_is_not_written() {
    let (session, _) = session(b"<html>");
    let (_, said) = session.refused("generate_image", json!({ "path": "a.png", "prompt": "a fox" })).await;
    assert!(said.contains("the model `painter` returned no image"), "{said}");
    assert!(!session.path("a.png").exists());
}
