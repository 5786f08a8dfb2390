//! An `endpoint` or `group` node as decoded: what the user wrote, with its places, before names are resolved.

use crate::diag::Span;
use crate::endpoint::option::Options;
use crate::endpoint::option::param::settings::ParamSettings;
use crate::kdl::reader::{Reader, Text};
use crate::kdl::scalar::At;

/// An `endpoint` node.
#[derive(Debug)]
pub struct EndpointSettings {
    /// Where the word `endpoint` stands.
    pub span: Span,
    /// The arguments before the last.
    pub methods: Vec<At<String>>,
    /// The last argument.
    pub path: At<String>,
    /// Every handler it was given; exactly one is right.
    pub code: Vec<Code>,
    /// Its options.
    pub options: Options,
    /// Its parameters.
    pub params: Vec<ParamSettings>,
    /// One line of documentation.
    pub summary: Option<String>,
    /// Whether all of the node was understood, so that what is absent is truly absent.
    pub complete: bool,
}

/// A `group` node, or the whole site: a prefix, options, and what stands in it.
#[derive(Debug, Default)]
pub struct GroupSettings {
    /// The prefix; `None` for the site itself.
    pub prefix: Option<At<String>>,
    /// Where its prefix stands, for messages; the word `group` when it has none.
    pub span: Option<Span>,
    /// What its endpoints inherit.
    pub options: Options,
    /// Parameters of all its endpoints.
    pub params: Vec<ParamSettings>,
    /// Its endpoints.
    pub endpoints: Vec<EndpointSettings>,
    /// The groups in it.
    pub groups: Vec<GroupSettings>,
    /// Whether all of the node was understood, so that what is absent is truly absent.
    pub complete: bool,
}

/// A handler of an endpoint.
#[derive(Debug)]
pub enum Code {
    /// `lua "…"`.
    Lua(Text),
    /// `script "x.lua"`.
    Script(At<String>),
    /// `respond 200 "pong" type="text/plain"`.
    Respond {
        /// The status; default 200, or 204 without a body.
        status: Option<At<u16>>,
        /// The body.
        body: Option<At<String>>,
        /// The content type.
        content_type: Option<At<String>>,
        /// Where the node's name stands.
        span: Span,
    },
    /// `redirect "/new" status=308`.
    Redirect {
        /// Where to.
        location: At<String>,
        /// The status; default 302.
        status: Option<At<u16>>,
    },
}

impl Code {
    /// The place that names it in messages.
    pub fn span(&self) -> Span {
        match self {
            Self::Lua(text) => text.span,
            Self::Script(path) => path.span,
            Self::Respond { span, .. } => *span,
            Self::Redirect { location, .. } => location.span,
        }
    }
}

impl EndpointSettings {
    /// Reads an `endpoint` node; `None` when it has no path (which was reported).
    pub fn decode(reader: &Reader<'_>) -> Option<Self> {
        let mut methods = reader.args::<String>();
        let path = methods.pop()?;
        let code = decode_code(reader);
        // A handler whose value from outside is not there was told already.
        let unread = CODES.iter().any(|name| reader.child(name).is_some()) && code.is_empty();
        Some(Self {
            span: reader.span(),
            methods,
            path,
            code,
            options: Options::decode(reader),
            params: reader.each("param").iter().filter_map(ParamSettings::decode).collect(),
            summary: reader.get("summary").map(|at| at.it),
            complete: reader.is_complete() && !unread,
        })
    }
}

impl GroupSettings {
    /// Reads a `group` node with all that stands in it.
    pub fn decode(reader: &Reader<'_>) -> Self {
        let prefix: Option<At<String>> = reader.arg(0);
        Self {
            span: Some(prefix.as_ref().map_or_else(|| reader.span(), |at| at.span)),
            prefix,
            options: Options::decode(reader),
            params: reader.each("param").iter().filter_map(ParamSettings::decode).collect(),
            endpoints: reader.each("endpoint").iter().filter_map(EndpointSettings::decode).collect(),
            groups: reader.each("group").iter().map(Self::decode).collect(),
            complete: reader.is_complete(),
        }
    }
}

/// The nodes that say what runs.
const CODES: [&str; 4] = ["lua", "script", "respond", "redirect"];

fn decode_code(reader: &Reader<'_>) -> Vec<Code> {
    let mut code: Vec<Code> = Vec::new();
    code.extend(reader.text("lua").map(Code::Lua));
    code.extend(reader.get("script").map(Code::Script));
    code.extend(reader.each("respond").iter().map(decode_respond));
    code.extend(decode_redirect(reader));
    code.sort_by_key(|code| code.span().start);
    code
}

/// `respond` takes a status, a body, or both in that order.
fn decode_respond(node: &Reader<'_>) -> Code {
    let status = node.arg::<u16>(0);
    let body = node.arg::<String>(1);
    Code::Respond { status, body, content_type: node.get("type"), span: node.span() }
}

fn decode_redirect(reader: &Reader<'_>) -> Option<Code> {
    let status = reader.child("redirect").and_then(|node| node.get("status"));
    Some(Code::Redirect { location: reader.get("redirect")?, status })
}
