//! What `schemas/site.kdl-schema` says about the language: the single source of its structure.
//!
//! The file is a KDL Schema document with a small vocabulary; our additions carry the annotation `(moondock)`. It is
//! compiled in, read once for each [`super::document::Parser`], and drives the structural pass, "did you mean" and the reference.

mod load;

use std::collections::HashMap;

use super::format::Format;

/// The text of the schema.
pub const TEXT: &str = include_str!("../../../schemas/site.kdl-schema");

/// The schema, read.
#[derive(Debug)]
pub struct Schema {
    /// The version of the language.
    pub version: String,
    /// What blocks may hold; nodes name theirs by its index.
    bodies: Vec<Body>,
}

/// What a block, or the top level, may hold.
#[derive(Debug, Default)]
pub struct Body {
    /// The nodes with a name, in the schema's order.
    pub nodes: Vec<NodeSpec>,
    /// What every other node is, when names are free.
    pub any: Option<Box<NodeSpec>>,
    /// The form of free names.
    pub names: Option<Format>,
    index: HashMap<String, usize>,
}

/// What a node may be. A property is one too: a scalar setting may be written either way.
#[derive(Clone, Debug, Default)]
pub struct NodeSpec {
    /// Its name; empty for a free one.
    pub name: String,
    /// What it is, as a phrase without a full stop.
    pub description: String,
    /// Whether its node must have it.
    pub required: bool,
    /// Whether it may stand several times.
    pub repeatable: bool,
    /// Its arguments; `None`: it takes none.
    pub values: Option<Values>,
    /// Its one-line options that are properties in the schema.
    pub properties: Vec<NodeSpec>,
    /// What its block may hold.
    body: Option<usize>,
    /// What it is when it is not given, in words of the language.
    pub default: Option<String>,
    /// What people write instead.
    pub aliases: Vec<String>,
    /// A line that shows it.
    pub examples: Vec<String>,
    /// A few words more, for the reference and for help.
    pub hint: Option<String>,
    /// The kind of name that its first argument declares; for a block with free names, that its children declare.
    pub declares: Option<String>,
    /// Whether it is known, but of a later release.
    pub not_yet: NotYet,
}

/// What of a node is of a later release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NotYet {
    /// Nothing.
    #[default]
    Nothing,
    /// All of it.
    All,
    /// It with these first arguments.
    Values(Vec<String>),
}

/// The arguments of a node.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// At least so many.
    pub min: usize,
    /// At most so many.
    pub max: Option<usize>,
    /// What each is, unless its position says otherwise.
    pub each: ValueSpec,
    /// What the argument at a position is.
    pub at: Vec<(usize, ValueSpec)>,
}

/// What a value may be.
#[derive(Clone, Debug, Default)]
pub struct ValueSpec {
    /// Its type.
    pub kind: Kind,
    /// Its format.
    pub format: Option<Format>,
    /// The only texts it may be.
    pub one_of: Vec<String>,
    /// The least number it may be.
    pub least: Option<f64>,
    /// The greatest number it may be.
    pub most: Option<f64>,
    /// The least duration or size it may be, as it is written.
    pub from: Option<String>,
    /// The kind of name that it must be.
    pub refers_to: Option<String>,
    /// What it is, in a few words.
    pub description: String,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Any but `#null`.
    #[default]
    Any,
    /// Text.
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// `#true` or `#false`.
    Boolean,
}

impl Schema {
    /// The schema of the language, compiled in.
    ///
    /// # Errors
    /// What the schema file says that is not of its vocabulary; a test keeps it without.
    pub fn of_site() -> Result<Self, String> {
        load::load(TEXT)
    }

    /// The top level.
    pub fn top(&self) -> &Body {
        &self.bodies[0]
    }

    /// Every block's contents, the top level first.
    pub fn bodies(&self) -> impl Iterator<Item = &Body> {
        self.bodies.iter()
    }

    /// Whether the option is described as a property.
    pub fn is_property(&self, spec: &NodeSpec) -> bool {
        let nodes = self.bodies.iter().flat_map(|body| body.nodes.iter().chain(body.any.as_deref()));
        nodes.flat_map(|node| &node.properties).any(|property| std::ptr::eq(property, spec))
    }

    /// What the node's block may hold.
    pub fn body(&self, spec: &NodeSpec) -> Option<&Body> {
        spec.body.map(|index| &self.bodies[index])
    }

    /// The child or one-line option of this name.
    pub fn setting<'a>(&'a self, spec: &'a NodeSpec, name: &str) -> Option<&'a NodeSpec> {
        let property = spec.properties.iter().find(|property| property.name == name);
        property.or_else(|| self.body(spec).and_then(|body| body.get(name)))
    }

    /// Every child and one-line option of a node.
    pub fn settings<'a>(&'a self, spec: &'a NodeSpec) -> impl Iterator<Item = &'a NodeSpec> {
        spec.properties.iter().chain(self.body(spec).into_iter().flat_map(|body| &body.nodes))
    }

    /// The names of the nodes whose blocks may hold a node of this name; `None` among them is the top level.
    pub fn parents(&self, name: &str) -> Vec<Option<&str>> {
        let mut parents = Vec::new();
        let owners = self.bodies.iter().flat_map(|body| &body.nodes);
        for owner in owners.filter(|owner| self.body(owner).is_some_and(|body| body.index.contains_key(name))) {
            if !parents.contains(&Some(owner.name.as_str())) {
                parents.push(Some(owner.name.as_str()));
            }
        }
        if self.top().index.contains_key(name) {
            parents.insert(0, None);
        }
        parents
    }

    /// Whether every node of this name is of a later release, so that its place does not matter yet.
    pub fn is_reserved(&self, name: &str) -> bool {
        let mut known = self.all().filter(|spec| spec.name == name).peekable();
        known.peek().is_some() && known.all(|spec| spec.not_yet == NotYet::All)
    }

    /// Every node and option of the schema, with the block it belongs to told once.
    pub fn all(&self) -> impl Iterator<Item = &NodeSpec> {
        let nodes = self.bodies.iter().flat_map(|body| body.nodes.iter().chain(body.any.as_deref()));
        nodes.flat_map(|node| std::iter::once(node).chain(&node.properties))
    }
}

impl Body {
    /// The node of this name; the free one when names are free.
    pub fn get(&self, name: &str) -> Option<&NodeSpec> {
        self.index.get(name).map(|index| &self.nodes[*index]).or(self.any.as_deref())
    }

    fn push(&mut self, spec: NodeSpec) -> Result<(), String> {
        if spec.name.is_empty() {
            self.any = Some(Box::new(spec));
            return Ok(());
        }
        if self.index.insert(spec.name.clone(), self.nodes.len()).is_some() {
            return Err(format!("`{}` is described twice", spec.name));
        }
        self.nodes.push(spec);
        Ok(())
    }
}

impl NodeSpec {
    /// Whether it may be written as a property of its node: it stands once and one value says it all.
    pub fn is_scalar(&self) -> bool {
        let one_value = self.values.as_ref().is_some_and(|values| values.min <= 1 && values.max != Some(0));
        !self.repeatable && one_value && self.properties.iter().all(|property| !property.required)
    }

    /// Whether it is a switch, which a bare node turns on.
    pub fn is_switch(&self) -> bool {
        self.values.as_ref().is_some_and(|values| values.max == Some(1) && values.each.kind == Kind::Boolean)
    }
}

impl Values {
    /// What the argument at this position is.
    pub fn at(&self, position: usize) -> &ValueSpec {
        self.at.iter().find(|(at, _)| *at == position).map_or(&self.each, |(_, spec)| spec)
    }
}

impl Kind {
    /// Its name with an article.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Any => "a value",
            Kind::Text => "text",
            Kind::Integer => "a whole number",
            Kind::Number => "a number",
            Kind::Boolean => "#true or #false",
        }
    }
}
