//! A connection that fails when its client does not read.

use std::future::Future;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A connection. A write that waits longer than a limit fails: without one, a client that reads nothing keeps its
/// response in memory for ever.
pub(super) struct Stalled<T> {
    io: T,
    limit: Duration,
    /// The time at which the write that waits fails.
    waits: Option<Pin<Box<Sleep>>>,
}

impl<T> Stalled<T> {
    pub(super) fn new(io: T, limit: Duration) -> Self {
        Self { io, limit, waits: None }
    }

    /// Returns the result of a write, or an error if writes have waited for too long.
    fn limited<R>(&mut self, written: Poll<io::Result<R>>, context: &mut Context<'_>) -> Poll<io::Result<R>> {
        if written.is_ready() {
            self.waits = None;
            return written;
        }
        let limit = self.limit;
        let waits = self.waits.get_or_insert_with(|| Box::pin(sleep(limit)));
        waits.as_mut().poll(context).map(|()| Err(ErrorKind::TimedOut.into()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Stalled<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Stalled<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(context, bytes);
        self.limited(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(context, parts);
        self.limited(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.io).poll_flush(context);
        self.limited(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.io).poll_shutdown(context);
        self.limited(shut, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::Instant;

    const LIMIT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn a_write_fails_if_the_client_reads_nothing_for_the_limit() {
        let (server, _client) = duplex(16);
        let begin = Instant::now();
        let error = Stalled::new(server, LIMIT).write_all(&[0; 64]).await.unwrap_err();
        assert_eq!((error.kind(), begin.elapsed()), (ErrorKind::TimedOut, LIMIT));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_client_that_reads_is_served() {
        let (server, mut client) = duplex(16);
        let reads = async {
            let mut part = [0; 16];
            for _ in 0..4 {
                sleep(LIMIT - Duration::from_secs(1)).await;
                client.read_exact(&mut part).await.unwrap();
            }
        };
        let mut server = Stalled::new(server, LIMIT);
        let (written, ()) = tokio::join!(server.write_all(&[0; 64]), reads);
        written.unwrap();
    }
}
