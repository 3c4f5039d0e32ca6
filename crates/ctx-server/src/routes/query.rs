//! Parts of a path and of a query, with the field named that is at fault.

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;

use crate::backend::{Page, PageLimit};
use crate::problem::Problem;
use crate::state::Shared;
use crate::wire::{PageQuery, check_id};

/// The id in a path.
pub(crate) struct Id(pub(crate) String);

impl FromRequestParts<Shared> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Problem> {
        let id = Path::<String>::from_request_parts(parts, state).await;
        let Path(id) = id.map_err(|error| Problem::invalid("id", error.body_text()))?;
        check_id("id", &id)?;
        Ok(Id(id))
    }
}

impl FromRequestParts<Shared> for Page {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Problem> {
        let query = Query::<PageQuery>::from_request_parts(parts, state).await;
        let Query(query) = query.map_err(|error| {
            let detail = error.body_text();
            let field = ["limit", "after"]
                .into_iter()
                .find(|it| detail.contains(it));
            Problem::invalid(field.unwrap_or_default(), detail)
        })?;
        let limit = match query.limit {
            None => PageLimit::default(),
            Some(limit) => PageLimit::new(limit)
                .ok_or_else(|| Problem::invalid("limit", "it is a number from 1 to 200"))?,
        };
        if query.after.is_some_and(|it| it < 0) {
            return Err(Problem::invalid("after", "it is the `next` of an answer"));
        }
        Ok(Page {
            limit,
            after: query.after,
        })
    }
}
