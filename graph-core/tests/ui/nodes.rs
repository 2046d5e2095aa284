//! What the code for a refused tool names: this crate has no tools.

pub mod tool {
    pub mod __private {
        pub struct Value;
        pub struct TypedTool<I>(I);
    }
}
