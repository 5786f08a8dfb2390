//! Finds what answers a method and path: literal beats parameter beats tail, whatever the order of declaration.
//!
//! A tree with one level for each segment. A look-up visits at most the nodes whose patterns match the path so far, so
//! it does not grow with the number of routes; a path without parameters is found by one look-up in a map. The more
//! specific pattern only wins when it answers the method: `POST /notes/all` does not take `GET /notes/all` away from
//! `GET /notes/{id}`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::pattern::{Pattern, Segment, decode, is_reserved};

/// What was found for a path as sent (percent-encoded).
#[derive(Debug, PartialEq)]
pub enum Found<'t, T> {
    /// The entry for this method, with the percent-decoded path parameters in the pattern's order.
    /// HEAD finds the entry of GET when there is none for HEAD.
    Entry(&'t T, Vec<(Arc<str>, String)>),
    /// The path is known, the method is not; the value for `Allow` (OPTIONS included, HEAD beside GET).
    Method(String),
    /// A percent-encoding in the path is broken, or decodes to no UTF-8 or a control character.
    Malformed,
    /// No pattern matches, or the path is reserved.
    Nothing,
}

/// A table of entries by method and pattern.
pub struct RouteTable<T> {
    entries: Vec<T>,
    /// The first is the root.
    nodes: Vec<Node>,
    /// The leaves of patterns without parameters, by the whole path as it is sent when nothing in it is encoded.
    literals: HashMap<Box<str>, usize>,
}

/// What can follow a prefix that all paths below share.
#[derive(Default)]
struct Node {
    literals: HashMap<Box<str>, usize>,
    param: Option<usize>,
    /// The patterns that take all that is left.
    tail: Vec<Answerer>,
    /// The patterns that end here.
    leaf: Vec<Answerer>,
}

/// A method of a pattern.
struct Answerer {
    method: Arc<str>,
    names: Arc<[Arc<str>]>,
    entry: usize,
}

/// One look-up under way.
struct Search<'t, 'p, T> {
    table: &'t RouteTable<T>,
    method: &'p str,
    /// The parameters on the way to the present node, as sent.
    params: Vec<&'p str>,
    /// Methods that the patterns passed by answer.
    allowed: Vec<&'t str>,
}

impl<T> RouteTable<T> {
    /// Builds the table; look-ups do not grow with it. Of two entries for one method and shape the first stays.
    pub fn build(entries: impl IntoIterator<Item = (Pattern, Vec<Arc<str>>, T)>) -> Self {
        let mut table = Self { entries: Vec::new(), nodes: vec![Node::default()], literals: HashMap::new() };
        for (pattern, methods, entry) in entries {
            table.add(&pattern, &methods);
            table.entries.push(entry);
        }
        table
    }

    /// Finds the entry; `method` is in capitals, `path` percent-encoded without the query.
    pub fn find<'t>(&'t self, method: &str, path: &str) -> Found<'t, T> {
        let encoded = path.contains('%');
        if !encoded
            && let Some(leaf) = self.literals.get(path)
            && let Some(answerer) = choose(&self.nodes[*leaf].leaf, method)
        {
            return Found::Entry(&self.entries[answerer.entry], Vec::new());
        }
        if encoded && decode(path).is_none() {
            return Found::Malformed;
        }
        let Some(rest) = path.strip_prefix('/').filter(|_| !is_reserved(path)) else {
            return Found::Nothing;
        };
        let mut search = Search { table: self, method, params: Vec::new(), allowed: Vec::new() };
        match search.below(0, rest) {
            Some(answerer) => Found::Entry(&self.entries[answerer.entry], named(answerer, &search.params)),
            None if search.allowed.is_empty() => Found::Nothing,
            None => Found::Method(allow(search.allowed)),
        }
    }

    /// Every entry, in the order they came.
    pub fn entries(&self) -> &[T] {
        &self.entries
    }

    fn add(&mut self, pattern: &Pattern, methods: &[Arc<str>]) {
        let names: Arc<[Arc<str>]> = pattern.names().cloned().collect();
        let entry = self.entries.len();
        let mut at = 0;
        let mut in_tail = false;
        for segment in &pattern.segments {
            match segment {
                Segment::Literal(text) => at = self.literal_child(at, text),
                Segment::Param(_) => at = self.param_child(at),
                Segment::Tail(_) => in_tail = true,
            }
        }
        if names.is_empty()
            && let Some(path) = plain(pattern)
        {
            self.literals.insert(path.into(), at);
        }
        let answerers = if in_tail { &mut self.nodes[at].tail } else { &mut self.nodes[at].leaf };
        for method in methods {
            if !answerers.iter().any(|other| other.method == *method) {
                answerers.push(Answerer { method: method.clone(), names: names.clone(), entry });
            }
        }
    }

    fn literal_child(&mut self, at: usize, text: &str) -> usize {
        if let Some(child) = self.nodes[at].literals.get(text) {
            return *child;
        }
        let child = self.new_node();
        self.nodes[at].literals.insert(text.into(), child);
        child
    }

    fn param_child(&mut self, at: usize) -> usize {
        if let Some(child) = self.nodes[at].param {
            return child;
        }
        let child = self.new_node();
        self.nodes[at].param = Some(child);
        child
    }

    fn new_node(&mut self) -> usize {
        self.nodes.push(Node::default());
        self.nodes.len() - 1
    }
}

impl<'t, 'p, T> Search<'t, 'p, T> {
    /// The most specific pattern below a node that matches the rest of the path and answers the method.
    fn below(&mut self, at: usize, rest: &'p str) -> Option<&'t Answerer> {
        let node = &self.table.nodes[at];
        let (segment, further) = match rest.split_once('/') {
            Some((segment, further)) => (segment, Some(further)),
            None => (rest, None),
        };
        if let Some(child) = node.literals.get(decoded(segment).as_ref())
            && let Some(answerer) = self.step(*child, further)
        {
            return Some(answerer);
        }
        if let Some(child) = node.param
            && !segment.is_empty()
        {
            self.params.push(segment);
            if let Some(answerer) = self.step(child, further) {
                return Some(answerer);
            }
            self.params.pop();
        }
        if !rest.is_empty() && !node.tail.is_empty() {
            self.params.push(rest);
            if let Some(answerer) = self.choose(&node.tail) {
                return Some(answerer);
            }
            self.params.pop();
        }
        None
    }

    /// Goes on at a node after a segment, or ends there.
    fn step(&mut self, at: usize, further: Option<&'p str>) -> Option<&'t Answerer> {
        match further {
            Some(further) => self.below(at, further),
            None => self.choose(&self.table.nodes[at].leaf),
        }
    }

    fn choose(&mut self, answerers: &'t [Answerer]) -> Option<&'t Answerer> {
        let chosen = choose(answerers, self.method);
        if chosen.is_none() {
            self.allowed.extend(answerers.iter().map(|answerer| &*answerer.method));
        }
        chosen
    }
}

/// The answerer for a method: its own, for HEAD that of GET, else the one for all.
fn choose<'t>(answerers: &'t [Answerer], method: &str) -> Option<&'t Answerer> {
    let of = |wanted: &str| answerers.iter().find(|answerer| *answerer.method == *wanted);
    of(method).or_else(|| (method == "HEAD").then(|| of("GET")).flatten()).or_else(|| of("ANY"))
}

/// The path of a pattern without parameters as clients send it, when it needs no encoding.
fn plain(pattern: &Pattern) -> Option<String> {
    let mut path = String::new();
    for segment in &pattern.segments {
        let Segment::Literal(text) = segment else {
            return None;
        };
        if text.contains(['%', '/']) {
            return None;
        }
        path.push('/');
        path.push_str(text);
    }
    Some(path)
}

fn named(answerer: &Answerer, params: &[&str]) -> Vec<(Arc<str>, String)> {
    let values = params.iter().map(|raw| decoded(raw).into_owned());
    answerer.names.iter().cloned().zip(values).collect()
}

/// Decodes what is known to be decodable.
fn decoded(raw: &str) -> Cow<'_, str> {
    if !raw.contains('%') {
        return Cow::Borrowed(raw);
    }
    decode(raw).map_or(Cow::Borrowed(raw), Cow::Owned)
}

/// The value of `Allow`: each method once, HEAD beside GET, OPTIONS always.
fn allow(mut methods: Vec<&str>) -> String {
    if methods.contains(&"GET") {
        methods.push("HEAD");
    }
    methods.push("OPTIONS");
    methods.sort_unstable_by_key(|method| (rank(method), *method));
    methods.dedup();
    methods.join(", ")
}

/// The customary order of methods.
fn rank(method: &str) -> usize {
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
        .iter()
        .position(|known| *known == method)
        .unwrap_or(if method == "OPTIONS" { 99 } else { 50 })
}

#[cfg(test)]
#[path = "route_table_tests.rs"]
mod tests;
