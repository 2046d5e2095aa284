//! A check for floats without a JSON form.

use alloc::string::ToString;
use core::fmt::Display;

use serde::ser::{self, Serialize, Serializer};

use super::json::CodecError;

/// Returns an error if `value` contains a NaN or an infinity: JSON would write `null`, which decodes to another
/// value.
pub(super) fn check<T: Serialize + ?Sized>(value: &T) -> Result<(), CodecError> {
    value.serialize(Finite)
}

/// A serializer that writes nothing and rejects non-finite floats.
#[derive(Clone, Copy)]
struct Finite;

impl ser::Error for CodecError {
    fn custom<T: Display>(message: T) -> Self {
        Self::new(message.to_string())
    }
}

fn finite(is_finite: bool, value: impl Display) -> Result<(), CodecError> {
    if is_finite {
        Ok(())
    } else {
        Err(CodecError::new(alloc::format!("JSON has no form of the number {value}")))
    }
}

macro_rules! nothing {
    ($($method:ident($($argument:ty),*);)*) => {
        $(fn $method(self, $(_: $argument),*) -> Result<(), CodecError> { Ok(()) })*
    };
}

macro_rules! parts {
    ($($method:ident($($argument:ty),*) -> $part:ident;)*) => {
        $(fn $method(self, $(_: $argument),*) -> Result<Self, CodecError> { Ok(self) })*
    };
}

impl Serializer for Finite {
    type Ok = ();
    type Error = CodecError;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    fn serialize_f32(self, value: f32) -> Result<(), CodecError> {
        finite(value.is_finite(), value)
    }

    fn serialize_f64(self, value: f64) -> Result<(), CodecError> {
        finite(value.is_finite(), value)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), CodecError> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), CodecError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), CodecError> {
        value.serialize(self)
    }

    fn collect_str<T: Display + ?Sized>(self, _: &T) -> Result<(), CodecError> {
        Ok(())
    }

    nothing! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_i128(i128);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_u128(u128);
        serialize_char(char);
        serialize_str(&str);
        serialize_bytes(&[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_unit_variant(&'static str, u32, &'static str);
    }

    parts! {
        serialize_seq(Option<usize>) -> SerializeSeq;
        serialize_tuple(usize) -> SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> SerializeTupleVariant;
        serialize_map(Option<usize>) -> SerializeMap;
        serialize_struct(&'static str, usize) -> SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> SerializeStructVariant;
    }
}

macro_rules! items {
    ($($part:ident::$method:ident;)*) => {
        $(impl ser::$part for Finite {
            type Ok = ();
            type Error = CodecError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CodecError> {
                value.serialize(*self)
            }

            fn end(self) -> Result<(), CodecError> {
                Ok(())
            }
        })*
    };
}

items! {
    SerializeSeq::serialize_element;
    SerializeTuple::serialize_element;
    SerializeTupleStruct::serialize_field;
    SerializeTupleVariant::serialize_field;
}

macro_rules! fields {
    ($($part:ident)*) => {
        $(impl ser::$part for Finite {
            type Ok = ();
            type Error = CodecError;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), CodecError> {
                value.serialize(*self).map_err(|error| error.within(name))
            }

            fn end(self) -> Result<(), CodecError> {
                Ok(())
            }
        })*
    };
}

fields!(SerializeStruct SerializeStructVariant);

impl ser::SerializeMap for Finite {
    type Ok = ();
    type Error = CodecError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Result<(), CodecError> {
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CodecError> {
        value.serialize(*self)
    }

    fn end(self) -> Result<(), CodecError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::super::Json;

    /// A NaN used to be stored as `null`, after which the thread could not be read.
    #[test]
    fn a_number_that_json_has_no_form_of_is_refused() {
        #[derive(serde::Serialize)]
        struct Deep {
            scores: Vec<Option<f32>>,
        }
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let error = Json::encode(&bad).expect_err("no JSON form");
            assert!(alloc::format!("{error}").contains("no form of the number"), "{error}");
        }
        let error =
            Json::encode(&Deep { scores: alloc::vec![Some(1.0), Some(f32::NAN)] }).expect_err("no JSON form");
        assert_eq!(alloc::format!("{error}"), "scores: JSON has no form of the number NaN");
    }

    #[test]
    fn nulls_that_are_meant_are_kept() {
        assert_eq!(Json::encode(&(None::<f64>, 1.5, ())).expect("a JSON form").as_str(), "[null,1.5,null]");
    }
}
