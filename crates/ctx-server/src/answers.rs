//! Counts the memory of large answers until they have been sent: a client that reads slowly keeps
//! them there.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

use crate::Owner;
use crate::bodies::{Bodies, Room};

/// Answers of at most this many bytes are not counted: the system takes as much at once.
const LITTLE: usize = 64 << 10;

/// Counts what `response` has in memory among the bodies of `owner`, until it has been sent. The
/// work is done, so none is refused for that; the owner's next requests are, while there is too
/// much.
pub(crate) fn counted(bodies: &Arc<Bodies>, owner: &Owner, response: Response) -> Response {
    let exact = response.body().size_hint().exact();
    if exact.is_some_and(|bytes| bytes <= LITTLE as u64) {
        return response;
    }
    let (bodies, owner) = (Arc::clone(bodies), owner.clone());
    response.map(|body| {
        Body::new(Counted {
            body,
            bodies,
            owner,
        })
    })
}

/// A body whose large pieces are counted.
struct Counted {
    body: Body,
    bodies: Arc<Bodies>,
    owner: Owner,
}

/// A piece of an answer, and its place among the bodies.
struct Piece {
    bytes: Bytes,
    _room: Room,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        let count = |bytes: Bytes| {
            if bytes.len() <= LITTLE {
                return bytes;
            }
            let mut room = this.bodies.begin(&this.owner);
            room.take(bytes.len());
            // Dropped when the last of it has been handed to the system.
            Bytes::from_owner(Piece { bytes, _room: room })
        };
        let polled = Pin::new(&mut this.body).poll_frame(cx);
        polled.map(|it| it.map(|it| it.map(|frame| frame.map_data(count))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
