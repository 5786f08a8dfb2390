//! The table of codes: the one place where a kind of mistake gets its name, severity and title.

use super::{Code, Severity};

/// Declares codes and the table of all of them; the page of each is `docs/errors/<area>-<name>.md`.
macro_rules! codes {
    ($($constant:ident = $area:literal $name:literal $severity:ident $title:literal;)*) => {
        $(#[doc = $title] pub static $constant: Code = Code {
            id: concat!($area, "::", $name),
            severity: Severity::$severity,
            title: $title,
            explanation: include_str!(concat!("../../docs/errors/", $area, "-", $name, ".md")),
        };)*
        /// Every code, in the order of this file.
        pub static ALL: &[&Code] = &[$(&$constant),*];
    };
}

codes! {
    SYNTAX_KEYWORD = "syntax" "keyword" Error "a keyword without its #";
    SYNTAX_UNCLOSED_BLOCK = "syntax" "unclosed-block" Error "a block that is never closed";
    SYNTAX_STRAY_BRACE = "syntax" "stray-brace" Error "a closing brace too many";
    SYNTAX_UNCLOSED_STRING = "syntax" "unclosed-string" Error "a text that is never closed";
    SYNTAX_UNCLOSED_COMMENT = "syntax" "unclosed-comment" Error "a comment that is never closed";
    SYNTAX_DEDENT = "syntax" "dedent" Error "a line of a text that is indented less than its end";
    SYNTAX_MULTILINE_START = "syntax" "multiline-start" Error "a text of several lines that begins beside its quotes";
    SYNTAX_MULTILINE_END = "syntax" "multiline-end" Error "a text of several lines that ends beside its quotes";
    SYNTAX_BARE_UNIT = "syntax" "bare-unit" Error "a duration, size or address without quotes";
    SYNTAX_BARE_PATH = "syntax" "bare-path" Error "a path without quotes";
    SYNTAX_EQUALS = "syntax" "equals" Error "an equals sign where none belongs";
    SYNTAX_ESCAPE = "syntax" "escape" Error "an escape that does not exist";
    SYNTAX_HASH_COMMENT = "syntax" "hash-comment" Error "a comment that begins with #";
    SYNTAX_BRACKETS = "syntax" "brackets" Error "square brackets";
    SYNTAX_V1_RAW = "syntax" "v1-raw" Error "a raw text as KDL 1 writes it";
    SYNTAX_V1_FILE = "syntax" "v1-file" Error "a file that says it is KDL 1";
    SYNTAX_HUGE_NUMBER = "syntax" "huge-number" Error "a number that is too large";
    SYNTAX_NO_SPACE = "syntax" "no-space" Error "two values without a space between them";
    SYNTAX_BRACE_ALONE = "syntax" "brace-alone" Error "an opening brace on a line of its own";
    SYNTAX_TOO_DEEP = "syntax" "too-deep" Error "blocks nested too deep";
    SYNTAX_TOO_BIG = "syntax" "too-big" Error "a file or node that is too big";
    SYNTAX_CHARACTER = "syntax" "character" Error "an invisible character";
    SYNTAX_OTHER = "syntax" "other" Error "something that is not KDL";
    NODE_MISPLACED = "node" "misplaced" Error "a node in the wrong block";
    NODE_NO_BLOCK = "node" "no-block" Error "a block where none belongs";
    PROP_UNKNOWN = "prop" "unknown" Error "a setting that does not exist";
    PROP_DUPLICATE = "prop" "duplicate" Error "a property given twice";
    SETTING_TWICE = "setting" "twice" Error "a setting given as property and as child";
    SETTING_MISSING = "setting" "missing" Error "a setting that must be given";
    VALUE_TYPE = "value" "type" Error "a value of the wrong type";
    VALUE_MISSING = "value" "missing" Error "a value that is not there";
    VALUE_UNEXPECTED = "value" "unexpected" Error "a value too many";
    VALUE_RANGE = "value" "range" Error "a number out of range";
    VALUE_ENUM = "value" "enum" Error "a word that is not one of the possible ones";
    VALUE_DURATION = "value" "duration" Error "a duration that cannot be read";
    VALUE_SIZE = "value" "size" Error "a size that cannot be read";
    VALUE_COMMA = "value" "comma" Error "a comma between values";
    VALUE_ANNOTATION = "value" "annotation" Error "an annotation that does not exist";
    NODE_NOT_YET = "node" "not-yet" Error "a node of a later release";
    NODE_UNKNOWN = "node" "unknown" Error "a node that does not exist";
    NODE_DUPLICATE = "node" "duplicate" Error "a node given twice";
    NAME_UNKNOWN = "name" "unknown" Error "a name that nothing declares";
    NAME_DUPLICATE = "name" "duplicate" Error "a name declared twice";
    NAME_COLLISION = "name" "collision" Error "two names that are the same in Lua";
    ENDPOINT_ROUTE = "endpoint" "route" Error "a path that is no route";
    ENDPOINT_FOREIGN_ROUTE = "endpoint" "foreign-route" Warning "a path parameter as other servers write it";
    ENDPOINT_METHOD = "endpoint" "method" Error "a method that does not exist";
    ENDPOINT_DUPLICATE_ROUTE = "endpoint" "duplicate-route" Error "two endpoints for one method and path";
    ENDPOINT_NO_CODE = "endpoint" "no-code" Error "an endpoint that has nothing to run";
    ENDPOINT_TWO_CODES = "endpoint" "two-codes" Error "an endpoint with two handlers";
    ENDPOINT_PARAM_UNUSED = "endpoint" "param-unused" Error "a path parameter that the path does not have";
    ENDPOINT_PARAM_RANGE = "endpoint" "param-range" Error "bounds of a parameter that exclude each other";
    ENDPOINT_PARAM_SETTING = "endpoint" "param-setting" Error "a setting of a parameter that does nothing";
    ENDPOINT_STATUS = "endpoint" "status" Error "a status that cannot be sent";
    ENVIRONMENT_AMBIGUOUS = "environment" "ambiguous" Error "several environments, and none is the default";
    ENVIRONMENT_MODULES = "environment" "modules" Error "a module folder that does not exist";
    ENVIRONMENT_UNUSED = "environment" "unused" Warning "an environment that nothing uses";
    ENVIRONMENT_RANGE = "environment" "range" Error "limits of an environment that exclude each other";
    INCLUDE_MISSING = "include" "missing" Error "an included file that does not exist";
    INCLUDE_CYCLE = "include" "cycle" Error "files that include each other";
    INCLUDE_TWICE = "include" "twice" Error "a file included twice";
    INCLUDE_NOTHING = "include" "nothing" Warning "an include that matches no file";
    INCLUDE_UNREADABLE = "include" "unreadable" Error "a file that cannot be read";
    SCRIPT_UNREADABLE = "script" "unreadable" Error "a script file that cannot be read";
    SCRIPT_MISSING = "script" "missing" Error "a script file that does not exist";
    SCRIPT_OUTSIDE = "script" "outside" Warning "a script outside of the site's folder";
    SCRIPT_SYNTAX = "script" "syntax" Error "a Lua syntax error";
    SCRIPT_UNKNOWN_MODULE = "script" "unknown-module" Warning "a module that cannot be found";
    SCRIPT_UNKNOWN_GLOBAL = "script" "unknown-global" Warning "a name in Lua that nothing sets";
    SCRIPT_UNKNOWN_FIELD = "script" "unknown-field" Warning "a field that a table of the host does not have";
    SCRIPT_UNKNOWN_NAME = "script" "unknown-name" Warning "a variable or secret that the environment does not see";
    SCRIPT_UNKNOWN_PARAM = "script" "unknown-param" Warning "a path parameter that the path does not have, read in Lua";
    SCRIPT_BARE_STATUS = "script" "bare-status" Warning "a status returned as if it were the body";
    VALUE_UNSET = "value" "unset" Error "a value from outside that is not there";
    SERVER_BIND_TWICE = "server" "bind-twice" Error "one address given twice";
    SITE_EMPTY = "site" "empty" Error "a site that answers nothing";
    STATIC_FOLDER = "static" "folder" Error "a static folder that does not exist";
    STATIC_SHADOWED = "static" "shadowed" Warning "a static path that an endpoint answers";
    ALLOW_UNKNOWN = "allow" "unknown" Warning "a comment that allows a code that does not exist";
    ALLOW_UNUSED = "allow" "unused" Warning "a comment that allows nothing";
    SECRET_INLINE = "secret" "inline" Warning "a secret that stands in the site in plain text";
    SECRET_WORLD_READABLE = "secret" "world-readable" Warning "a secret in a file that everybody can read";
    SECRET_EMPTY = "secret" "empty" Error "a secret that is empty";
    VALUE_FORMAT = "value" "format" Error "a value that is not in its format";
}
