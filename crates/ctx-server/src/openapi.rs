//! The frame of the description of all routes; each route describes itself.

use std::collections::BTreeMap;

use utoipa::Modify;
use utoipa::OpenApi as _;
use utoipa::openapi::header::Header;
use utoipa::openapi::path::PathItem;
use utoipa::openapi::response::Response;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Object, OpenApi, RefOr, Type};

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "ctx",
        description = "Files and threads in, prompt-ready contexts out, each owner to itself.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    security(("token" = [])),
    tags(
        (name = "context", description = "Contexts"),
        (name = "files", description = "What is looked through"),
        (name = "threads", description = "What was said"),
        (name = "status", description = "How the server is"),
    ),
    components(schemas(crate::wire::Progress)),
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

/// The headers that answers have whatever their route: the first digit of those, where not all have it, the name, the type,
/// and what it tells.
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

/// Adds the headers to the answers of every route.
pub(crate) fn finish(openapi: &mut OpenApi) {
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

/// The answers of each method that a path takes.
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

/// The description without a route.
pub(crate) fn begin() -> OpenApi {
    Frame::openapi()
}
