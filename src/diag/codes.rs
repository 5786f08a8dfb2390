//! The table of codes: the one place where a kind of mistake gets its name, severity and title.

use super::{Code, Severity};

/// Declares codes and the table of all of them.
macro_rules! codes {
    ($($name:ident = $id:literal $severity:ident $title:literal;)*) => {
        $(#[doc = $title] pub static $name: Code = Code { id: $id, severity: Severity::$severity, title: $title };)*
        /// Every code, in the order of this file.
        pub static ALL: &[&Code] = &[$(&$name),*];
    };
}

codes! {
    NODE_NOT_YET = "node::not-yet" Error "a node of a later release";
    NODE_UNKNOWN = "node::unknown" Error "a node that does not exist";
    NODE_DUPLICATE = "node::duplicate" Error "a node given twice";
    NAME_UNKNOWN = "name::unknown" Error "a name that nothing declares";
    NAME_DUPLICATE = "name::duplicate" Error "a name declared twice";
    NAME_COLLISION = "name::collision" Error "two names that are the same in Lua";
    ENDPOINT_ROUTE = "endpoint::route" Error "a path that is no route";
    ENDPOINT_METHOD = "endpoint::method" Error "a method that does not exist";
    ENDPOINT_DUPLICATE_ROUTE = "endpoint::duplicate-route" Error "two endpoints for one method and path";
    ENDPOINT_NO_CODE = "endpoint::no-code" Error "an endpoint that has nothing to run";
    ENDPOINT_TWO_CODES = "endpoint::two-codes" Error "an endpoint with two handlers";
    ENDPOINT_PARAM_UNUSED = "endpoint::param-unused" Error "a path parameter that the path does not have";
    ENDPOINT_STATUS = "endpoint::status" Error "a status that cannot be sent";
    ENVIRONMENT_AMBIGUOUS = "environment::ambiguous" Error "several environments, and none is the default";
    ENVIRONMENT_MODULES = "environment::modules" Error "a module folder that does not exist";
    ENVIRONMENT_UNUSED = "environment::unused" Warning "an environment that nothing uses";
    ENVIRONMENT_RANGE = "environment::range" Error "limits of an environment that exclude each other";
    INCLUDE_MISSING = "include::missing" Error "an included file that does not exist";
    INCLUDE_CYCLE = "include::cycle" Error "files that include each other";
    INCLUDE_TWICE = "include::twice" Error "a file included twice";
    INCLUDE_NOTHING = "include::nothing" Warning "an include that matches no file";
    INCLUDE_UNREADABLE = "include::unreadable" Error "a file that cannot be read";
    SCRIPT_UNREADABLE = "script::unreadable" Error "a script file that cannot be read";
    SCRIPT_MISSING = "script::missing" Error "a script file that does not exist";
    SCRIPT_SYNTAX = "script::syntax" Error "a Lua syntax error";
    SCRIPT_UNKNOWN_MODULE = "script::unknown-module" Warning "a module that cannot be found";
    VALUE_UNSET = "value::unset" Error "a value from outside that is not there";
    SERVER_BIND_TWICE = "server::bind-twice" Error "one address given twice";
    SITE_EMPTY = "site::empty" Error "a site that answers nothing";
    STATIC_FOLDER = "static::folder" Error "a static folder that does not exist";
    STATIC_SHADOWED = "static::shadowed" Warning "a static path that an endpoint answers";
    VALUE_FORMAT = "value::format" Error "a value that is not in its format";
}
