//! Files that change beside the editor: the client watches them for us.

use lsp_server::Request;
use serde_json::json;

/// What a site can be made of: files of the site language and scripts.
const PATTERNS: [&str; 3] = ["**/*.kdl", "**/*.lua", "**/*.luau"];

/// Asks the client to tell of such files.
pub(super) fn request() -> Request {
    let watchers: Vec<_> = PATTERNS.iter().map(|pattern| json!({ "globPattern": pattern })).collect();
    let registration = json!({
        "id": "files",
        "method": "workspace/didChangeWatchedFiles",
        "registerOptions": { "watchers": watchers },
    });
    let params = json!({ "registrations": [registration] });
    Request { id: "watch-files".to_owned().into(), method: "client/registerCapability".to_owned(), params }
}
