//! A client of each protocol, and the server that they all talk to.

use std::sync::Arc;

use crate::{Anthropic, OpenAiChat, OpenAiResponses, ProviderError, Reasoning, Thinking, TransportOptions};
use superstep_nodes::message::{Conversation, Message};
use superstep_nodes::model::{ChatModel, ModelRequest, Purpose};
use superstep_testkit::MockServer;

/// A protocol, and how a client speaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Messages,
    /// With a budget for thinking.
    MessagesWithBudget,
    Chat,
    /// As with a server that is only compatible with OpenAI's.
    Compatible,
    Responses,
}

impl Way {
    pub(crate) const ALL: [Self; 5] =
        [Self::Messages, Self::MessagesWithBudget, Self::Chat, Self::Compatible, Self::Responses];

    pub(crate) fn client(self, server: &MockServer) -> Arc<dyn ChatModel> {
        self.client_of(server, MockServer::KEY, &TransportOptions::default())
    }

    pub(crate) fn client_of(
        self,
        server: &MockServer,
        key: &str,
        options: &TransportOptions,
    ) -> Arc<dyn ChatModel> {
        self.client_at(&server.url(), key, options)
    }

    /// A client of the server at an address without the `/v1`.
    pub(crate) fn client_at(self, url: &str, key: &str, options: &TransportOptions) -> Arc<dyn ChatModel> {
        self.made(url, key, options).expect("a client of a server on loopback")
    }

    fn made(
        self,
        url: &str,
        key: &str,
        options: &TransportOptions,
    ) -> Result<Arc<dyn ChatModel>, ProviderError> {
        let openai = format!("{url}/v1");
        Ok(match self {
            Self::Messages | Self::MessagesWithBudget => {
                let budget = self == Self::MessagesWithBudget;
                let thinking = if budget { Thinking::Budget(1_024) } else { Thinking::Adaptive };
                let client = Anthropic::new("claude-test-1", key)?.base_url(url)?.thinking(thinking);
                Arc::new(client.transport(options)?)
            }
            Self::Chat => Arc::new(OpenAiChat::new("gpt-test-1", key)?.base_url(openai)?.transport(options)?),
            Self::Compatible => {
                Arc::new(OpenAiChat::compatible("open-test-1", openai)?.key(key)?.transport(options)?)
            }
            Self::Responses => {
                let client = OpenAiResponses::new("gpt-test-1", key)?.base_url(openai)?;
                Arc::new(client.reasoning(Reasoning::Summarised).transport(options)?)
            }
        })
    }
}

pub(crate) fn request(messages: impl Into<Conversation>) -> ModelRequest {
    ModelRequest::new(Purpose::Agent, messages)
}

pub(crate) fn question() -> ModelRequest {
    request([Message::human("m1", "What is a superstep?")])
}
