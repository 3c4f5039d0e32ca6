//! Reads chunks and options for `ctx assemble`.
//!
//! Three forms are accepted and recognised by their content: an object with `chunks` and `options`,
//! an array of chunks, and chunks one after the other (JSON Lines). Lines are read one at a time.
//! The other two forms are held as text while chunks are read from them. Each chunk is parsed by
//! itself, so that an error names the line, the chunk and the field.

use std::io::{self, BufRead, ErrorKind, Read as _};

use ctx::model::{BuildOptions, Chunk, Wire};
use serde::de::{DeserializeOwned, Error};
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::bounded::{CONTEXT, MUCH, make_room, read_rest};
use crate::document::{Form, Trace};
use crate::failure::Failure;
use crate::locate::{self, InputSlice};

const FORMS: &str =
    "give {\"chunks\": [...], \"options\": {...}}, an array of chunks, or one chunk a line";
const NUMBERS: &str = "relevance is a number from 0 to 1; JSON has no NaN and no infinity";
const HALF: &str =
    "\\ud800 to \\udfff come in pairs, a high one before a low one; remove it, or write \\ufffd";
const TWICE: &str = "a field may be given only once; remove one of the two";
/// The byte order mark of UTF-8.
pub(crate) const MARK: &[u8] = b"\xef\xbb\xbf";

/// Where the texts of chunks come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Texts {
    /// From the chunks themselves.
    Given,
    /// From the files that they name: a chunk that names one needs no `content`.
    InFiles,
}

/// The chunks and options to assemble.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Input {
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) options: BuildOptions,
}

/// Reads everything from `reader`, which errors call `name`. If `texts` are in files, a chunk that
/// names its file may have no content.
///
/// # Errors
/// The input is invalid; the error says where.
pub(crate) fn read(mut reader: impl BufRead, name: &str, texts: Texts) -> Result<Input, Failure> {
    let mut lines = Lines::new(name);
    while lines.next(&mut reader)? {
        if !lines.line.trim_ascii().is_empty() {
            return if lines.is_chunk() {
                read_lines(lines, reader, texts)
            } else {
                read_document(lines, reader, texts)
            };
        }
    }
    Ok(Input::default())
}

/// Reads lines one at a time and counts them.
struct Lines<'a> {
    name: &'a str,
    line: Vec<u8>,
    line_number: usize,
}

impl<'a> Lines<'a> {
    fn new(name: &'a str) -> Self {
        Lines {
            name,
            line: Vec::new(),
            line_number: 0,
        }
    }

    /// Reads the next line; `false` at the end.
    fn next(&mut self, reader: &mut impl BufRead) -> Result<bool, Failure> {
        self.line.clear();
        let read = read_line(reader, &mut self.line);
        let read = read.map_err(|e| unreadable(self.name, e.kind(), &e.to_string()))?;
        self.line_number += 1;
        if self.line_number == 1 && self.line.starts_with(MARK) {
            self.line.drain(..MARK.len());
        }
        Ok(read > 0)
    }

    /// Whether the line is one complete object, and not one with `chunks`.
    fn is_chunk(&self) -> bool {
        let mut trace = Trace::default();
        let Ok(line) = std::str::from_utf8(&self.line) else {
            return false;
        };
        matches!(trace.read(line), Ok(Form::Other))
    }

    fn text(&self) -> Result<&str, Failure> {
        text(&self.line, self.name, self.line_number)
    }
}

/// Reads the next line, and returns its length in bytes.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    reader.by_ref().take(MUCH as u64).read_until(b'\n', line)?;
    if line.len() == MUCH && !line.ends_with(b"\n") {
        make_room(line, CONTEXT);
        reader.read_until(b'\n', line)?;
    }
    Ok(line.len())
}

fn read_lines(
    mut lines: Lines<'_>,
    mut reader: impl BufRead,
    texts: Texts,
) -> Result<Input, Failure> {
    let mut input = Input::default();
    loop {
        let line = lines.text()?.trim();
        if !line.is_empty() {
            let place = InputSlice::new(lines.name, line, lines.line_number);
            let index = input.chunks.len();
            input.chunks.push(chunk(line, index, &place, texts)?);
        }
        if !lines.next(&mut reader)? {
            return Ok(input);
        }
    }
}

/// Reads input that is not JSON Lines: `lines` holds the first line that is not blank.
fn read_document(
    lines: Lines<'_>,
    mut reader: impl BufRead,
    texts: Texts,
) -> Result<Input, Failure> {
    // If its first line is not text, the input is not read to its end.
    lines.text()?;
    let Lines {
        name,
        line: mut bytes,
        line_number,
    } = lines;
    read_rest(&mut reader, &mut bytes, CONTEXT)
        .map_err(|e| unreadable(name, e.kind(), &e.to_string()))?;
    let document = text(&bytes, name, line_number)?;
    let place = InputSlice::new(name, document, line_number);
    let mut trace = Trace::default();
    let form = trace
        .read(document)
        .map_err(|error| broken(&error, &trace, &place))?;
    if let Some(field) = trace.unknown.as_deref().filter(|_| form == Form::Envelope) {
        return Err(Failure::input(format_args!(
            "{name}: unknown field `{field}` beside `chunks` and `options`"
        ))
        .with_hint(FORMS));
    }
    let mut input = Input::default();
    if let Some(options) = trace.options {
        input.options = options_of(options, &place)?;
    }
    if form == Form::Other {
        trace.elements = sequence(document, &place)?;
    }
    input.chunks.reserve_exact(trace.elements.len());
    for raw in trace.elements {
        let index = input.chunks.len();
        input.chunks.push(chunk(raw.get(), index, &place, texts)?);
    }
    Ok(input)
}

/// The values of a text that consists of objects one after the other.
fn sequence<'a>(document: &'a str, place: &InputSlice<'_>) -> Result<Vec<&'a RawValue>, Failure> {
    serde_json::Deserializer::from_str(document)
        .into_iter::<&RawValue>()
        .collect::<Result<_, _>>()
        .map_err(|error| broken(&error, &Trace::default(), place))
}

/// Reads one chunk, the quick way first: only a text that failed is parsed again to find where.
fn chunk<'a>(
    text: &'a str,
    index: usize,
    place: &InputSlice<'a>,
    texts: Texts,
) -> Result<Chunk, Failure> {
    if let Ok(chunk) = object(text) {
        return Ok(chunk);
    }
    let in_file = (texts == Texts::InFiles).then(|| of_file(text)).flatten();
    if let Some(Ok(chunk)) = in_file.as_deref().map(object) {
        return Ok(chunk);
    }
    let mut fault = fault::<Chunk>(text);
    let mut at = place.at(text).of(&fault.error);
    // If its file has the content, something else is wrong.
    if let Some(in_file) = in_file.filter(|_| is_without_content(&fault)) {
        fault = self::fault::<Chunk>(&in_file);
        if fault.error.line() == 0 {
            at = place.at(text).of(&fault.error);
        }
    }
    let who = locate::who(index, locate::probe(text).id.as_deref());
    Err(Failure::input(format_args!("{at}{}", fault.about(&who)))
        .with_hint(chunk_hint(&fault, texts)))
}

/// A chunk that names a file and has no content, with an empty one.
fn of_file(text: &str) -> Option<String> {
    let fields: serde_json::Map<String, serde_json::Value> = object(text).ok()?;
    if !fields.contains_key("filePath") || fields.contains_key("content") {
        return None;
    }
    // Made from the text: a map would keep the last of two fields with one name.
    let rest = text.trim_start().strip_prefix('{')?;
    Some(format!("{{\"content\":\"\",{rest}"))
}

fn is_without_content(fault: &Fault) -> bool {
    let message = fault.error.to_string();
    message.contains("missing field `content`")
}

fn options_of<'a>(raw: &'a RawValue, place: &InputSlice<'a>) -> Result<BuildOptions, Failure> {
    object(raw.get()).map_err(|_| {
        let fault = fault::<BuildOptions>(raw.get());
        Failure::input(format_args!(
            "{}{}",
            place.at(raw.get()).of(&fault.error),
            fault.about("options")
        ))
        .with_hint("the README of ctx-model lists the options and their values")
    })
}

fn object<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(text);
    let object = T::deserialize(Wire(&mut json))?;
    json.end()?;
    Ok(object)
}

/// Why a text is not a `T`, and in which field.
struct Fault {
    field: String,
    error: serde_json::Error,
}

impl Fault {
    /// The fault as a message; a model's own errors name the chunk already.
    fn about(&self, who: &str) -> String {
        let message = locate::message(&self.error);
        if message.starts_with("chunk \"") {
            return message;
        }
        match &*self.field {
            "" | "." | "?" => format!("{who}: {message}"),
            field => format!("{who}, field `{field}`: {message}"),
        }
    }
}

fn fault<T: DeserializeOwned>(text: &str) -> Fault {
    let mut json = serde_json::Deserializer::from_str(text);
    let (field, error) = match serde_path_to_error::deserialize::<_, T>(Wire(&mut json)) {
        Err(error) => (error.path().to_string(), error.into_inner()),
        Ok(_) => match json.end() {
            Err(error) => (String::new(), error),
            Ok(()) => (String::new(), Error::custom("it cannot be read")),
        },
    };
    // If parsing stopped within a value, the field is the last one that was begun.
    let field = match &*field {
        "" | "." | "?" if error.is_syntax() => locate::probe(text).field.unwrap_or_default(),
        _ => field,
    };
    Fault { field, error }
}

fn chunk_hint(fault: &Fault, texts: Texts) -> &'static str {
    let message = fault.error.to_string();
    let is_of_lines = message.contains("Line")
        || message.contains("line 0 does")
        || matches!(&*fault.field, "startLine" | "endLine");
    match fault.error.classify() {
        Category::Eof => "is the file truncated? in JSON Lines, each line is one whole chunk",
        Category::Syntax if &*fault.field == "relevance" => NUMBERS,
        Category::Syntax if is_of_half(&message) => HALF,
        Category::Syntax => "the input is not valid JSON at that place",
        // Checked first: its message lists all fields that exist.
        Category::Data if message.contains("unknown field") => {
            "the README of ctx-model lists the fields; correct or remove this one"
        }
        Category::Data if message.contains("duplicate field") => TWICE,
        Category::Data if texts == Texts::Given && is_without_content(fault) => {
            "a chunk needs `content`; with --root DIR it is read from the file `filePath`"
        }
        Category::Data if message.contains("missing field") && texts == Texts::InFiles => {
            "a chunk needs `id`, `relevance`, and `content` or a `filePath` below --root"
        }
        Category::Data if message.contains("missing field") => {
            "a chunk needs `id`, `content` and `relevance`"
        }
        Category::Data if message.contains("relevance") => "relevance is a number from 0 to 1",
        Category::Data if is_of_lines => {
            "startLine and endLine are line numbers from 1 to 4294967295, both inclusive"
        }
        _ => "the README of ctx-model describes the fields of a chunk",
    }
}

/// Whether the error is an unpaired surrogate.
fn is_of_half(message: &str) -> bool {
    message.contains("surrogate") || message.contains("unexpected end of hex escape")
}

/// The failure of a document that is cut off; it names the chunk in which it breaks off, if it does
/// so in one.
fn broken(error: &serde_json::Error, trace: &Trace<'_>, place: &InputSlice<'_>) -> Failure {
    let message = locate::message(error);
    let position = place.of(error);
    let probed = locate::probe(trace.rest(place.text()).unwrap_or(place.text()));
    let who = match (probed.id.as_deref(), trace.rest(place.text())) {
        (None, None) => String::new(),
        (id, _) => locate::who(trace.elements.len(), id),
    };
    let what = match &probed.field {
        Some(field) if who.is_empty() => format!("field `{field}`: {message}"),
        Some(field) => format!("{who}, field `{field}`: {message}"),
        None if who.is_empty() => message.clone(),
        None => format!("{who}: {message}"),
    };
    let failure = Failure::input(format_args!("{position}{what}"));
    failure.with_hint(match error.classify() {
        Category::Eof => "is the file truncated?",
        Category::Syntax if probed.field.as_deref() == Some("relevance") => NUMBERS,
        Category::Syntax if is_of_half(&message) => HALF,
        Category::Data if message.contains("duplicate field") => TWICE,
        _ => FORMS,
    })
}

fn text<'a>(bytes: &'a [u8], name: &str, line_number: usize) -> Result<&'a str, Failure> {
    std::str::from_utf8(bytes).map_err(|error| {
        let good = &bytes[..error.valid_up_to()];
        let line = line_number + good.split(|b| *b == b'\n').count() - 1;
        let hint = if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
            "it looks like UTF-16; JSON is UTF-8, so convert it first"
        } else {
            "JSON is UTF-8; convert the input first"
        };
        Failure::input(format_args!("{name}:{line}: the input is not UTF-8")).with_hint(hint)
    })
}

/// The failure that the input cannot be read, because of `why`.
pub(crate) fn unreadable(name: &str, kind: ErrorKind, why: &str) -> Failure {
    let hint = match kind {
        ErrorKind::FileTooLarge => "give the chunks that matter most, or fewer at a time",
        ErrorKind::InvalidData => FORMS,
        _ => "check the path and its permissions; - is standard input",
    };
    Failure::input(format_args!("failed to read {name}: {why}")).with_hint(hint)
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
