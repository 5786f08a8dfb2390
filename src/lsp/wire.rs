//! The wire: messages behind a header that says their length. What is no message is told, and reading goes on.

use std::io::{self, BufRead, Read, Write};

use lsp_server::{ErrorCode, Message};
use serde_json::{Value, json};

/// The longest message that is read, in bytes: the largest site file many times over, with every character escaped.
const LONGEST: u64 = 256 << 20;
/// The longest line of a header.
const LONGEST_LINE: u64 = 8 << 10;

/// What came in.
#[derive(Debug)]
pub(super) enum Incoming {
    /// A message.
    Message(Message),
    /// Something that is none.
    Fault(Fault),
    /// Nothing can come any more; why, unless the input simply ended.
    End(Option<String>),
}

/// Why something is no message.
#[derive(Debug, PartialEq)]
pub(super) struct Fault {
    /// The number or text by which the client knows its request; `null` when there is none.
    pub(super) id: Value,
    pub(super) code: i32,
    pub(super) message: String,
}

/// Reads until the next message is there, or the end.
pub(super) fn read(input: &mut impl BufRead) -> Incoming {
    match body(input) {
        Ok(Some(Body::Text(bytes))) => message(&bytes),
        Ok(Some(Body::TooLong(length))) => {
            let message = format!("a message of {length} bytes is too long, {LONGEST} are the most");
            Incoming::Fault(Fault { id: Value::Null, code: ErrorCode::InvalidRequest as i32, message })
        }
        Ok(None) => Incoming::End(None),
        Err(error) => Incoming::End(Some(error.to_string())),
    }
}

enum Body {
    Text(Vec<u8>),
    TooLong(u64),
}

/// The bytes behind the next header; `None` at the end of the input.
fn body(input: &mut impl BufRead) -> io::Result<Option<Body>> {
    let Some(length) = length(input)? else { return Ok(None) };
    if length > LONGEST {
        io::copy(&mut input.take(length), &mut io::sink())?;
        return Ok(Some(Body::TooLong(length)));
    }
    // Memory grows with what comes, not with what is announced.
    let mut bytes = Vec::new();
    input.take(length).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 == length).then_some(Body::Text(bytes)))
}

/// The length that the next header announces; `None` at the end of the input.
fn length(input: &mut impl BufRead) -> io::Result<Option<u64>> {
    let invalid = |message: &str| io::Error::new(io::ErrorKind::InvalidData, message);
    let mut length = None;
    loop {
        let mut line = Vec::new();
        input.take(LONGEST_LINE).read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            let ended = (line.len() as u64) < LONGEST_LINE;
            return if ended { Ok(None) } else { Err(invalid("a line of a header is too long")) };
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        if line.is_empty() {
            return length.ok_or_else(|| invalid("a header without a Content-Length")).map(Some);
        }
        let (name, value) = line.split_once(':').ok_or_else(|| invalid("a header without a colon"))?;
        if name.eq_ignore_ascii_case("Content-Length") {
            length = Some(value.trim().parse().map_err(|_| invalid("a Content-Length that is no length"))?);
        }
    }
}

fn message(bytes: &[u8]) -> Incoming {
    let value: Value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(error) => return fault(Value::Null, ErrorCode::ParseError, &format!("this is no JSON: {error}")),
    };
    let id = value.get("id").filter(|id| id.is_number() || id.is_string()).cloned().unwrap_or_default();
    match serde_json::from_value(value) {
        // A request by an id that the protocol does not know must not wait for an answer for ever.
        Ok(Message::Notification(_)) | Err(_) if !id.is_null() => {
            fault(id, ErrorCode::InvalidRequest, "this is no message of the protocol")
        }
        Ok(message) => Incoming::Message(message),
        Err(_) => fault(Value::Null, ErrorCode::InvalidRequest, "this is no message of the protocol"),
    }
}

fn fault(id: Value, code: ErrorCode, message: &str) -> Incoming {
    Incoming::Fault(Fault { id, code: code as i32, message: message.to_owned() })
}

/// Writes a message.
///
/// # Errors
/// Nobody reads any more.
pub(super) fn write(output: &mut impl Write, message: &Message) -> io::Result<()> {
    message.write(output)
}

/// Answers what is no message.
///
/// # Errors
/// Nobody reads any more.
pub(super) fn write_fault(output: &mut impl Write, fault: &Fault) -> io::Result<()> {
    let error = json!({ "code": fault.code, "message": fault.message });
    let text = json!({ "jsonrpc": "2.0", "id": fault.id, "error": error }).to_string();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(text: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{text}", text.len())
    }

    #[test]
    fn what_is_no_message_is_told_and_the_next_one_is_read() {
        let fine = r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#;
        for (wrong, id, code) in [
            ("{", Value::Null, -32700),
            ("\u{0}", Value::Null, -32700),
            ("[]", Value::Null, -32600),
            (r#"{"id":7}"#, json!(7), -32600),
            (r#"{"id":1.5,"method":"a"}"#, json!(1.5), -32600),
            (r#"{"id":[1],"method":3}"#, Value::Null, -32600),
        ] {
            let all = framed(wrong) + &framed(fine);
            let mut input = all.as_bytes();
            let Incoming::Fault(fault) = read(&mut input) else { panic!("{wrong} is a message") };
            assert_eq!((fault.id, fault.code), (id, code), "{wrong}");
            assert!(matches!(read(&mut input), Incoming::Message(Message::Request(_))), "{wrong}");
            assert!(matches!(read(&mut input), Incoming::End(None)));
        }
    }

    #[test]
    fn a_header_may_have_other_lines_and_any_case() {
        let text = "content-type: x\r\ncontent-length:2\n\r\n{}";
        assert!(matches!(read(&mut text.as_bytes()), Incoming::Fault(_)));
    }

    #[test]
    fn an_input_that_cannot_be_cut_ends() {
        let long = "x".repeat(1 << 20);
        for text in ["x\r\n\r\n", "a: b\r\n\r\n{}", "Content-Length: x\r\n\r\n", "Content-Length: -1\r\n\r\n", &long] {
            assert!(matches!(read(&mut text.as_bytes()), Incoming::End(Some(_))), "{text:.20}");
        }
        for text in ["", "Content-Len", "Content-Length: 9\r\n\r\n{", "Content-Length: 99999999999999999\r\n\r\n{}"] {
            let ended = read(&mut text.as_bytes());
            assert!(!matches!(ended, Incoming::Message(_) | Incoming::End(Some(_))), "{text}: {ended:?}");
        }
    }
}
