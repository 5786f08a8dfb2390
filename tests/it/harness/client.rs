//! A plain HTTP/1.1 client over `std::net`: it sends exactly the bytes it is told and reads answers one by one.
//!
//! It must not be clever: no redirects, no decompression, no retries.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::PATIENCE;

/// One connection to the server.
pub(crate) struct Connection {
    stream: TcpStream,
    unread: Vec<u8>,
}

/// One answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    /// The status code.
    pub(crate) status: u16,
    /// The status line as sent.
    pub(crate) line: String,
    /// The header lines in order, names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// The body, its transfer coding undone.
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The first value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str())
    }

    /// The body as text for people.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Connection {
    /// Connects.
    pub(crate) fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, unread: Vec::new() })
    }

    /// Sends bytes. A server that answers early may have stopped reading: the answer tells, so that is no failure here.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.stream.write_all(bytes) {
            Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => Ok(()),
            other => other,
        }
    }

    /// Reads the next answer; interim ones (1xx) are answers too. `to_head`: it has no body, whatever its length says.
    pub(crate) fn answer(&mut self, to_head: bool) -> io::Result<Answer> {
        let head = self.take_head()?;
        let mut answer = parse_head(&head)?;
        answer.body = self.take_body(&answer, to_head)?;
        Ok(answer)
    }

    /// Whether the server closed the connection and sent nothing that was not read.
    pub(crate) fn is_closed(&mut self) -> bool {
        self.unread.is_empty() && matches!(self.fill(), Ok(0))
    }

    fn take_head(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = find(&self.unread, b"\r\n\r\n") {
                let head: Vec<u8> = self.unread.drain(..end + 4).collect();
                return Ok(head.iter().map(|byte| char::from(*byte)).collect());
            }
            self.need()?;
        }
    }

    fn take_body(&mut self, answer: &Answer, to_head: bool) -> io::Result<Vec<u8>> {
        if to_head || answer.status < 200 || matches!(answer.status, 204 | 304) {
            return Ok(Vec::new());
        }
        if answer.header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
            return self.take_chunks();
        }
        match answer.header("content-length") {
            Some(length) => self.take(length.parse().map_err(|_| bad(format!("content-length {length:?}")))?),
            None => self.take_rest(),
        }
    }

    fn take_chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.take_line()?;
            let size = usize::from_str_radix(line.split(';').next().unwrap_or_default().trim(), 16)
                .map_err(|_| bad(format!("chunk size {line:?}")))?;
            body.extend(self.take(size)?);
            let end = self.take_line()?;
            if size == 0 {
                return if end.is_empty() { Ok(body) } else { Err(bad(format!("trailer {end:?}"))) };
            }
        }
    }

    fn take_line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = find(&self.unread, b"\r\n") {
                let line: Vec<u8> = self.unread.drain(..end + 2).collect();
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            self.need()?;
        }
    }

    fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.unread.len() < length {
            self.need()?;
        }
        Ok(self.unread.drain(..length).collect())
    }

    fn take_rest(&mut self) -> io::Result<Vec<u8>> {
        while self.fill()? > 0 {}
        Ok(std::mem::take(&mut self.unread))
    }

    fn need(&mut self) -> io::Result<()> {
        match self.fill()? {
            0 => Err(io::Error::new(
                ErrorKind::UnexpectedEof,
                format!("closed after {:?}", String::from_utf8_lossy(&self.unread)),
            )),
            _ => Ok(()),
        }
    }

    fn fill(&mut self) -> io::Result<usize> {
        let mut buffer = [0; 16 * 1024];
        let count = self.stream.read(&mut buffer)?;
        self.unread.extend_from_slice(&buffer[..count]);
        Ok(count)
    }
}

fn parse_head(head: &str) -> io::Result<Answer> {
    let mut lines = head.trim_end().split("\r\n");
    let line = lines.next().unwrap_or_default().to_string();
    let status = line
        .strip_prefix("HTTP/1.")
        .and_then(|rest| rest.get(2..))
        .and_then(|rest| rest.get(..3))
        .and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| bad(format!("status line {line:?}")))?;
    let headers = lines.map(parse_header).collect::<io::Result<_>>()?;
    Ok(Answer { status, line, headers, body: Vec::new() })
}

fn parse_header(line: &str) -> io::Result<(String, String)> {
    let (name, value) = line.split_once(':').ok_or_else(|| bad(format!("header line {line:?}")))?;
    Ok((name.to_ascii_lowercase(), value.trim().to_string()))
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

fn bad(what: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("this is no HTTP/1.1 answer: {what}"))
}
