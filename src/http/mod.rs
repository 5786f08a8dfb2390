//! The path of a request: actix's side of the house, from the connection to the answer.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`connection`] | what stands between a socket and a request: actix put together, `Expect`, the end |
//! | [`progress`] | counts connections and cuts those that are too slow |
//! | [`worker`] | what a worker thread keeps: the current generation, request ids |
//! | [`handle`] | the request path, top to bottom |
//! | [`body`] | reading a body under its limits, and leaving one unread |
//! | [`proxy`] | who the client is, after trusted proxies |
//! | [`static_files`] | files of `static` folders |
//! | [`answer`] | the neutral answer becomes HTTP |
//! | [`problem`] | failures become status, `application/problem+json` and a log record |
//! | [`finish`] | what every answer gets: headers, request id, its record |
//! | [`compression`] | packs answers as the client likes it |
//!
//! Nothing here knows how Lua runs or what a site file looks like.

pub mod answer;
pub mod body;
pub mod compression;
pub mod connection;
pub mod finish;
pub mod handle;
pub mod problem;
pub mod progress;
pub mod proxy;
pub mod static_files;
pub mod worker;
