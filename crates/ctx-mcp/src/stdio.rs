//! Messages as lines, over standard input and output.
//!
//! The SDK ignores a line that is not JSON, and answers a request that it cannot read without its
//! id, so a client would wait forever. So each line is parsed here before the SDK sees it, and a
//! line that is no message is answered.

use std::io;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, JsonRpcError, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::{AsyncRwTransport, DEFAULT_MAX_LINE_LENGTH};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader, Empty};
use tokio::task::JoinHandle;

use crate::fault::Fault;
use crate::message::{is_notification, refusal};

/// The byte order mark, with which some editors begin a text.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// A transport with one message per line.
pub(crate) struct Lines<R, W: AsyncWrite> {
    reader: BufReader<R>,
    /// The bytes of the current line so far.
    line: Vec<u8>,
    /// Whether the line is too long, and skipped.
    is_too_long: bool,
    /// The writer; nothing is read through it.
    writer: AsyncRwTransport<RoleServer, Empty, W>,
    /// A refusal being sent. Waiting for the next line may be cancelled; sending this may not.
    refusing: Option<JoinHandle<io::Result<()>>>,
}

/// A parsed line.
enum Line {
    Message(Box<ClientJsonRpcMessage>),
    Refused(JsonRpcError),
    /// A line that needs no answer.
    Nothing,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Send + Unpin + 'static> Lines<R, W> {
    /// Reads lines from `reader`, and writes to `writer`.
    pub(crate) fn new(reader: R, writer: W) -> Self {
        Lines {
            reader: BufReader::new(reader),
            line: Vec::new(),
            is_too_long: false,
            writer: AsyncRwTransport::new_server(tokio::io::empty(), writer),
            refusing: None,
        }
    }

    /// Returns the next line; `None` at the end, even within a line. It is cancel-safe: the bytes
    /// read so far are kept.
    async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let came = self.reader.fill_buf().await?;
            if came.is_empty() {
                return Ok(None);
            }
            let end = came.iter().position(|it| *it == b'\n');
            let part = &came[..end.unwrap_or(came.len())];
            self.is_too_long |= self.line.len() + part.len() > DEFAULT_MAX_LINE_LENGTH;
            if self.is_too_long {
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(part);
            }
            let taken = part.len() + usize::from(end.is_some());
            self.reader.consume(taken);
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                let is_too_long = std::mem::take(&mut self.is_too_long);
                return Ok(Some(if is_too_long {
                    Line::Refused(too_long())
                } else {
                    read(&line)
                }));
            }
        }
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.writer.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            // If the client sends lines that are no messages and reads no answers, reading stops.
            if let Some(refusing) = &mut self.refusing {
                let refused = refusing.await;
                self.refusing = None;
                refused.ok()?.ok()?;
            }
            match self.next().await.ok()?? {
                Line::Message(message) => return Some(*message),
                Line::Refused(error) => {
                    let error = self.writer.send(ServerJsonRpcMessage::Error(error));
                    self.refusing = Some(tokio::spawn(error));
                }
                Line::Nothing => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.close().await
    }
}

fn read(line: &[u8]) -> Line {
    let line = line.strip_prefix(MARK).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Line::Nothing;
    }
    match serde_json::from_slice(line) {
        Ok(message) => Line::Message(Box::new(message)),
        Err(error) if error.is_data() && is_notification(line) => Line::Nothing,
        Err(_) => Line::Refused(refusal("line", line)),
    }
}

fn too_long() -> JsonRpcError {
    let fault = Fault::refused(
        format!("read the line: it is longer than {DEFAULT_MAX_LINE_LENGTH} bytes"),
        "a shorter message",
    );
    let error = ErrorData::new(ErrorCode::INVALID_REQUEST, fault.text(), None);
    JsonRpcError::new(None, error)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf};

    use super::*;

    type Ours = Lines<ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>;

    /// A server and its client, with a buffer of this many bytes between them.
    fn pair(bytes: usize) -> (Ours, DuplexStream) {
        let (ours, theirs) = tokio::io::duplex(bytes);
        let (reader, writer) = tokio::io::split(ours);
        (Lines::new(reader, writer), theirs)
    }

    fn ping(id: u32) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
    }

    /// What the SDK receives of `sent`, and what is answered before that.
    async fn received(sent: &[u8]) -> (Vec<Value>, Vec<Value>) {
        let (mut lines, theirs) = pair(16);
        let (mut reader, mut writer) = tokio::io::split(theirs);
        let sent = sent.to_vec();
        tokio::spawn(async move {
            writer.write_all(&sent).await.unwrap();
            writer.shutdown().await.unwrap();
        });
        let answered = tokio::spawn(async move {
            let mut answered = String::new();
            reader.read_to_string(&mut answered).await.unwrap();
            let answered = answered.lines().map(|it| serde_json::from_str(it).unwrap());
            answered.collect::<Vec<Value>>()
        });
        let mut messages = Vec::new();
        // Waiting is cancelled all the time.
        loop {
            match tokio::time::timeout(Duration::from_micros(50), lines.receive()).await {
                Ok(Some(message)) => messages.push(serde_json::to_value(message).unwrap()),
                Ok(None) => break,
                Err(_) => {}
            }
        }
        drop(lines);
        (messages, answered.await.unwrap())
    }

    #[tokio::test]
    async fn malformed_lines_are_answered_and_messages_passed_on() {
        for (line, code, id) in [
            (&b"x"[..], -32700, Value::Null),
            (
                b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": ",
                -32700,
                Value::Null,
            ),
            (b"{\"method\": \"\xff\"}", -32700, Value::Null),
            (b"Content-Length: 40", -32700, Value::Null),
            (b"[]", -32600, Value::Null),
            (b"{}", -32600, Value::Null),
            (b"{\"id\": 7, \"method\": \"ping\"}", -32600, json!(7)),
            (
                b"{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"tools/call\", \"params\": []}",
                -32600,
                json!(7),
            ),
            (
                b"{\"jsonrpc\": \"2.0\", \"id\": null, \"method\": \"ping\"}",
                -32600,
                Value::Null,
            ),
            // The id of an answer is that of a request of the server's own.
            (
                b"{\"jsonrpc\": \"1.0\", \"id\": 7, \"result\": {}}",
                -32600,
                Value::Null,
            ),
        ] {
            let shown = String::from_utf8_lossy(line);
            let sent = [line, b"\r\n", ping(8).to_string().as_bytes(), b"\n"].concat();
            let (messages, answered) = received(&sent).await;
            assert_eq!(messages, [ping(8)], "{shown}");
            assert_eq!(answered.len(), 1, "{shown}: {answered:?}");
            assert_eq!(answered[0]["jsonrpc"], "2.0", "{shown}");
            assert_eq!(answered[0]["error"]["code"], code, "{shown}: {answered:?}");
            assert_eq!(answered[0]["id"], id, "{shown}: {answered:?}");
            // If it were sent back, nothing else would follow.
            let (_, again) = received(format!("{}\n", answered[0]).as_bytes()).await;
            assert_eq!(again, [] as [Value; 0], "{shown}");
        }
    }

    #[tokio::test]
    async fn notifications_have_no_answer() {
        for line in [
            "",
            " \r",
            "{\"method\": \"ping\"}",
            "{\"jsonrpc\": \"2.0\", \"method\": \"notifications/progress\", \"params\": []}",
        ] {
            let sent = format!("{line}\n\u{feff}{}\n{}", ping(1), ping(2));
            let (messages, answered) = received(sent.as_bytes()).await;
            // The last line has no line end.
            assert_eq!(messages, [ping(1)], "{line}");
            assert_eq!(answered, [] as [Value; 0], "{line}");
        }
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_refused_and_not_kept() {
        let long = vec![b' '; DEFAULT_MAX_LINE_LENGTH + 1];
        let sent = [&long[..], b"\n", ping(1).to_string().as_bytes(), b"\n"].concat();
        let (mut lines, mut theirs) = pair(1 << 16);
        let sending = tokio::spawn(async move {
            theirs.write_all(&sent).await.unwrap();
            let mut answered = [0; 200];
            let count = theirs.read(&mut answered).await.unwrap();
            String::from_utf8_lossy(&answered[..count]).into_owned()
        });
        let message = lines.receive().await.unwrap();
        assert_eq!(serde_json::to_value(message).unwrap(), ping(1));
        assert_eq!(lines.line.capacity(), 0);
        let answered = sending.await.unwrap();
        assert!(answered.contains("-32600"), "{answered}");
    }
}
