//! The names that a site declares, and what in a text means one of them: read off the outlines of its files.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::kdl::outline::{Outline, Part, value};
use crate::kdl::schema::{NodeSpec, Schema};

use super::documents::Document;
use super::requests::View;
use super::text::Text;

/// A file of the site language in which names are looked for.
pub(super) struct Page {
    /// Its path; `None` for a text without one.
    pub(super) path: Option<PathBuf>,
    /// Its text.
    pub(super) text: Arc<Text>,
    outline: Arc<Outline>,
}

impl Page {
    fn of(document: &Document, schema: &Schema) -> Page {
        Page {
            path: document.path.clone(),
            text: Arc::clone(&document.text),
            outline: Arc::clone(document.outline(schema)),
        }
    }

    /// The names of a kind that are declared here, with their places.
    pub(super) fn declared(&self, schema: &Schema, kind: &str) -> Vec<(String, Range<usize>)> {
        declared(&self.text.all, &self.outline, schema, kind)
    }
}

/// The files of the sites that read a text, the text itself among them.
pub(super) fn pages(view: &View<'_>, document: &Document) -> Vec<Page> {
    let mut pages = vec![Page::of(document, view.schema)];
    let Some(path) = document.path.as_deref() else { return pages };
    for site in view.checked.sites.iter().filter(|site| site.reads(path)) {
        for source in site.loaded.sources.iter() {
            let path = Path::new(&*source.name);
            let known = pages.iter().any(|page| page.path.as_deref() == Some(path));
            if known || is_script(path) {
                continue;
            }
            pages.push(match view.documents.of_path(path) {
                Some(open) => Page::of(open, view.schema),
                None => Page {
                    path: Some(path.to_path_buf()),
                    outline: Arc::new(Outline::of(&source.text, view.schema)),
                    text: Arc::new(Text::new(source.text.clone(), view.documents.encoding())),
                },
            });
        }
    }
    pages
}

fn is_script(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "lua" || ending == "luau")
}

/// The names of a kind that an outline declares, with their places.
fn declared(text: &str, outline: &Outline, schema: &Schema, kind: &str) -> Vec<(String, Range<usize>)> {
    let specs = outline.specs(text, schema);
    let declares = |node: usize| {
        let spec = specs.get(node).copied().flatten()?;
        (!outline.nodes()[node].is_off && spec.declares.as_deref() == Some(kind)).then_some(spec)
    };
    let mut names = Vec::new();
    for (index, item) in outline.nodes().iter().enumerate() {
        if declares(index).is_some_and(|spec| !has_free_names(schema, spec)) {
            names.extend(outline.arguments(index).next().and_then(|part| part.value.clone()));
        }
        let around = item.parent.filter(|_| !item.is_off).and_then(declares);
        if around.is_some_and(|spec| has_free_names(schema, spec)) {
            names.push(item.name.clone());
        }
    }
    names.into_iter().map(|range| (value(text, &range), range)).collect()
}

fn has_free_names(schema: &Schema, spec: &NodeSpec) -> bool {
    schema.body(spec).is_some_and(|body| body.any.is_some())
}

/// The kind of name that a part of a node must be.
pub(super) fn meant<'s>(
    text: &str,
    outline: &Outline,
    specs: &[Option<&'s NodeSpec>],
    schema: &'s Schema,
    node: usize,
    part: &Part,
) -> Option<&'s str> {
    match part.note.as_ref().map(|note| &text[note.clone()]) {
        Some("secret") => return Some("secret"),
        Some(_) => return None,
        None => {}
    }
    let spec = specs.get(node).copied().flatten()?;
    if let Some(key) = &part.key {
        return schema.setting(spec, &value(text, key))?.values.as_ref()?.each.refers_to.as_deref();
    }
    // What an environment sees are names or patterns, so that the schema cannot call them references.
    let around = outline.nodes()[node].parent.and_then(|parent| specs[parent]);
    if around.is_some_and(|around| around.declares.as_deref() == Some("environment")) {
        match spec.name.as_str() {
            "variables" => return Some("variable"),
            "secrets" => return Some("secret"),
            _ => {}
        }
    }
    let position = outline.arguments(node).position(|argument| argument == part).unwrap_or_default();
    spec.values.as_ref()?.at(position).refers_to.as_deref()
}
