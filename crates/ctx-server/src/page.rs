//! The API documentation as one HTML page that loads nothing.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::problem::KINDS;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
code,pre,.path{font-family:ui-monospace,monospace}h2{border-bottom:1px solid #8886}table{border-collapse:collapse}\
td,th{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0}@media(prefers-color-scheme:dark)\
{body{background:#111;color:#ddd}a{color:#8bf}}";

/// Renders the page of `openapi`.
pub(crate) fn render(openapi: &Value) -> String {
    let mut page = Page(String::new());
    let title = text(&openapi["info"]["title"]);
    page.push(&format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{title}</title><style>{STYLE}</style><h1>{title}</h1><p>{}</p>\
         <p>Every request carries <code>Authorization: Bearer TOKEN</code>, except for <code>/healthz</code>, \
         <code>/readyz</code>, <code>/docs</code> and <code>/openapi.json</code>; for <code>/metrics</code> it is the \
         token of an operator. The same as <a href=\"openapi.json\">OpenAPI 3.1</a>.</p>",
        text(&openapi["info"]["description"]),
    ));
    page.push("<h2>Routes</h2>");
    for (path, methods) in object(&openapi["paths"]) {
        for (method, operation) in object(methods) {
            page.operation(path, method, operation);
        }
    }
    page.push("<h2>Types</h2>");
    for (name, schema) in object(&openapi["components"]["schemas"]) {
        page.schema(name, schema);
    }
    page.push("<h2>Problems</h2><table><tr><th>Status<th>Kind<th>Meaning");
    for (kind, status, title) in KINDS {
        let (status, title) = (status.as_u16(), escape(title));
        page.push(&format!(
            "<tr id=\"problem-{kind}\"><td>{status}<td><code>{kind}</code><td>{title}"
        ));
    }
    page.push("</table></html>");
    page.0
}

struct Page(String);

impl Page {
    fn push(&mut self, html: &str) {
        self.0.push_str(html);
    }

    fn operation(&mut self, path: &str, method: &str, operation: &Value) {
        let (path, method) = (escape(path), escape(&method.to_uppercase()));
        self.push(&format!("<h3 class=\"path\">{method} {path}</h3>"));
        for said in ["summary", "description"] {
            if operation[said].is_string() {
                self.push(&format!("<p>{}</p>", text(&operation[said])));
            }
        }
        self.push("<table>");
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let is_required = parameter["required"] == true;
            self.row(
                &text(&parameter["name"]),
                &field(&parameter["schema"], is_required),
                &text(&parameter["description"]),
            );
        }
        for (_, content) in object(&operation["requestBody"]["content"]) {
            self.row("body", &shape(&content["schema"]), "");
        }
        for (status, response) in object(&operation["responses"]) {
            let shapes = object(&response["content"]).map(|(_, it)| shape(&it["schema"]));
            let shapes: Vec<String> = shapes.collect();
            self.row(
                &escape(status),
                &shapes.join(" or "),
                &text(&response["description"]),
            );
        }
        self.push("</table>");
    }

    fn schema(&mut self, name: &str, schema: &Value) {
        let name = escape(name);
        self.push(&format!("<h3 id=\"type-{name}\">{name}</h3>"));
        if schema["description"].is_string() {
            self.push(&format!("<p>{}</p>", text(&schema["description"])));
        }
        let mut parts = [&schema["allOf"], &schema["oneOf"]].into_iter();
        let parts = parts.find_map(Value::as_array);
        for part in parts.map_or(std::slice::from_ref(schema), |it| it) {
            self.part(part);
        }
        if !schema["example"].is_null() {
            let example = format!("{:#}", schema["example"]);
            self.push(&format!("<pre>{}</pre>", escape(&example)));
        }
    }

    /// The fields of a part of a schema, or what it is if it has none.
    fn part(&mut self, part: &Value) {
        self.push("<table>");
        if !part["properties"].is_object() {
            self.row("", &field(part, false), "");
        }
        let required = part["required"].as_array();
        for (name, it) in object(&part["properties"]) {
            let is_required = required.is_some_and(|all| all.iter().any(|it| it == name));
            let (name, shape) = (escape(name), field(it, is_required));
            self.row(&name, &shape, &text(&it["description"]));
        }
        self.push("</table>");
    }

    fn row(&mut self, name: &str, shape: &str, about: &str) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "<tr><td><code>{name}</code><td>{shape}<td>{about}");
    }
}

/// The type of a field, whether it is required, its limits, and its default unless that is null.
fn field(schema: &Value, is_required: bool) -> String {
    let mut told = vec![shape(schema)];
    if is_required {
        told.push("required".to_owned());
    }
    for (least, most, unit) in [
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " items"),
    ] {
        match (schema[least].as_f64(), schema[most].as_f64()) {
            (Some(least), Some(most)) => told.push(format!("{least} to {most}{unit}")),
            (None, Some(most)) => told.push(format!("at most {most}{unit}")),
            (Some(least), None) if least > 0.0 => told.push(format!("at least {least}{unit}")),
            _ => {}
        }
    }
    if !schema["default"].is_null() {
        told.push(format!(
            "default {}",
            escape(&schema["default"].to_string())
        ));
    }
    told.join(", ")
}

/// The type of a schema, in a word or a link.
fn shape(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        let name = escape(name.rsplit('/').next().unwrap_or(name));
        return format!("<a href=\"#type-{name}\">{name}</a>");
    }
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> = words.iter().map(text).collect();
        return words.join(" | ");
    }
    for several in ["oneOf", "anyOf", "allOf"] {
        if let Some(schemas) = schema[several].as_array() {
            let is_something = |it: &&Value| it["type"] != "null";
            let shapes: Vec<String> = schemas.iter().filter(is_something).map(shape).collect();
            return shapes.join(" | ");
        }
    }
    let word = match &schema["type"] {
        Value::Array(words) => words
            .iter()
            .find(|it| *it != "null")
            .map_or_else(String::new, text),
        word => text(word),
    };
    match word.as_str() {
        "array" => format!("{}[]", shape(&schema["items"])),
        _ => word,
    }
}

fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn text(value: &Value) -> String {
    escape(value.as_str().unwrap_or_default())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
