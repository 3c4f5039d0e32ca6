//! The frame of the description of all routes; each route describes itself.

use utoipa::Modify;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};

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

/// The description without a route.
pub(crate) fn begin() -> OpenApi {
    Frame::openapi()
}
