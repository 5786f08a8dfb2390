//! Where the server keeps what must outlive a request.
