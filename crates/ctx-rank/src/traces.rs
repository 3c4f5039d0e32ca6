//! Calls in the stack traces of a text.

use crate::mentions::{leading_number, whole_number, with_line, without_drive};

/// One call of a stack trace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Frame {
    /// The path of the file, if given.
    pub path: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The function, as the trace writes it.
    pub function: Option<String>,
}

/// The most bytes of a line that is taken for a call.
const MOST_FRAME_BYTES: usize = 2000;

/// The content of a line of a stack trace.
#[derive(Debug)]
pub(crate) enum Traced {
    /// A call.
    Call(Frame),
    /// The location of a call, as Gin's recovery prints it: the next line may have its function.
    Location(Frame),
    /// A function: the next line may have its location.
    Function(String),
}

/// Parses `line` of a stack trace, in the forms of Python, pytest, Rust, JavaScript (also as
/// Firefox and Safari write it), Java, .NET, Ruby, PHP, Elixir, Lua, Dart, Go, including Gin's
/// recovery, and of programs of C without debug information; `before` is the function on the line
/// before. `None` for other lines.
pub(crate) fn traced(line: &str, before: Option<&str>) -> Option<Traced> {
    let text = without_mark(line.trim());
    // A longer line is data, and its slashes would be looked up one by one.
    if text.len() > MOST_FRAME_BYTES {
        return None;
    }
    if let Some(frame) = panicked(text)
        .or_else(|| python(text))
        .or_else(|| pytest(text))
        .or_else(|| ruby(text))
        .or_else(|| php(text))
        .or_else(|| elixir(text))
        .or_else(|| lua(text))
        .or_else(|| dart(text))
        .or_else(|| browser(text))
        .or_else(|| dotnet(text))
        .or_else(|| at(text, before))
        .or_else(|| dotnet_without_file(text))
        .or_else(|| symbols(text))
    {
        return Some(Traced::Call(frame));
    }
    if let (Some(function), Some(frame)) = (before, go(line)) {
        let function = Some(function.to_owned());
        return Some(Traced::Call(Frame { function, ..frame }));
    }
    if let Some(frame) = recovered(line) {
        return Some(Traced::Location(frame));
    }
    function_line(text).map(Traced::Function)
}

/// Whether `line` has a call, or the location of one.
pub(crate) fn is_call(line: &str, before: Option<&str>) -> bool {
    matches!(
        traced(line, before),
        Some(Traced::Call(_) | Traced::Location(_))
    )
}

/// Whether `line` is the location of the call that the line before it names, as Go and Rust print
/// it.
pub(crate) fn is_location_of_call(line: &str) -> bool {
    let of_rust = || at(line.trim(), None).is_some_and(|it| it.function.is_none());
    line.len() <= MOST_FRAME_BYTES && (go(line).is_some() || of_rust())
}

/// The function that `line` names, where the next one [is its location](is_location_of_call):
/// `a/b.(*T).f(0x1, {0x2, …})`, `panic(…)` and `created by a/b.f in goroutine 1` of Go,
/// `3: a::b::f` of Rust.
pub(crate) fn function_before_location(line: &str) -> Option<String> {
    let text = line.trim();
    if text.len() > MOST_FRAME_BYTES {
        return None;
    }
    let name = match text.strip_prefix("created by ") {
        Some(made) => made
            .split(" in goroutine ")
            .next()
            .filter(|it| it.contains('.')),
        None => text
            .strip_suffix(')')
            .and_then(|it| it.rsplit_once('('))
            .map(|it| it.0),
    };
    // Go writes a dot in the last element of a package's path as an escape.
    let name = name.map(|it| it.replace("[...]", "").replace("%2e", "."));
    let name = name.filter(|it| !it.is_empty() && it.chars().all(is_of_go_name));
    name.or_else(|| function_line(text))
}

/// Whether a line that describes a call has no words but those of its path:
/// `File "a/b.py", line 3`, as Python prints it for a file that it cannot parse, or the header of a
/// Rust panic.
pub(crate) fn is_of_path_alone(line: &str) -> bool {
    without_mark(line.trim()).starts_with("File \"") || panicked(line.trim()).is_some()
}

/// Removes the mark of an error line in the output of pytest: `E     File "a.py"`.
fn without_mark(text: &str) -> &str {
    let marked = text.strip_prefix("E   ");
    marked.map_or(text, str::trim_start)
}

/// `thread 'main' panicked at a/b.rs:3:4:`, and before 2023
/// `thread 'main' panicked at 'what it says', a/b.rs:3:4`.
fn panicked(text: &str) -> Option<Frame> {
    let (_, location) = parts_of_panic(text)?;
    let (path, line) = with_line(location);
    line?;
    (!path.contains(char::is_whitespace)).then(|| Frame {
        path: Some(without_drive(path).replace('\\', "/")),
        line,
        function: None,
    })
}

/// The message, if it is on the same line, and the location in the header of a Rust panic.
fn parts_of_panic(text: &str) -> Option<(Option<&str>, &str)> {
    let (_, rest) = text.strip_prefix("thread '")?.split_once("' ")?;
    // The number of the thread, since 2025.
    let numbered = rest.strip_prefix('(').and_then(|it| it.split_once(") "));
    let rest = numbered.map_or(rest, |it| it.1);
    let rest = rest.strip_prefix("panicked at ")?;
    match rest.rsplit_once(", ") {
        Some((said, location)) if !rest.ends_with(':') => {
            Some((Some(said.trim_matches('\'')), location))
        }
        _ => Some((None, rest.strip_suffix(':').unwrap_or(rest))),
    }
}

/// What the header of a panic of Rust says on its own line.
pub(crate) fn panic_message(line: &str) -> Option<&str> {
    let text = line.trim();
    panicked(text).and_then(|_| parts_of_panic(text)?.0)
}

/// `File "a/b.py", line 3, in f`.
fn python(text: &str) -> Option<Frame> {
    let (path, rest) = text.strip_prefix("File \"")?.split_once('"')?;
    let rest = rest.strip_prefix(", line ")?;
    let function = rest.split_once(", in ").map(|(_, it)| it.trim().to_owned());
    Some(Frame {
        path: Some(path.replace('\\', "/")),
        line: leading_number(rest),
        function,
    })
}

/// `a/b.py:3: in f`, `a/b.py:3: ValueError`.
fn pytest(text: &str) -> Option<Frame> {
    let (path, rest) = text.split_once(".py:")?;
    let (number, rest) = rest.split_once(": ")?;
    let line = whole_number(number)?;
    if path.contains(char::is_whitespace) {
        return None;
    }
    Some(Frame {
        path: Some(format!("{}.py", without_drive(path).replace('\\', "/"))),
        line: Some(line),
        function: rest.strip_prefix("in ").map(str::to_owned),
    })
}

/// `a/b.rb:3:in 'C#f'`, and `from a/b.rb:3:in` with a backtick before the name.
fn ruby(text: &str) -> Option<Frame> {
    let text = text.strip_prefix("from ").unwrap_or(text);
    let (path, rest) = text.split_once(".rb:")?;
    let (number, rest) = rest.split_once(":in ")?;
    let line = whole_number(number)?;
    let (name, _) = rest.strip_prefix(['\'', '`'])?.split_once('\'')?;
    // `block in f`, `block (2 levels) in f`, `rescue in f`.
    let name = name.rsplit_once(" in ").map_or(name, |(_, it)| it);
    (!path.contains(char::is_whitespace)).then(|| Frame {
        path: Some(format!("{path}.rb")),
        line: Some(line),
        function: Some(name.to_owned()),
    })
}

/// Whether `line` is a call of Ruby, which until 3.4 quoted names by a backtick and an apostrophe,
/// in messages, too.
pub(crate) fn is_call_of_ruby(line: &str) -> bool {
    line.len() <= MOST_FRAME_BYTES && ruby(line.trim()).is_some()
}

/// The rest of a line after its call: the error message that Ruby appends to the first call.
pub(crate) fn message_after_call(line: &str) -> Option<&str> {
    if let Some(said) = panic_message(line) {
        return Some(said);
    }
    line.split_once(".rb:")?
        .1
        .split_once("': ")
        .map(|(_, said)| said)
}

/// `#0 /a/b.php(3): C->f()`: the function is the one that is called there, not the caller, so it is
/// left out.
fn php(text: &str) -> Option<Frame> {
    let (number, rest) = text.strip_prefix('#')?.split_once(' ')?;
    number.parse::<u16>().ok()?;
    let (path, rest) = rest.split_once(".php(")?;
    let (line, _) = rest.split_once("): ")?;
    let path = without_drive(path).replace('\\', "/");
    Some(Frame {
        path: Some(format!("{path}.php")),
        line: Some(whole_number(line)?),
        function: None,
    })
}

/// `(app 0.1.0) lib/a.ex:3: A.f/2`, `lib/a.ex:3: anonymous fn/1 in A.f/2`.
fn elixir(text: &str) -> Option<Frame> {
    let behind = text.strip_prefix('(').and_then(|it| it.split_once(") "));
    let (location, call) = behind.map_or(text, |it| it.1).split_once(": ")?;
    let (path, line) = location.rsplit_once(':')?;
    let is_source = [".ex", ".exs", ".erl"].iter().any(|it| path.ends_with(it));
    let call = call.rsplit_once(" in ").map_or(call, |it| it.1);
    let (function, arity) = call.rsplit_once('/')?;
    arity.parse::<u8>().ok()?;
    let is_one = is_source
        && ![path, function]
            .iter()
            .any(|it| it.contains(char::is_whitespace));
    Some(Frame {
        path: Some(path.to_owned()),
        line: Some(whole_number(line)?),
        function: Some(function.to_owned()),
    })
    .filter(|_| is_one)
}

/// `a/b.lua:3: in function 'C.f'`, `a/b.lua:3: in main chunk`.
fn lua(text: &str) -> Option<Frame> {
    let (path, rest) = text.split_once(".lua:")?;
    let (number, rest) = rest.split_once(": in ")?;
    let line = whole_number(number)?;
    let name = rest
        .split_once(['\'', '`'])
        .and_then(|it| it.1.split_once('\''));
    (!path.contains(char::is_whitespace)).then(|| Frame {
        path: Some(format!("{}.lua", without_drive(path).replace('\\', "/"))),
        line: Some(line),
        function: name.map(|it| it.0.to_owned()),
    })
}

/// `#3      C.f (package:app/src/a.dart:3:4)`, which is `lib/src/a.dart` of the package `app`.
fn dart(text: &str) -> Option<Frame> {
    let (number, rest) = text.strip_prefix('#')?.split_once(' ')?;
    number.parse::<u16>().ok()?;
    let (function, location) = rest.trim_start().strip_suffix(')')?.rsplit_once(" (")?;
    let (path, line) = with_line(location);
    line?;
    let path = match path
        .strip_prefix("package:")
        .and_then(|it| it.split_once('/'))
    {
        Some((package, path)) => format!("{package}/lib/{path}"),
        None => of_address(path)?.to_owned(),
    };
    let function = function.split(".<anonymous closure>").next();
    let is_source = path.rsplit('.').next() == Some("dart");
    is_source.then(|| Frame {
        path: Some(path),
        line,
        function: function.map(str::to_owned),
    })
}

/// `f@http://a.b/c.js:3:4`, as Firefox and Safari write it.
fn browser(text: &str) -> Option<Frame> {
    let (function, location) = text.split_once('@')?;
    let (path, line) = with_line(location);
    let path = of_address(path).filter(|_| line.is_some())?;
    let function = function.rsplit_once('*').map_or(function, |it| it.1);
    let function = function.trim_end_matches(['/', '<']);
    let is_name = |c: char| c.is_alphanumeric() || "_$./#<>[]".contains(c);
    function.chars().all(is_name).then(|| Frame {
        path: Some(path.to_owned()),
        line,
        function: Some(function.to_owned()).filter(|it| !it.is_empty()),
    })
}

/// What follows the scheme of an address, without a query or fragment.
fn of_address(text: &str) -> Option<&str> {
    text.rsplit_once("://")?.1.split(['?', '#']).next()
}

/// `at N.C.M(String s) in C:\a\b.cs:line 3`.
fn dotnet(text: &str) -> Option<Frame> {
    let (call, location) = text.strip_prefix("at ")?.rsplit_once(" in ")?;
    let (path, line) = location.rsplit_once(":line ")?;
    let (function, _) = call.split_once('(')?;
    Some(Frame {
        path: Some(without_drive(path).replace('\\', "/")),
        line: Some(whole_number(line)?),
        function: Some(function.to_owned()),
    })
}

/// `at N.C.M(String s, Int32 n)`, as .NET prints it where the debug information is missing. Java has
/// `(Native Method)` and `(Unknown Source)` in that place.
fn dotnet_without_file(text: &str) -> Option<Frame> {
    let (function, parameters) = text
        .strip_prefix("at ")?
        .strip_suffix(')')?
        .split_once('(')?;
    let is_qualified = function.matches('.').count() > 1 && function.chars().all(is_of_dotnet_name);
    let is_parameter = |it: &str| it.trim().split(' ').count() == 2;
    let are_parameters = parameters.is_empty() || parameters.split(',').all(is_parameter);
    let is_of_java = matches!(parameters, "Native Method" | "Unknown Source");
    (is_qualified && are_parameters && !is_of_java).then(|| Frame {
        path: None,
        line: None,
        function: Some(function.to_owned()),
    })
}

/// Whether `c` may stand in the qualified name of a method of .NET.
fn is_of_dotnet_name(c: char) -> bool {
    c.is_alphanumeric() || "_.`+<>[]".contains(c)
}

/// `./server *:6379(f+0x1d)[0x55d0]`, as the C library of GNU prints the calls of a program that has
/// crashed. A function without a symbol has no name there.
fn symbols(text: &str) -> Option<Frame> {
    let (call, address) = text.strip_suffix(']')?.rsplit_once("[0x")?;
    let (_, call) = call.trim_end().strip_suffix(')')?.rsplit_once('(')?;
    let (function, offset) = call.rsplit_once("+0x")?;
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_hexdigit());
    let is_call = is_number(address) && is_number(offset);
    let is_name = |it: char| it.is_alphanumeric() || it == '_';
    (is_call && function.chars().all(is_name)).then(|| Frame {
        path: None,
        line: None,
        function: Some(function.to_owned()).filter(|it| !it.is_empty()),
    })
}

/// `at f (a/b.js:3:4)`, `at a/b.js:3:4`, `at p.C.m(C.java:3)`, `at a/b.rs:3:4`.
fn at(text: &str, before: Option<&str>) -> Option<Frame> {
    let rest = text.strip_prefix("at ")?;
    let (function, location) = match rest.split_once('(') {
        Some((function, location)) => (Some(function.trim()), location.trim_end_matches(')')),
        None => (before, rest),
    };
    let (path, line) = with_line(location);
    line?;
    // `at 10:30` is a time of day.
    if whole_number(path).is_some() {
        return None;
    }
    let path = of_address(path).unwrap_or(path);
    let function = function.map(|it| it.strip_prefix("async ").unwrap_or(it));
    let function = function.map(|it| it.strip_prefix("new ").unwrap_or(it));
    Some(Frame {
        path: Some(path.replace('\\', "/")),
        line,
        function: function.filter(|it| !it.is_empty()).map(str::to_owned),
    })
}

/// `    /a/b.go:3 +0x1d`, after the line with the function.
fn go(line: &str) -> Option<Frame> {
    let text = line.trim();
    let (path, rest) = text.split_once(".go:")?;
    let is_indented = line.starts_with(['\t', ' ']);
    (is_indented && !path.contains(char::is_whitespace)).then(|| Frame {
        path: Some(format!("{path}.go")),
        line: leading_number(rest),
        function: None,
    })
}

/// `/a/b.go:3 (0x1d2e)`, as the recovery of Go's Gin prints it: the next line has the function.
fn recovered(line: &str) -> Option<Frame> {
    let (path, rest) = line.trim().split_once(".go:")?;
    let (number, counter) = rest.strip_suffix(')')?.split_once(" (0x")?;
    let is_counter = !counter.is_empty() && counter.bytes().all(|it| it.is_ascii_hexdigit());
    let line = whole_number(number)?;
    (is_counter && !path.contains(char::is_whitespace)).then(|| Frame {
        path: Some(format!("{path}.go")),
        line: Some(line),
        function: None,
    })
}

/// `\t(*T).f: code`, the line after it, which has the function.
pub(crate) fn recovered_function(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix(['\t', ' '])?.trim().split_once(": ")?;
    (!name.is_empty() && name.chars().all(is_of_go_name)).then_some(name)
}

/// Whether `c` may stand in the qualified name of a function of Go.
fn is_of_go_name(c: char) -> bool {
    c.is_alphanumeric() || "_./()*-%~+@".contains(c)
}

/// `3: a::b::f` of Rust, `a/b.(*T).f(0x1, …)` of Go.
fn function_line(text: &str) -> Option<String> {
    if let Some((number, name)) = text.split_once(": ")
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && !number.is_empty()
        && name.contains("::")
        && !name.contains(char::is_whitespace)
    {
        return Some(name.to_owned());
    }
    let (name, _) = text.strip_suffix(')')?.rsplit_once('(')?;
    (name.contains('.') && name.chars().all(is_of_go_name)).then(|| name.replace("%2e", "."))
}
