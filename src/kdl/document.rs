//! A file of the site language, read: healthy top-level nodes, and what can be said of the broken ones.
//!
//! A [`Parser`] keeps every chunk it has seen, with the outcome of its structural pass: a load after one edit parses one
//! chunk.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::diag::{Diagnostic, Diagnostics, FileId, Label, Span, codes};

use super::lex::{Kind, Lexer};
use super::literal::Literal;
use super::reader::{Cx, Reader};
use super::scan::{self, MAX_BYTES};
use super::schema::Schema;
use super::structure;
use super::syntax;
use super::tree::{self, Node};

/// A chunk with all that was found in it, free of its place.
#[derive(Debug)]
pub(super) struct Chunk {
    /// Its text.
    pub(super) text: Arc<str>,
    /// Its nodes (one, or none when it is switched off or broken).
    pub(super) nodes: Vec<Node>,
    /// Whether it could not be parsed.
    broken: bool,
    diagnostics: Vec<Diagnostic>,
    faults: Vec<tree::At>,
}

impl Chunk {
    /// Whether something inside the place, or around it, was reported.
    pub(super) fn is_faulty(&self, at: tree::At) -> bool {
        self.faults
            .iter()
            .any(|fault| fault.start < at.end && at.start < fault.end)
    }
}

/// A chunk at its place in a file.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) chunk: Arc<Chunk>,
    /// The file's byte at which it begins.
    pub(super) base: u32,
    /// The file's 1-based line at which it begins.
    first_line: u32,
}

impl Placed {
    pub(super) fn span(&self, file: FileId, at: tree::At) -> Span {
        Span {
            file,
            start: self.base + at.start,
            end: self.base + at.end,
        }
    }

    /// The 1-based line of a byte of the chunk.
    pub(super) fn line(&self, at: u32) -> u32 {
        self.first_line + newlines(&self.chunk.text[..at as usize])
    }

    /// The file's line for every line of a decoded literal.
    pub(super) fn lines(&self, decoded: &Literal, literal: tree::At) -> Vec<u32> {
        let text = &self.chunk.text;
        let starts =
            std::iter::once(0).chain(decoded.value.match_indices('\n').map(|(at, _)| at + 1));
        let (mut seen, mut line) = (0, self.first_line);
        starts
            .map(|start| {
                let place =
                    super::reader::range_of(&decoded.pieces, start..start, literal.start).start;
                let place = place.clamp(seen, text.len());
                line += newlines(&text[seen..place]);
                seen = place;
                line
            })
            .collect()
    }
}

fn newlines(text: &str) -> u32 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u32
}

/// What can be said of a chunk that could not be read, so that names it declares are not told to be unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The name of the node.
    pub name: String,
    /// Its first argument.
    pub argument: Option<String>,
    /// Where the name stands.
    pub span: Span,
}

/// A file, read.
#[derive(Clone, Debug)]
pub struct Document {
    file: FileId,
    schema: Arc<Schema>,
    chunks: Vec<Placed>,
    /// The chunks that could not be read.
    pub broken: Vec<Broken>,
}

impl Document {
    /// The file.
    pub fn file(&self) -> FileId {
        self.file
    }

    pub(super) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Readers of its top-level nodes, in the file's order; nodes that the schema does not know are left out.
    pub fn readers<'a>(&'a self, cx: &'a Cx<'a>) -> Vec<Reader<'a>> {
        let nodes = self
            .chunks
            .iter()
            .flat_map(|placed| placed.chunk.nodes.iter().map(move |node| (placed, node)));
        let known = nodes.filter(|(_, node)| self.schema.top().get(&node.name.text).is_some());
        known
            .map(|(placed, node)| Reader::top(cx, self, placed, node))
            .collect()
    }
}

/// Reports top-level nodes that may stand once and stand twice in all the files of a site.
pub fn report_duplicates<'d>(
    documents: impl IntoIterator<Item = &'d Document>,
    sink: &mut Diagnostics,
) {
    let mut first: BTreeMap<&str, Span> = BTreeMap::new();
    for document in documents {
        for placed in &document.chunks {
            for node in &placed.chunk.nodes {
                let once = document
                    .schema
                    .top()
                    .get(&node.name.text)
                    .is_some_and(|spec| !spec.repeatable);
                if !once {
                    continue;
                }
                let span = placed.span(document.file, node.name.at);
                let Some(first) = first.insert(&node.name.text, span) else {
                    continue;
                };
                let message = format!("`{}` may be given once in a site", node.name.text);
                let found = Diagnostic::new(&codes::NODE_DUPLICATE, message, span, "given again");
                sink.push(
                    found
                        .also(first, "first here")
                        .help("merge them, or remove one"),
                );
            }
        }
    }
}

/// Parses files, and remembers their chunks.
#[derive(Debug)]
pub struct Parser {
    schema: Arc<Schema>,
    chunks: HashMap<Arc<str>, (Arc<Chunk>, u64)>,
    load: u64,
}

impl Parser {
    /// A parser of the site language.
    ///
    /// # Errors
    /// What is wrong with the schema that is compiled in; a test keeps it without.
    pub fn new() -> Result<Self, String> {
        Ok(Self {
            schema: Arc::new(Schema::of_site()?),
            chunks: HashMap::new(),
            load: 0,
        })
    }

    /// Begins a load: chunks that the load before did not use are forgotten.
    pub fn begin(&mut self) {
        let last = self.load;
        self.chunks.retain(|_, (_, used)| *used == last);
        self.load += 1;
    }

    /// Reads a file; its mistakes of syntax and structure go to the sink.
    pub fn parse(&mut self, file: FileId, text: &str, sink: &mut Diagnostics) -> Document {
        let mut document = Document {
            file,
            schema: Arc::clone(&self.schema),
            chunks: Vec::new(),
            broken: Vec::new(),
        };
        if text.len() > MAX_BYTES {
            sink.push(syntax::too_big(file));
            return document;
        }
        let schema = Arc::clone(&self.schema);
        let is_top = |name: &str| schema.top().get(name).is_some();
        let (mut line, mut counted) = (1, 0);
        for found in scan::scan(text, &is_top) {
            line += newlines(&text[counted..found.range.start]);
            counted = found.range.start;
            let base = found.range.start as u32;
            if let Some(issue) = &found.issue {
                sink.push(syntax::of_issue(file, text, issue));
                document
                    .broken
                    .extend(broken(&text[found.range.clone()], file, base));
                continue;
            }
            let placed = Placed {
                chunk: self.chunk(&text[found.range]),
                base,
                first_line: line,
            };
            sink.extend(
                placed
                    .chunk
                    .diagnostics
                    .iter()
                    .map(|found| moved(found, file, base)),
            );
            if placed.chunk.broken {
                document
                    .broken
                    .extend(broken(&placed.chunk.text, file, base));
            } else {
                document.chunks.push(placed);
            }
        }
        document
    }

    fn chunk(&mut self, text: &str) -> Arc<Chunk> {
        let load = self.load;
        if let Some((chunk, used)) = self.chunks.get_mut(text) {
            *used = load;
            return Arc::clone(chunk);
        }
        let chunk = Arc::new(read(text, &self.schema));
        self.chunks
            .insert(Arc::clone(&chunk.text), (Arc::clone(&chunk), load));
        chunk
    }
}

/// Reads a chunk that is new.
fn read(text: &str, schema: &Schema) -> Chunk {
    let mut chunk = Chunk {
        text: text.into(),
        nodes: Vec::new(),
        broken: false,
        diagnostics: Vec::new(),
        faults: Vec::new(),
    };
    if let Some(found) = syntax::before_parsing(text) {
        chunk.diagnostics.push(found);
        chunk.broken = true;
        return chunk;
    }
    match tree::parse(text) {
        Ok(nodes) => {
            let found = structure::check(&nodes, schema, text);
            (chunk.nodes, chunk.diagnostics, chunk.faults) =
                (nodes, found.diagnostics, found.faults);
        }
        Err(broken) => {
            chunk.diagnostics = syntax::of_broken(text, &broken);
            chunk.broken = true;
        }
    }
    chunk
}

/// A finding of a chunk, moved to where the chunk stands.
fn moved(found: &Diagnostic, file: FileId, base: u32) -> Diagnostic {
    let span = |span: &Span| Span {
        file,
        start: span.start + base,
        end: span.end + base,
    };
    let label = |label: &Label| Label {
        span: span(&label.span),
        text: label.text.clone(),
    };
    let mut moved = found.clone();
    moved.primary = label(&found.primary);
    moved.related = found.related.iter().map(label).collect();
    for (edit, _) in moved.fixes.iter_mut().flat_map(|fix| &mut fix.edits) {
        *edit = span(edit);
    }
    moved
}

/// The names of the nodes that a broken chunk begins, as far as they can be read: its own, and those at the beginning
/// of its lines, for it may have swallowed others.
fn broken(text: &str, file: FileId, base: u32) -> Vec<Broken> {
    let mut offset = 0;
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        let mut words = Lexer::new(line, 0).filter(|token| token.is_solid());
        let name = words
            .next()
            .filter(|token| token.start == 0 && token.kind == Kind::Word);
        if let Some(name) = name {
            let argument = words
                .next()
                .filter(|token| matches!(token.kind, Kind::Word | Kind::Quoted));
            let argument = argument.map(|token| &line[token.range()]);
            let start = base + (offset + name.start) as u32;
            found.push(Broken {
                name: line[name.range()].to_owned(),
                argument: argument
                    .and_then(|text| super::literal::decode(text).ok())
                    .map(|decoded| decoded.value),
                span: Span {
                    file,
                    start,
                    end: start + (name.end - name.start) as u32,
                },
            });
        }
        offset += line.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Sources;
    use crate::kdl::reader::Outside;
    use crate::kdl::scalar::{Duration, Plain, Size};

    struct World;

    impl Outside for World {
        fn env(&self, name: &str) -> Option<String> {
            match name {
                "WORKERS" => Some("3".to_owned()),
                "WORDS" => Some("some words".to_owned()),
                _ => None,
            }
        }
        fn file(&self, _: FileId, path: &str) -> Result<String, String> {
            if path == "there" {
                Ok("5s".to_owned())
            } else {
                Err(format!("there is no file `{path}`"))
            }
        }
        fn secret(&self, name: &str) -> Option<String> {
            (name == "key").then(|| "hush".to_owned())
        }
        fn secret_names(&self) -> Vec<String> {
            vec!["key".to_owned(), "empty".to_owned()]
        }
    }

    /// Every finding as `line:column code`.
    fn told(text: &str, found: Diagnostics) -> Vec<String> {
        let mut sources = Sources::default();
        let file = sources.add("site.kdl", text);
        let told = |found: &Diagnostic| {
            let (line, column) = sources.line_column(file, found.primary.span.start);
            format!("{line}:{column} {}", found.code.id)
        };
        found.sorted().iter().map(told).collect()
    }

    fn check(text: &str) -> Vec<String> {
        let mut found = Diagnostics::default();
        Parser::new()
            .expect("the schema")
            .parse(FileId(0), text, &mut found);
        told(text, found)
    }

    /// Reads a file with a closure over its readers; what was found while parsing and reading.
    fn read_with(text: &str, read: impl FnOnce(Vec<Reader<'_>>)) -> Vec<String> {
        let mut found = Diagnostics::default();
        let document = Parser::new()
            .expect("the schema")
            .parse(FileId(0), text, &mut found);
        let cx = Cx::new(&World);
        read(document.readers(&cx));
        found.extend(cx.into_found().iter().cloned());
        told(text, found)
    }

    #[test]
    fn settings_are_read_in_either_form() {
        let text = "server { workers 3; timeout \"5s\"; compress; trusted-proxies \"::1\" \"::2\"; }\n\
                    environment a max-runspaces=4 queue=7 {\n  memory \"1MiB\"\n  variables a b\n}";
        let told = read_with(text, |readers| {
            let [server, environment] = readers.as_slice() else {
                panic!("two nodes")
            };
            assert_eq!(server.get::<usize>("workers").map(|at| at.it), Some(3));
            let five = std::time::Duration::from_secs(5);
            assert_eq!(
                server
                    .get("timeout")
                    .map(|at: crate::kdl::scalar::At<Duration>| at.it.0),
                Some(five)
            );
            assert_eq!(server.switch("compress").map(|at| at.it), Some(true));
            assert_eq!(server.get::<Size>("max-body"), None);
            assert_eq!(server.list::<String>("trusted-proxies").len(), 2);
            assert_eq!(
                environment.arg::<String>(0).map(|at| at.it).as_deref(),
                Some("a")
            );
            assert_eq!(
                environment.get::<u32>("max-runspaces").map(|at| at.it),
                Some(4)
            );
            assert_eq!(
                environment.get::<Size>("memory").map(|at| at.it),
                Some(Size(1 << 20))
            );
            let queue = environment
                .child("queue")
                .expect("a property stands for a child");
            assert_eq!(queue.arg::<usize>(0).map(|at| at.it), Some(7));
            assert_eq!(queue.get::<Duration>("wait"), None);
            assert!(environment.is_complete() && server.is_complete());
            assert_eq!((server.line(), environment.line()), (1, 2));
        });
        assert_eq!(told, Vec::<String>::new());
    }

    #[test]
    fn values_from_outside_become_what_their_place_needs() {
        let text = "server {\n  workers (env)WORKERS\n  timeout (file)there\n  keep-alive (env)GONE default=\"7s\"\n}\n\
                    variables {\n  a (env)WORDS\n  b (env)GONE\n  c (secret)key\n  d (secret)kye\n  e (secret)empty\n\
                    \x20 f (env)GONE optional=#true\n}\nserver { workers (env)WORDS; }";
        let told = read_with(text, |readers| {
            assert_eq!(readers[0].get::<usize>("workers").map(|at| at.it), Some(3));
            assert_eq!(
                readers[0]
                    .get::<Duration>("timeout")
                    .map(|at| at.it.0.as_secs()),
                Some(5)
            );
            assert_eq!(
                readers[0]
                    .get::<Duration>("keep-alive")
                    .map(|at| at.it.0.as_secs()),
                Some(7)
            );
            let values: Vec<Option<Plain>> = readers[1]
                .children()
                .iter()
                .map(|child| child.plain(0).map(|at| at.it))
                .collect();
            let text = |text: &str| Some(Plain::Text(text.to_owned()));
            assert_eq!(
                values,
                [text("some words"), None, text("hush"), None, None, None]
            );
            assert_eq!(readers[2].get::<usize>("workers"), None);
        });
        let expected = [
            "8:10 value::unset",
            "10:13 name::unknown",
            "11:13 value::unset",
            "14:23 value::format",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_lua_text_knows_its_lines() {
        let text =
            "\n\nendpoint GET \"/a\" {\n  lua #\"\"\"\n    local a\n\n      b\n    \"\"\"#\n}";
        let told = read_with(text, |readers| {
            let lua = readers[0].text("lua").expect("lua");
            assert_eq!(lua.value, "local a\n\n  b");
            assert_eq!(lua.lines, [5, 6, 7]);
            let b = lua.value.find('b').expect("b");
            let range = crate::kdl::reader::range_of(&lua.map, b..b + 1, 0);
            assert_eq!(&text[range], "b");
        });
        assert_eq!(told, Vec::<String>::new());
    }

    #[test]
    fn one_mistake_is_told_once() {
        for (text, expected) in [
            ("server { workers \"4\"; }", vec!["1:18 value::type"]),
            ("server { workers 0; }", vec!["1:18 value::range"]),
            ("server { wrokers 4; }", vec!["1:10 node::unknown"]),
            ("sever { wrokers 4; }", vec!["1:1 node::unknown"]),
            (
                "server { endpoint GET \"/\"; }",
                vec!["1:10 node::misplaced"],
            ),
            ("environment a max-runspace=4", vec!["1:15 prop::unknown"]),
            (
                "environment a timeout=\"1s\" { timeout \"2s\"; }",
                vec!["1:30 setting::twice"],
            ),
            (
                "environment a timeout=\"1s\" timeout=\"2s\"",
                vec!["1:28 prop::duplicate"],
            ),
            (
                "environment a { timeout \"1s\"; timeout \"2s\"; }",
                vec!["1:31 node::duplicate"],
            ),
            ("environment", vec!["1:1 value::missing"]),
            ("endpoint \"/\"", vec!["1:1 value::missing"]),
            ("site a b", vec!["1:8 value::unexpected"]),
            ("server 5 { workers 1; }", vec!["1:8 value::unexpected"]),
            ("server { timeout 30; }", vec!["1:18 value::duration"]),
            ("server { timeout \"1h3x\"; }", vec!["1:22 value::duration"]),
            ("server { max-body \"1QB\"; }", vec!["1:21 value::size"]),
            ("static \"/a\"", vec!["1:1 setting::missing"]),
            ("static \"/a\" dri=x", vec!["1:13 prop::unknown"]),
            ("endpoint GET, POST \"/\"", vec!["1:13 value::comma"]),
            ("environment a kind=externl", vec!["1:20 value::enum"]),
            (
                "environment a { kind external; workers 2; command x; }",
                vec!["1:22 node::not-yet"],
            ),
            (
                "environment a { workers 2; user x; }",
                vec!["1:17 node::not-yet", "1:28 node::not-yet"],
            ),
            ("auth { nonsense; }", vec!["1:1 node::not-yet"]),
            ("endpoint GET \"/\" auth=app", vec!["1:18 node::not-yet"]),
            (
                "logging { target file \"a\" level=nonsense; }",
                vec!["1:18 node::not-yet"],
            ),
            (
                "persistence sqlite \"a\" { pool 3; }",
                vec!["1:13 node::not-yet"],
            ),
            ("server { workers 1 { a; }; }", vec!["1:22 node::no-block"]),
            (
                "server { timeout (duration)\"5s\"; }",
                vec!["1:19 value::annotation"],
            ),
            ("(x)site a", vec!["1:2 value::annotation"]),
            ("variables { \"a b\" 1; }", vec!["1:15 value::format"]),
            ("variables { a 1; a 2; }", vec!["1:18 node::duplicate"]),
            ("variables { a #null; }", vec!["1:15 value::type"]),
        ] {
            assert_eq!(check(text), expected, "{text}");
        }
    }

    #[test]
    fn a_broken_node_hides_no_other() {
        let text = "server {\n  workers true\n  compress false\n}\nsite = \"x\"\nenvironment a {\n  timeout 5s\n}\nbogus";
        let expected = [
            "2:11 syntax::keyword",
            "3:12 syntax::keyword",
            "5:6 syntax::equals",
            "7:11 syntax::bare-unit",
            "9:1 node::unknown",
        ];
        assert_eq!(check(text), expected);
        let mut found = Diagnostics::default();
        let document = Parser::new()
            .expect("the schema")
            .parse(FileId(0), text, &mut found);
        let names: Vec<_> = document
            .broken
            .iter()
            .map(|broken| (&*broken.name, broken.argument.as_deref()))
            .collect();
        assert_eq!(
            names,
            [("server", None), ("site", None), ("environment", Some("a"))]
        );
    }

    #[test]
    fn an_edit_parses_one_chunk_and_moves_the_rest() {
        let mut parser = Parser::new().expect("the schema");
        let first = "site \"a\"\nserver { workers 0; }\n";
        let second = format!("site \"abc\"\n\n{}", &first[9..]);
        let mut found = Diagnostics::default();
        parser.begin();
        parser.parse(FileId(0), first, &mut found);
        parser.begin();
        let kept = parser.chunks.len();
        let mut found = Diagnostics::default();
        parser.parse(FileId(0), &second, &mut found);
        assert_eq!((kept, parser.chunks.len()), (2, 3));
        assert_eq!(told(&second, found), ["3:18 value::range"]);
        parser.begin();
        assert_eq!(parser.chunks.len(), 2);
    }

    #[test]
    fn what_stands_once_stands_once_in_all_files() {
        let mut parser = Parser::new().expect("the schema");
        let mut found = Diagnostics::default();
        let one = parser.parse(FileId(0), "site a\nvariables { }", &mut found);
        let two = parser.parse(FileId(1), "variables { }\nsite b", &mut found);
        report_duplicates(&[one, two], &mut found);
        let told: Vec<_> = found
            .iter()
            .map(|found| (found.code.id, found.primary.span.file))
            .collect();
        assert_eq!(told, [("node::duplicate", FileId(1))]);
    }
}
