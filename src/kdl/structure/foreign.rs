//! The words of other servers that have no word of their own here, and what does the same.
//!
//! A word that has one is its alias in the schema.

use super::super::suggest::plain;

/// Some words, the node in which they are meant so (empty for any), and what to write instead.
type Entry = (&'static [&'static str], &'static str, &'static str);

const ENDPOINT: &str = "write  endpoint GET \"/path\" { … }  at the top level, or in a `group`";
const HANDLER: &str = "write  lua #\"return 1\"#  or  script \"file.lua\"";
const COMMAND: &str = "scripts start no programs; write what it does in Lua:  lua #\"return 1\"#";
const FOLDER: &str = "write  static \"/assets\" dir=\"public\"  at the top level";
const TARGETS: &str = "write  logging { target console; }  at the top level";

const ENTRIES: &[Entry] = &[
    (&["path", "program", "executable"], "environment", "an environment runs Lua, and needs no program"),
    (
        &["endpoint"],
        "server",
        "the address is  bind \"127.0.0.1:8080\"  here; what is answered is an `endpoint` at the top level",
    ),
    (&["log"], "", TARGETS),
    (&["route", "location", "handle", "handle-path", "match", "get", "post", "put", "patch", "delete"], "", ENDPOINT),
    (&["hook", "hooks", "webhook"], "", "write  endpoint POST \"/hooks/name\" { … }  for each hook, at the top level"),
    (&["method", "methods", "http-methods", "verb"], "", "methods stand before the path:  endpoint GET POST \"/path\""),
    (&["url", "uri", "path"], "endpoint", "the path stands behind the method:  endpoint GET \"/path\""),
    (&["server-name", "hostname", "virtual-host"], "", "leave it out: a site answers under every name"),
    (&["root", "file-server", "static-route", "try-files", "public-folder", "published-folder"], "", FOLDER),
    (
        &["reverse-proxy", "proxy-pass", "upstream"],
        "",
        "requests are answered here, not passed on: let a proxy in front share them out",
    ),
    (&["return", "response", "response-message"], "", "write  respond 200 \"ok\""),
    (&["content", "scriptblock", "script-block", "handler", "action", "code", "content-by-lua"], "", HANDLER),
    (&["content-by-lua-file", "file-path"], "endpoint", "write  script \"file.lua\""),
    (&["command", "exec"], "endpoint", COMMAND),
    (&["execute-command", "run", "shell"], "", COMMAND),
    (
        &[
            "command-working-directory",
            "pass-arguments-to-command",
            "pass-environment-to-command",
            "pass-file-to-command",
        ],
        "",
        "no program is started: a handler reads the request as `req`",
    ),
    (
        &["trigger-rule", "trigger-rules", "authentication", "role", "basic-auth"],
        "",
        "ask in the handler, as in  if req.headers[\"x-token\"] ~= secrets.token then …",
    ),
    (&["access-log", "error-log", "logger", "logs", "terminal"], "", TARGETS),
    (&["middleware", "use"], "", "what endpoints have in common stands in a group around them:  group \"/api\" { … }"),
    (&["variable", "var", "env-var"], "", "write  variables { name \"value\"; }"),
];

/// What to write instead of a word that stands in such a node, or at the top level.
pub(super) fn help(word: &str, parent: Option<&str>) -> Option<&'static str> {
    let word = plain(word);
    if word.starts_with(':') && word[1..].parse::<u16>().is_ok() {
        return Some("write  server { bind \"127.0.0.1:8080\"; }  for the address, and endpoints at the top level");
    }
    let here = |place: &str| place.is_empty() || parent == Some(place);
    ENTRIES.iter().find(|(words, place, _)| here(place) && words.contains(&word.as_str())).map(|(.., help)| *help)
}

#[cfg(test)]
mod tests {
    use super::super::super::schema::Schema;
    use super::*;

    #[test]
    fn no_word_is_one_of_the_language() {
        let schema = Schema::of_site().unwrap();
        let anywhere = ENTRIES.iter().filter(|(_, place, _)| place.is_empty()).flat_map(|(words, ..)| *words);
        // A `log` at the top level, which it cannot stand at, is that of another server.
        let ours: Vec<_> = anywhere.filter(|word| !schema.parents(word).is_empty() && **word != "log").collect();
        assert!(ours.is_empty(), "{ours:?}");
        assert!(ENTRIES.iter().flat_map(|(words, ..)| *words).all(|word| plain(word) == *word));
    }

    #[test]
    fn words_are_known_however_they_are_spelled() {
        assert_eq!(help("scriptBlock", None), Some(HANDLER));
        assert_eq!(help("server_name", Some("server")), help("ServerName", None));
        assert_eq!(help("path", Some("group")), None);
        assert!(help(":8080", None).is_some() && help(":x", None).is_none());
    }
}
