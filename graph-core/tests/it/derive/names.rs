//! Tests of unusual names.

use superstep::reducer::Append;
use superstep::state::{State, StateUpdate};

use super::after;

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Raw {
    r#type: String,
    #[reducer(Append)]
    r#fn: Vec<u8>,
}

#[test]
fn raw_identifiers_are_stored_without_the_mark() {
    let schema = Raw::schema();
    assert_eq!([&schema.fields[0].name, &schema.fields[1].name], ["type", "fn"]);
    let raw = after(Raw::default(), Raw::update().r#type("a").set_type("b").r#fn([1]).clear_fn().set_fn([2]));
    assert_eq!(raw, Raw { r#type: "b".to_owned(), r#fn: vec![2] });
    assert_eq!((Raw::TYPE.name(), Raw::FN.name()), ("type", "fn"));
}

/// A state whose fields have the names of methods and constants of the traits, which must not conflict.
#[derive(State, Clone, Debug, Default, PartialEq)]
struct Awkward {
    update: u8,
    fields: u8,
    schema: u8,
    initial: u8,
    overwrite: u8,
    writes: u8,
    from_writes: u8,
    into_writes: u8,
    into_input: u8,
    into_outcome: u8,
    default: u8,
    state: u8,
    len: u8,
    write: u8,
    id: u8,
    field: u8,
    value: u8,
    other: u8,
    f: u8,
}

#[test]
fn fields_may_be_named_like_methods() {
    let update = Awkward::update()
        .update(1)
        .fields(1)
        .schema(1)
        .initial(1)
        .overwrite(1)
        .writes(1)
        .from_writes(1)
        .into_writes(1)
        .into_input(1)
        .into_outcome(1)
        .default(1)
        .state(1)
        .len(1)
        .write(1)
        .id(1)
        .field(1)
        .value(1)
        .other(1)
        .f(1);
    assert_eq!(StateUpdate::writes(&update).len(), 19);
    let awkward = after(Awkward::default(), update);
    assert_eq!(Awkward::FIELDS.get(&awkward), &1);
    assert_eq!(<Awkward as State>::FIELDS, 19);
}

#[test]
fn rename_all_is_that_of_serde() {
    #[derive(State, Clone, Debug, Default, PartialEq, serde::Serialize)]
    #[serde(rename_all = "camelCase", default, deny_unknown_fields)]
    struct Essay {
        first_draft: u8,
        #[serde(rename = "second_draft")]
        draft2: u8,
        r#type: u8,
    }

    let names: Vec<_> = Essay::schema().fields.into_iter().map(|field| field.name).collect();
    let whole = serde_json::to_string(&Essay::default()).unwrap();
    assert_eq!(whole, format!(r#"{{"{}":0,"{}":0,"{}":0}}"#, names[0], names[1], names[2]));
    assert_eq!(names, ["firstDraft", "second_draft", "type"]);
    let essay = after(Essay::default(), Essay::update().first_draft(1).draft2(2).r#type(3));
    assert_eq!(essay, Essay { first_draft: 1, draft2: 2, r#type: 3 });
}

mod elsewhere {
    use superstep::state::State;

    #[derive(State, Clone, Debug, Default)]
    pub(super) struct Account {
        pub(super) owner: String,
        balance: u64,
    }

    pub(super) fn paid(account: AccountUpdate, amount: u64) -> AccountUpdate {
        account.balance(amount)
    }

    pub(super) fn balance(account: &Account) -> u64 {
        *Account::BALANCE.get(account)
    }
}

#[test]
fn setters_are_as_visible_as_their_fields() {
    use elsewhere::{Account, AccountUpdate, balance, paid};

    let mut account = Account::default();
    let update: AccountUpdate = paid(Account::update().owner("me"), 5);
    super::apply(&mut account, update);
    assert_eq!((account.owner.as_str(), balance(&account)), ("me", 5));
}

mod renamed {
    pub(super) use superstep as steps;
}

#[test]
fn the_crate_may_have_another_name() {
    #[derive(State, Clone, Debug, Default, PartialEq)]
    #[state(crate = super::names::renamed::steps)]
    struct Essay {
        topic: String,
    }

    assert_eq!(after(Essay::default(), Essay::update().topic("a")).topic, "a");
}
