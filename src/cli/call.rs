//! `moondock call`: one request through a site, without a port. What the site logs goes to standard error.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use crate::diag::render;
use crate::site::Site;
use crate::site::load::Loader;

use super::output::Output;

/// A request, as the command line says it.
#[derive(Args)]
pub(super) struct Call {
    /// The method, such as GET
    method: String,
    /// The path, with its query
    path: String,
    /// A header, `Name: value`; may be given several times
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    headers: Vec<String>,
    /// The body; @FILE reads a file
    #[arg(short = 'd', long = "data", value_name = "DATA")]
    data: Option<String>,
    /// Print status and headers before the body
    #[arg(short, long)]
    include: bool,
    /// The site file, or a folder with a site.kdl
    #[arg(long, default_value = super::DEFAULT_SITE)]
    site: PathBuf,
}

/// Asks the site: 0 for a status below 400, 1 above, 2 for wrong usage, 78 for a bad site.
pub(super) fn run(output: &mut Output, call: &Call) -> ExitCode {
    let request = match request(call) {
        Ok(request) => request,
        Err(why) => {
            output.err(&format!("moondock: {why}\n"));
            return ExitCode::from(2);
        }
    };
    let site = match site(output, call) {
        Ok(site) => site,
        Err(code) => return ExitCode::from(code),
    };
    match crate::server::call::call(site, &request) {
        Ok(answer) => show(output, &answer, call.include),
        Err(error) => {
            output.err(&format!("moondock: {error}\n"));
            ExitCode::FAILURE
        }
    }
}

/// The request as it is sent. HTTP/1.0 keeps the body in one piece and closes the connection after it.
fn request(call: &Call) -> Result<Vec<u8>, String> {
    let is_token = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':');
    if !is_token(&call.method) {
        return Err(format!("{:?} is no method", call.method));
    }
    if !call.path.starts_with('/') || !call.path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!("{:?} is no path: it begins with / and is percent-encoded", call.path));
    }
    let mut head = format!("{} {} HTTP/1.0\r\n", call.method, call.path);
    for header in &call.headers {
        match header.split_once(':') {
            Some((name, value)) if is_token(name) && !value.contains(['\r', '\n', '\0']) => {
                head.push_str(&format!("{name}: {}\r\n", value.trim()));
            }
            _ => return Err(format!("{header:?} is no header: write 'Name: value'")),
        }
    }
    let names = |wanted: &str| call.headers.iter().any(|header| header.to_ascii_lowercase().starts_with(wanted));
    if !names("host:") {
        head.push_str("host: localhost\r\n");
    }
    let body = body(call.data.as_deref()).map_err(|error| format!("cannot read the body: {error}"))?;
    if let Some(body) = &body {
        head.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    Ok([head.into_bytes(), body.unwrap_or_default()].concat())
}

fn body(data: Option<&str>) -> io::Result<Option<Vec<u8>>> {
    match data.map(|data| data.strip_prefix('@').ok_or(data)) {
        None => Ok(None),
        Some(Ok(file)) => std::fs::read(file).map(Some),
        Some(Err(text)) => Ok(Some(text.into())),
    }
}

/// The site, with its console on standard error; else the exit code.
fn site(output: &mut Output, call: &Call) -> Result<Arc<Site>, u8> {
    let path = super::site_file(&call.site);
    let loaded = Loader::default().load(&path).map_err(|error| {
        output.err(&super::could_not_look(&path, &error));
        2
    })?;
    if !loaded.diagnostics.is_empty() {
        let style = output.err_style();
        output.err(&render::human(&loaded.diagnostics, &loaded.sources, style));
    }
    let mut site = loaded.site.and_then(Arc::into_inner).ok_or(super::BAD_SITE)?;
    site.logging.to_standard_error();
    Ok(Arc::new(site))
}

fn show(output: &mut Output, answer: &[u8], include: bool) -> ExitCode {
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").map_or(answer.len(), |at| at + 4);
    let (head, body) = answer.split_at(end);
    if include {
        output.out_bytes(head);
    }
    output.out_bytes(body);
    let status = head.split(|byte| *byte == b' ').nth(1).and_then(|status| str::from_utf8(status).ok()?.parse().ok());
    if status.is_some_and(|status: u16| status < 400) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
