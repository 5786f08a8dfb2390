//! Reads Markdown as far as cases and documentation need it: headings, fenced blocks, tables.

/// A piece of a document and the line it begins at.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// The 1-based line.
    pub(crate) line: usize,
    /// What it is.
    pub(crate) kind: Kind,
}

/// The pieces that matter; prose is left out.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A heading.
    Heading {
        /// 1 for `#`.
        level: usize,
        /// Its text.
        text: String,
    },
    /// A fenced block.
    Block {
        /// The words behind the fence, such as `lua` and `lib/a.lua`.
        info: Vec<String>,
        /// What is inside, without the last line's end.
        text: String,
    },
    /// A table: its header and its rows, cells with their backticks.
    Table {
        /// The column names.
        columns: Vec<String>,
        /// The rows with their lines.
        rows: Vec<(usize, Vec<String>)>,
    },
}

/// The pieces of a document.
pub(crate) fn pieces(text: &str) -> Vec<Piece> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let (kind, next) = piece(&lines, at);
        found.extend(kind.map(|kind| Piece { line: at + 1, kind }));
        at = next;
    }
    found
}

/// The piece that begins at a line, if one does, and the line behind it.
fn piece(lines: &[&str], at: usize) -> (Option<Kind>, usize) {
    let line = lines[at];
    if line.trim_start().starts_with("```") {
        return block(lines, at);
    }
    if line.starts_with('|') {
        return table(lines, at);
    }
    let level = line.chars().take_while(|char| *char == '#').count();
    let heading = (level > 0 && line[level..].starts_with(' '))
        .then(|| Kind::Heading { level, text: line[level + 1..].to_string() });
    (heading, at + 1)
}

/// A fenced block; it may be indented, as in a list.
fn block(lines: &[&str], at: usize) -> (Option<Kind>, usize) {
    let indent = lines[at].len() - lines[at].trim_start().len();
    let fence: String = lines[at].trim_start().chars().take_while(|char| *char == '`').collect();
    let info = lines[at].trim_start().trim_start_matches('`').split_whitespace().map(str::to_string).collect();
    let end = (at + 1..lines.len()).find(|line| lines[*line].trim() == fence).unwrap_or(lines.len());
    let inside: Vec<&str> = lines[at + 1..end].iter().map(|line| line.get(indent..).unwrap_or("")).collect();
    (Some(Kind::Block { info, text: inside.join("\n") }), end + 1)
}

fn table(lines: &[&str], at: usize) -> (Option<Kind>, usize) {
    let end = (at..lines.len()).find(|line| !lines[*line].starts_with('|')).unwrap_or(lines.len());
    let rows = (at + 2..end).map(|line| (line + 1, cells(lines[line]))).collect();
    (Some(Kind::Table { columns: cells(lines[at]), rows }), end)
}

/// The cells of a row; `\|` is a bar inside one.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim().trim_start_matches('|').replace("\\|", "\u{1}");
    let row = row.strip_suffix('|').unwrap_or(&row);
    row.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}
