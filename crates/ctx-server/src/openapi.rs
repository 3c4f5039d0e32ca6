//! The frame of the `OpenAPI` description; each route describes itself.

use std::collections::{BTreeMap, BTreeSet};

use utoipa::Modify;
use utoipa::OpenApi as _;
use utoipa::openapi::header::Header;
use utoipa::openapi::path::PathItem;
use utoipa::openapi::response::Response;
use utoipa::openapi::schema::{ArrayItems, Schema};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Object, OpenApi, Ref, RefOr, Type};

use crate::schema::add_defaults;

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "ctx",
        description = "Files and threads in, prompt-ready contexts out. Each owner sees only its own data.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    security(("token" = [])),
    tags(
        (name = "context", description = "Contexts: build or assemble them, read their receipts, check the citations of an answer, give feedback"),
        (name = "files", description = "Files: the texts that contexts are built from"),
        (name = "threads", description = "Threads: conversations with their messages and pins"),
        (name = "status", description = "The state of the server"),
    ),
    modifiers(&Token),
)]
struct Frame;

struct Token;

impl Modify for Token {
    fn modify(&self, openapi: &mut OpenApi) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("token", scheme);
    }
}

/// Headers that all routes answer with: the first digit of the status, if not all statuses have the
/// header, the name, the type, and the description.
const HEADERS: [(&str, &str, Type, &str); 4] = [
    (
        "",
        "X-Request-Id",
        Type::String,
        "What the server calls the request: 32 hexadecimal digits, as in a problem and in the log",
    ),
    (
        "4",
        "Allow",
        Type::String,
        "With 405: the methods that the path takes",
    ),
    (
        "4",
        "WWW-Authenticate",
        Type::String,
        "With 401: how a token is sent",
    ),
    (
        "5",
        "Retry-After",
        Type::Integer,
        "With 503: after so many seconds the same may succeed",
    ),
];

/// Adds the headers to the answers of every route and the defaults to options, and references the
/// schemas of the parts of answers by name.
pub(crate) fn finish(openapi: &mut OpenApi) {
    if let Some(components) = &mut openapi.components {
        name_parts(&mut components.schemas);
        add_defaults(&mut components.schemas);
    }
    let operations = openapi.paths.paths.values_mut().flat_map(operations);
    for (status, response) in operations.flatten() {
        let RefOr::T(response) = response else {
            continue;
        };
        for (digit, name, kind, about) in HEADERS {
            if status.starts_with(digit) {
                let mut header = Header::new(Object::with_type(kind));
                header.description = Some(about.to_owned());
                response.headers.insert(name.to_owned(), RefOr::T(header));
            }
        }
    }
}

/// The prefix of the schema names of answers.
const REPLY: &str = "Reply_";

/// Replaces the inlined `data` and `meta` of each answer by references: `utoipa` inlines them
/// because the answer type is generic.
fn name_parts(schemas: &mut BTreeMap<String, RefOr<Schema>>) {
    let named = schemas.clone();
    let replies = schemas.iter_mut();
    for (name, reply) in replies.filter(|it| it.0.starts_with(REPLY)) {
        let parts: BTreeSet<&str> = name.split('_').collect();
        let named = named.iter().filter(|it| parts.contains(it.0.as_str()));
        let RefOr::T(Schema::Object(reply)) = reply else {
            continue;
        };
        for (name, schema) in named {
            for part in reply.properties.values_mut() {
                name_part(part, name, schema);
            }
        }
    }
}

/// Replaces `part`, or the items of a list, by a reference to `name` if it equals `schema`.
fn name_part(part: &mut RefOr<Schema>, name: &str, schema: &RefOr<Schema>) {
    if is_same(part, schema) {
        *part = Ref::from_schema_name(name).into();
        return;
    }
    if let RefOr::T(Schema::Array(list)) = part
        && let ArrayItems::RefOrSchema(item) = &mut list.items
    {
        name_part(item, name, schema);
    }
}

/// Whether a field has this schema, ignoring descriptions: a field has its own.
fn is_same(part: &RefOr<Schema>, schema: &RefOr<Schema>) -> bool {
    let silent = |it: &RefOr<Schema>| {
        let mut it = serde_json::to_value(it).unwrap_or_default();
        if let Some(fields) = it.as_object_mut() {
            fields.remove("description");
        }
        it
    };
    silent(part) == silent(schema)
}

/// The responses of each method of a path.
fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut BTreeMap<String, RefOr<Response>>> {
    let methods = [
        &mut item.get,
        &mut item.put,
        &mut item.post,
        &mut item.delete,
        &mut item.patch,
    ];
    let operations = methods.into_iter().flatten();
    operations.map(|it| &mut it.responses.responses)
}

/// The description without any route.
pub(crate) fn begin() -> OpenApi {
    Frame::openapi()
}
