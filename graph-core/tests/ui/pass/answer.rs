//! An answer is a value or a reference to one.

extern crate superstep_core as superstep;

use superstep::id::InterruptId;
use superstep::run::{FlowState, RunRequest, Thread};
use superstep::state::State;

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
}

fn answers(thread: &Thread<Essay>, id: InterruptId) -> Vec<RunRequest<Essay>> {
    let text = String::from("yes");
    let bytes: &[u8] = b"yes";
    vec![
        thread.answer(&text),
        thread.answer("yes"),
        thread.answer(&true),
        thread.answer(true),
        thread.answer(bytes),
        thread.answer(()),
        thread.answer(Some(1)),
        thread.answer_to(id, &1),
        thread.answer_to(id, 1),
        thread.answer(text),
    ]
}

fn flow_answers(thread: &Thread<FlowState<String, String>>, id: InterruptId) {
    drop((thread.answer(&true), thread.answer(true), thread.answer_to(id, &1), thread.answer_to(id, 1)));
}

fn main() {
    let _ = (answers, flow_answers, |essay: Essay| essay.topic);
}
