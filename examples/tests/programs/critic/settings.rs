//! The settings of a critic, and their sources.

use std::ffi::OsString;

use superstep::nodes::message::{Detail, Image, Message, Part};
use superstep::nodes::rag::KnowledgeError;

use super::*;
use superstep::nodes::ModelName;
use superstep::nodes::rag::EmbedderName;

fn settings(variables: &[(&str, &str)]) -> Result<CriticSettings, SettingError> {
    CriticSettings::default().with_variables(|name| {
        variables.iter().find(|(held, _)| *held == name).map(|(_, value)| OsString::from(value))
    })
}

#[test]
fn s3_027_043_044_and_059_to_062_unset_values_have_the_defaults_of_the_seed() {
    let defaults = settings(&[]).unwrap();
    assert_eq!(defaults, CriticSettings::default());
    assert_eq!(defaults.model, ModelName::OpenAi("gpt-4.1".into()));
    assert_eq!((defaults.detail, defaults.max_size, defaults.top_k), (VisionDetail::Low, 2_048, 3));
    assert_eq!(defaults.embedder, EmbedderName::OpenAi("text-embedding-3-small".into()));
    assert_eq!(defaults.collection, "landscape_photography_transcripts");
    assert_eq!(defaults.on_tool_error, OnToolError::Continue);
    assert_eq!(defaults.prompt, "Critique the composition of this landscape photograph.");
    // A blank variable says nothing.
    assert_eq!(settings(&[("VISION_DETAIL", " "), ("KNOWLEDGE_DB_PATH", "")]).unwrap(), defaults);
}

#[test]
fn s3_042_to_044_and_059_to_063_the_environment_sets_all_that_it_can_name() {
    let set = settings(&[
        ("OPENAI_MODEL", "gpt-4.1-mini"),
        ("VISION_DETAIL", "high"),
        ("VISION_MAX_SIZE", "1024"),
        ("RAG_TOP_K", "5"),
        ("KNOWLEDGE_DB_PATH", "/data/advice.db"),
        ("RAG_COLLECTION", "portraits"),
        ("EMBEDDING_MODEL", "hash"),
        ("ON_TOOL_ERROR", "halt"),
    ]);
    let expected = CriticSettings {
        model: ModelName::OpenAi("gpt-4.1-mini".into()),
        detail: VisionDetail::High,
        max_size: 1_024,
        top_k: 5,
        database: "/data/advice.db".into(),
        collection: "portraits".into(),
        embedder: EmbedderName::Hash,
        on_tool_error: OnToolError::Halt,
        ..CriticSettings::default()
    };
    assert_eq!(set.unwrap(), expected);
}

/// It was the only name of a file that is SQLite's.
#[test]
fn s3_042_the_older_name_of_the_knowledge_base_is_read_where_the_new_one_is_not_set() {
    let database = |variables| settings(variables).unwrap().database;
    assert_eq!(database(&[("CHROMA_DB_PATH", "old.db")]).to_str(), Some("old.db"));
    let both = [("CHROMA_DB_PATH", "old.db"), ("KNOWLEDGE_DB_PATH", "new.db")];
    assert_eq!(database(&both).to_str(), Some("new.db"));
}

#[test]
fn s3_017_a_bad_value_names_the_variable_the_value_and_what_is_allowed() {
    let said = |variable, value| settings(&[(variable, value)]).unwrap_err().to_string();
    assert_eq!(said("VISION_DETAIL", "medium"), "VISION_DETAIL is `medium`; say low or high");
    let number = "VISION_MAX_SIZE is `0`; say a whole number from 1 to 20000";
    assert_eq!(said("VISION_MAX_SIZE", "0"), number);
    assert_eq!(said("RAG_TOP_K", "many"), "RAG_TOP_K is `many`; say a whole number from 1 to 50");
    assert_eq!(said("RAG_TOP_K", "51"), "RAG_TOP_K is `51`; say a whole number from 1 to 50");
    assert_eq!(said("ON_TOOL_ERROR", "stop"), "ON_TOOL_ERROR is `stop`; say continue or halt");
    let embedder = "EMBEDDING_MODEL is `cohere:x`; say hash, openai:MODEL or openai-compatible:MODEL@URL";
    assert_eq!(said("EMBEDDING_MODEL", "cohere:x"), embedder);
    assert_eq!("auto".parse::<VisionDetail>().unwrap_err().to_string(), "detail is `auto`; say low or high");
}

#[tokio::test]
async fn bad_settings_of_code_are_refused_before_anything_is_done() {
    let (desk, model) = (Desk::new().await, searching(0));
    let bad = [
        CriticSettings { max_size: 0, ..CriticSettings::default() },
        CriticSettings { top_k: 51, ..CriticSettings::default() },
        CriticSettings { collection: " ".into(), ..CriticSettings::default() },
        CriticSettings { prompt: String::new(), ..CriticSettings::default() },
    ];
    for settings in bad {
        assert!(desk.config(&model).settings(settings).is_err());
    }
    let error = critique_image(desk.photo()).with(desk.config(&model)).max_size(20_001).await.unwrap_err();
    assert_eq!(error.to_string(), "max_size is `20001`; say a whole number from 1 to 20000");
}

#[test]
fn s3_063_settings_can_be_kept_in_a_file() {
    let settings = CriticSettings { detail: VisionDetail::High, ..CriticSettings::default() };
    let json = serde_json::to_string(&settings).unwrap();
    assert_eq!(serde_json::from_str::<CriticSettings>(&json).unwrap(), settings);
    assert_eq!(serde_json::from_str::<CriticSettings>(r#"{ "detail": "high" }"#).unwrap(), settings);
    assert!(serde_json::from_str::<CriticSettings>(r#"{ "details": "high" }"#).is_err());
}

#[tokio::test]
async fn s3_001_to_003_and_064_a_request_overrides_what_is_set_and_takes_the_rest_from_it() {
    let desk = Desk::new().await;
    let asked = async |prepare: fn(CritiqueImage) -> CritiqueImage| -> (String, Image) {
        let model = Arc::new(Scripted::new().say("Well balanced."));
        let settings = CriticSettings { max_size: 60, ..CriticSettings::default() };
        let config = desk.config(&model).settings(settings).unwrap();
        prepare(critique_image(desk.photo()).with(config)).await.unwrap();
        let Message::Human(message) = model.requests()[0].messages[0].clone() else { panic!("not human") };
        let [Part::Text { text }, Part::Image(image)] = message.content.parts() else {
            panic!("{message:?}")
        };
        (text.clone(), image.clone())
    };
    let width = |image: &Image| {
        use base64::Engine;
        let url = image.to_url();
        let data = url.strip_prefix("data:image/jpeg;base64,").unwrap();
        let jpeg = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
        image::load_from_memory(&jpeg).unwrap().width()
    };
    let (text, image) = asked(|request| request).await;
    assert!(text.ends_with("\n\nCritique the composition of this landscape photograph."));
    assert_eq!((image.detail, width(&image)), (Detail::Low, 60));
    let (text, image) =
        asked(|request| request.prompt("Is it balanced?").detail(VisionDetail::High).max_size(90)).await;
    assert!(text.ends_with("\n\nIs it balanced?"));
    assert_eq!((image.detail, width(&image)), (Detail::High, 90));
}

#[tokio::test]
async fn s3_010_042_and_045_the_knowledge_base_is_there_before_anything_is_asked() {
    let folder = TempDir::new().unwrap();
    let settings = CriticSettings {
        model: ModelName::Extractive,
        embedder: EmbedderName::Hash,
        database: folder.path().join("new/folder/advice.db"),
        ..CriticSettings::default()
    };
    let error = CriticConfig::open(settings.clone()).unwrap_err();
    assert!(matches!(error, OpenCriticError::Knowledge(KnowledgeError::NotIngested { .. })), "{error:?}");
    assert!(error.to_string().ends_with("ingest documents into it first"), "{error}");
    assert!(!settings.database.exists());

    let base = settings.knowledge().unwrap();
    base.add("lines.md", &Chunker::default().split("Leading lines draw the eye.")).await.unwrap();
    drop(base);
    assert!(settings.database.is_file());
    CriticConfig::open(settings).unwrap();
}

#[tokio::test]
async fn s3_038_the_setting_says_how_many_chunks_a_search_returns() {
    let desk = Desk::new().await;
    for top_k in [1, 2] {
        let model = searching(1);
        let settings = CriticSettings { top_k, ..CriticSettings::default() };
        let state = desk.state_with(&model, settings).await;
        let found = state.messages[2].text().matches("\n\n[").count() + 1;
        assert_eq!(found, top_k);
    }
}
