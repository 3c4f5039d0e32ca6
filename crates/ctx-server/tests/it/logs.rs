//! The log contains no text of any request, and none of stored data.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use ctx_server::RequestInfo;
use ctx_testkit::disk;
use serde_json::{Value, json};
use tracing::field::{Field, Visit};

use crate::client::{ADA, Answer, BOB, Running, patient};
use crate::failing::{Failing, Shared};

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn lines() -> MutexGuard<'static, Vec<String>> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps all that anybody here says, at every level and of every target.
struct Keep;

impl Keep {
    fn begin() {
        static BEGUN: Once = Once::new();
        BEGUN.call_once(|| {
            let _ = tracing::subscriber::set_global_default(Keep);
        });
    }
}

/// Holds what was said against what must not be, and returns those lines of it that have `of` in
/// them.
#[track_caller]
fn without(words: &[&str], of: &str) -> Vec<String> {
    let lines = lines();
    for line in lines.iter() {
        for word in words {
            assert!(!line.contains(word), "{line}");
        }
    }
    let found = lines.iter().filter(|it| it.contains(of));
    found.cloned().collect()
}

impl tracing::Subscriber for Keep {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        let mut line = Line(String::new());
        span.record(&mut line);
        lines().push(line.0);
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, values: &tracing::span::Record<'_>) {
        let mut line = Line(String::new());
        values.record(&mut line);
        lines().push(line.0);
    }

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(format!("{} ", event.metadata().target()));
        event.record(&mut line);
        if let Some(asked) = RequestInfo::current() {
            let (id, method, route) = (&asked.id, asked.method, &asked.route);
            // Writing to a string cannot fail.
            let _ = fmt::Write::write_fmt(&mut line.0, format_args!("of {id} {method} {route}"));
        }
        lines().push(line.0);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = fmt::Write::write_fmt(&mut self.0, format_args!("{}={value:?} ", field.name()));
    }
}

#[test]
fn no_field_of_a_request_is_logged_whatever_becomes_of_it() {
    Keep::begin();
    let server = Running::embedded();
    let word = "canaryoflogs";
    let thread = json!({"id": word, "title": word, "pinned": [word]});
    let bodies = [
        (
            "/v1/files",
            json!({"files": [{"path": word, "content": word}]}),
        ),
        (
            "/v1/files",
            json!({"files": [{"path": format!("../{word}"), "content": word}]}),
        ),
        ("/v1/threads", thread.clone()),
        ("/v1/threads", thread),
        (
            "/v1/threads/canaryoflogs/messages",
            json!({"role": "user", "content": word}),
        ),
        (
            "/v1/threads/canaryoflogs/messages",
            json!({"role": word, "content": word}),
        ),
        (
            "/v1/context/build",
            json!({"message": word, "threadId": word, "references": [word]}),
        ),
        (
            "/v1/context/build",
            json!({"message": word, "threadId": "none", (word): word}),
        ),
        (
            "/v1/context/build",
            json!({"message": word, "options": {"tokenEstimation": word}}),
        ),
        (
            "/v1/context/assemble",
            json!({"chunks": [{"id": word, "content": word, "relevance": 1}]}),
        ),
        (
            "/v1/context/assemble",
            json!({"chunks": [{"id": word, "content": word, "relevance": 7}]}),
        ),
        (
            "/v1/context/feedback",
            json!({"handle": word, "useful": true, (word): word}),
        ),
        (
            "/v1/context/feedback",
            json!({"handle": word, "useful": true}),
        ),
        ("/v1/context/canaryoflogs/resolve", json!({"answer": word})),
        ("/canaryoflogs", json!({})),
        ("/v1/files", json!("{\"canaryoflogs")),
    ];
    for (path, body) in &bodies {
        for token in [ADA, BOB, word] {
            assert_ne!(server.post(token, path, body).status, 500, "{path}");
        }
        server.get(ADA, &format!("{path}?limit={word}"));
    }
    let hosts = [("Host", word), ("Origin", word)];
    server.send(&format!("{word} /{word}"), &hosts, b"");
    let answered = without(&[word, ADA], "/v1/context/build");
    assert!(!answered.is_empty());
}

/// What the server describes of itself.
struct Described(Value);

impl Described {
    /// `schema`, or the one that it refers to; of several, one that is no null.
    fn meant<'a>(&'a self, schema: &'a Value) -> Cow<'a, Value> {
        if let Some(name) = schema["$ref"].as_str() {
            let pointer = name.trim_start_matches('#');
            return self.meant(self.0.pointer(pointer).unwrap());
        }
        for several in ["oneOf", "anyOf"] {
            let all = schema[several].as_array().into_iter().flatten();
            let one = all.map(|it| self.meant(it)).find(|it| it["type"] != "null");
            if let Some(one) = one {
                return one;
            }
        }
        if let Some(all) = schema["allOf"].as_array() {
            let mut properties = serde_json::Map::new();
            let mut required = Vec::new();
            for it in all.iter().chain([schema]) {
                let it = if it["allOf"].is_null() {
                    self.meant(it)
                } else {
                    Cow::Borrowed(it)
                };
                properties.extend(it["properties"].as_object().cloned().unwrap_or_default());
                required.extend(it["required"].as_array().cloned().unwrap_or_default());
            }
            let whole = json!({"type": "object", "properties": properties, "required": required});
            return Cow::Owned(whole);
        }
        Cow::Borrowed(schema)
    }

    /// What `schema` allows, with `word` for every text, and of its fields those that it needs or
    /// all.
    fn sample(&self, schema: &Value, word: &str, has_all: bool) -> Value {
        let schema = self.meant(schema);
        if let Some(one) = schema.get("const").or(schema["enum"].get(0)) {
            return one.clone();
        }
        let is = |name: &str| match &schema["type"] {
            Value::Array(types) => types.iter().any(|it| it == name),
            it => it == name,
        };
        if let Some(properties) = schema["properties"].as_object() {
            let is_needed = |name: &String| {
                let mut needed = schema["required"].as_array().into_iter().flatten();
                has_all || needed.any(|it| it == name)
            };
            let needed = properties.iter().filter(|it| is_needed(it.0));
            let of = |(name, it): (&String, &Value)| (name.clone(), self.sample(it, word, has_all));
            return Value::Object(needed.map(of).collect());
        }
        if is("array") {
            return json!([self.sample(&schema["items"], word, has_all)]);
        }
        if is("boolean") {
            return json!(true);
        }
        if is("integer") || is("number") {
            let least = &schema["minimum"];
            return if least.is_number() {
                least.clone()
            } else {
                json!(1)
            };
        }
        if is("object") {
            return json!({(word): word});
        }
        json!(word)
    }

    /// Where the fields of `schema` are, each as the names that lead there; through lists, of their
    /// first.
    fn fields(&self, schema: &Value, above: &str, found: &mut Vec<String>) {
        let schema = self.meant(schema);
        let properties = schema["properties"].as_object().into_iter().flatten();
        for (name, it) in properties {
            let field = format!("{above}/{name}");
            self.fields(it, &field, found);
            found.push(field);
        }
        if !schema["items"].is_null() {
            self.fields(&schema["items"], &format!("{above}/0"), found);
        }
    }
}

/// Puts `value` into `body` at `field`, through what may not be there yet.
fn put(body: &mut Value, field: &str, value: Value) {
    let mut at = body;
    for name in field.split('/').skip(1) {
        at = if name == "0" {
            if at.get(0).is_none() {
                *at = json!([{}]);
            }
            &mut at[0]
        } else {
            if !at.is_object() {
                *at = json!({});
            }
            &mut at[name]
        };
    }
    *at = value;
}

/// In each field that there is, the word; and beside each.
#[test]
fn no_field_that_is_described_is_logged() {
    Keep::begin();
    let server = Running::embedded();
    let word = "canaryoffields";
    let described = Described(server.send("GET /openapi.json", &[], b"").json());
    let mut tried: BTreeSet<String> = BTreeSet::new();
    for (template, item) in described.0["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            let mut bodies = vec![(String::new(), Value::Null)];
            if !schema.is_null() {
                let (least, all) = (
                    described.sample(schema, word, false),
                    described.sample(schema, word, true),
                );
                let mut fields = Vec::new();
                described.fields(schema, "", &mut fields);
                bodies.extend([(String::new(), least.clone()), (String::new(), all)]);
                for field in fields {
                    let mut body = least.clone();
                    put(&mut body, &field, json!(word));
                    bodies.push((field.clone(), body));
                    let beside = format!("{}/{word}", field.rsplit_once('/').unwrap().0);
                    let mut body = least.clone();
                    put(&mut body, &beside, json!(word));
                    bodies.push((field, body));
                }
            }
            let parameters = operation["parameters"].as_array();
            let queries = parameters
                .into_iter()
                .flatten()
                .filter(|it| it["in"] == "query");
            let query: Vec<String> = queries
                .map(|it| format!("{}={word}&", it["name"].as_str().unwrap()))
                .collect();
            let query = query.concat();
            for (field, body) in bodies {
                // What was removed is there again.
                let thread = json!({"id": word, "title": word, "pinned": [word]});
                server.post(ADA, "/v1/threads", &thread);
                let file = json!({"files": [{"path": word, "content": word}]});
                server.post(ADA, "/v1/files", &file);
                let path = template.replace("{id}", word);
                let body = match body {
                    Value::Null => Vec::new(),
                    body => body.to_string().into_bytes(),
                };
                for path in [path.clone(), format!("{path}?{query}")] {
                    let line = format!("{} {path}", method.to_uppercase());
                    let bearer = format!("Bearer {ADA}");
                    let headers = [
                        ("Content-Type", "application/json"),
                        ("Authorization", &bearer),
                    ];
                    let answer = server.send(&line, &headers, &body);
                    assert!(answer.status < 500, "{line} {field}: {answer:?}");
                }
                tried.insert(format!("{method} {template}{field}"));
            }
        }
    }
    for field in [
        "delete /v1/files/paths",
        "put /v1/threads/{id}/pinned/pinned",
        "post /v1/context/assemble/chunks/0/filePath",
        "post /v1/context/assemble/chunks/0/name",
        "post /v1/context/assemble/chunks/0/summary",
        "post /v1/context/build/options/contextHeader",
        "post /v1/context/{id}/resolve/answer",
    ] {
        assert!(tried.contains(field), "{field} in {tried:#?}");
    }
    assert!(!without(&[word, ADA], "/v1/context/build").is_empty());
}

#[test]
fn nothing_that_an_error_or_a_panic_quotes_is_logged() {
    Keep::begin();
    let word = "canaryoferrors";
    let server = Running::start(std::sync::Arc::new(Shared(Failing::new(word))), patient());
    let fails = |path: &str, body: &Value| {
        let answer = server.post(ADA, path, body);
        answer.refused(500, "");
        assert!(!answer.body.contains(word), "{answer:?}");
    };
    for _ in 0..Failing::WAYS {
        fails("/v1/context/build", &json!({"message": word}));
        fails("/v1/threads", &json!({"id": "t"}));
    }
    fails(
        "/v1/context/feedback",
        &json!({"handle": word, "useful": true}),
    );
    // Ports that fail and panic take nothing but themselves along.
    let named = json!({"message": "what is `fn_name` in a.rs:1?", "references": ["a.rs"]});
    let built = server.post(ADA, "/v1/context/build", &named);
    let warnings = built.data(200)["warnings"].to_string();
    assert!(warnings.contains("source_failed"), "{built:?}");
    assert!(!warnings.contains("unknown_reference"), "{built:?}");
    let said = without(&[word], "ctx_server");
    for wanted in ["the store failed", "is damaged", "panicked"] {
        assert!(
            said.iter().any(|it| it.contains(wanted)),
            "{wanted}: {said:?}"
        );
    }
}

#[test]
fn log_lines_belong_to_a_request() {
    Keep::begin();
    let word = "canaryofrequests";
    let server = Running::start(std::sync::Arc::new(Shared(Failing::new(word))), patient());
    let said_of = |answer: &Answer, route: &str, said: &str| {
        let id = answer.header("x-request-id").unwrap();
        let of = format!("of {id} POST {route}");
        let found = without(&[word], &of);
        assert!(
            found.iter().any(|it| it.contains(said)),
            "{said}: {found:?}"
        );
    };
    for _ in 0..Failing::WAYS {
        let answer = server.post(ADA, "/v1/threads", &json!({"id": "t"}));
        answer.refused(500, "");
        said_of(&answer, "/v1/threads", "status=500");
    }
    // By a task of the build's own.
    let named = json!({"message": "what is `fn_name` in a.rs:1?", "references": ["a.rs"]});
    let answer = server.post(ADA, "/v1/context/build", &named);
    answer.data(200);
    said_of(&answer, "/v1/context/build", "a source contributed nothing");
    // Of a stream, whose answer has begun.
    let body = json!({"message": word});
    let accept = [("Accept", "text/event-stream")];
    let answer = server.post_with(ADA, "/v1/context/build", &body, &accept);
    let id = answer.header("x-request-id").unwrap();
    assert!(
        answer.body.contains(&format!("\"requestId\":\"{id}\"")),
        "{answer:?}"
    );
    said_of(&answer, "/v1/context/build", "status=500");
}

#[test]
fn each_answer_has_an_id_that_is_the_servers_own() {
    let server = Running::embedded();
    let theirs = [("X-Request-Id", "canaryofids")];
    let mut ids = BTreeSet::new();
    for line in [
        "GET /healthz",
        "GET /healthz",
        "GET /v1/threads",
        "PUT /none",
    ] {
        let answer = server.send(line, &theirs, b"");
        let id = answer.header("x-request-id").unwrap().to_owned();
        assert!(
            id.len() == 32 && id.bytes().all(|it| it.is_ascii_hexdigit()),
            "{id}"
        );
        assert!(ids.insert(id), "{ids:?}");
    }
}

#[test]
fn nothing_of_what_is_damaged_is_logged() {
    Keep::begin();
    let word = "canaryofdamage";
    let folder = tempfile::tempdir().unwrap();
    let file = json!({"files": [{"path": format!("{word}.rs"), "content": format!("fn {word}() {{}}\n")}]});
    let asked = json!({"message": word, "threadId": "t", "references": [format!("{word}.rs")]});
    let mut server = Running::within(folder.path());
    server.post(ADA, "/v1/files", &file).data(200);
    let thread = json!({"id": "t", "title": word, "pinned": [word]});
    server.post(ADA, "/v1/threads", &thread).data(201);
    let message = json!({"role": "user", "content": word});
    let messages = "/v1/threads/t/messages";
    server.post(ADA, messages, &message).data(201);
    let built = server.post(ADA, "/v1/context/build", &asked).data(200);
    let receipt = format!("/v1/context/{}", built["id"].as_str().unwrap());
    server.join();
    let mut failed = 0;
    for path in disk::files_below(&folder.path().join("owners")) {
        // What an open database has beside it may be gone.
        let whole = std::fs::read(&path).unwrap_or_default();
        let Some(at) = whole
            .windows(word.len())
            .position(|it| it == word.as_bytes())
        else {
            continue;
        };
        // What comes before the word is damaged, and so are its neighbours.
        let mut damaged = whole.clone();
        for at in [at.saturating_sub(1), at + word.len()] {
            if let Some(byte) = damaged.get_mut(at) {
                *byte ^= 1;
            }
        }
        std::fs::write(&path, damaged).unwrap();
        let mut server = Running::within(folder.path());
        for answer in [
            server.get(ADA, messages),
            server.get(ADA, &receipt),
            server.get(ADA, "/v1/threads"),
            server.post(ADA, messages, &message),
            server.post(ADA, "/v1/context/build", &asked),
            server.post(ADA, "/v1/files", &file),
        ] {
            failed += usize::from(answer.status >= 500);
        }
        server.join();
        std::fs::write(&path, whole).unwrap();
    }
    assert!(failed > 0);
    without(&[word], "ctx_server");
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_of_what_a_full_disk_does_not_take_is_logged() {
    Keep::begin();
    let Some(disk) = disk::Disk::new(4 << 20) else {
        return;
    };
    let word = "canaryoffulldisk";
    let server = Running::within(&disk.path().join("data"));
    server
        .post(ADA, "/v1/threads", &json!({"id": "t"}))
        .data(201);
    std::fs::write(disk.path().join("full"), vec![1; 8 << 20]).unwrap_err();
    let file = json!({"files": [{"path": word, "content": word.repeat(1_000)}]});
    server.post(ADA, "/v1/files", &file).refused(507, "");
    let message = json!({"role": "user", "content": word.repeat(1_000)});
    let answer = server.post(ADA, "/v1/threads/t/messages", &message);
    answer.refused(507, "");
    let said = without(&[word], "the disk is full");
    assert!(!said.is_empty());
}

#[cfg(all(unix, feature = "postgres"))]
#[test]
fn refusals_of_the_database_are_logged_by_code_and_name() {
    use crate::postgres::block_on;

    Keep::begin();
    let Some(database) = ctx_testkit::postgres::Server::shared() else {
        return;
    };
    let url = block_on(database.database());
    let server = Running::over(&url);
    block_on(async {
        let raw = ctx_testkit::postgres::raw(&url).await;
        raw.batch_execute(
            "ALTER TABLE ctx.messages ADD CONSTRAINT no_birds CHECK (content NOT LIKE '%canary%');
             ALTER TABLE ctx.files ADD CONSTRAINT no_birds_either CHECK (content NOT LIKE '%canary%');
             CREATE FUNCTION ctx.refuse() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE 'no % here', NEW.path; END $$;
             CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON ctx.usage
             FOR EACH ROW EXECUTE FUNCTION ctx.refuse();",
        )
        .await
        .unwrap();
    });
    let word = "canaryofdatabase";
    server
        .post(ADA, "/v1/threads", &json!({"id": "t"}))
        .data(201);
    let message = json!({"role": "user", "content": word});
    let answer = server.post(ADA, "/v1/threads/t/messages", &message);
    answer.refused(500, "");
    let files =
        |content: &str| json!({"files": [{"path": format!("{word}.rs"), "content": content}]});
    let answer = server.post(ADA, "/v1/files", &files(&format!("fn {word}() {{}}")));
    answer.refused(500, "");
    // One that the database words, about a vote: a port's failure.
    server
        .post(ADA, "/v1/files", &files("fn sparrow() {}\n"))
        .data(200);
    let built = server
        .post(ADA, "/v1/context/build", &json!({"message": "sparrow"}))
        .data(200);
    let vote = json!({"handle": built["handle"], "useful": true});
    let answer = server.post(ADA, "/v1/context/feedback", &vote);
    answer.refused(500, "");
    let said = without(&[word], "23514");
    for name in ["no_birds", "no_birds_either", "messages", "files"] {
        assert!(said.iter().any(|it| it.contains(name)), "{name}: {said:?}");
    }
    assert!(!without(&[word], "P0001").is_empty());
}
