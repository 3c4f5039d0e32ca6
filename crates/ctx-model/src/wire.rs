//! A deserializer that is lenient about numbers and strict about shapes: `59.0` is accepted where
//! an integer is expected, and a struct must be an object, never an array of its fields.
//!
//! It adapts visitors while the text is read, so that no intermediate value is built.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor,
};

/// Whole numbers up to this are represented exactly by an `f64`.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The deserializer that reads JSON of callers: chunks, options, requests, receipts. A whole number
/// is one however it is written (`59.0`), and a struct must be an object. `serde_json` by itself
/// also reads an array as the fields in their order, and refuses `59.0` as an integer.
///
/// ```
/// use ctx_model::{Relation, Wire};
/// use serde::Deserialize as _;
///
/// let read = |text| Relation::deserialize(Wire(&mut serde_json::Deserializer::from_str(text)));
/// assert!(read(r#"{"kind": "calls", "target": "sum"}"#).is_ok());
/// assert!(read(r#"["calls", "sum"]"#).is_err());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Wire<T>(
    /// The wrapped deserializer, visitor, seed or access object.
    pub T,
);

macro_rules! read {
    ($($name:ident)*) => {$(
        fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.0.$name(Wire(visitor))
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Wire<D> {
    type Error = D::Error;

    read! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64 deserialize_char deserialize_str deserialize_string deserialize_bytes
        deserialize_byte_buf deserialize_option deserialize_unit deserialize_seq deserialize_map
        deserialize_identifier deserialize_ignored_any
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_unit_struct(name, Wire(visitor))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_newtype_struct(name, Wire(visitor))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple(len, Wire(visitor))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple_struct(name, len, Wire(visitor))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        // As a struct, it would also accept an array of the fields in their order.
        self.0.deserialize_map(Wire(visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_enum(name, variants, Wire(visitor))
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

macro_rules! told {
    ($($name:ident($kind:ty))*) => {$(
        fn $name<E: serde::de::Error>(self, value: $kind) -> Result<V::Value, E> {
            self.0.$name(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Wire<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<V::Value, E> {
        if value.fract() != 0.0 || value.abs() > EXACT {
            return self.0.visit_f64(value);
        }
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and exact")]
        let whole = value as i64;
        match u64::try_from(whole) {
            Ok(whole) => self.0.visit_u64(whole),
            Err(_) => self.0.visit_i64(whole),
        }
    }

    told! {
        visit_bool(bool) visit_i64(i64) visit_i128(i128) visit_u64(u64) visit_u128(u128) visit_char(char)
        visit_str(&str) visit_borrowed_str(&'de str) visit_string(String) visit_bytes(&[u8])
        visit_borrowed_bytes(&'de [u8]) visit_byte_buf(Vec<u8>)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Wire(value))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Wire(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, values: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Wire(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Wire(fields))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, value: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(Wire(value))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Wire<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Wire(value))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Wire<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Wire(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Wire<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(Wire(seed))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Wire(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Wire<A> {
    type Error = A::Error;
    type Variant = Wire<A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let (name, variant) = self.0.variant_seed(Wire(seed))?;
        Ok((name, Wire(variant)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Wire<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.0.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.0.newtype_variant_seed(Wire(seed))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.0.tuple_variant(len, Wire(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.newtype_variant_seed(Fields(visitor))
    }
}

/// The seed of a variant with named fields: it must be an object.
struct Fields<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Fields<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        value.deserialize_map(Wire(self.0))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::{Value, json};

    use super::*;

    fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
        T::deserialize(Wire(&mut serde_json::Deserializer::from_str(text)))
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "camelCase")]
    enum Kind {
        Plain,
        Sized(u32),
        Named { lines: Vec<Option<u8>> },
    }

    #[test]
    fn a_whole_number_is_one_however_it_is_written_and_wherever_it_stands() {
        let text =
            r#"{"a": [1.0, 25e-1, {"b": 1e3}], "c": -2.0, "d": -0, "e": "1.0", "f": 9.1e15}"#;
        let wanted = json!({"a": [1, 2.5, {"b": 1000}], "c": -2, "d": 0, "e": "1.0", "f": 9.1e15});
        assert_eq!(read::<Value>(text).unwrap(), wanted);
        let kinds = r#"["plain", {"sized": 3.0}, {"named": {"lines": [4.0, null]}}]"#;
        let lines = vec![Some(4), None];
        let wanted = [Kind::Plain, Kind::Sized(3), Kind::Named { lines }];
        assert_eq!(read::<[Kind; 3]>(kinds).unwrap(), wanted);
        assert_eq!(
            read::<(u8, f64, i64)>("[1.0, 2.0, -3.0]").unwrap(),
            (1, 2.0, -3)
        );
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(try_from = "Fields")]
    struct Read(u8);

    #[derive(Deserialize)]
    struct Fields {
        first: u8,
    }

    impl TryFrom<Fields> for Read {
        type Error = &'static str;

        fn try_from(it: Fields) -> Result<Self, Self::Error> {
            (it.first > 0).then_some(Read(it.first)).ok_or("none")
        }
    }

    #[test]
    fn structs_are_objects_at_any_depth() {
        let right = r#"{"a": [{"first": 1}]}"#;
        let of: std::collections::BTreeMap<String, Vec<Option<Read>>> = read(right).unwrap();
        assert_eq!(of["a"], [Some(Read(1))]);
        assert!(read::<Vec<Read>>("[[1]]").is_err());
        assert!(read::<Option<Read>>("[1]").is_err());
        assert!(read::<(u8, Read)>("[1, [1]]").is_err());
        assert!(read::<Kind>(r#"{"named": [[4]]}"#).is_err());
        assert!(read::<Kind>(r#"{"sized": [4]}"#).is_err());
        // A tree of values that was read before follows the same rules.
        let tree: Value = read(r#"[[1.0], {"first": 1.0}]"#).unwrap();
        let of = |at: usize| Read::deserialize(Wire(tree[at].clone()));
        assert!(of(0).is_err());
        assert_eq!(of(1).unwrap(), Read(1));
    }

    #[test]
    fn fractions_and_other_types_are_no_integers() {
        for text in ["1.5", "1e300", "-1.0", "256.0", "1.", "01.0", "\"1.0\""] {
            assert!(read::<u8>(text).is_err(), "{text}");
        }
    }
}
