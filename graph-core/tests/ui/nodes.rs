//! The items that the code for a rejected tool names, because this crate has no tools.

pub mod tool {
    pub mod __private {
        pub struct Value;
        pub struct TypedTool<I>(I);
    }
}
