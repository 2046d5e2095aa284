//! A state with a hundred fields.

use std::collections::BTreeMap;

use superstep::reducer::{Append, Max, Merge, Sum};
use superstep::state::{FieldWrite, State, StateUpdate};

use super::after;

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Wide {
    field_0: String,
    #[reducer(Append)]
    field_1: Vec<String>,
    field_2: u64,
    #[reducer(Sum)]
    field_3: u64,
    field_4: Option<String>,
    #[reducer(Merge)]
    field_5: BTreeMap<String, u64>,
    #[reducer(Max)]
    field_6: i64,
    field_7: bool,
    field_8: Vec<u8>,
    #[reducer(Append)]
    field_9: Vec<u64>,
    field_10: String,
    #[reducer(Append)]
    field_11: Vec<String>,
    field_12: u64,
    #[reducer(Sum)]
    field_13: u64,
    field_14: Option<String>,
    #[reducer(Merge)]
    field_15: BTreeMap<String, u64>,
    #[reducer(Max)]
    field_16: i64,
    field_17: bool,
    field_18: Vec<u8>,
    #[reducer(Append)]
    field_19: Vec<u64>,
    field_20: String,
    #[reducer(Append)]
    field_21: Vec<String>,
    field_22: u64,
    #[reducer(Sum)]
    field_23: u64,
    field_24: Option<String>,
    #[reducer(Merge)]
    field_25: BTreeMap<String, u64>,
    #[reducer(Max)]
    field_26: i64,
    field_27: bool,
    field_28: Vec<u8>,
    #[reducer(Append)]
    field_29: Vec<u64>,
    field_30: String,
    #[reducer(Append)]
    field_31: Vec<String>,
    field_32: u64,
    #[reducer(Sum)]
    field_33: u64,
    field_34: Option<String>,
    #[reducer(Merge)]
    field_35: BTreeMap<String, u64>,
    #[reducer(Max)]
    field_36: i64,
    field_37: bool,
    field_38: Vec<u8>,
    #[reducer(Append)]
    field_39: Vec<u64>,
    field_40: String,
    #[reducer(Append)]
    field_41: Vec<String>,
    field_42: u64,
    #[reducer(Sum)]
    field_43: u64,
    field_44: Option<String>,
    #[reducer(Merge)]
    field_45: BTreeMap<String, u64>,
    #[reducer(Max)]
    field_46: i64,
    field_47: bool,
    field_48: Vec<u8>,
    #[reducer(Append)]
    field_49: Vec<u64>,
    field_50: String,
    #[reducer(Append)]
    field_51: Vec<String>,
    field_52: u64,
    #[reducer(Sum)]
    field_53: u64,
    field_54: Option<String>,
    #[reducer(Merge)]
    field_55: BTreeMap<String, u64>,
    #[reducer(Max)]
    field_56: i64,
    field_57: bool,
    field_58: Vec<u8>,
    #[reducer(Append)]
    field_59: Vec<u64>,
    field_60: String,
    #[reducer(Append)]
    field_61: Vec<String>,
    field_62: u64,
    #[reducer(Sum)]
    field_63: u64,
    field_64: Option<String>,
    #[reducer(Merge)]
    field_65: BTreeMap<String, u64>,
    #[reducer(Max)]
    field_66: i64,
    field_67: bool,
    field_68: Vec<u8>,
    #[reducer(Append)]
    field_69: Vec<u64>,
    field_70: String,
    #[reducer(Append)]
    field_71: Vec<String>,
    field_72: u64,
    #[reducer(Sum)]
    field_73: u64,
    field_74: Option<String>,
    #[reducer(Merge)]
    field_75: BTreeMap<String, u64>,
    #[reducer(Max)]
    field_76: i64,
    field_77: bool,
    field_78: Vec<u8>,
    #[reducer(Append)]
    field_79: Vec<u64>,
    field_80: String,
    #[reducer(Append)]
    field_81: Vec<String>,
    field_82: u64,
    #[reducer(Sum)]
    field_83: u64,
    field_84: Option<String>,
    #[reducer(Merge)]
    field_85: BTreeMap<String, u64>,
    #[reducer(Max)]
    field_86: i64,
    field_87: bool,
    field_88: Vec<u8>,
    #[reducer(Append)]
    field_89: Vec<u64>,
    field_90: String,
    #[reducer(Append)]
    field_91: Vec<String>,
    field_92: u64,
    #[reducer(Sum)]
    field_93: u64,
    field_94: Option<String>,
    #[reducer(Merge)]
    field_95: BTreeMap<String, u64>,
    #[reducer(Max)]
    field_96: i64,
    field_97: bool,
    field_98: Vec<u8>,
    #[reducer(Append)]
    field_99: Vec<u64>,
}

#[test]
fn a_hundred_fields_work_like_one() {
    assert_eq!((Wide::FIELDS, Wide::schema().fields.len()), (100, 100));
    let update = Wide::update().field_0("a").field_91(["b"]).field_93(2).field_93(3).field_99([1, 2]);
    let wide = after(Wide::default(), update);
    assert_eq!((wide.field_0.as_str(), wide.field_91.len(), wide.field_93), ("a", 1, 5));

    let mut read = Wide::default();
    for field in Wide::schema().ids() {
        read.decode_field(field, &wide.encode_field(field).unwrap()).unwrap();
    }
    assert_eq!(read, wide);

    let ids: Vec<_> = wide.clone().overwrite().writes().iter().map(|write| write.field().0).collect();
    assert_eq!(ids, (0..100).collect::<Vec<_>>());
    assert_eq!(after(Wide::default(), wide.clone().overwrite()), wide);
    for field in Wide::schema().ids() {
        read.reset_field(field);
    }
    assert_eq!(read, Wide::default());
}
