//! The `OpenAPI` description matches the server.

use std::collections::BTreeSet;
use std::str::FromStr as _;

use ctx_model::{BuildOptions, Chunk, ModelError, OmittedReason, WarningCode};
use serde_json::{Value, json};

use crate::client::{ADA, Running};
use crate::pins::pin;

fn described(server: &Running) -> Value {
    let answer = server.send("GET /openapi.json", &[], b"");
    assert_eq!(answer.status, 200);
    answer.json()
}

#[test]
fn it_is_openapi_of_every_route() {
    let server = Running::embedded();
    let openapi = described(&server);
    assert!(openapi["openapi"].as_str().unwrap().starts_with("3.1"));
    let paths: Vec<&str> = openapi["paths"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    for path in [
        "/v1/context/build",
        "/v1/context/assemble",
        "/v1/context/feedback",
        "/v1/context/{id}",
        "/v1/context/{id}/resolve",
        "/v1/files",
        "/v1/files/content",
        "/v1/threads",
        "/v1/threads/{id}",
        "/v1/threads/{id}/messages",
        "/v1/threads/{id}/pinned",
        "/healthz",
        "/readyz",
        "/metrics",
    ] {
        assert!(paths.contains(&path), "{path} in {paths:?}");
    }
}

#[test]
fn every_operation_has_an_id_of_its_own() {
    let openapi = described(&Running::embedded());
    let paths = openapi["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|it| it.as_object().unwrap().values());
    let ids: Vec<&str> = operations
        .filter_map(|it| it["operationId"].as_str())
        .collect();
    let each_once: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(each_once.len(), ids.len(), "{ids:?}");
    assert!(ids.len() >= 15, "{ids:?}");
}

/// The description of the answer of this status: as such, or by its first digit.
fn response<'d>(openapi: &'d Value, path: &str, method: &str, status: u16) -> &'d Value {
    let responses = &openapi["paths"][path][method]["responses"];
    let exact = &responses[status.to_string()];
    let kind = &responses[format!("{}XX", status / 100)];
    if exact.is_object() { exact } else { kind }
}

#[test]
fn the_refusals_of_every_route_are_described_with_their_headers() {
    let server = Running::embedded();
    let openapi = described(&server);
    let bearer = format!("Bearer {ADA}");
    let token = ("Authorization", bearer.as_str());
    let (host, origin) = (("Host", "evil.example"), ("Origin", "http://evil.example"));
    for (line, headers, status) in [
        ("GET /healthz", &[][..], 200),
        ("GET /healthz", &[host], 200),
        ("GET /healthz", &[origin], 403),
        ("GET /readyz", &[host], 200),
        ("GET /readyz", &[origin], 403),
        ("GET /metrics", &[host], 421),
        ("GET /metrics", &[], 401),
        ("GET /v1/threads", &[token], 200),
        ("GET /v1/threads", &[], 401),
        ("PUT /v1/threads", &[token], 405),
    ] {
        let answer = server.send(line, headers, b"");
        assert_eq!(answer.status, status, "{line}");
        let (method, path) = line.split_once(' ').unwrap();
        // What is said of a path whose method it does not take is said of each that it takes.
        let method = method.to_lowercase().replace("put", "get");
        let response = response(&openapi, path, &method, status);
        assert!(response["description"].is_string(), "{line} {status}");
        for name in ["X-Request-Id", "Allow", "WWW-Authenticate", "Retry-After"] {
            if answer.header(&name.to_lowercase()).is_some() {
                let header = &response["headers"][name];
                assert!(header["schema"].is_object(), "{name} of {line} {status}");
            }
        }
    }
    for (path, item) in openapi["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            let has = |status, name: &str| {
                response(&openapi, path, method, status)["headers"][name].is_object()
            };
            let is_told = has(405, "Allow") && has(401, "WWW-Authenticate");
            assert!(is_told && has(421, "X-Request-Id"), "{method} {path}");
            // Nothing is asked for it.
            let never_waits = path == "/healthz";
            assert!(never_waits || has(503, "Retry-After"), "{method} {path}");
        }
    }
}

#[test]
fn every_time_is_described_with_its_unit() {
    let server = Running::embedded();
    let openapi = described(&server);
    let schemas = openapi["components"]["schemas"].as_object().unwrap();
    let times = schemas.iter().flat_map(|(name, schema)| {
        let times = ["createdAt", "activeAt"].map(|it| schema["properties"].get(it));
        let times = times.into_iter().flatten();
        times.map(move |it| (name, it["description"].as_str().unwrap_or_default()))
    });
    let times: Vec<_> = times.collect();
    for (name, said) in &times {
        let said = said.to_lowercase();
        let is_told = said.contains("milliseconds") && said.ends_with("since 1970.");
        assert!(is_told, "{name}: {said:?}");
    }
    assert!(times.len() >= 6, "{times:?}");
}

#[test]
fn who_says_every_default_that_is_described_is_answered_as_who_says_none() {
    let server = Running::embedded();
    let openapi = described(&server);
    let defaults = |request: &str| -> Value {
        let schemas = &openapi["components"]["schemas"];
        let options = &schemas[request]["properties"]["options"];
        let options = options.to_string();
        let name = options.split("schemas/").nth(1).unwrap();
        let name = name.split('"').next().unwrap();
        let properties = schemas[name]["properties"].as_object().unwrap();
        let defaults = properties.iter().filter_map(|(field, it)| {
            let default = it.get("default")?.clone();
            Some((field.clone(), default))
        });
        defaults.collect::<serde_json::Map<_, _>>().into()
    };
    let said = defaults("BuildRequest");
    assert_eq!(said["maxTokens"], 4_000);
    let built = |options: &Value| {
        let request = json!({"message": "what is it?", "options": options});
        let answer = server.post(ADA, "/v1/context/build", &request);
        answer.data(200);
        answer.json()["meta"]["cached"].clone()
    };
    assert_eq!(
        (built(&json!({})), built(&said)),
        (false.into(), true.into())
    );
    let said = defaults("AssembleRequest");
    assert_eq!(said["maxTokens"], 8_000);
    let assembled = |options: &Value| {
        let chunks = json!([{"id": "a", "content": "fn a() {}", "relevance": 1}]);
        let request = json!({"chunks": chunks, "options": options});
        let built = server.post(ADA, "/v1/context/assemble", &request).data(200);
        (built["digest"].clone(), built["tokens"].clone())
    };
    assert_eq!(assembled(&json!({})), assembled(&said));
}

#[test]
fn every_option_is_described_with_its_default() {
    let openapi = described(&Running::embedded());
    let properties = |name: &str| &openapi["components"]["schemas"][name]["properties"];
    let without = |name: &str| -> Vec<&String> {
        let options = properties(name).as_object().unwrap().iter();
        let options = options.filter(|(_, it)| it.get("default").is_none());
        options.map(|it| it.0).collect()
    };
    assert_eq!(without("BuildOptions"), [""; 0]);
    // What these are for a message is told of its options as a whole.
    let of_message = ["groupBy", "includeIds", "order", "reserve"];
    assert_eq!(without("PrimeOptions"), of_message);
    for (option, of_chunks, of_message) in [
        ("relevancePower", json!(1), json!(12)),
        ("selection", json!("inOrder"), json!("optimal")),
        ("format", json!("markdown"), json!("markdown")),
        ("includeNotice", json!(true), json!(true)),
        ("maxChunks", Value::Null, Value::Null),
    ] {
        for (name, default) in [("BuildOptions", of_chunks), ("PrimeOptions", of_message)] {
            assert_eq!(
                properties(name)[option]["default"],
                default,
                "{name} {option}"
            );
        }
    }
}

#[test]
fn every_word_of_a_receipt_is_described() {
    let openapi = described(&Running::embedded());
    let Err(ModelError::UnknownWord { known, .. }) = OmittedReason::from_str("") else {
        panic!("it is no reason");
    };
    let codes: Vec<&str> = WarningCode::KNOWN.iter().map(WarningCode::as_str).collect();
    for (schema, field, words) in [("Omitted", "reason", known), ("Warning", "code", &codes)] {
        let field = &openapi["components"]["schemas"][schema]["properties"][field];
        let description = field["description"].as_str().unwrap();
        for word in words {
            assert!(
                description.contains(&format!("`{word}`")),
                "{schema}: {word}"
            );
        }
    }
}

#[test]
fn the_orders_of_lists_are_described() {
    let openapi = described(&Running::embedded());
    for (path, words) in [
        ("/v1/threads/{id}/messages", r#""enum":["oldest","latest"]"#),
        ("/v1/threads", r#""enum":["created","active"]"#),
    ] {
        let parameters = &openapi["paths"][path]["get"]["parameters"];
        let mut parameters = parameters.as_array().unwrap().iter();
        let order = parameters.find(|it| it["name"] == "order").unwrap();
        assert_eq!(order["required"], false);
        // Nothing but one of the words is asked for.
        let schema = order["schema"].to_string();
        assert!(schema.contains(words), "{schema}");
        assert!(!schema.contains("object"), "{schema}");
    }
}

/// Of what the description says in other words than descriptions.
#[test]
fn people_see_what_is_required_allowed_and_default() {
    let server = Running::embedded();
    let page = server.send("GET /docs", &[], b"").body;
    let section = |name: &str| {
        let from = page.split(&format!("id=\"type-{name}\"")).nth(1).unwrap();
        from.split("<h3").next().unwrap().to_owned()
    };
    for (name, rows) in [
        (
            "BuildRequest",
            &[
                "string, required, 1 to 100000 characters",
                "at most 32 items",
            ][..],
        ),
        (
            "BuildOptions",
            &[
                "integer, 0 to 1000000, default 8000",
                "default &quot;markdown&quot;",
            ],
        ),
        ("PrimeOptions", &["default 4000", "default 12"]),
        ("Reference", &["string, 1 to 1024 characters"]),
        (
            "BuildEvent",
            &["progress, required", "#type-Progress", "#type-Problem"],
        ),
    ] {
        let section = section(name);
        for row in rows {
            assert!(section.contains(row), "{row} in {section}");
        }
    }
}

#[test]
fn requests_accept_the_fields_of_their_schema() {
    let server = Running::embedded();
    let schemas = &described(&server)["components"]["schemas"];
    let fields = |name: &str| -> Vec<String> {
        let properties = schemas[name]["properties"].as_object().unwrap();
        properties.keys().cloned().collect()
    };
    // Each field is known: a value of the wrong type is refused for its type, not for its name.
    for field in fields("BuildOptions") {
        let error =
            serde_json::from_value::<BuildOptions>(json!({field.as_str(): {"x": 1}})).unwrap_err();
        assert!(
            !error
                .to_string()
                .starts_with(&format!("unknown field `{field}`")),
            "{field}: {error}"
        );
    }
    for field in fields("Chunk") {
        let error = serde_json::from_value::<Chunk>(json!({field.as_str(): {"x": 1}})).unwrap_err();
        assert!(
            !error
                .to_string()
                .starts_with(&format!("unknown field `{field}`")),
            "{field}: {error}"
        );
    }
    // And none is left out.
    for (name, error) in [
        (
            "BuildOptions",
            serde_json::from_value::<BuildOptions>(json!({"?": 1})).unwrap_err(),
        ),
        (
            "Chunk",
            serde_json::from_value::<Chunk>(json!({"?": 1})).unwrap_err(),
        ),
    ] {
        let told = error.to_string();
        let known = told.split('`').skip(3).step_by(2);
        for field in known {
            assert!(
                fields(name).iter().any(|it| it == field),
                "{field} of {name}"
            );
        }
    }
}

/// In the order in which somebody would try them.
#[test]
fn examples_of_requests_are_answered() {
    let server = Running::embedded();
    let schemas = &described(&server)["components"]["schemas"];
    let send = |path: &str, name: &str, status: u16| -> Value {
        let example = &schemas[name]["example"];
        assert!(example.is_object(), "{name}");
        server.post(ADA, path, example).data(status)
    };
    send("/v1/files", "FilesRequest", 200);
    send("/v1/threads", "ThreadRequest", 201);
    send("/v1/threads/prices/messages", "MessageRequest", 201);
    let pinned = &schemas["PinsRequest"]["example"]["pinned"];
    assert_eq!(pin(&server, ADA, "prices", pinned).status, 200, "{pinned}");
    let title = &schemas["ThreadChange"]["example"];
    let changed = server.patch(ADA, "/v1/threads/prices", title).data(200);
    assert_eq!(changed["title"], title["title"]);
    let built = send("/v1/context/build", "BuildRequest", 200);
    assert_eq!(built["files"], json!(["src/price.rs"]), "{built}");
    let id = built["id"].as_str().unwrap();
    send(&format!("/v1/context/{id}/resolve"), "ResolveRequest", 200);
    let assembled = send("/v1/context/assemble", "AssembleRequest", 200);
    assert!(assembled["omitted"].as_array().unwrap().is_empty());
    // And people see them.
    let page = server.send("GET /docs", &[], b"");
    assert!(page.body.contains("How is a @price rounded"));
}

#[test]
fn answers_have_the_fields_of_their_schema() {
    let server = Running::embedded();
    let files = json!({"files": [{"path": "a.rs", "content": "fn alpha() {}\n"}]});
    server.post(ADA, "/v1/files", &files).data(200);
    let data = server
        .post(
            ADA,
            "/v1/context/build",
            &json!({"message": "alpha", "itemContent": true, "options": {"explain": true}}),
        )
        .data(200);
    let receipt = server
        .get(
            ADA,
            &format!("/v1/context/{}", data["id"].as_str().unwrap()),
        )
        .data(200);
    let label = data["items"][0]["id"].as_str().unwrap();
    let resolve = format!("/v1/context/{}/resolve", data["id"].as_str().unwrap());
    let answer = json!({"answer": format!("\"words of my own\" [{label}:1] [{label}]")});
    let resolved = server.post(ADA, &resolve, &answer).data(200);
    let thread = server.post(ADA, "/v1/threads", &json!({"id": "t", "title": "T"}));
    let thread = thread.data(201);
    let small = json!({"message": "alpha", "options": {"maxTokens": 1}});
    let problem = server.post(ADA, "/v1/context/build", &small).json();
    let schemas = &described(&server)["components"]["schemas"];
    let built = &receipt["receipt"];
    for (name, value) in [
        ("BuiltContext", built),
        ("TokenSplit", &built["tokens"]),
        ("Included", &built["included"][0]),
        ("Citation", &built["citations"][0]),
        ("Certificate", &built["certificate"]),
        ("Receipt", &receipt),
        ("ContextData", &data),
        ("Item", &data["items"][0]),
        ("Thread", &thread),
        ("Signal", &data["items"][0]["signals"][0]),
        ("Scored", &receipt["items"][0]),
        ("Metadata", &data["items"][0]["metadata"]),
        ("CitedSource", &data["citations"][0]),
        ("Resolved", &resolved),
        ("Mark", &resolved["marks"][0]),
        ("Problem", &problem),
        ("Breakdown", &problem["breakdown"]),
    ] {
        let schema = &schemas[name];
        let properties = schema["properties"]
            .as_object()
            .unwrap_or_else(|| panic!("{name}: {schema}"));
        let value = value.as_object().unwrap();
        for field in value.keys() {
            assert!(properties.contains_key(field), "{field} of {name}");
        }
        for field in schema["required"].as_array().into_iter().flatten() {
            assert!(
                value.contains_key(field.as_str().unwrap()),
                "{field} of {name}"
            );
        }
    }
}

#[test]
fn the_events_of_a_build_are_described() {
    let server = Running::embedded();
    let openapi = described(&server);
    let schemas = &openapi["components"]["schemas"];
    let content = &openapi["paths"]["/v1/context/build"]["post"]["responses"]["200"]["content"];
    let event = &content["text/event-stream"]["schema"];
    assert_eq!(event["$ref"], "#/components/schemas/BuildEvent");
    let events = schemas["BuildEvent"]["oneOf"].as_array().unwrap().iter();
    let events = events.map(|it| {
        let properties = &it["properties"];
        let name = properties["event"]["enum"][0].as_str().unwrap();
        (name, properties["data"]["$ref"].as_str().unwrap())
    });
    let result = content["application/json"]["schema"]["$ref"]
        .as_str()
        .unwrap();
    let wanted = [
        ("progress", "#/components/schemas/Progress"),
        ("result", result),
        ("problem", "#/components/schemas/Problem"),
    ];
    assert_eq!(events.collect::<Vec<_>>(), wanted);
    // Both tell stages by the same words.
    let stage = |of: &str| &schemas[of]["properties"]["stage"]["$ref"];
    assert_eq!(stage("Progress"), stage("Timing"));
    assert!(schemas["Stage"]["enum"].is_array());
}

#[test]
fn each_schema_is_defined_once_and_used() {
    let openapi = described(&Running::embedded());
    let schemas = openapi["components"]["schemas"].as_object().unwrap();
    let all = openapi.to_string();
    for (name, schema) in schemas {
        let is_used = all.contains(&format!("\"#/components/schemas/{name}\""));
        assert!(is_used, "nothing is a {name}");
        if name.starts_with("Reply_") {
            for part in ["data", "meta"] {
                let part = &schema["properties"][part];
                let part = if part["type"] == "array" {
                    &part["items"]
                } else {
                    part
                };
                assert!(part["$ref"].is_string(), "{name}: {part}");
            }
        }
    }
}
