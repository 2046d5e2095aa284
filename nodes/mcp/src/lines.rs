//! Messages that are too long.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

/// The reason for which a connection was closed on this side; empty while it is open.
pub(super) type CloseReason = Arc<OnceLock<String>>;

/// Reads lines, and fails at one that is too long: its message could not be left out, as a request may wait for it.
pub(super) struct Lines<R> {
    inner: R,
    most: usize,
    /// The number of bytes read of the line.
    line: usize,
    fault: CloseReason,
}

impl<R> Lines<R> {
    pub(super) fn new(inner: R, most: usize, fault: CloseReason) -> Self {
        Self { inner, most, line: 0, fault }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        std::task::ready!(Pin::new(&mut this.inner).poll_read(cx, buf))?;
        let mut lines = buf.filled()[before..].split(|byte| *byte == b'\n');
        // The text after the last line break is a line that continues.
        let mut longest = this.line + lines.next().map_or(0, <[u8]>::len);
        this.line = longest;
        for line in lines {
            this.line = line.len();
            longest = longest.max(line.len());
        }
        if longest <= this.most {
            return Poll::Ready(Ok(()));
        }
        // Who fails has read nothing.
        buf.set_filled(before);
        let reason = format!("it sent a message of more than {} bytes", this.most);
        let reason = this.fault.get_or_init(|| reason).clone();
        Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, reason)))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    async fn read(text: &[u8], most: usize) -> Result<Vec<u8>, io::Error> {
        let mut read = Vec::new();
        Lines::new(text, most, CloseReason::default()).read_to_end(&mut read).await?;
        Ok(read)
    }

    #[tokio::test]
    async fn a_line_may_be_as_long_as_is_said_and_no_longer() {
        assert_eq!(read(b"abc\nabc\n\nab", 3).await.unwrap(), b"abc\nabc\n\nab");
        for long in [&b"abcd"[..], b"a\nabcd\n", b"abcd\na", b"\nabcd"] {
            let error = read(long, 3).await.unwrap_err();
            assert_eq!(error.to_string(), "it sent a message of more than 3 bytes");
        }
    }

    #[tokio::test]
    async fn a_line_that_comes_in_pieces_is_one_line() {
        let (mut near, far) = tokio::io::duplex(2);
        let writes = tokio::spawn(async move {
            // The reader hangs up before all of it is written.
            drop(tokio::io::AsyncWriteExt::write_all(&mut near, b"ab\nabcdef").await);
        });
        let fault = CloseReason::default();
        let mut read = Vec::new();
        let error = Lines::new(far, 5, Arc::clone(&fault)).read_to_end(&mut read).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert_eq!(fault.get().unwrap(), "it sent a message of more than 5 bytes");
        writes.await.unwrap();
    }
}
