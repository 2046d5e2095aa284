//! The mistakes that users make, and what the compiler then says.
//!
//! The expected messages are those of the pinned toolchain; `TRYBUILD=overwrite` writes them anew.

#[test]
fn mistakes_are_explained() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/from_ref/*.rs");
    cases.compile_fail("tests/ui/graph/*.rs");
    cases.compile_fail("tests/ui/node/*.rs");
    cases.compile_fail("tests/ui/route/*.rs");
    cases.compile_fail("tests/ui/state/*.rs");
    cases.compile_fail("tests/ui/tool/*.rs");
}
