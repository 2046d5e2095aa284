//! `#[derive(FromRef)]`.

use std::sync::Arc;

use superstep::node::FromRef;

#[derive(Clone, Debug, PartialEq)]
struct Llm(&'static str);

#[derive(Clone, Debug, PartialEq)]
struct Editor(Llm);

#[derive(FromRef, Clone, Debug, PartialEq)]
struct Deps {
    llm: Llm,
    editor: Editor,
    names: Arc<Vec<String>>,
    #[from_ref(skip)]
    fallback: Llm,
}

fn deps() -> Deps {
    Deps { llm: Llm("a"), editor: Editor(Llm("b")), names: Arc::default(), fallback: Llm("c") }
}

#[test]
fn each_part_and_the_whole_can_be_taken() {
    let deps = deps();
    assert_eq!(Llm::from_ref(&deps), Llm("a"));
    assert_eq!(Editor::from_ref(&deps), Editor(Llm("b")));
    assert!(Arc::ptr_eq(&Arc::<Vec<String>>::from_ref(&deps), &deps.names));
    assert_eq!(Deps::from_ref(&deps), deps);
}

#[test]
fn tuples_and_units_are_contexts_too() {
    #[derive(FromRef, Clone, Debug, PartialEq)]
    struct Pair(Llm, u8);

    #[derive(FromRef, Clone, Debug, PartialEq)]
    struct Nothing;

    assert_eq!((Llm::from_ref(&Pair(Llm("a"), 1)), u8::from_ref(&Pair(Llm("a"), 1))), (Llm("a"), 1));
    assert_eq!(Nothing::from_ref(&Nothing), Nothing);
}

#[test]
fn a_context_may_have_parameters() {
    #[derive(FromRef, Clone)]
    struct Deps<T> {
        shared: Arc<T>,
        #[from_ref(skip)]
        own: T,
    }

    let deps = Deps { shared: Arc::new(1_u8), own: 2 };
    assert_eq!(*Arc::<u8>::from_ref(&deps), 1);
    assert_eq!(Deps::from_ref(&deps).own, 2);
}
