//! What the files say, decoded: every node with its places, names not yet resolved. Reads only values from outside.

use std::collections::BTreeMap;

use crate::diag::{Diagnostic, Diagnostics, Span, codes};
use crate::endpoint::settings::{EndpointSettings, GroupSettings};
use crate::environment::declaration::EnvironmentDeclaration;
use crate::exchange::Typed;
use crate::kdl::document::report_duplicates;
use crate::kdl::reader::{Context, Reader};
use crate::kdl::scalar::{At, Plain};
use crate::logging::settings::LoggingSettings;
use crate::site::files::Files;
use crate::site::outside::Values;
use crate::site::secrets;
use crate::site::server::ServerSettings;
use crate::site::statics::StaticSettings;

/// A decoded site.
#[derive(Default)]
pub(super) struct Config {
    pub(super) title: Option<String>,
    pub(super) version: Option<String>,
    pub(super) server: ServerSettings,
    pub(super) server_places: Vec<(&'static str, Span)>,
    has_server: bool,
    /// Something could not be read, not even what it is.
    has_nameless: bool,
    pub(super) variables: Vec<(At<String>, Option<Typed>)>,
    pub(super) secrets: Vec<(At<String>, Option<String>)>,
    pub(super) environments: Vec<EnvironmentDeclaration>,
    pub(super) default_environment: Option<At<String>>,
    pub(super) root: GroupSettings,
    pub(super) statics: Vec<StaticSettings>,
    pub(super) logging: LoggingSettings,
    /// First arguments of nodes that could not be read, by node name: they count as declared.
    pub(super) broken: BTreeMap<String, Vec<String>>,
    /// Whether something was to be answered that could not be read.
    pub(super) answers_unread: bool,
    /// Whether some top-level node could not be read at all, so that "there is none" proves nothing.
    pub(super) incomplete: bool,
}

impl Config {
    /// Decodes every file. `values` learns the secrets on the way.
    pub(super) fn decode(files: &Files, values: &Values, sink: &mut Diagnostics) -> Self {
        let cx = Context::new(values);
        let readers: Vec<Reader<'_>> = files.documents.iter().flat_map(|read| read.document.readers(&cx)).collect();
        let mut config = Self::default();
        config.note_broken(files);
        for reader in readers.iter().filter(|reader| reader.name() == "secrets") {
            config.decode_secrets(reader, values);
        }
        for reader in &readers {
            config.decode_node(reader);
        }
        report_duplicates(files.documents.iter().map(|read| &read.document), sink);
        sink.extend(cx.into_findings());
        config
    }

    fn note_broken(&mut self, files: &Files) {
        for broken in files.documents.iter().flat_map(|read| read.document.broken()) {
            self.incomplete = true;
            match &broken.name {
                Some(node) => self.broken.entry(node.clone()).or_default().extend(broken.argument.clone()),
                None => self.has_nameless = true,
            }
        }
    }

    /// Whether something that could not be read could be such a node.
    pub(super) fn may_lack(&self, node: &str) -> bool {
        self.has_nameless || [node, "include"].iter().any(|node| self.broken.contains_key(*node))
    }

    fn decode_node(&mut self, reader: &Reader<'_>) {
        match reader.name() {
            "site" => {
                self.title = reader.arg(0).map(|at| at.it);
                self.version = reader.get("version").map(|at| at.it);
            }
            "server" => {
                let server = ServerSettings::decode(reader);
                // A second one is a mistake that is told; what the first says is checked on.
                if !std::mem::replace(&mut self.has_server, true) {
                    self.server = server;
                    self.server_places = ServerSettings::fixed_places(reader);
                }
            }
            "variables" => self.decode_variables(reader),
            "environment" => {
                let environment = EnvironmentDeclaration::decode(reader);
                if let (None, Some(name)) = (&environment, reader.written(0)) {
                    self.broken.entry("environment".to_owned()).or_default().push(name.to_owned());
                }
                self.environments.extend(environment);
            }
            "default-environment" => {
                self.default_environment = reader.arg(0);
                self.incomplete |= self.default_environment.is_none();
            }
            "endpoint" => {
                let endpoint = EndpointSettings::decode(reader);
                self.answers_unread |= endpoint.is_none();
                self.root.endpoints.extend(endpoint);
            }
            "group" => self.root.groups.push(GroupSettings::decode(reader)),
            "static" => {
                let folder = StaticSettings::decode(reader);
                self.answers_unread |= folder.is_none();
                self.statics.extend(folder);
            }
            "logging" => self.logging = LoggingSettings::decode(reader),
            "persistence" => {
                crate::persistence::settings::decode(reader);
            }
            // `include` and `secrets` were read before; the structural pass has reported anything else.
            _ => {}
        }
    }

    fn decode_secrets(&mut self, reader: &Reader<'_>, values: &Values) {
        for entry in reader.children() {
            let value = entry.arg::<String>(0);
            if let Some(value) = &value {
                secrets::check(&entry, value, values);
            }
            let value = value.map(|at| at.it);
            let optional = entry.switch("optional").is_some_and(|at| at.it) && entry.is_complete();
            match &value {
                None if !optional => values.declare_told(entry.name()),
                _ => values.declare(entry.name(), value.clone()),
            }
            self.secrets.push((At { it: entry.name().to_owned(), span: entry.span() }, value));
        }
    }

    fn decode_variables(&mut self, reader: &Reader<'_>) {
        for entry in reader.children() {
            let value = entry.arg::<Plain>(0).and_then(|at| {
                if matches!(at.it, Plain::Integer(number) if i64::try_from(number).is_err()) {
                    entry.report(too_large(entry.name(), at.span));
                }
                typed(at.it)
            });
            self.variables.push((At { it: entry.name().to_owned(), span: entry.span() }, value));
        }
    }
}

fn too_large(name: &str, span: Span) -> Diagnostic {
    let message = format!("`{name}`: must be from {} to {}", i64::MIN, i64::MAX);
    let help = "Lua holds no larger whole numbers; in quotes it is text and keeps its digits";
    Diagnostic::new(&codes::VALUE_RANGE, message, span, "out of range").help(help)
}

/// A plain value as scripts see it; `#null`, and a number that Lua cannot hold, is no value.
fn typed(plain: Plain) -> Option<Typed> {
    match plain {
        Plain::Text(text) => Some(Typed::Text(text)),
        Plain::Integer(number) => i64::try_from(number).ok().map(Typed::Integer),
        Plain::Float(number) => Some(Typed::Number(number)),
        Plain::Boolean(flag) => Some(Typed::Boolean(flag)),
        Plain::Null => None,
    }
}
