//! Splits a JSON document into the texts of its chunks.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The form of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// An array of chunks.
    Array,
    /// An object with `chunks`, `options` or both.
    Envelope,
    /// Some other object.
    Other,
}

/// The parts of a document, as far as it could be read: the parts before an error show where the
/// error is.
#[derive(Debug, Default)]
pub(crate) struct Trace<'de> {
    /// The text of each chunk.
    pub(crate) elements: Vec<&'de RawValue>,
    /// The text of the options.
    pub(crate) options: Option<&'de RawValue>,
    /// An unknown field of the envelope.
    pub(crate) unknown: Option<String>,
    /// Where the chunks begin: at their array, or at the key before it.
    begin: Option<Begin<'de>>,
}

#[derive(Debug)]
enum Begin<'de> {
    Document,
    Key(&'de str),
}

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Trace<'de> {
    /// Splits `document` in one pass, without copying it.
    pub(crate) fn read(&mut self, document: &'de str) -> Result<Form, serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_str(document);
        let form = DeserializeSeed::deserialize(&mut *self, &mut deserializer)?;
        // After an object that is not an envelope there may be another one.
        if form != Form::Other || is_one_line(document) {
            deserializer.end()?;
        }
        Ok(form)
    }

    /// The text of `document` from the chunk that could not be read, if it failed at a chunk.
    pub(crate) fn rest(&self, document: &'de str) -> Option<&'de str> {
        let from = match (self.elements.last(), self.begin.as_ref()?) {
            (Some(last), _) => offset(document, last.get())? + last.get().len(),
            (None, Begin::Document) => 0,
            (None, Begin::Key(key)) => offset(document, key)? + key.len(),
        };
        let rest =
            document[from..].trim_start_matches(|c: char| c.is_whitespace() || ",[:\"".contains(c));
        rest.starts_with('{').then_some(rest)
    }
}

fn is_one_line(document: &str) -> bool {
    !document.trim_end().contains('\n')
}

/// The offset of `part` in `whole`, if it is a part of it.
pub(crate) fn offset(whole: &str, part: &str) -> Option<usize> {
    let at = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    (at + part.len() <= whole.len()).then_some(at)
}

impl<'de> DeserializeSeed<'de> for &mut Trace<'de> {
    type Value = Form;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Form, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Trace<'de> {
    type Value = Form;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `chunks` and `options`, or an array of chunks")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<Form, A::Error> {
        self.begin = Some(Begin::Document);
        Elements(&mut self.elements).visit_seq(sequence)?;
        self.begin = None;
        Ok(Form::Array)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Form, A::Error> {
        let mut seen_chunks = false;
        while let Some(Key(key)) = map.next_key()? {
            match &*key {
                "chunks" if seen_chunks => return Err(A::Error::duplicate_field("chunks")),
                "chunks" => {
                    seen_chunks = true;
                    if let Cow::Borrowed(key) = key {
                        self.begin = Some(Begin::Key(key));
                    }
                    map.next_value_seed(Elements(&mut self.elements))?;
                    self.begin = None;
                }
                "options" if self.options.is_some() => {
                    return Err(A::Error::duplicate_field("options"));
                }
                "options" => self.options = Some(map.next_value()?),
                other => {
                    self.unknown.get_or_insert_with(|| other.to_owned());
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let envelope = seen_chunks || self.options.is_some();
        Ok(if envelope {
            Form::Envelope
        } else {
            Form::Other
        })
    }
}

/// Keeps the elements read so far if the sequence breaks off.
struct Elements<'t, 'de>(&'t mut Vec<&'de RawValue>);

impl<'de> DeserializeSeed<'de> for Elements<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Elements<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of chunks")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        while let Some(element) = sequence.next_element()? {
            self.0.push(element);
        }
        Ok(())
    }
}
