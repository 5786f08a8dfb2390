//! The language server: what an editor asks while somebody types a site, over the language server protocol.
//!
//! Texts that the editor has open stand in the place of their files. Findings are those of `check`, from the same loader;
//! all else is read off the text itself, so that half a line is enough. Nothing here runs Lua, opens a port or writes
//! a file. One thread reads messages, one checks sites, and the one that calls [`serve`] answers: a check of a large
//! site never holds up who types.

mod actions;
mod changes;
mod checker;
mod client;
mod completion;
mod definition;
mod describe;
mod documents;
mod findings;
mod formatting;
mod hover;
mod inbox;
mod names;
mod place;
mod requests;
mod roots;
mod server;
mod spot;
mod symbols;
mod text;
mod uri;
mod watching;
mod wire;

use std::io::{BufReader, Read, Write};

use crate::site::load::Options;

/// How a session came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The client asked for the end and then for the exit.
    Asked,
    /// The client went away, or asked for the exit, without having asked for the end.
    Gone,
    /// What came in could not be cut into messages any more, or nothing could be written; a sentence says why.
    Broken(String),
}

/// Serves one client until it asks for the end, or its input ends. Sites are loaded with these options.
pub fn serve(options: Options, input: impl Read + Send + 'static, output: impl Write) -> Ending {
    server::run(options, BufReader::new(input), output)
}
