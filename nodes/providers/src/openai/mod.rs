//! The common parts of the two protocols of OpenAI.

mod function;
mod output;
mod server;

pub(super) use function::{
    NO_OUTPUT, arguments, declaration, detail, is_whole_object, result_text, text_of, tool_choice,
};
pub(super) use output::{Strictness, output_form};
pub(super) use server::OpenAiServer;
