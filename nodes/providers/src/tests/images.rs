use serde_json::json;
use superstep_nodes::message::Image;
use superstep_nodes::model::{ImageModel, ImageRequest, ImageShape, ModelError};
use superstep_testkit::{Endpoint, MockServer, Reply};

use crate::OpenAiImages;

fn images(server: &MockServer) -> OpenAiImages {
    OpenAiImages::compatible("gpt-image-test", server.openai_url()).unwrap().key(MockServer::KEY).unwrap()
}

fn request(prompt: &str) -> ImageRequest {
    ImageRequest { prompt: prompt.to_owned(), ..ImageRequest::default() }
}

#[tokio::test]
async fn s2_179_an_image_is_made_from_a_description_and_one_is_changed() {
    let server = MockServer::start().await.unwrap();
    let model = images(&server);
    let made =
        model.make(ImageRequest { shape: Some(ImageShape::Landscape), ..request("a fox") }).await.unwrap();
    assert!(made.bytes.starts_with(b"\x89PNG") && made.usage.total() > 0, "{made:?}");
    let sources = vec![Image::base64("image/png", "iVBORw0KGgo=")];
    let changed = model.make(ImageRequest { sources, ..request("at night") }).await.unwrap();
    assert!(changed.bytes.starts_with(b"\x89PNG"));
    let received = server.received();
    let asked: Vec<_> = received.iter().map(|it| (it.path(), &it.json()["size"])).collect();
    assert_eq!(
        asked,
        [("/v1/images/generations", &json!("1536x1024")), ("/v1/images/edits", &json!("auto"))]
    );
    assert_eq!(received[1].json()["images"], json!([{ "image_url": "data:image/png;base64,iVBORw0KGgo=" }]));
    assert_eq!(server.errors(), []);
}

#[tokio::test]
async fn the_error_of_an_image_server_says_if_a_retry_may_help_and_hides_the_key() {
    let server = MockServer::start().await.unwrap();
    let model = images(&server).key("sk-very-secret").unwrap();
    let error = model.make(request("a fox")).await.unwrap_err();
    assert!(!error.is_retryable() && !format!("{error:?} {model:?}").contains("sk-very-secret"), "{error:?}");

    let server = MockServer::start().await.unwrap();
    server.reply_at(Endpoint::ImageGenerations, Reply::error(429, "rate_limit_error", "slow down"));
    let error = images(&server).make(request("a fox")).await.unwrap_err();
    assert!(error.is_retryable(), "{error}");
    let empty = images(&server).make(request("")).await.unwrap_err();
    assert!(matches!(empty, ModelError::InvalidRequest { .. }), "{empty:?}");
}
