//! Terminal sessions as documentation shows them: `$ command` and the lines it prints. They are run as written.

use super::client::Answer;
use super::request::Request;

/// One command with the lines that it shows; a line `…` stands for any number of lines, and `…` in a line for any text.
#[derive(Debug)]
pub(crate) struct Line {
    /// The words of the command.
    pub(crate) words: Vec<String>,
    /// What is shown below.
    pub(crate) shown: Vec<String>,
}

/// Reads a session.
///
/// # Errors
/// Quotes that do not end.
pub(crate) fn lines(text: &str) -> Result<Vec<Line>, String> {
    let mut found: Vec<Line> = Vec::new();
    let joined = text.replace("\\\n", " ");
    for line in joined.lines() {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => found.push(Line { words: words(command)?, shown: Vec::new() }),
            (None, Some(last)) => last.shown.push(line.to_string()),
            (None, None) => {}
        }
    }
    Ok(found)
}

/// Splits a command as a shell does, as far as quotes go; a comment ends it.
fn words(command: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for char in command.chars() {
        match (quote, char) {
            (Some(open), _) if open == char => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(char),
            (None, '\'' | '"') => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, ' ') => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    if quote.is_some() { Err(format!("a quote does not end in {command:?}")) } else { Ok(words) }
}

/// What a `curl` line sends, and whether the head of the answer is shown too.
///
/// # Errors
/// An option that is not known here.
pub(crate) fn curl(words: &[String]) -> Result<(Request, bool), String> {
    let mut request = Request { method: "GET".into(), ..Request::default() };
    let mut with_head = false;
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        let mut value = || rest.next().cloned().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "-i" => with_head = true,
            "-s" | "-sS" => {}
            "-I" => (request.method, with_head) = ("HEAD".into(), true),
            "-X" => request.method = value()?,
            "-H" => request.headers.push(super::request::parse_header(&value()?)?),
            "-d" => post(&mut request, &value()?, "application/x-www-form-urlencoded"),
            "--json" => post(&mut request, &value()?, "application/json"),
            url => request.target = target(url)?,
        }
    }
    Ok((request, with_head))
}

fn post(request: &mut Request, body: &str, content_type: &str) {
    if request.method == "GET" {
        request.method = "POST".into();
    }
    if !request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        request.headers.push(("content-type".into(), content_type.into()));
    }
    request.body = body.as_bytes().to_vec();
}

fn target(url: &str) -> Result<String, String> {
    let rest = url.strip_prefix("http://").unwrap_or(url);
    let at = rest.find('/').ok_or_else(|| format!("{url:?} is no address with a path"))?;
    Ok(rest[at..].to_string())
}

/// What `curl` would print for an answer.
pub(crate) fn printed(answer: &Answer, with_head: bool) -> String {
    let mut text = String::new();
    if with_head {
        let headers = answer.headers.iter().map(|(name, value)| format!("{name}: {value}"));
        text = [answer.line.clone()].into_iter().chain(headers).collect::<Vec<_>>().join("\n") + "\n\n";
    }
    text + &answer.text()
}

/// The first shown line that is not in what was printed where it should be.
pub(crate) fn missing<'s>(shown: &'s [String], printed: &str) -> Option<&'s str> {
    let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
    let mut at = 0;
    let mut gap = false;
    for want in shown.iter().map(|line| line.trim_end()) {
        if want == "…" {
            gap = true;
            continue;
        }
        let found = printed[at..].iter().position(|line| line_fits(want, line)).filter(|skipped| gap || *skipped == 0);
        let Some(skipped) = found else {
            return Some(want);
        };
        at += skipped + 1;
        gap = false;
    }
    (!gap && printed[at..].iter().any(|line| !line.is_empty())).then_some("(nothing more)")
}

fn line_fits(want: &str, line: &str) -> bool {
    let mut parts = want.split('…');
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else {
        return false;
    };
    let mut open = false;
    for part in parts {
        open = true;
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.is_empty() || (open && want.ends_with('…'))
}
