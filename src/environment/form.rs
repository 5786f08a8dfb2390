//! Forms: urlencoded pairs, and multipart bodies with their files.
//!
//! Knows nothing of Lua. Names and file names are data: nothing here opens a file.

use std::borrow::Cow;
use std::convert::Infallible;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::stream;

/// A form as it came.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Form {
    /// Text fields in order, repeated ones too.
    pub(super) fields: Vec<(String, Bytes)>,
    /// Files in order.
    pub(super) files: Vec<File>,
}

/// One file of a multipart body.
#[derive(Debug, PartialEq)]
pub(super) struct File {
    /// The field that it was chosen in.
    pub(super) field: String,
    /// What the client calls it; may hold anything, also `../`.
    pub(super) name: String,
    /// The content type that the client gives, `application/octet-stream` if none.
    pub(super) content_type: String,
    /// Its bytes.
    pub(super) data: Bytes,
}

/// Pairs of a query or of an urlencoded body, by the rules of the URL standard: `+` is a space, broken escapes stay,
/// bytes that are not UTF-8 become U+FFFD.
pub(super) fn pairs(text: &[u8]) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    url::form_urlencoded::parse(text)
}

/// Reads the form of a body.
///
/// # Errors
/// The body is broken or of another type; a sentence.
pub(super) fn read(content_type: &[u8], body: &Bytes) -> Result<Form, String> {
    let text = std::str::from_utf8(content_type).unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        let fields = pairs(body).map(|(name, value)| (name.into_owned(), Bytes::from(value.into_owned())));
        return Ok(Form { fields: fields.collect(), files: Vec::new() });
    }
    if essence.eq_ignore_ascii_case("multipart/form-data") {
        return multipart(text, body);
    }
    let named = if essence.is_empty() { "missing".to_owned() } else { format!("{essence:?}") };
    Err(format!("the body is no form: its content type is {named}"))
}

fn multipart(content_type: &str, body: &Bytes) -> Result<Form, String> {
    let boundary =
        boundary(content_type).ok_or_else(|| "the content type of the multipart body names no boundary".to_owned())?;
    let chunks = stream::iter([Ok::<_, Infallible>(body.clone())]);
    // The whole body is here, so that no part of it is ever waited for.
    parts(multer::Multipart::new(chunks, boundary))
        .now_or_never()
        .unwrap_or_else(|| Err("the multipart body is incomplete".to_owned()))
}

async fn parts(mut multipart: multer::Multipart<'_>) -> Result<Form, String> {
    let broken = |error: multer::Error| format!("the multipart body is broken: {error}");
    let mut form = Form::default();
    while let Some(part) = multipart.next_field().await.map_err(broken)? {
        let field = part.name().ok_or("the multipart body is broken: a part has no name")?.to_owned();
        let file_name = part.file_name().map(str::to_owned);
        let content_type = part.content_type().map(ToString::to_string);
        let data = part.bytes().await.map_err(broken)?;
        let Some(name) = file_name else {
            form.fields.push((field, data));
            continue;
        };
        let content_type = content_type.unwrap_or_else(|| "application/octet-stream".to_owned());
        form.files.push(File { field, name, content_type, data });
    }
    Ok(form)
}

/// The `boundary` of a content type, also a quoted one (RFC 9110, section 5.6.6); `None` when there is none or it is empty.
fn boundary(content_type: &str) -> Option<String> {
    let (_, mut rest) = content_type.split_once(';')?;
    loop {
        let (name, after) = rest.split_once('=')?;
        let (value, after) = parameter(after);
        if name.trim().eq_ignore_ascii_case("boundary") {
            return Some(value).filter(|value| !value.is_empty());
        }
        rest = after.trim_start().strip_prefix(';')?;
    }
}

/// The value of a parameter, and what follows it.
fn parameter(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(';').unwrap_or(text.len());
        return (text[..end].trim().to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(letters.next().map(|(_, escaped)| escaped)),
            plain => value.push(plain),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_follow_the_standard() {
        let text = b"p=a+b&s=a%20b&l=a%2Bb&e=&bare&arr[]=5&eq=x=y=z&u=%E6%9C%88&=nokey&bad=%zz%&&x=%ff";
        let got: Vec<String> = pairs(text).map(|(name, value)| format!("{name}>{value}")).collect();
        let wanted = [
            "p>a b",
            "s>a b",
            "l>a+b",
            "e>",
            "bare>",
            "arr[]>5",
            "eq>x=y=z",
            "u>月",
            ">nokey",
            "bad>%zz%",
            "x>\u{fffd}",
        ];
        assert_eq!(got, wanted);
    }

    #[test]
    fn boundaries() {
        for (text, wanted) in [
            ("multipart/form-data; boundary=abc", Some("abc")),
            ("multipart/form-data; boundary=\"--=_x y?\"", Some("--=_x y?")),
            ("multipart/form-data; charset=\"a;b=c\"; BOUNDARY=\"a\\\"b\" ; x=y", Some("a\"b")),
            ("multipart/form-data;boundary=abc;charset=utf-8", Some("abc")),
            ("multipart/form-data; boundary=", None),
            ("multipart/form-data; boundary=\"\"", None),
            ("multipart/form-data", None),
            ("multipart/form-data; charset=utf-8", None),
        ] {
            assert_eq!(boundary(text).as_deref(), wanted, "{text}");
        }
    }

    const HEAD: &[u8] = b"--=_x y?";
    const TYPE: &[u8] = b"multipart/form-data; boundary=\"=_x y?\"";

    fn body() -> Vec<u8> {
        let mut body = Vec::new();
        body.extend_from_slice(HEAD);
        body.extend_from_slice(b"\r\nContent-Disposition: form-data; name=\"payload\"\r\nContent-Type: application/json\r\n\r\n{\"a\":1}\r\n");
        body.extend_from_slice(HEAD);
        body.extend_from_slice("\r\nContent-Disposition: form-data; name=\"thumb\"; filename=\"../../etc/月.bin\"\r\nContent-Type: image/jpeg\r\n\r\n".as_bytes());
        body.extend_from_slice(b"\xff\xd8\0\0%4\x92\r\n--almost\r\n\r\n");
        body.extend_from_slice(HEAD);
        body.extend_from_slice(b"--\r\n");
        body
    }

    #[test]
    fn parts_keep_their_bytes() {
        let form = read(TYPE, &body().into()).unwrap();
        assert_eq!(form.fields, [("payload".to_owned(), Bytes::from_static(b"{\"a\":1}"))]);
        let data = Bytes::from_static(b"\xff\xd8\0\0%4\x92\r\n--almost\r\n");
        let file =
            File { field: "thumb".into(), name: "../../etc/月.bin".into(), content_type: "image/jpeg".into(), data };
        assert_eq!(form.files, [file]);
    }

    #[test]
    fn every_cut_of_a_body_ends_and_says_why() {
        let body = body();
        for length in 0..body.len() - 4 {
            let cut = Bytes::copy_from_slice(&body[..length]);
            assert!(read(TYPE, &cut).is_err(), "{length}");
        }
    }

    #[test]
    fn large_files_are_whole() {
        let data: Vec<u8> = (0..3_000_000_u32).map(|value| value as u8).collect();
        let mut body = b"--b\r\nContent-Disposition: form-data; name=f; filename=x\r\n\r\n".to_vec();
        body.extend_from_slice(&data);
        body.extend_from_slice(b"\r\n--b--\r\n");
        let form = read(b"multipart/form-data; boundary=b", &body.into()).unwrap();
        assert_eq!(form.files[0].data, data);
        assert_eq!(form.files[0].content_type, "application/octet-stream");
    }

    #[test]
    fn other_types_are_no_forms() {
        for (kind, wanted) in [
            ("application/json", "the body is no form: its content type is \"application/json\""),
            ("", "the body is no form: its content type is missing"),
            ("multipart/form-data", "the content type of the multipart body names no boundary"),
        ] {
            assert_eq!(read(kind.as_bytes(), &Bytes::new()).unwrap_err(), wanted);
        }
        assert_eq!(read(b"Application/X-WWW-Form-Urlencoded; charset=utf-8", &Bytes::new()), Ok(Form::default()));
    }
}
