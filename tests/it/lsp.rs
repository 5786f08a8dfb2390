//! The language server, from an editor's point of view: what it is told while a site is typed.

mod edits;
mod findings;
mod help;
mod hostile;
mod session;

use serde_json::{Value, json};

use crate::harness::site_folder::SiteFolder;

/// A client that can do everything.
fn able() -> Value {
    json!({
        "general": { "positionEncodings": ["utf-8", "utf-16"] },
        "workspace": {
            "workspaceEdit": { "documentChanges": true },
            "didChangeWatchedFiles": { "dynamicRegistration": true },
        },
        "textDocument": {
            "publishDiagnostics": { "relatedInformation": true, "versionSupport": true },
            "completion": { "completionItem": { "snippetSupport": true, "documentationFormat": ["markdown"] } },
            "hover": { "contentFormat": ["markdown", "plaintext"] },
            "documentSymbol": { "hierarchicalDocumentSymbolSupport": true },
        },
    })
}

const FINE: &str = "endpoint GET \"/\" { respond 200 \"ok\"; }\n";
const WRONG: &str = "endpoint GET \"/\" { responnd 200 \"ok\"; }\n";

fn folder(files: &[(&str, &str)]) -> SiteFolder {
    let folder = SiteFolder::new();
    for (name, text) in files {
        folder.write_bytes(name.as_ref(), text.as_bytes());
    }
    folder
}
