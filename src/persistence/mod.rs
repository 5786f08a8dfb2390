//! Where the server keeps what must outlive a request. The memory backend is the default and needs no settings.

pub mod settings;
