//! Tokens as OpenAI's models read them.

use std::fmt;

use tiktoken_rs::{CoreBPE, bpe_for_model, o200k_base_singleton};

use super::{ImageTokens, TokenCounter};

/// Counts tokens as OpenAI's models read them, offline: the vocabularies are in the program, which takes some
/// megabytes. Other providers' models read much the same text in much the same number of tokens, within a tenth or two.
///
/// ```
/// use superstep_nodes::model::{Tiktoken, TokenCounter};
///
/// let counter = Tiktoken::of_model("gpt-4.1")?;
/// assert_eq!(counter.text("The quick brown fox jumps over the lazy dog"), 9);
/// # Ok::<(), superstep_nodes::model::UnknownEncoding>(())
/// ```
#[derive(Clone, Copy)]
pub struct Tiktoken {
    texts: &'static CoreBPE,
    images: ImageTokens,
}

/// No encoding is known for a model. [`Tiktoken::default`] is the one of the newest models.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tokenizer of the model `{model}` is unknown")]
pub struct UnknownEncoding {
    /// The name of the model.
    pub model: String,
}

impl Default for Tiktoken {
    /// The encoding of OpenAI's newest models.
    fn default() -> Self {
        Self { texts: o200k_base_singleton(), images: ImageTokens::default() }
    }
}

impl Tiktoken {
    /// The encoding of a model.
    ///
    /// # Errors
    /// If none is known.
    pub fn of_model(model: &str) -> Result<Self, UnknownEncoding> {
        let texts = bpe_for_model(model).map_err(|_| UnknownEncoding { model: model.to_owned() })?;
        Ok(Self { texts, images: ImageTokens::of_model(model) })
    }
}

impl TokenCounter for Tiktoken {
    fn text(&self, text: &str) -> u64 {
        self.texts.count_ordinary(text) as u64
    }

    fn image_tokens(&self) -> ImageTokens {
        self.images
    }
}

impl fmt::Debug for Tiktoken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tiktoken")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::{Detail, Image, Message, Part, ToolCall};
    use crate::model::{ModelRequest, Purpose};
    use crate::tool::ToolSpec;

    #[test]
    fn a_model_that_is_not_known_says_so() {
        let error = Tiktoken::of_model("no-such-model").unwrap_err();
        assert_eq!(error.to_string(), "the tokenizer of the model `no-such-model` is unknown");
    }

    /// Texts with their tokens in `cl100k_base`, that of GPT-4, and in `o200k_base`, that of the models since GPT-4o.
    /// Those of the first three are the ones that OpenAI's cookbook gives.
    const COUNTED: &[(&str, u64, u64)] = &[
        ("antidisestablishmentarianism", 6, 6),
        ("2 + 2 = 4", 7, 7),
        ("お誕生日おめでとう", 9, 8),
        ("", 0, 0),
        (" ", 1, 1),
        ("hello world", 2, 2),
        ("Hello, world!", 4, 4),
        ("The quick brown fox jumps over the lazy dog", 9, 9),
        ("tiktoken is great!", 6, 6),
        ("don't, won't, I'll", 8, 5),
        ("1234567890", 4, 4),
        ("fn main() {\n    println!(\"hi\");\n}\n", 10, 10),
        ("{\"a\": [1, 2, 3], \"b\": null}", 17, 17),
        ("https://example.org/a/b?c=d#e", 11, 11),
        ("\n\n\n    \t\t", 2, 2),
        ("Straßenbahnhaltestelle", 7, 7),
        ("¿Dónde está la biblioteca?", 9, 6),
        ("Привет, как дела?", 8, 6),
        ("今天天气怎么样？", 10, 5),
        ("مرحبا بالعالم", 10, 4),
        ("👩‍👩‍👧‍👦 🚀", 21, 13),
        ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 4, 4),
        ("<|endoftext|>", 7, 7),
        ("SELECT * FROM t WHERE a >= 10 AND b <> 'x';", 15, 15),
    ];

    #[test]
    fn test_token_counting_accuracy() {
        let (old, new) = (Tiktoken::of_model("gpt-4").unwrap(), Tiktoken::of_model("gpt-4o").unwrap());
        let counted: Vec<_> =
            COUNTED.iter().map(|(text, _, _)| (*text, old.text(text), new.text(text))).collect();
        assert_eq!(counted, COUNTED);
    }

    #[test]
    fn words_that_mean_something_to_the_model_are_plain_text_here() {
        assert!(Tiktoken::default().text("<|endoftext|>") > 1);
    }

    #[test]
    fn all_that_a_request_has_counts() {
        let counter = Tiktoken::default();
        let request = |messages: Vec<Message>| ModelRequest::new(Purpose::Agent, messages);
        let bare = counter.request(&request(vec![Message::human("m", "Hello")]));
        assert_eq!(bare, 3 + 1 + 3);
        let call = ToolCall::new("c", "add", json!({ "a": 1 }));
        let image = Part::Image(Image::url("https://example.org/a.png").with_detail(Detail::Low));
        let full = request(vec![
            Message::human("m", crate::message::Content::from_iter([Part::text("Hello"), image])),
            Message::ai_with_calls("a", "", vec![call]),
        ]);
        let tool = ToolSpec { name: "add".into(), description: "Adds.".into(), input_schema: json!({}) };
        let full = full.with_system("Be brief.").with_tools(vec![tool]);
        assert!(counter.request(&full) > bare + 85 + 10);
    }
}
