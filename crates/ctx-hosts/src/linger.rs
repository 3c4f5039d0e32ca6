//! Ending a connection whose client still sends.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// How long the rest of a request is read for.
const TIME: Duration = Duration::from_secs(2);
/// The most bytes of it that are read.
const BYTES: usize = 32 << 20;
/// How many are read at once.
const STEP: usize = 16 << 10;

/// Whether the request that was answered last was not read to its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct IsUnread(Arc<AtomicBool>);

impl IsUnread {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A connection that ends in two steps if its client may still be sending: nothing more is written,
/// and what comes is read and discarded for a moment. If it were closed at once, the system would
/// answer what comes with a reset, upon which a client that sends all before it reads loses the
/// answer.
#[derive(Debug)]
pub struct Lingering<S> {
    stream: S,
    is_unread: IsUnread,
    /// Once nothing more is written: until when, and how much, is read.
    rest: Option<(Pin<Box<Sleep>>, usize)>,
}

impl<S> Lingering<S> {
    pub(crate) fn new(stream: S, is_unread: IsUnread) -> Self {
        Lingering {
            stream,
            is_unread,
            rest: None,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Lingering<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Lingering<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.rest.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
            if !this.is_unread.get() {
                return Poll::Ready(Ok(()));
            }
        }
        let new = || (Box::pin(tokio::time::sleep(TIME)), BYTES);
        let (time, left) = this.rest.get_or_insert_with(new);
        let mut bytes = [0; STEP];
        while *left > 0 && time.as_mut().poll(cx).is_pending() {
            let mut buffer = ReadBuf::new(&mut bytes);
            // A client that broke off has nothing more to send.
            match ready!(Pin::new(&mut this.stream).poll_read(cx, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {
                    *left = left.saturating_sub(buffer.filled().len());
                }
                _ => break,
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
