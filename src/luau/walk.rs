//! The walk over a syntax tree. It keeps its own stack, so deep nesting costs memory and never the thread's stack.

use std::ops::Range;

use tree_sitter::Node;

use super::known::Known;
use super::outline::{Allowed, DECLARED, Name, Outline, REQUEST};
use super::scope::Scopes;

/// What is left to be done, the last first.
enum Step<'t> {
    Visit(Node<'t>),
    Declare(Node<'t>),
    DeclareSelf,
    Enter,
    Leave,
    /// The beginning of a function, before its parameters.
    EnterFunction,
    LeaveFunction,
}

pub(super) struct Walk<'t> {
    text: &'t str,
    known: &'t Known,
    scopes: Scopes<'t>,
    steps: Vec<Step<'t>>,
    /// How many functions are around.
    functions: usize,
    /// How many returns of the script itself give something else than a number.
    other_returns: usize,
    outline: Outline,
}

impl<'t> Walk<'t> {
    pub(super) fn new(text: &'t str, known: &'t Known) -> Self {
        Self {
            text,
            known,
            scopes: Scopes::default(),
            steps: Vec::new(),
            functions: 0,
            other_returns: 0,
            outline: Outline::default(),
        }
    }

    pub(super) fn run(mut self, root: Node<'t>) -> Outline {
        self.children(root);
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Visit(node) => self.visit(node),
                Step::Declare(name) => self.declare(self.text(name)),
                Step::DeclareSelf => self.scopes.declare("self"),
                Step::Enter => self.scopes.enter(),
                Step::Leave => self.scopes.leave(),
                Step::EnterFunction => self.function(1),
                Step::LeaveFunction => self.function(-1),
            }
        }
        if self.other_returns > 0 {
            self.outline.status = None;
        }
        if self.outline.names.is_empty() {
            // They are looked at only when another name has to be explained.
            self.outline.locals.clear();
        }
        self.outline
    }

    /// Enters or leaves a function.
    fn function(&mut self, by: isize) {
        self.functions = self.functions.saturating_add_signed(by);
        match by {
            1 => self.scopes.enter(),
            _ => self.scopes.leave(),
        }
    }

    fn text(&self, node: Node<'t>) -> &'t str {
        &self.text[node.byte_range()]
    }

    fn declare(&mut self, name: &'t str) {
        self.scopes.declare(name);
        self.outline.locals.insert(name.into());
    }

    /// Plans steps to be done in this order.
    fn plan(&mut self, steps: Vec<Step<'t>>) {
        self.steps.extend(steps.into_iter().rev());
    }

    /// Plans a visit to every child.
    fn children(&mut self, node: Node<'t>) {
        let steps = named(node).into_iter().map(Step::Visit).collect();
        self.plan(steps);
    }

    fn visit(&mut self, node: Node<'t>) {
        match node.kind() {
            "identifier" => self.global(node),
            "block" | "do_statement" => self.block(node),
            "variable_declaration" => self.locals(node),
            "assignment_statement" => self.assignment(node),
            "function_declaration" => self.named_function(node),
            "function_definition" => {
                let body = self.body(node, false);
                self.plan(body);
            }
            "for_statement" => self.for_statement(node),
            "repeat_statement" => self.repeat(node),
            "dot_index_expression" => self.field(node, "field"),
            "method_index_expression" => self.field(node, "method"),
            "bracket_index_expression" => self.children(node),
            "field" => self.table_field(node),
            "return_statement" => self.returns(node),
            "cast_expression" => self.plan(named(node).into_iter().take(1).map(Step::Visit).collect()),
            "comment" => self.comment(node),
            "type_definition" | "generic_type_list" | "attribute" => {}
            _ => self.children(node),
        }
    }

    /// A name that is read.
    fn global(&mut self, node: Node<'t>) {
        let name = self.text(node);
        if self.scopes.has(name) || name == REQUEST {
            // Whether a script has `req` is for its user to say: handlers do, modules do not.
            if name == REQUEST && !self.scopes.has(name) {
                self.name(name, None, node);
            }
            return;
        }
        match name {
            "_G" => self.outline.opaque = true,
            _ if !self.known.has(name) => self.name(name, None, node),
            _ => {}
        }
    }

    fn name(&mut self, global: &str, field: Option<&str>, node: Node<'t>) {
        self.outline.names.push(Name { global: global.into(), field: field.map(Into::into), at: node.byte_range() });
    }

    fn block(&mut self, node: Node<'t>) {
        let inner = named(node).into_iter().map(Step::Visit);
        let steps = [Step::Enter].into_iter().chain(inner).chain([Step::Leave]).collect();
        self.plan(steps);
    }

    /// `local a, b = c, d`: the names are there behind the values.
    fn locals(&mut self, node: Node<'t>) {
        let Some(inner) = node.named_child(0) else { return };
        let (names, values) = match inner.kind() {
            "assignment_statement" => (inner.named_child(0), all(inner, "expression_list")),
            _ => (Some(inner), Vec::new()),
        };
        let names = names.map(declared).unwrap_or_default();
        self.plan(values.into_iter().map(Step::Visit).chain(names.into_iter().map(Step::Declare)).collect());
    }

    /// `a, b.c = d, e`.
    fn assignment(&mut self, node: Node<'t>) {
        let mut steps: Vec<Step<'t>> = all(node, "expression_list").into_iter().map(Step::Visit).collect();
        for target in all(node, "variable_list").into_iter().flat_map(named) {
            match target.kind() {
                "identifier" => self.assigned(target),
                // What is set need not be there before.
                "dot_index_expression" => self.set_field(target, &mut steps),
                _ => steps.push(Step::Visit(target)),
            }
        }
        self.plan(steps);
    }

    fn set_field(&mut self, target: Node<'t>, steps: &mut Vec<Step<'t>>) {
        let (Some(table), Some(field)) = (child(target, "table"), child(target, "field")) else { return };
        match table.kind() == "identifier" && self.text(table) == "_G" && !self.scopes.has("_G") {
            true => self.assigned(field),
            false => steps.push(Step::Visit(table)),
        }
    }

    fn assigned(&mut self, target: Node<'t>) {
        let name = self.text(target);
        if !self.scopes.has(name) {
            self.outline.assigned.insert(name.into());
        }
    }

    fn named_function(&mut self, node: Node<'t>) {
        let Some(name) = child(node, "name") else { return };
        let is_local = node.child(0).is_some_and(|first| first.kind() == "local");
        let mut steps = Vec::new();
        match name.kind() {
            "identifier" if is_local => steps.push(Step::Declare(name)),
            "identifier" => self.assigned(name),
            _ => self.set_field(leftmost(name), &mut steps),
        }
        steps.extend(self.body(node, name.kind() == "method_index_expression"));
        self.plan(steps);
    }

    /// The parameters and the body of a function.
    fn body(&self, node: Node<'t>, is_method: bool) -> Vec<Step<'t>> {
        let parameters = child(node, "parameters").map(named).unwrap_or_default();
        let names = parameters.into_iter().filter_map(|parameter| {
            parameter.named_child(0).filter(|name| name.kind() == "identifier").map(Step::Declare)
        });
        let own = is_method.then_some(Step::DeclareSelf);
        let body = child(node, "body").map(Step::Visit);
        let begin = [Step::EnterFunction].into_iter().chain(own).chain(names);
        begin.chain(body).chain([Step::LeaveFunction]).collect()
    }

    fn for_statement(&mut self, node: Node<'t>) {
        let (Some(clause), Some(body)) = (child(node, "clause"), child(node, "body")) else { return };
        let (names, values) = match clause.kind() {
            "for_generic_clause" => {
                let names = all(clause, "variable_list").into_iter().flat_map(declared).collect();
                (names, all(clause, "expression_list"))
            }
            _ => {
                let values = ["start", "end", "step"].iter().filter_map(|field| child(clause, field)).collect();
                (child(clause, "name").into_iter().collect::<Vec<_>>(), values)
            }
        };
        let mut steps: Vec<Step<'t>> = values.into_iter().map(Step::Visit).collect();
        steps.push(Step::Enter);
        steps.extend(names.into_iter().map(Step::Declare));
        steps.extend([Step::Visit(body), Step::Leave]);
        self.plan(steps);
    }

    /// The condition of a `repeat` sees the locals of its block.
    fn repeat(&mut self, node: Node<'t>) {
        let inner = child(node, "body").map(named).unwrap_or_default();
        let steps = inner.into_iter().chain(child(node, "condition")).map(Step::Visit);
        let steps = [Step::Enter].into_iter().chain(steps).chain([Step::Leave]).collect();
        self.plan(steps);
    }

    /// `a.b` or `a:b`, with `which` the field of the tree that holds `b`.
    fn field(&mut self, node: Node<'t>, which: &str) {
        let (Some(table), Some(field)) = (child(node, "table"), child(node, which)) else { return };
        if table.kind() != "identifier" {
            if which == "field" {
                self.param(table, field);
            }
            return self.plan(vec![Step::Visit(table)]);
        }
        let (global, name) = (self.text(table), self.text(field));
        if self.scopes.has(global) {
            return;
        }
        match global {
            "_G" if !self.known.has(name) => self.name(name, None, field),
            "_G" => {}
            _ if DECLARED.contains(&global) => self.name(global, Some(name), field),
            _ if global == REQUEST || !self.known.has(global) => self.name(global, None, table),
            _ => {}
        }
        if !DECLARED.contains(&global) && !self.known.may_have(global, name) {
            self.name(global, Some(name), field);
        }
    }

    /// `req.params.id`, of which `table` is `req.params`.
    fn param(&mut self, table: Node<'t>, field: Node<'t>) {
        if table.kind() != "dot_index_expression" || self.scopes.has(REQUEST) {
            return;
        }
        let is = |part: &str, text: &str| child(table, part).is_some_and(|node| self.text(node) == text);
        if is("table", REQUEST) && is("field", "params") {
            let name = self.text(field);
            let param = Name { global: REQUEST.into(), field: Some(name.into()), at: field.byte_range() };
            self.outline.params.push(param);
        }
    }

    /// A field of a table constructor: its name is read only in brackets.
    fn table_field(&mut self, node: Node<'t>) {
        let computed = node.child(0).is_some_and(|first| first.kind() == "[");
        let name = child(node, "name").filter(|_| computed);
        self.plan(name.into_iter().chain(child(node, "value")).map(Step::Visit).collect());
    }

    fn returns(&mut self, node: Node<'t>) {
        if self.functions == 0 {
            let values = all(node, "expression_list").into_iter().flat_map(named);
            let values: Vec<Node<'t>> = values.filter(|value| value.kind() != "comment").collect();
            let number = match values.as_slice() {
                [only] if only.kind() == "number" => self.text(*only).parse::<u16>().ok(),
                _ => None,
            };
            match (number, values.first()) {
                (Some(number @ 100..=599), Some(value)) if self.outline.status.is_none() => {
                    self.outline.status = Some((number, value.byte_range()));
                }
                (Some(100..=599), _) => {}
                _ => self.other_returns += 1,
            }
        }
        self.children(node);
    }

    fn comment(&mut self, node: Node<'t>) {
        let comment = self.text(node);
        let Some(told) = comment.trim_start_matches('-').trim_start().strip_prefix("moondock:") else { return };
        let rest = told.trim_start().strip_prefix("allow").filter(|rest| !rest.starts_with(char::is_alphanumeric));
        let Some(rest) = rest.map(str::trim) else { return };
        let code = rest.split_whitespace().next().unwrap_or_default();
        let begin = match code {
            "" => node.end_byte(),
            code => code.as_ptr().addr() - self.text.as_ptr().addr(),
        };
        let covers = lines_from(self.text, node.start_byte());
        self.outline.allowed.push(Allowed { code: code.into(), at: begin..begin + code.len(), covers });
    }
}

/// The line around a byte and the next one.
fn lines_from(text: &str, at: usize) -> Range<usize> {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let mut ends = text[at..].match_indices('\n').map(|(end, _)| at + end);
    start..ends.nth(1).unwrap_or(text.len())
}

/// The children that are no punctuation.
fn named(node: Node<'_>) -> Vec<Node<'_>> {
    node.named_children(&mut node.walk()).collect()
}

/// The children of this kind.
fn all<'t>(node: Node<'t>, kind: &str) -> Vec<Node<'t>> {
    node.named_children(&mut node.walk()).filter(|child| child.kind() == kind).collect()
}

fn child<'t>(node: Node<'t>, field: &str) -> Option<Node<'t>> {
    node.child_by_field_name(field)
}

/// The names that a list declares; types behind a colon are none.
fn declared(list: Node<'_>) -> Vec<Node<'_>> {
    list.children_by_field_name("name", &mut list.walk()).collect()
}

/// Of `a.b.c` and `a.b:c` the part that names a variable: `a.b`.
fn leftmost(mut name: Node<'_>) -> Node<'_> {
    while let Some(table) = child(name, "table").filter(|table| table.kind() != "identifier") {
        name = table;
    }
    name
}
