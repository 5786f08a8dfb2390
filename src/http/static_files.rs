//! Files of `static` folders: only GET and HEAD, never a dotfile, never anything outside the folder.
//!
//! The path is decoded once, segment by segment, and every segment must be the plain name of something; then the file
//! system is asked where the result really is. No name is cleaned up: a path that would need it names nothing.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use actix_files::NamedFile;
use actix_http::body::BoxBody;
use actix_web::http::Method;
use actix_web::{HttpRequest, HttpResponse};

use super::answer;
use crate::endpoint::pattern::{decode, is_reserved};
use crate::site::statics::StaticFolder;

/// What a static folder says to a path.
pub enum Served {
    /// The answer.
    Response(HttpResponse<BoxBody>),
    /// The path names nothing there.
    Nothing,
    /// It does, but only GET and HEAD read it.
    Method,
}

/// What a path names in a folder.
#[derive(Debug)]
enum Named {
    File(File, PathBuf),
    /// A folder with an index file, asked for without its final slash.
    Folder,
    Nothing,
}

/// The folder of the longest prefix of a path as sent, with the path's segments below it, decoded.
pub fn folder_of<'s, S: AsRef<StaticFolder>>(statics: &'s [S], path: &str) -> Option<(&'s StaticFolder, Vec<String>)> {
    if statics.is_empty() || is_reserved(path) {
        return None;
    }
    let segments: Vec<String> = path.strip_prefix('/')?.split('/').map(decode).collect::<Option<_>>()?;
    let folders =
        statics.iter().map(AsRef::as_ref).filter_map(|folder| Some((folder, below(&folder.prefix, &segments)?)));
    let (folder, depth) = folders.max_by_key(|(_, depth)| *depth)?;
    Some((folder, segments[depth..].to_vec()))
}

/// Answers a request for what `segments` name in a folder.
pub async fn serve(request: &HttpRequest, folder: &StaticFolder, segments: Vec<String>) -> Served {
    if !segments
        .iter()
        .enumerate()
        .all(|(at, segment)| is_plain(segment) || (segment.is_empty() && at + 1 == segments.len()))
    {
        return Served::Nothing;
    }
    let (root, index) = (folder.folder.clone(), folder.index.clone());
    let found = tokio::task::spawn_blocking(move || find(&root, &segments, index.as_deref())).await;
    let found = found.unwrap_or_else(|failure| Err(io::Error::other(failure)));
    let readable = matches!(*request.method(), Method::GET | Method::HEAD);
    match found {
        Ok(Named::File(..) | Named::Folder) if !readable => Served::Method,
        Ok(Named::File(file, path)) => match NamedFile::from_file(file, path) {
            Ok(file) => Served::Response(file.disable_content_disposition().into_response(request)),
            Err(_) => Served::Nothing,
        },
        Ok(Named::Folder) => Served::Response(answer::redirect(308, &with_slash(request))),
        Ok(Named::Nothing) | Err(_) => Served::Nothing,
    }
}

/// How many segments a prefix takes of a path, if it begins with it.
fn below(prefix: &str, segments: &[String]) -> Option<usize> {
    let prefix: Vec<&str> = prefix.split('/').filter(|part| !part.is_empty()).collect();
    (segments.len() >= prefix.len() && prefix.iter().zip(segments).all(|(wanted, segment)| wanted == segment))
        .then_some(prefix.len())
}

/// Whether a decoded segment is the name of one visible thing in a folder, on any system.
fn is_plain(segment: &str) -> bool {
    !segment.is_empty()
        && !segment.starts_with('.')
        && !segment.contains(|letter: char| matches!(letter, '/' | '\\' | ':') || letter.is_control())
}

/// Looks at the file system; may block.
fn find(root: &Path, segments: &[String], index: Option<&str>) -> io::Result<Named> {
    let with_slash = segments.last().is_some_and(String::is_empty);
    let path =
        segments.iter().filter(|segment| !segment.is_empty()).fold(root.to_owned(), |path, segment| path.join(segment));
    let Some(path) = inside(root, &path)? else {
        return Ok(Named::Nothing);
    };
    let kind = path.metadata()?;
    if kind.is_file() && !with_slash {
        return open(path);
    }
    let Some(index) = index.filter(|_| kind.is_dir()) else {
        return Ok(Named::Nothing);
    };
    match inside(root, &path.join(index))? {
        Some(file) if !file.is_file() => Ok(Named::Nothing),
        Some(file) if with_slash => open(file),
        Some(_) => Ok(Named::Folder),
        None => Ok(Named::Nothing),
    }
}

/// Where a path really is, when that is inside the folder and visible.
fn inside(root: &Path, path: &Path) -> io::Result<Option<PathBuf>> {
    let real = path.canonicalize()?;
    let Ok(relative) = real.strip_prefix(root) else {
        return Ok(None);
    };
    let is_visible = |part: Component<'_>| !part.as_os_str().as_encoded_bytes().starts_with(b".");
    Ok(relative.components().all(is_visible).then_some(real))
}

fn open(path: PathBuf) -> io::Result<Named> {
    let file = File::open(&path)?;
    Ok(Named::File(file, path))
}

/// The path of a folder as it should have been asked for.
fn with_slash(request: &HttpRequest) -> String {
    let uri = request.uri();
    match uri.query() {
        Some(query) => format!("{}/?{query}", uri.path()),
        None => format!("{}/", uri.path()),
    }
}
