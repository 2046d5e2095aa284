//! The texts with which servers say that a request is too long.

/// The sizes that a server names when a request is too long for the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Overflow {
    /// The tokens of the request, with those of the output that it asks for where the server adds them.
    pub(super) tokens: Option<u64>,
    /// The tokens that the model takes.
    pub(super) limit: Option<u64>,
}

/// Phrases that tell that a request is too long, in lower case, by the servers that are known to say them.
const PHRASES: [&str; 17] = [
    // Anthropic
    "prompt is too long",
    "exceed context limit",
    // OpenAI, and what others have of it
    "maximum context length",
    "exceed the configured limit",
    "exceeds the context window",
    "context window exceeded",
    // vLLM: its engine, and its renderer before and after tokenizing
    "longer than the maximum model length",
    "too long to fit into the model",
    "model's context length is only",
    // SGLang
    "longer than the model's context length",
    // llama.cpp
    "exceeds the available context size",
    "context size has been exceeded",
    // LM Studio, with its own engine and with that of llama.cpp
    "context length of only",
    "cannot truncate prompt with n_keep",
    "greater than the context length",
    // Gemini
    "exceeds the maximum number of tokens allowed",
    // Cloudflare
    "exceeded this model context window limit",
];

/// Text before the number of tokens that a model takes, in lower case. Of several the first counts.
const BEFORE_LIMIT: [&str; 12] = [
    "context length is only ",
    "context length of only ",
    "maximum context length is ",
    "maximum model length of ",
    "configured limit of ",
    "available context size (",
    "context length (",
    "context length ",
    "context window limit (",
    "n_ctx (",
    "tokens allowed (",
    " > ",
];

impl Overflow {
    /// Reads a message; `None` if it does not say that the request is too long.
    pub(super) fn of_message(message: &str) -> Option<Self> {
        let message = message.to_lowercase();
        if !PHRASES.iter().any(|phrase| message.contains(phrase)) {
            return None;
        }
        let after = |marker: &&str| message.find(marker).map(|at| at + marker.len());
        let place = BEFORE_LIMIT
            .iter()
            .filter_map(after)
            .find(|place| message[*place..].starts_with(|sign: char| sign.is_ascii_digit()));
        let numbers = numbers(&message);
        let Some((place, limit)) = place.and_then(|place| numbers.iter().find(|(at, _)| *at == place)) else {
            return Some(Self::default());
        };
        // Input and output may each be below the limit and exceed it together.
        let largest = numbers.iter().map(|(_, number)| *number).max();
        let together = numbers.iter().take_while(|(at, _)| at < place).map(|(_, number)| *number).sum();
        let tokens = [largest.unwrap_or(0), together].into_iter().find(|tokens| tokens > limit);
        Some(Self { tokens, limit: Some(*limit) })
    }
}

/// The numbers of a text that may count tokens, each with its place: those of characters do not.
fn numbers(text: &str) -> Vec<(usize, u64)> {
    let mut numbers = Vec::new();
    let mut rest = text;
    while let Some(begin) = rest.find(|sign: char| sign.is_ascii_digit()) {
        let place = text.len() - rest.len() + begin;
        let digits = &rest[begin..];
        let end = digits.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(digits.len());
        rest = &digits[end..];
        let counts_characters = rest.starts_with(" characters") || rest.starts_with(" input characters");
        if let (false, Ok(number)) = (counts_characters, digits[..end].parse()) {
            numbers.push((place, number));
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overflow(message: &str) -> Option<(Option<u64>, Option<u64>)> {
        Overflow::of_message(message).map(|overflow| (overflow.tokens, overflow.limit))
    }

    /// The texts are those that the servers were seen to send. Of half of them an agent could not tell that it had to
    /// shorten its conversation, and of some the larger of the first two numbers was taken for the request's.
    #[test]
    fn each_server_says_in_its_own_words_that_a_request_is_too_long() {
        let cases = [
            ("prompt is too long: 200251 tokens > 200000 maximum", Some(200_251), Some(200_000)),
            (
                "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or \
                 `max_tokens` and try again",
                Some(242_959),
                Some(200_000),
            ),
            (
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 8312 tokens. \
                 Please reduce the length of the messages.",
                Some(8_312),
                Some(8_192),
            ),
            (
                "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 477469 tokens.",
                Some(477_469),
                Some(272_000),
            ),
            ("Your input exceeds the context window of this model.", None, None),
            (
                "The input token count (3475108) exceeds the maximum number of tokens allowed (1048576).",
                Some(3_475_108),
                Some(1_048_576),
            ),
            (
                "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
                Some(9_000),
                Some(8_192),
            ),
        ];
        for (message, tokens, limit) in cases {
            assert_eq!(overflow(message), Some((tokens, limit)), "{message}");
        }
    }

    #[test]
    fn both_generations_of_vllm_are_understood() {
        let cases = [
            (
                "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the \
                 messages, 10000 in the completion). Please reduce the length of the messages or completion.",
                Some(122_946),
                Some(16_384),
            ),
            (
                "The decoder prompt (length 21535) is longer than the maximum model length of 16384. Make sure that \
                 `max_model_len` is no smaller than the number of text tokens.",
                Some(21_535),
                Some(16_384),
            ),
            (
                "The prompt (total length 25938) is too long to fit into the model (context length 4096). Make sure that \
                 `max_model_len` is no smaller than the number of text tokens plus multimodal tokens.",
                Some(25_938),
                Some(4_096),
            ),
            (
                "You passed 32000 input tokens and requested 1000 output tokens. However, the model's context length is \
                 only 32768 tokens, resulting in a maximum input length of 31768 tokens. Please reduce the length of the \
                 input prompt.",
                Some(33_000),
                Some(32_768),
            ),
            (
                "You passed 999999 input characters and requested 1000 output tokens. However, the model's context length \
                 is only 32768 tokens, resulting in a maximum input length of 31768 tokens (at most 508288 characters). \
                 Please reduce the length of the input prompt.",
                None,
                Some(32_768),
            ),
            (
                "This model's maximum context length is 262144 tokens. However, you requested 128000 output tokens and \
                 your prompt contains at least 134145 input tokens, for a total of at least 262145 tokens. Please reduce \
                 the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, \
                 value=134145)",
                Some(262_145),
                Some(262_144),
            ),
        ];
        for (message, tokens, limit) in cases {
            assert_eq!(overflow(message), Some((tokens, limit)), "{message}");
        }
    }

    #[test]
    fn local_servers_are_understood() {
        let cases = [
            (
                "request (18098 tokens) exceeds the available context size (4096 tokens), try increasing it",
                Some(18_098),
                Some(4_096),
            ),
            (
                "the request exceeds the available context size. try increasing the context size or enable context shift",
                None,
                None,
            ),
            (
                "Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with \
                 context length of only 32768 tokens, which is not enough. Try to load the model with a larger context \
                 length, or provide a shorter input",
                Some(111_490),
                Some(32_768),
            ),
            ("Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)", Some(15_028), Some(7_424)),
            (
                "The number of tokens to keep from the initial prompt is greater than the context length. Try to load the \
                 model with a larger context length, or provide a shorter input",
                None,
                None,
            ),
            ("Context size has been exceeded.", None, None),
        ];
        for (message, tokens, limit) in cases {
            assert_eq!(overflow(message), Some((tokens, limit)), "{message}");
        }
    }

    #[test]
    fn other_limits_are_no_overflow() {
        for message in [
            "Rate limit reached: 200000 tokens per minute.",
            "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens",
            "messages: at least one message is required",
        ] {
            assert_eq!(overflow(message), None, "{message}");
        }
    }
}
