//! Tells that tracked files have other contents. Events are hints; the sweep is the truth. Names std and notify only.
