//! The block of a node: which nodes may stand in it, how often, and which must.

use std::collections::HashMap;

use crate::diag::{Diagnostic, codes};

use super::super::scalar::Plain;
use super::super::schema::{Body, NodeSpec, NotYet};
use super::super::tree::{At, Node};
use super::super::values;
use super::{Pass, foreign, later, span, within};

impl Pass<'_> {
    pub(super) fn children(&mut self, node: &Node, spec: &NodeSpec) {
        let body = self.schema.body(spec);
        if body.is_none() && spec.properties.is_empty() {
            if let Some(first) = node.nodes().first() {
                let message = format!("`{}` takes no block", node.name.text);
                let found =
                    Diagnostic::new(&codes::NODE_NO_BLOCK, message, span(first.name.at), "nothing can stand here");
                self.report(first.extent, found.help("remove the block"));
                self.found.faults.push(node.extent);
            }
            return;
        }
        let empty = Body::default();
        let body = body.unwrap_or(&empty);
        let mut seen: HashMap<&str, At> = HashMap::new();
        let later = self.later_kind(node, spec);
        for child in node.nodes() {
            let Some(setting) = self.schema.setting(spec, &child.name.text) else {
                self.unknown_node(child, Some(node), body, &spec.properties);
                continue;
            };
            if later && setting.not_yet == NotYet::All {
                self.found.faults.push(child.extent);
                continue;
            }
            self.free_name(child, setting, body);
            let first = seen.insert(&child.name.text, child.name.at);
            if let Some(first) = first.filter(|_| !setting.repeatable) {
                self.duplicate(child, node, first);
                continue;
            }
            self.node(child, setting);
        }
    }

    /// Whether a setting of the node has a value of a later release, which explains its other later settings.
    fn later_kind(&self, node: &Node, spec: &NodeSpec) -> bool {
        self.schema.settings(spec).any(|setting| {
            let NotYet::Values(later) = &setting.not_yet else { return false };
            let child = node.nodes().iter().find(|child| *child.name.text == setting.name);
            let entry = child.and_then(|child| child.arguments().next()).or_else(|| node.property(&setting.name));
            !setting.repeatable
                && matches!(entry.map(|entry| &entry.value), Some(Plain::Text(text)) if later.contains(text))
        })
    }

    fn free_name(&mut self, child: &Node, setting: &NodeSpec, body: &Body) {
        let Some(format) = body.names.filter(|_| setting.name.is_empty()) else {
            return;
        };
        if let Err(bad) = format.check(&Plain::Text(child.name.text.to_string())) {
            let code = values::code(format);
            let found = self.bad(code, &child.name.text, child.name.at, bad);
            self.report(child.name.at, found);
        }
    }

    fn duplicate(&mut self, node: &Node, parent: &Node, first: At) {
        let message = format!("`{}` may be given once in `{}`", node.name.text, parent.name.text);
        let found = Diagnostic::new(&codes::NODE_DUPLICATE, message, span(node.name.at), "given again");
        self.report(node.extent, found.also(span(first), "first here").help("merge them, or remove one"));
    }

    pub(super) fn unknown_node(&mut self, node: &Node, parent: Option<&Node>, body: &Body, options: &[NodeSpec]) {
        let name = &*node.name.text;
        let place = parent.map_or("the top level".to_owned(), |parent| format!("`{}`", parent.name.text));
        let homes = self.schema.parents(name);
        let found = if self.schema.is_reserved(name) {
            later(name, node.name.at)
        } else if homes.is_empty() {
            let message = match parent {
                Some(_) => format!("{place} has no `{name}`"),
                None => format!("there is no node `{name}`"),
            };
            let found = Diagnostic::new(&codes::NODE_UNKNOWN, message, span(node.name.at), "not known here");
            match self.likely(name, parent.map(|parent| &*parent.name.text), body.nodes.iter().chain(options)) {
                Some((Some(meant), help)) if !parent.is_some_and(|parent| self.is_given_once(parent, &meant, body)) => {
                    found.help(help).fix(format!("write {meant}"), span(node.name.at), meant)
                }
                Some((_, help)) => found.help(help),
                None => found,
            }
        } else {
            self.misplaced(node, parent, &place, &homes)
        };
        self.report(node.extent, found);
    }

    /// Whether the node has what may stand in it only once, so that another one would be too many.
    fn is_given_once(&self, node: &Node, name: &str, body: &Body) -> bool {
        let repeatable = body.nodes.iter().any(|spec| spec.name == name && spec.repeatable);
        !repeatable && (node.has_child(name) || node.property(name).is_some())
    }

    fn misplaced(&self, node: &Node, parent: Option<&Node>, place: &str, homes: &[Option<&str>]) -> Diagnostic {
        let name = &node.name.text;
        let message = match parent {
            Some(_) => format!("`{name}` cannot stand in {place}"),
            None => format!("`{name}` cannot stand at the top level"),
        };
        let found = Diagnostic::new(&codes::NODE_MISPLACED, message, span(node.name.at), "not here");
        let found = match parent {
            Some(parent) => found.also(span(parent.name.at), "this is the node around it"),
            None => found,
        };
        if let Some(help) = foreign::help(name, parent.map(|parent| &*parent.name.text)) {
            return found.help(help);
        }
        let mut homes: Vec<String> =
            homes.iter().map(|home| home.map_or("the top level".to_owned(), |home| format!("`{home}`"))).collect();
        let last = homes.pop().unwrap_or_default();
        let homes = if homes.is_empty() { last } else { format!("{} or {last}", homes.join(", ")) };
        found.help(format!("it belongs to {homes}"))
    }

    pub(super) fn required(&mut self, node: &Node, spec: &NodeSpec) {
        let given =
            |name: &str| node.property(name).is_some() || node.nodes().iter().any(|child| &*child.name.text == name);
        let missing = |setting: &&NodeSpec| setting.required && !given(&setting.name);
        let missing: Vec<NodeSpec> = self.schema.settings(spec).filter(missing).cloned().collect();
        if self.found.faults.iter().any(|fault| within(*fault, node.extent)) {
            return;
        }
        for setting in missing {
            let message = format!("`{}` needs `{}`", node.name.text, setting.name);
            let found = Diagnostic::new(&codes::SETTING_MISSING, message, span(node.name.at), "not given");
            self.report(node.name.at, found.help(format!("it is {}", setting.description)));
        }
    }
}
