//! Reads the schema file. Strict: a word that is not of the vocabulary is an error, so a slip cannot pass for a rule.

use std::collections::HashMap;

use super::super::format::Format;
use super::super::scalar::Plain;
use super::super::scan::scan;
use super::super::tree::{Node, parse};
use super::{Body, Kind, NodeSpec, NotYet, Schema, ValueSpec, Values};

type Loaded<T> = Result<T, String>;

/// Reads the text of a schema.
pub(super) fn load(text: &str) -> Loaded<Schema> {
    let mut nodes = Vec::new();
    for chunk in scan(text, &|_| false) {
        if let Some(issue) = chunk.issue {
            return Err(format!("the schema is broken: {issue:?}"));
        }
        let parsed = parse(&text[chunk.range]);
        if !parsed.broken.is_empty() {
            return Err(format!("the schema cannot be parsed: {:?}", parsed.broken));
        }
        nodes.extend(parsed.nodes);
    }
    let [document] = nodes.as_slice() else {
        return Err("a schema is one `document`".to_owned());
    };
    if &*document.name.text != "document" {
        return Err(unknown(document, "a schema"));
    }
    let mut loader =
        Loader { bodies: vec![Body::default()], named: HashMap::new(), nodes: HashMap::new(), version: String::new() };
    loader.document(document)?;
    Ok(Schema { version: loader.version, bodies: loader.bodies })
}

struct Loader {
    bodies: Vec<Body>,
    /// Bodies by their `id`.
    named: HashMap<String, usize>,
    /// Nodes by their `id`.
    nodes: HashMap<String, NodeSpec>,
    version: String,
}

/// A word of ours, or one of KDL Schema's.
enum Term<'a> {
    Schema(&'a str),
    Ours(&'a str),
}

fn term(node: &Node) -> Loaded<Term<'_>> {
    match node.note.as_ref().map(|note| &*note.text) {
        None => Ok(Term::Schema(&node.name.text)),
        Some("moondock") => Ok(Term::Ours(&node.name.text)),
        Some(other) => Err(format!("`({other}){}` is not of the vocabulary", node.name.text)),
    }
}

fn unknown(node: &Node, place: &str) -> String {
    format!("`{}` is not of the vocabulary in {place}", node.name.text)
}

fn texts(node: &Node) -> Vec<String> {
    node.arguments().map(|entry| shown(&entry.value)).collect()
}

fn text(node: &Node) -> Loaded<String> {
    texts(node).into_iter().next().ok_or_else(|| format!("`{}` needs a value", node.name.text))
}

fn number(node: &Node) -> Loaded<f64> {
    match node.arguments().next().map(|entry| &entry.value) {
        Some(Plain::Integer(number)) => Ok(*number as f64),
        Some(Plain::Float(number)) => Ok(*number),
        _ => Err(format!("`{}` needs a number", node.name.text)),
    }
}

fn shown(value: &Plain) -> String {
    match value {
        Plain::Text(text) => text.clone(),
        Plain::Integer(number) => number.to_string(),
        Plain::Float(number) => number.to_string(),
        Plain::Boolean(truth) => format!("#{truth}"),
        Plain::Null => "#null".to_owned(),
    }
}

fn only_properties(node: &Node, known: &[&str]) -> Loaded<()> {
    match node.properties().find(|(key, _)| !known.contains(&&*key.text)) {
        Some((key, _)) => Err(format!("`{}` has no `{}` in the vocabulary", node.name.text, key.text)),
        None => Ok(()),
    }
}

fn property(node: &Node, key: &str) -> Option<String> {
    node.property(key).map(|entry| shown(&entry.value))
}

impl Loader {
    fn document(&mut self, document: &Node) -> Loaded<()> {
        let (definitions, rest): (Vec<_>, Vec<_>) =
            document.nodes().iter().partition(|node| &*node.name.text == "definitions");
        let defined: Vec<&Node> = definitions.into_iter().flat_map(Node::nodes).collect();
        self.definitions(&defined)?;
        for node in rest {
            match (term(node)?, &*node.name.text) {
                (Term::Schema(_), "info") => self.info(node)?,
                (Term::Schema(_), "node") => {
                    let spec = self.described(node)?;
                    self.bodies[0].push(spec)?;
                }
                _ => return Err(unknown(node, "`document`")),
            }
        }
        Ok(())
    }

    fn definitions(&mut self, defined: &[&Node]) -> Loaded<()> {
        let (bodies, nodes): (Vec<&Node>, Vec<&Node>) = defined.iter().partition(|node| &*node.name.text == "children");
        for body in &bodies {
            self.named.insert(id(body)?, self.bodies.len());
            self.bodies.push(Body::default());
        }
        for node in nodes {
            let spec = self.node(node)?;
            if spec.name.is_empty() || self.nodes.insert(id(node)?, spec).is_some() {
                return Err(format!("a definition is a `node` with a name and an `id` of its own: {}", id(node)?));
            }
        }
        for (offset, body) in bodies.into_iter().enumerate() {
            only_properties(body, &["id"])?;
            self.fill(offset + 1, body)?;
        }
        Ok(())
    }

    /// A node described in place, or by reference.
    fn described(&mut self, node: &Node) -> Loaded<NodeSpec> {
        let Some(id) = reference(node)? else {
            return self.node(node);
        };
        only_properties(node, &["ref"])?;
        self.nodes.get(&id).cloned().ok_or_else(|| format!("nothing is defined for the reference `{id}`"))
    }

    fn info(&mut self, info: &Node) -> Loaded<()> {
        for node in info.nodes() {
            match &*node.name.text {
                "version" => self.version = text(node)?,
                "title" | "description" | "license" => {}
                _ => return Err(unknown(node, "`info`")),
            }
        }
        Ok(())
    }

    fn fill(&mut self, index: usize, children: &Node) -> Loaded<()> {
        for node in children.nodes() {
            match term(node)? {
                Term::Schema("node") => {
                    let spec = self.described(node)?;
                    self.bodies[index].push(spec)?;
                }
                Term::Schema("node-names") => self.bodies[index].names = Some(names(node)?),
                Term::Schema("other-nodes-allowed") => {}
                _ => return Err(unknown(node, "`children`")),
            }
        }
        Ok(())
    }

    fn children(&mut self, node: &Node) -> Loaded<usize> {
        only_properties(node, &["ref"])?;
        if let Some(id) = reference(node)? {
            let index = self.named.get(&id).copied();
            return index.ok_or_else(|| format!("nothing is defined for the reference `{id}`"));
        }
        let index = self.bodies.len();
        self.bodies.push(Body::default());
        self.fill(index, node)?;
        Ok(index)
    }

    fn node(&mut self, node: &Node) -> Loaded<NodeSpec> {
        only_properties(node, &["id", "description"])?;
        let mut spec = NodeSpec {
            name: texts(node).into_iter().next().unwrap_or_default(),
            description: property(node, "description").unwrap_or_default(),
            repeatable: true,
            ..NodeSpec::default()
        };
        for child in node.nodes() {
            match term(child)? {
                Term::Schema("min") => spec.required = number(child)? >= 1.0,
                Term::Schema("max") => spec.repeatable = number(child)? > 1.0,
                Term::Schema("value") => spec.values = Some(values(child)?),
                Term::Schema("prop") => spec.properties.push(prop(child)?),
                Term::Schema("children") => spec.body = Some(self.children(child)?),
                Term::Ours(word) => ours(&mut spec, word, child)?,
                Term::Schema(_) => return Err(unknown(child, "`node`")),
            }
        }
        Ok(spec)
    }
}

/// The identity of a definition.
fn id(node: &Node) -> Loaded<String> {
    property(node, "id").ok_or_else(|| format!("the definition `{}` needs an `id`", node.name.text))
}

/// The identity that a reference names.
fn reference(node: &Node) -> Loaded<Option<String>> {
    let Some(text) = property(node, "ref") else {
        return Ok(None);
    };
    let id = text.strip_prefix("[id=\"").and_then(|rest| rest.strip_suffix("\"]"));
    id.map(|id| Some(id.to_owned())).ok_or_else(|| format!("`{text}` is not a reference of the form [id=\"…\"]"))
}

fn names(node: &Node) -> Loaded<Format> {
    match node.nodes() {
        [format] if &*format.name.text == "format" => self::format(format),
        _ => Err("`node-names` holds one `format`".to_owned()),
    }
}

fn format(node: &Node) -> Loaded<Format> {
    let name = text(node)?;
    Format::named(&name).ok_or_else(|| format!("there is no format `{name}`"))
}

fn ours(spec: &mut NodeSpec, word: &str, node: &Node) -> Loaded<()> {
    match word {
        "default" => spec.default = Some(texts(node).join(" ")),
        "alias" => spec.aliases.extend(texts(node)),
        "example" => spec.examples.extend(texts(node)),
        "hint" => spec.hint = Some(text(node)?),
        "declares" => spec.declares = Some(text(node)?),
        "not-yet" => {
            let values = texts(node);
            spec.not_yet = if values.is_empty() { NotYet::All } else { NotYet::Values(values) };
        }
        _ => return Err(unknown(node, "ours")),
    }
    Ok(())
}

fn prop(node: &Node) -> Loaded<NodeSpec> {
    only_properties(node, &["description"])?;
    let mut spec = NodeSpec {
        name: text(node)?,
        description: property(node, "description").unwrap_or_default(),
        ..NodeSpec::default()
    };
    let mut each = ValueSpec::default();
    for child in node.nodes() {
        match term(child)? {
            Term::Schema("required") => spec.required = texts(child) == ["#true"],
            Term::Schema(word) => value(&mut each, word, child)?,
            Term::Ours("refers-to") => each.refers_to = Some(text(child)?),
            Term::Ours(word) => ours(&mut spec, word, child)?,
        }
    }
    spec.values = Some(Values { min: 1, max: Some(1), each, at: Vec::new() });
    Ok(spec)
}

fn values(node: &Node) -> Loaded<Values> {
    only_properties(node, &["description"])?;
    let mut values = Values { min: 1, ..Values::default() };
    values.each.description = property(node, "description").unwrap_or_default();
    for child in node.nodes() {
        match term(child)? {
            Term::Schema("min") => values.min = number(child)? as usize,
            Term::Schema("max") => values.max = Some(number(child)? as usize),
            Term::Schema(word) => value(&mut values.each, word, child)?,
            Term::Ours("refers-to") => values.each.refers_to = Some(text(child)?),
            Term::Ours("at") => values.at.push((number(child)? as usize, at(child)?)),
            Term::Ours(_) => return Err(unknown(child, "`value`")),
        }
    }
    Ok(values)
}

fn at(node: &Node) -> Loaded<ValueSpec> {
    only_properties(node, &["description"])?;
    let description = property(node, "description").unwrap_or_default();
    let mut spec = ValueSpec { description, ..ValueSpec::default() };
    for child in node.nodes() {
        match term(child)? {
            Term::Schema(word) => value(&mut spec, word, child)?,
            Term::Ours("refers-to") => spec.refers_to = Some(text(child)?),
            Term::Ours(_) => return Err(unknown(child, "`at`")),
        }
    }
    Ok(spec)
}

fn value(spec: &mut ValueSpec, word: &str, node: &Node) -> Loaded<()> {
    match word {
        "type" => spec.kind = kind(&text(node)?)?,
        "format" => spec.format = Some(format(node)?),
        "enum" => spec.one_of = texts(node),
        ">=" if spec.format.is_some_and(Format::is_quantity) => spec.from = Some(quantity(node, spec.format)?),
        ">=" => spec.least = Some(number(node)?),
        "<=" => spec.most = Some(number(node)?),
        _ => return Err(unknown(node, "a value")),
    }
    Ok(())
}

/// A bound of a duration or size: text in that format, which comes before it.
fn quantity(node: &Node, format: Option<Format>) -> Loaded<String> {
    let text = text(node)?;
    let is_one = format.is_some_and(|format| format.check(&Plain::Text(text.clone())).is_ok());
    is_one.then(|| text.clone()).ok_or_else(|| format!("`{text}` is no bound of this format"))
}

fn kind(name: &str) -> Loaded<Kind> {
    match name {
        "any" => Ok(Kind::Any),
        "string" => Ok(Kind::Text),
        "integer" => Ok(Kind::Integer),
        "number" => Ok(Kind::Number),
        "boolean" => Ok(Kind::Boolean),
        _ => Err(format!("there is no type `{name}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_outside_the_vocabulary_is_refused() {
        for text in [
            "document { nodes a; }",
            "document { node a { max 1; minimum 2; }; }",
            "document { node a { value { format durations; }; }; }",
            "document { node a { value { type text; }; }; }",
            "document { node a { value { format duration; \">=\" 1; }; }; }",
            "document { node a colour=red; }",
            "document { node a { (other)default 1; }; }",
            "document { node a { (moondock)defaults 1; }; }",
            "document { node a { children ref=\"[id=\\\"b\\\"]\"; }; }",
            "document { node a; node a; }",
            "node a",
            "document {",
        ] {
            assert!(load(text).is_err(), "{text}");
        }
        assert!(load("document { node a { max 1; value { type string; }; (moondock)default 1; }; }").is_ok());
    }
}
