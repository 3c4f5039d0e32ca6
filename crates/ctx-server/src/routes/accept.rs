//! Content negotiation by `Accept` (RFC 9110, section 12.5.1).

use axum::extract::FromRequestParts;
use axum::http::header::ACCEPT;
use axum::http::request::Parts;

use crate::problem::Problem;
use crate::state::Shared;

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Events,
}

/// The media ranges that match JSON, the most specific first.
const JSON: [&str; 3] = ["application/json", "application/*", "*/*"];
/// The media ranges that match a stream. `*/*` is not among them: a stream is only sent to clients
/// that ask for one.
const EVENTS: [&str; 2] = ["text/event-stream", "text/*"];

impl FromRequestParts<Shared> for Form {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Problem> {
        let said = parts.headers.get_all(ACCEPT).iter();
        let said = said.filter_map(|it| it.to_str().ok());
        form(said).ok_or_else(Problem::not_acceptable)
    }
}

/// The form requested by `said`, the values of `Accept` headers: the one with the larger weight, or
/// of equal ones the first. JSON if there is no such header, and `None` if both are refused.
fn form<'v>(said: impl Iterator<Item = &'v str>) -> Option<Form> {
    let ranges = said.flat_map(|it| it.split(',')).map(str::trim);
    let ranges: Vec<&str> = ranges.filter(|it| !it.is_empty()).collect();
    if ranges.is_empty() {
        return Some(Form::Json);
    }
    let ranges: Vec<(&str, f32)> = ranges.into_iter().filter_map(weighed).collect();
    match (wanted(&ranges, &JSON), wanted(&ranges, &EVENTS)) {
        (None, None) => None,
        (Some(_), None) => Some(Form::Json),
        (None, Some(_)) => Some(Form::Events),
        (Some(json), Some(events)) => {
            let is_json = events
                .q
                .total_cmp(&json.q)
                .then(json.at.cmp(&events.at))
                .is_le();
            Some(if is_json { Form::Json } else { Form::Events })
        }
    }
}

/// The weight of a form, and its position in the header.
struct Wanted {
    q: f32,
    at: usize,
}

/// The weight of a form with the media ranges `names`, taken from the most specific one that is
/// present; `None` if it is refused or not mentioned.
fn wanted(ranges: &[(&str, f32)], names: &[&str]) -> Option<Wanted> {
    let said_of = |name: &&str| {
        let mut said = ranges.iter().enumerate();
        let (at, (_, q)) = said.find(|(_, (range, _))| range.eq_ignore_ascii_case(name))?;
        Some(Wanted { q: *q, at })
    };
    names.iter().find_map(said_of).filter(|it| it.q > 0.0)
}

/// A media range without its parameters, and its weight; `None` if that is not from 0 to 1.
fn weighed(range: &str) -> Option<(&str, f32)> {
    let mut parts = range.split(';').map(str::trim);
    let kind = parts.next()?;
    let q = parts.find_map(|it| {
        let (name, value) = it.split_once('=')?;
        name.eq_ignore_ascii_case("q").then_some(value)
    });
    let q = q.map_or(Some(1.0), |it| it.parse().ok())?;
    (0.0..=1.0).contains(&q).then_some((kind, q))
}
