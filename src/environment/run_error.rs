//! How a handler can fail.

use std::time::Duration;

/// How a handler can fail. The private part goes to the log, never to the client.
#[derive(Debug, Clone, PartialEq)]
pub enum RunError {
    /// It raised an error (or answered something that cannot be sent).
    Script {
        /// The message, with the place in the user's file.
        message: String,
        /// The call stack in the user's files, one frame a line.
        traceback: String,
    },
    /// It ran longer than its timeout: 504.
    Timeout {
        /// The limit.
        limit: Duration,
        /// Where it was, such as `site.kdl:12`.
        place: String,
    },
    /// It used more memory than its environment allows: 500, the runspace is gone.
    Memory {
        /// The limit in bytes.
        limit: usize,
        /// Where it was.
        place: String,
    },
    /// Too many requests wait for a runspace already: 503.
    QueueFull,
    /// No runspace became free within the wait: 503.
    NoRunspace {
        /// The wait.
        waited: Duration,
    },
    /// The environment is unhealthy (its startup script fails): 503.
    Unhealthy {
        /// Why.
        reason: String,
    },
    /// The client went away or the server stops; nobody reads the answer.
    Cancelled,
}
