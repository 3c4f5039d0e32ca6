//! Parses path and query parameters; errors name the parameter at fault.

use std::error::Error;

use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;

use crate::json::fault;
use crate::limits;
use crate::paging::{FilePage, MessageOrder, MessagePage, PageLimit, ThreadOrder, ThreadPage};
use crate::problem::Problem;
use crate::state::Shared;
use crate::wire::{
    FileQuery, FilesQuery, MessagesQuery, ThreadsQuery, check_id, check_key, is_longer,
};

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

impl FromRequestParts<Shared> for ThreadPage {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Problem> {
        let query = Query::<ThreadsQuery>::from_request_parts(parts, state).await;
        let Query(query) = query.map_err(|error| refused(&error))?;
        let order = match query.order.as_deref() {
            None | Some("created") => ThreadOrder::Created,
            Some("active") => ThreadOrder::Active,
            Some(_) => {
                return Err(Problem::invalid(
                    "order",
                    "it must be `created` or `active`",
                ));
            }
        };
        Ok(ThreadPage {
            limit: limit_of(query.limit)?,
            after: number_after(query.after)?,
            order,
        })
    }
}

impl FromRequestParts<Shared> for MessagePage {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Problem> {
        let query = Query::<MessagesQuery>::from_request_parts(parts, state).await;
        let Query(query) = query.map_err(|error| refused(&error))?;
        let order = match query.order.as_deref() {
            None | Some("oldest") => MessageOrder::Oldest,
            Some("latest") => MessageOrder::Latest,
            Some(_) => return Err(Problem::invalid("order", "it must be `oldest` or `latest`")),
        };
        Ok(MessagePage {
            limit: limit_of(query.limit)?,
            after: number_after(query.after)?,
            order,
        })
    }
}

impl FromRequestParts<Shared> for FilePage {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Problem> {
        let query = Query::<FilesQuery>::from_request_parts(parts, state).await;
        let Query(query) = query.map_err(|error| refused(&error))?;
        let limit = limit_of(query.limit)?;
        let after = query.after;
        if after
            .as_ref()
            .is_some_and(|it| is_longer(it, limits::LONGEST_NAME))
        {
            return Err(Problem::invalid(
                "after",
                "it must be the `next` of an earlier answer",
            ));
        }
        Ok(FilePage { limit, after })
    }
}

impl FromRequestParts<Shared> for FileQuery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Problem> {
        let query = Query::<FileQuery>::from_request_parts(parts, state).await;
        let Query(query) = query.map_err(|error| refused(&error))?;
        check_key("path", &query.path)?;
        Ok(query)
    }
}

fn number_after(given: Option<String>) -> Result<Option<i64>, Problem> {
    let number = given.map(|given| {
        let number = given.parse().ok().filter(|it| *it >= 0);
        number
            .ok_or_else(|| Problem::invalid("after", "it must be the `next` of an earlier answer"))
    });
    number.transpose()
}

fn limit_of(given: Option<String>) -> Result<PageLimit, Problem> {
    given.map_or(Ok(PageLimit::default()), |given| {
        let limit = given.parse().ok().and_then(PageLimit::new);
        limit.ok_or_else(|| Problem::invalid("limit", "it must be a number from 1 to 200"))
    })
}

/// The error of serde for a query: an invalid value, or an unknown name.
type QueryFault = serde_path_to_error::Error<serde::de::value::Error>;

fn refused(rejection: &QueryRejection) -> Problem {
    let mut below = rejection.source();
    while let Some(error) = below {
        if let Some(error) = error.downcast_ref::<QueryFault>() {
            return fault(&error.path().to_string(), &error.inner().to_string());
        }
        below = error.source();
    }
    Problem::invalid("", rejection.body_text())
}
