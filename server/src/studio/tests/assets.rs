//! The files of the page.

use axum::body::Body;
use axum::http::Request;
use superstep_studio::ASSETS;

use super::{Page, written};

fn plain(method: &str, path: &str) -> axum::http::request::Builder {
    Request::builder().method(method).uri(path).header("host", "127.0.0.1:2025")
}

#[tokio::test]
async fn every_file_is_served_with_its_headers() {
    let file = written().await;
    let page = Page::of(&file.path);
    let index = ["/studio".to_owned(), "/studio/".to_owned()].map(|path| (path, ASSETS[0]));
    let all = ASSETS.map(|asset| (format!("/studio/{}", asset.name), asset));
    for (path, asset) in index.into_iter().chain(all) {
        let response = page.send(plain("GET", &path).body(Body::empty()).unwrap()).await;
        assert_eq!(response.status(), 200, "{path}");
        let headers = response.headers().clone();
        assert_eq!(headers["content-type"], asset.content_type);
        assert_eq!(headers["etag"], format!("\"{}\"", asset.digest()));
        assert_eq!(headers["cache-control"], "no-cache");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(headers["referrer-policy"], "no-referrer");
        assert_eq!(
            headers["content-security-policy"],
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
             frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        );
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        assert_eq!(bytes, asset.bytes, "{path}");

        let known = plain("GET", &path).header("if-none-match", &headers["etag"]);
        let response = page.send(known.body(Body::empty()).unwrap()).await;
        assert_eq!(response.status(), 304, "{path}");
        assert!(axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap().is_empty());
        let head = page.send(plain("HEAD", &path).body(Body::empty()).unwrap()).await;
        assert_eq!((head.status().as_u16(), &head.headers()["etag"]), (200, &headers["etag"]));
    }
    for path in
        ["/studio/Cargo.toml", "/studio/..%2fCargo.toml", "/studio/dist/index.html", "/studio/licences.txt"]
    {
        let response = page.send(plain("GET", path).body(Body::empty()).unwrap()).await;
        assert_eq!(response.status(), 404, "{path}");
    }
}
