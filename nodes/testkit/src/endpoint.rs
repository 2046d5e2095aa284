//! The endpoint of a vendor that a request is sent to.

/// An endpoint that the mock server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Endpoint {
    /// `POST /v1/messages` of Anthropic.
    Messages,
    /// `POST /v1/messages/count_tokens` of Anthropic.
    CountTokens,
    /// `POST /v1/chat/completions` of OpenAI and those compatible with it.
    ChatCompletions,
    /// `POST /v1/responses` of OpenAI.
    Responses,
    /// `POST /v1/responses/input_tokens` of OpenAI.
    InputTokens,
    /// `POST /v1/embeddings` of OpenAI and those compatible with it.
    Embeddings,
    /// `POST /v1/images/generations` of OpenAI and those compatible with it.
    ImageGenerations,
    /// `POST /v1/images/edits` of OpenAI, in its form as JSON.
    ImageEdits,
}

/// The vendor, which decides the form of paths, errors and headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vendor {
    Anthropic,
    OpenAi,
}

impl Endpoint {
    const ALL: [Self; 8] = [
        Self::Messages,
        Self::CountTokens,
        Self::ChatCompletions,
        Self::Responses,
        Self::InputTokens,
        Self::Embeddings,
        Self::ImageGenerations,
        Self::ImageEdits,
    ];

    /// Returns its path on the server.
    pub fn path(self) -> &'static str {
        match self {
            Self::Messages => "/v1/messages",
            Self::CountTokens => "/v1/messages/count_tokens",
            Self::ChatCompletions => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
            Self::InputTokens => "/v1/responses/input_tokens",
            Self::Embeddings => "/v1/embeddings",
            Self::ImageGenerations => "/v1/images/generations",
            Self::ImageEdits => "/v1/images/edits",
        }
    }

    /// Returns `true` if the endpoint generates a model's reply, rather than counting or embedding.
    pub fn generates(self) -> bool {
        matches!(self, Self::Messages | Self::ChatCompletions | Self::Responses)
    }

    pub(super) fn at(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|endpoint| endpoint.path() == path)
    }

    pub(super) fn vendor(self) -> Vendor {
        Vendor::of(self.path())
    }
}

impl Vendor {
    /// Returns the vendor whose errors are sent at a path, also at an unknown one.
    pub(super) fn of(path: &str) -> Self {
        if path.starts_with("/v1/messages") { Self::Anthropic } else { Self::OpenAi }
    }

    /// The header that tells a request's id.
    pub(super) fn request_id_header(self) -> &'static str {
        match self {
            Self::Anthropic => "request-id",
            Self::OpenAi => "x-request-id",
        }
    }
}
