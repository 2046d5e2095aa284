//! The code of a test.

use serde::Serialize;
use serde_json::Value;

use superstep_core::checkpoint::Frontier;
use superstep_core::state::SecretTexts;

/// The parts of a test.
#[derive(Debug)]
pub(super) struct TestCode {
    pub(super) graph: String,
    pub(super) thread: String,
    /// The address of the checkpoint, as given by the user.
    pub(super) address: String,
    pub(super) step: i64,
    /// The step of the checkpoint at which the test begins.
    pub(super) after: i64,
    pub(super) state: Value,
    /// The input at the beginning; without one, the test begins with the tasks that are next.
    pub(super) input: Option<Value>,
    pub(super) next: Frontier,
    pub(super) secrets: Vec<String>,
    /// The text of the cassette, or the path of its file.
    pub(super) cassette: Result<String, String>,
    pub(super) supersteps: usize,
    pub(super) expected: Value,
    pub(super) leads_to: Vec<String>,
}

impl TestCode {
    /// Replaces these texts in all values. The names of fields and nodes stay.
    pub(super) fn without(mut self, secrets: &SecretTexts) -> Self {
        let states = [&mut self.state, &mut self.expected];
        let fields = states.into_iter().filter_map(Value::as_object_mut).flat_map(|state| state.values_mut());
        let writes = self.input.iter_mut().filter_map(Value::as_array_mut).flatten();
        let written = writes.filter_map(|write| write.get_mut("value"));
        fields.chain(written).for_each(|value| secrets.hide_value(value));
        for input in self.next.tasks.iter_mut().filter_map(|task| task.input.as_mut()) {
            *input = secrets.hide(input).expect("what was stored is JSON");
        }
        self
    }

    pub(super) fn code(&self) -> String {
        let Self { graph, thread, address, step, after, supersteps, .. } = self;
        let name = identifier(&format!("{thread}_at_{step}"));
        let (begin, begun, what) = match &self.input {
            Some(input) => (".input(BEGIN)", "its input", constant(input)),
            None => (".next(BEGIN)", "its next tasks", constant(&self.next)),
        };
        let (cassette, recordings) = match &self.cassette {
            Ok(text) => {
                let text = format!(
                    "\n/// The recorded effects and answers.\nconst CASSETTE: &str = {};\n",
                    raw(text.trim_end())
                );
                ("Cassette::parse(CASSETTE)?".to_owned(), text)
            }
            Err(path) => (format!("Cassette::load({path:?})?"), String::new()),
        };
        let secrets: String = self.secrets.iter().map(secret).collect();
        let next: Vec<String> = self.leads_to.iter().map(|node| format!("{node:?}")).collect();
        let next = match next.is_empty() {
            true => ".leads_to([] as [&str; 0])".to_owned(),
            false => format!(".leads_to([{}])", next.join(", ")),
        };
        format!(
            "\
//! Step {step} of thread {thread:?} of graph {graph:?} ends as recorded, from {begun} on.
//! Written by `superstep test` for {}.

use superstep::testing::{{self, Cassette}};

#[tokio::test]
async fn {name}() -> Result<(), Box<dyn std::error::Error>> {{
    // Fill in: the graph, compiled and with its context. Its effects do not run, and it needs no checkpointer.
    let graph = todo!();

    let cassette = {cassette};
    testing::turn(&graph)
        .after_step({after})
        .state(STATE)
        {begin}
{secrets}        .cassette(&cassette)
        .supersteps({supersteps})
        .comes_to(EXPECTED)
        {next}
        .await?;
    Ok(())
}}

/// The initial state.
const STATE: &str = {};

/// The input, or the tasks that were next.
const BEGIN: &str = {};

/// The final state.
const EXPECTED: &str = {};
{recordings}",
            address.escape_debug(),
            constant(&self.state),
            what,
            constant(&self.expected),
        )
    }
}

/// Returns a commented line for a secret: a test never contains its value.
fn secret(field: &String) -> String {
    format!("        // .secret({field:?}, r#\"\"its value, as JSON\"\"#)\n")
}

/// Returns JSON as a raw string literal of Rust.
fn constant(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).expect("values and records have a JSON form");
    raw(&format!("{value:#}"))
}

/// Returns a raw string literal with enough `#` that the text does not end it.
fn raw(text: &str) -> String {
    let longest =
        text.split('"').skip(1).map(|rest| rest.chars().take_while(|letter| *letter == '#').count()).max();
    let fence = "#".repeat(longest.map_or(1, |longest| longest + 1));
    format!("r{fence}\"{text}\"{fence}")
}

/// Turns a text into the name of a function.
fn identifier(text: &str) -> String {
    let letters = text
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' });
    let name: String = letters.collect();
    let name = name.trim_matches('_').to_owned();
    if name.starts_with(|first: char| first.is_ascii_digit()) { format!("thread_{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_ends_it() {
        assert_eq!(raw("a"), "r#\"a\"#");
        assert_eq!(raw("a\"## b"), "r###\"a\"## b\"###");
    }

    #[test]
    fn every_thread_gives_a_name() {
        assert_eq!(identifier("My thread/7_at_3"), "my_thread_7_at_3");
        assert_eq!(identifier("0194_at_-1"), "thread_0194_at__1");
    }
}
