//! Compile errors for the mistakes that users make.
//!
//! The expected messages are those of the pinned toolchain; `TRYBUILD=overwrite` rewrites them.

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
