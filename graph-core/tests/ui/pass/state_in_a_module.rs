extern crate superstep_core as superstep;

pub mod essay {
    #![deny(missing_docs, unreachable_pub, private_interfaces, private_bounds, nonstandard_style, unused)]
    //! A state in a crate that denies many lints.

    use superstep::reducer::Append;
    use superstep::state::State;

    #[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
    pub(crate) struct Score(u8);

    /// An essay.
    #[derive(State, Clone, Debug, Default)]
    pub struct Essay {
        /// What it is about.
        pub topic: String,
        #[reducer(Append)]
        scores: Vec<Score>,
        #[state(transient)]
        pub(crate) draft: Option<String>,
    }
}

fn main() {
    let update: essay::EssayUpdate = essay::Essay::update().topic("Rust").draft("a");
    println!("{update:?}");
}
