//! A request as a case writes it, and its bytes on the wire.

use std::collections::BTreeMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// A request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    /// The method.
    pub(crate) method: String,
    /// The target as sent.
    pub(crate) target: String,
    /// The header lines, beside `host` and `content-length`, which are added.
    pub(crate) headers: Vec<(String, String)>,
    /// The body.
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// A GET request.
    pub(crate) fn get(target: &str) -> Self {
        Self { method: "GET".into(), target: target.into(), ..Self::default() }
    }

    /// Reads `METHOD target`, header lines, an empty line and the body.
    ///
    /// # Errors
    /// What cannot be read.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
        let mut lines = head.lines();
        let first = lines.next().unwrap_or_default();
        let (method, target) = first.split_once(' ').ok_or_else(|| format!("{first:?} is no `METHOD target`"))?;
        let headers = lines.map(parse_header).collect::<Result<_, _>>()?;
        Ok(Self { method: method.into(), target: target.into(), headers, body: body.as_bytes().to_vec() })
    }

    /// The value of a header.
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Puts kept values in the place of their names, such as `<<etag>>`.
    pub(crate) fn filled_in(&self, kept: &BTreeMap<String, String>) -> Self {
        let mut request = self.clone();
        for (name, value) in kept {
            let place = format!("<<{name}>>");
            request.target = request.target.replace(&place, value);
            for (_, header) in &mut request.headers {
                *header = header.replace(&place, value);
            }
        }
        request
    }

    /// Compresses the body and says so.
    pub(crate) fn gzip(&mut self) {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&self.body).expect("memory can be written to");
        self.body = encoder.finish().expect("memory can be written to");
        self.headers.push(("content-encoding".into(), "gzip".into()));
    }

    /// The bytes to send.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        if self.header("host").is_none() {
            bytes.extend(b"host: moondock.test\r\n");
        }
        for (name, value) in &self.headers {
            bytes.extend(format!("{name}: {value}\r\n").bytes());
        }
        bytes.extend(self.framed_body());
        bytes
    }

    /// The header that says how long the body is, the end of the head, and the body in that form.
    fn framed_body(&self) -> Vec<u8> {
        if self.header("transfer-encoding").is_some() {
            return [b"\r\n".as_slice(), &chunked(&self.body)].concat();
        }
        let wants_length = !self.body.is_empty() || matches!(self.method.as_str(), "POST" | "PUT" | "PATCH");
        let length = match wants_length && self.header("content-length").is_none() {
            true => format!("content-length: {}\r\n\r\n", self.body.len()),
            false => "\r\n".to_string(),
        };
        [length.as_bytes(), &self.body].concat()
    }
}

/// A body in chunks of odd sizes, so that no boundary falls where a reader would like it.
fn chunked(body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for chunk in body.chunks(8191) {
        bytes.extend(format!("{:x}\r\n", chunk.len()).bytes());
        bytes.extend(chunk);
        bytes.extend(b"\r\n");
    }
    bytes.extend(b"0\r\n\r\n");
    bytes
}

/// Reads `name: value`.
///
/// # Errors
/// The line has no colon.
pub(crate) fn parse_header(line: &str) -> Result<(String, String), String> {
    let (name, value) = line.split_once(':').ok_or_else(|| format!("{line:?} is no `name: value`"))?;
    Ok((name.trim().to_string(), value.trim().to_string()))
}

/// Turns the escapes of a case into bytes: `\r \n \t \0 \\ \xFF`, and `\(x*1000)` for a thousand times x.
///
/// # Errors
/// An escape that does not exist.
pub(crate) fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend(rest[..at].bytes());
        rest = escape(&rest[at + 1..], &mut bytes)?;
    }
    bytes.extend(rest.bytes());
    Ok(bytes)
}

/// One escape, its backslash read already; returns what follows.
fn escape<'t>(text: &'t str, bytes: &mut Vec<u8>) -> Result<&'t str, String> {
    let unknown = || format!("unknown escape at \\{}", text.chars().take(12).collect::<String>());
    let kind = text.chars().next().ok_or_else(unknown)?;
    let single = match kind {
        'r' => b'\r',
        'n' => b'\n',
        't' => b'\t',
        '0' => 0,
        '\\' => b'\\',
        'x' => {
            let hex = text.get(1..3).ok_or_else(unknown)?;
            bytes.push(u8::from_str_radix(hex, 16).map_err(|_| unknown())?);
            return Ok(&text[3..]);
        }
        '(' => return repeat(&text[1..], bytes).ok_or_else(unknown),
        _ => return Err(unknown()),
    };
    bytes.push(single);
    Ok(&text[1..])
}

fn repeat<'t>(text: &'t str, bytes: &mut Vec<u8>) -> Option<&'t str> {
    let (inside, rest) = text.split_once(')')?;
    let (what, times) = inside.rsplit_once('*')?;
    bytes.extend(what.repeat(times.parse().ok()?).bytes());
    Some(rest)
}
