//! What a site file says about logging, decoded and validated.

/// The `logging` block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoggingSettings {}
