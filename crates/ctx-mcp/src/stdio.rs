//! Messages as lines, over standard input and output.
//!
//! The SDK ignores a line that is not JSON, and answers a request that it cannot read without its
//! id, so a client would wait forever. So each line is parsed here before the SDK sees it, and a
//! line that is no message is answered. The messages of a batch, which the SDK does not know, are
//! passed on one after the other.
//!
//! The SDK gives calls five seconds from the end of the input. So it is told of that end only when
//! all requests are answered, or after [`LAST_CALLS`].

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::io;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, ErrorData, JsonRpcError, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::{AsyncRwTransport, DEFAULT_MAX_LINE_LENGTH};
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader, Empty};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::fault::Fault;
use crate::message::{is_notification, refusal};

/// The byte order mark, with which some editors begin a text.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The most messages of a batch.
const MOST_IN_BATCH: usize = 256;

/// How long requests may take from the end of the input. A client that ends it may be gone.
const LAST_CALLS: Duration = Duration::from_mins(10);

/// The ids of the requests that are not answered yet.
type Open = HashSet<RequestId>;

/// A transport with one message, or batch of messages, per line.
pub(crate) struct Lines<R, W: AsyncWrite> {
    reader: BufReader<R>,
    /// The bytes of the current line so far.
    line: Vec<u8>,
    /// Whether the line is too long, and skipped.
    is_too_long: bool,
    /// The messages of lines that were read.
    parsed: VecDeque<Line>,
    /// When its last calls must be done, if the input has ended.
    end: Option<Instant>,
    open: watch::Sender<Open>,
    /// The writer; nothing is read through it.
    writer: AsyncRwTransport<RoleServer, Empty, W>,
    /// A refusal being sent. Waiting for the next line may be cancelled; sending this may not.
    refusing: Option<JoinHandle<io::Result<()>>>,
}

/// A parsed line, or a message of a batch.
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
            parsed: VecDeque::new(),
            end: None,
            open: watch::Sender::default(),
            writer: AsyncRwTransport::new_server(tokio::io::empty(), writer),
            refusing: None,
        }
    }

    /// The ids of the requests that are not answered yet.
    pub(crate) fn open(&self) -> watch::Receiver<Open> {
        self.open.subscribe()
    }

    /// Returns the next line, or message of a batch; `None` at the end, even within a line. It is
    /// cancel-safe: the bytes read so far are kept.
    async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            if let Some(line) = self.parsed.pop_front() {
                return Ok(Some(line));
            }
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
                if is_too_long {
                    let what = format!("it is longer than {DEFAULT_MAX_LINE_LENGTH} bytes");
                    self.parsed.push_back(too_much(&what, "a shorter message"));
                } else {
                    self.parsed = read(&line);
                }
            }
        }
    }

    /// Notes which request `message` opens, or withdraws.
    fn note(&self, message: &ClientJsonRpcMessage) {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                let id = request.id.clone();
                self.open.send_if_modified(|open| open.insert(id));
            }
            ClientJsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(it) = &notification.notification
                    && let Some(id) = &it.params.request_id
                {
                    self.open.send_if_modified(|open| open.remove(id));
                }
            }
            _ => {}
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
        let answered = match &message {
            ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
            ServerJsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let open = self.open.clone();
        let sending = self.writer.send(message);
        async move {
            let sent = sending.await;
            if let Some(id) = answered {
                open.send_if_modified(|open| open.remove(&id));
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            // If the client sends lines that are no messages and reads no answers, reading stops.
            if let Some(refusing) = &mut self.refusing {
                let refused = refusing.await;
                self.refusing = None;
                refused.ok()?.ok()?;
            }
            if let Some(end) = self.end {
                all_answered(self.open(), end).await;
                return None;
            }
            match self.next().await {
                Ok(Some(Line::Message(message))) => {
                    self.note(&message);
                    return Some(*message);
                }
                Ok(Some(Line::Refused(error))) => {
                    let error = self.writer.send(ServerJsonRpcMessage::Error(error));
                    self.refusing = Some(tokio::spawn(error));
                }
                Ok(Some(Line::Nothing)) => {}
                Ok(None) | Err(_) => self.end = Some(Instant::now() + LAST_CALLS),
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.close().await
    }
}

/// Waits until all requests are answered, but not longer than to `end`.
async fn all_answered(mut open: watch::Receiver<Open>, end: Instant) {
    // Who serves learns from `open` whether they are.
    let _ = tokio::time::timeout_at(end, open.wait_for(Open::is_empty)).await;
}

/// The messages of `line`: one, or those of a batch. Those of a batch are answered one by one, as
/// their ids tell clients which they are.
fn read(line: &[u8]) -> VecDeque<Line> {
    let line = line.strip_prefix(MARK).unwrap_or(line).trim_ascii();
    if !line.starts_with(b"[") {
        return [message(line)].into();
    }
    match serde_json::from_slice(line) {
        Ok(Batch(messages)) if messages.len() > MOST_IN_BATCH => {
            let what = format!("it is a batch of more than {MOST_IN_BATCH} messages");
            [too_much(&what, "batches of fewer messages")].into()
        }
        Ok(Batch(messages)) if !messages.is_empty() => {
            let messages = messages.into_iter();
            messages.map(|it| message(it.get().as_bytes())).collect()
        }
        _ => [Line::Refused(refusal("line", line))].into(),
    }
}

fn message(text: &[u8]) -> Line {
    if text.is_empty() {
        return Line::Nothing;
    }
    match serde_json::from_slice(text) {
        Ok(message) => Line::Message(Box::new(message)),
        Err(error) if error.is_data() && is_notification(text) => Line::Nothing,
        Err(_) => Line::Refused(refusal("line", text)),
    }
}

/// The refusal of a line without its id.
fn too_much(what: &str, hint: &str) -> Line {
    let fault = Fault::refused(format!("read the line: {what}"), hint);
    let error = ErrorData::new(ErrorCode::INVALID_REQUEST, fault.text(), None);
    Line::Refused(JsonRpcError::new(None, error))
}

/// The first messages of a batch: one more than [`MOST_IN_BATCH`] at most.
struct Batch<'t>(Vec<&'t RawValue>);

impl<'t> Deserialize<'t> for Batch<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(First)
    }
}

struct First;

impl<'t> Visitor<'t> for First {
    type Value = Batch<'t>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut all: A) -> Result<Batch<'t>, A::Error> {
        let mut first = Vec::new();
        while let Some(message) = all.next_element()? {
            if first.len() <= MOST_IN_BATCH {
                first.push(message);
            }
        }
        Ok(Batch(first))
    }
}

#[cfg(test)]
mod tests {
    use rmcp::service::RequestContext;
    use rmcp::{ServerHandler, ServiceExt as _};
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
                Ok(Some(message)) => {
                    messages.push(serde_json::to_value(message).unwrap());
                    // Nobody answers it.
                    lines.open.send_replace(Open::new());
                }
                Ok(None) => break,
                Err(_) => {}
            }
        }
        drop(lines);
        (messages, answered.await.unwrap())
    }

    #[tokio::test]
    async fn malformed_lines_are_answered_and_messages_passed_on() {
        let seven = json!(7);
        for (line, code, id) in [
            (&b"x"[..], -32700, None),
            (
                b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": ",
                -32700,
                None,
            ),
            (b"{\"method\": \"\xff\"}", -32700, None),
            (b"Content-Length: 40", -32700, None),
            (b"[", -32700, None),
            (
                b"[{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"ping\"}, ",
                -32700,
                None,
            ),
            (b"[]", -32600, None),
            (b"[[]]", -32600, None),
            (b"{}", -32600, None),
            (b"{\"id\": 7, \"method\": \"ping\"}", -32600, Some(&seven)),
            (
                b"{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"tools/call\", \"params\": []}",
                -32600,
                Some(&seven),
            ),
            (
                b"{\"jsonrpc\": \"2.0\", \"id\": null, \"method\": \"ping\"}",
                -32600,
                None,
            ),
            // The id of an answer is that of a request of the server's own.
            (
                b"{\"jsonrpc\": \"1.0\", \"id\": 7, \"result\": {}}",
                -32600,
                None,
            ),
        ] {
            let shown = String::from_utf8_lossy(line);
            let sent = [line, b"\r\n", ping(8).to_string().as_bytes(), b"\n"].concat();
            let (messages, answered) = received(&sent).await;
            assert_eq!(messages, [ping(8)], "{shown}");
            assert_eq!(answered.len(), 1, "{shown}: {answered:?}");
            assert_eq!(answered[0]["jsonrpc"], "2.0", "{shown}");
            assert_eq!(answered[0]["error"]["code"], code, "{shown}: {answered:?}");
            assert_eq!(answered[0].get("id"), id, "{shown}: {answered:?}");
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

    #[tokio::test]
    async fn the_messages_of_a_batch_are_passed_on_one_by_one() {
        let batch = json!([ping(1), 5, {"id": 2, "method": "ping"}, {"method": "ping"}, ping(3)]);
        let sent = format!("{batch}\n{}\n", ping(4));
        let (messages, answered) = received(sent.as_bytes()).await;
        assert_eq!(messages, [ping(1), ping(3), ping(4)]);
        let ids: Vec<_> = answered.iter().map(|it| it.get("id")).collect();
        assert_eq!(ids, [None, Some(&json!(2))]);
        for (count, passed) in [(MOST_IN_BATCH, MOST_IN_BATCH), (MOST_IN_BATCH + 1, 0)] {
            let batch: Vec<Value> = (0..count).map(|_| ping(1)).collect();
            let sent = format!("{}\n", json!(batch));
            let (messages, answered) = received(sent.as_bytes()).await;
            assert_eq!(messages.len(), passed);
            assert_eq!(answered.len(), usize::from(passed == 0), "{answered:?}");
        }
    }

    /// A server that takes its time.
    struct Slow(Duration);

    impl ServerHandler for Slow {
        async fn ping(&self, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
            tokio::time::sleep(self.0).await;
            Ok(())
        }
    }

    /// The answers of a server that takes so many seconds for a ping to `sent`, after which the
    /// input ends; how many requests have none then, and when it ends.
    async fn served(seconds: u64, sent: &[Value]) -> (Vec<Value>, usize, Duration) {
        let (lines, mut theirs) = pair(1 << 16);
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "0"}}});
        for message in [&hello].into_iter().chain(sent) {
            let line = format!("{message}\n");
            theirs.write_all(line.as_bytes()).await.unwrap();
        }
        theirs.shutdown().await.unwrap();
        let (open, begin) = (lines.open(), Instant::now());
        let slow = Slow(Duration::from_secs(seconds));
        slow.serve(lines).await.unwrap().waiting().await.unwrap();
        let mut answers = String::new();
        theirs.read_to_string(&mut answers).await.unwrap();
        let answers = answers.lines().map(|it| serde_json::from_str(it).unwrap());
        let unanswered = open.borrow().len();
        (answers.collect(), unanswered, begin.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn calls_are_answered_after_the_end_of_the_input() {
        for (seconds, answered) in [(0, true), (7, true), (590, true), (620, false)] {
            let (answers, unanswered, _) = served(seconds, &[ping(2)]).await;
            let has_answer = answers.iter().any(|it| it["id"] == 2);
            assert_eq!(has_answer, answered, "{seconds}: {answers:?}");
            assert_eq!(unanswered, usize::from(!answered), "{seconds}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn withdrawn_calls_are_not_waited_for() {
        let withdrawn = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": 2}});
        let (answers, unanswered, time) = served(500, &[ping(2), withdrawn]).await;
        assert_eq!((answers.len(), unanswered), (1, 0), "{answers:?}");
        assert!(time < Duration::from_mins(1), "{time:?}");
    }
}
