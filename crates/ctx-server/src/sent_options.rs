//! Options as a request states them, with the names of those that it states.

use std::collections::BTreeSet;
use std::fmt;

use ctx_model::UncheckedOptions;
use serde::de::value::MapAccessDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IntoDeserializer as _, MapAccess, Visitor,
};

/// Options, and which of them the request states: some defaults depend on others.
///
/// They are read without an intermediate tree, which could take 200 times the memory of its text.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentOptions {
    /// The options, with the defaults of an assembly.
    pub(crate) options: UncheckedOptions,
    stated: BTreeSet<String>,
}

impl SentOptions {
    /// Whether the request states the option `name`, as it is written on the wire.
    pub(crate) fn states(&self, name: &str) -> bool {
        self.stated.contains(name)
    }
}

impl<'de> Deserialize<'de> for SentOptions {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(Options)
    }
}

struct Options;

impl<'de> Visitor<'de> for Options {
    type Value = SentOptions;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SentOptions, A::Error> {
        let mut stated = BTreeSet::new();
        let names = &mut stated;
        let map = MapAccessDeserializer::new(Named { map, names });
        let options = UncheckedOptions::deserialize(map)?;
        Ok(SentOptions { options, stated })
    }
}

/// An object whose names are noted as they are read. The first one that is no option ends it.
struct Named<'n, A> {
    map: A,
    names: &'n mut BTreeSet<String>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Named<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let Some(name) = self.map.next_key::<String>()? else {
            return Ok(None);
        };
        let key = seed.deserialize(name.as_str().into_deserializer())?;
        self.names.insert(name);
        Ok(Some(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use ctx_model::BuildOptions;

    use super::*;
    use crate::json::parse;

    fn fault(body: &str) -> String {
        let problem = serde_json::to_value(parse::<SentOptions>(body.as_bytes()).unwrap_err());
        problem.unwrap()["field"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    #[test]
    fn it_is_known_what_was_stated() {
        let body = br#"{"maxTokens": 59.0, "caps": true}"#;
        let sent: SentOptions = parse(body).unwrap();
        assert!(sent.states("maxTokens") && sent.states("caps"));
        assert!(!sent.states("reserve") && !sent.states("max_tokens"));
        let options = BuildOptions::try_from(sent.options).unwrap();
        assert_eq!((options.max_tokens.get(), options.caps), (59, true));
    }

    #[test]
    fn faults_are_named() {
        for (body, field) in [
            (r#"{"maxTokens": 1, "maxTokens": 1}"#, "maxTokens"),
            (r#"{"maxTokens": 1.5}"#, "maxTokens"),
            (r#"{"no\u006ee": 1}"#, "none"),
            ("[8000]", ""),
        ] {
            assert_eq!(fault(body), field, "{body}");
        }
    }

    /// If a value were kept first, the error would be that the text is cut off.
    #[test]
    fn nothing_is_kept_of_what_is_no_option() {
        let body = format!("{{\"x\": [{}", r#"{"":0},"#.repeat(100_000));
        assert_eq!(fault(&body), "x");
    }
}
