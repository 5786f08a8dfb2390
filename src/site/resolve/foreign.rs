//! Words that people bring from other languages and servers, and what is meant here. A table, so that a new word is one
//! line.

/// Globals of elsewhere.
const WORDS: &[(&[&str], &str)] = &[
    (&["null", "None", "undefined", "Nil", "NULL"], "Lua's word is `nil`; in JSON it is `json.null`"),
    (&["True", "TRUE", "False", "FALSE"], "Lua's words are `true` and `false`"),
    (
        &["io"],
        "scripts reach no files; what is to be served stands in a `static` folder, what is to be kept in `cache`",
    ),
    (&["load", "loadstring", "loadfile", "dofile"], "text is not run as code; put it into a module and `require` it"),
    (&["getfenv", "setfenv", "newproxy"], "it is not available: it reaches around the environment"),
    (&["collectgarbage", "gcinfo"], "memory is watched by the environment's `memory`; leave it away"),
    (&["package"], "only what was required is in `package.loaded`"),
    (&["ngx"], "this is not OpenResty: the request is `req`, and what is returned is the answer"),
    (&["cjson", "dkjson", "JSON"], "use `json.encode` and `json.decode`"),
    (&["request", "Request", "r", "event", "context", "WebEvent"], "the request is `req`"),
    (&["response", "res", "resp", "reply"], "the answer is what is returned: `return body, status, headers`"),
    (&["params", "args", "argv"], "parameters are in `req.params`, `req.query` and `req.headers`"),
    (&["env", "ENV", "process"], "declare it in `variables` with (env), and read `vars.name`"),
    (&["config", "settings"], "declare it in `variables`, and read `vars.name`"),
    (&["console"], "use `log.info` or `print`"),
    (&["printf", "echo", "write"], "use `print` for the log; what is returned is the answer"),
    (&["sha256", "md5", "hmac", "hash"], "use `crypto.hash` and `crypto.hmac`"),
    (&["regex", "regexp"], "regular expressions are in `re`"),
    (&["len"], "the length is `#value`"),
    (&["str"], "use `tostring`"),
    (&["int", "float"], "use `tonumber`"),
    (&["this"], "use `self`"),
    (&["throw", "raise"], "use `error`, or `abort(status, message)`"),
    (&["exit", "die", "halt"], "use `return`, or `abort(status, message)` to end at once"),
    (&["wait", "delay"], "use `sleep`"),
    (&["foreach", "each"], "write `for key, value in list do … end`"),
];

/// Fields of host tables that are called otherwise here, or are not there.
const FIELDS: &[(&str, &[&str], &str)] = &[
    ("os", &["getenv"], "declare it in the site, variables { home (env)HOME; }, and read `vars.home`"),
    ("os", &["execute", "exit", "tmpname", "remove", "rename"], "scripts start no programs and reach no files"),
    ("os", &["setlocale"], "there is one locale; `time.format` writes dates"),
    ("debug", &["getinfo", "sethook", "getlocal", "getupvalue"], "of `debug` there is only `traceback`"),
    ("json", &["parse", "loads", "deserialize"], "use `json.decode`"),
    ("json", &["stringify", "dumps", "serialize"], "use `json.encode`"),
    ("math", &["randomseed"], "`math.random` needs no seed"),
    ("math", &["mod"], "use `math.fmod`, or the operator %"),
    ("table", &["len", "length", "size"], "the length is `#list`"),
    ("table", &["push", "append", "add"], "use `table.insert`"),
    ("string", &["trim", "strip"], "use `string.match(text, \"^%s*(.-)%s*$\")`"),
    ("string", &["contains", "includes"], "use `string.find(text, part, 1, true)`"),
    ("string", &["replace"], "use `string.gsub`, or `re.gsub`"),
    ("string", &["dump"], "there is no bytecode for scripts"),
    ("log", &["fatal", "crit"], "use `log.critical`"),
    ("log", &["notice", "verbose"], "the levels are trace, debug, info, warning, error and critical"),
    ("time", &["sleep", "wait"], "use `sleep`"),
    ("req", &["url", "uri"], "use `req.path`, and `req.query` for what follows the `?`"),
    ("req", &["args", "querystring", "search"], "use `req.query`"),
    ("req", &["header", "get_headers"], "use `req.headers`"),
    ("req", &["verb"], "use `req.method`"),
    ("req", &["data", "text", "payload", "content", "raw"], "use `req.body`, or `req:json()`"),
    ("req", &["remote_addr", "remote_ip", "client_ip"], "use `req.ip`"),
    ("req", &["get", "post"], "use `req.query`, or `req:form()`"),
];

/// What a global of elsewhere is called here.
pub(super) fn word(name: &str) -> Option<&'static str> {
    WORDS.iter().find(|(words, _)| words.contains(&name)).map(|(_, help)| *help)
}

/// What a field of elsewhere is called here.
pub(super) fn field(global: &str, name: &str) -> Option<&'static str> {
    FIELDS.iter().find(|(table, fields, _)| *table == global && fields.contains(&name)).map(|(_, _, help)| *help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::known::known;

    #[test]
    fn no_word_of_the_tables_exists_here() {
        let known = known().unwrap();
        for word in WORDS.iter().flat_map(|(words, _)| *words).filter(|word| **word != "package") {
            assert!(!known.has(word), "{word}");
        }
        for (table, fields, _) in FIELDS {
            assert!(known.has(table), "{table}");
            assert!(fields.iter().all(|field| !known.may_have(table, field)), "{table} {fields:?}");
        }
    }

    #[test]
    fn what_the_helps_name_exists() {
        let known = known().unwrap();
        let helps = WORDS.iter().map(|(_, help)| *help).chain(FIELDS.iter().map(|(_, _, help)| *help));
        for code in helps.flat_map(|help| help.split('`').skip(1).step_by(2)) {
            let name: Vec<&str> =
                code.split(|char: char| !char.is_ascii_alphanumeric() && char != '_').take(2).collect();
            if let [table, field] = name.as_slice()
                && code.starts_with(&format!("{table}."))
            {
                assert!(known.has(table) && known.may_have(table, field), "{code}");
            }
        }
    }
}
