//! Which site files the open texts belong to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::kdl::outline::{Outline, value};
use crate::kdl::schema::Schema;

use super::documents::is_kdl;

/// What a site file is called when nobody says otherwise.
const SITE: &str = "site.kdl";

/// The open texts by path.
pub(super) type Texts = BTreeMap<PathBuf, Arc<str>>;

/// The nearest `site.kdl` of every open text: the text itself, or one in its folder or above.
pub(super) fn nearest(texts: &Texts) -> Vec<PathBuf> {
    let is_there = |path: &PathBuf| texts.contains_key(path) || path.is_file();
    let above = |path: &PathBuf| path.ancestors().skip(1).map(|folder| folder.join(SITE)).find(is_there);
    let mut roots: Vec<PathBuf> = texts.keys().filter_map(above).collect();
    roots.sort();
    roots.dedup();
    roots
}

/// The open texts of the site language that no site reads: each may be a site of its own.
pub(super) fn alone<'t>(texts: &'t Texts, schema: &Schema, is_read: impl Fn(&Path) -> bool) -> Vec<&'t PathBuf> {
    let is_alone = |(path, text): &(&'t PathBuf, &'t Arc<str>)| {
        is_kdl(path) && !is_read(path) && (path.ends_with(SITE) || is_site(text, schema))
    };
    texts.iter().filter(is_alone).map(|(path, _)| path).collect()
}

/// Whether a text has a node of a site. Other programs have files of this language, too, and editors know no difference.
fn is_site(text: &str, schema: &Schema) -> bool {
    let outline = Outline::of(text, schema);
    let mut top = outline.nodes().iter().filter(|item| item.parent.is_none());
    top.any(|item| schema.top().get(&value(text, &item.name)).is_some())
}

/// Leaves out what another of them reads: an include is no site. Of two that include each other one stays.
pub(super) fn without_includes<S>(sites: &mut Vec<S>, reads: impl Fn(&S, &S) -> bool) {
    let mut at = 0;
    while at < sites.len() {
        let included = sites.iter().enumerate().any(|(other, site)| other != at && reads(site, &sites[at]));
        if included {
            sites.remove(at);
        } else {
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_site_above_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("inner/deep")).unwrap();
        std::fs::write(at("site.kdl"), "").unwrap();
        let texts: Texts =
            ["a.kdl", "inner/deep/b.lua", "inner/site.kdl"].map(|name| (at(name), Arc::from("server"))).into();
        assert_eq!(nearest(&texts), [at("inner/site.kdl"), at("site.kdl")]);
        let schema = Schema::of_site().unwrap();
        assert_eq!(alone(&texts, &schema, |path| path.ends_with("inner/site.kdl")), [&at("a.kdl")]);
    }

    #[test]
    fn files_of_other_programs_are_no_sites() {
        let schema = Schema::of_site().unwrap();
        for (text, wanted) in
            [("endpoint", true), ("layout {\n server\n}", false), ("/- x\nsecrets {", true), ("", false)]
        {
            assert_eq!(is_site(text, &schema), wanted, "{text}");
        }
    }

    #[test]
    fn of_sites_that_include_each_other_one_stays() {
        for (includes, left) in [(&[(1, 2)][..], &[1, 3][..]), (&[(2, 1), (1, 2)], &[2, 3]), (&[(3, 1), (1, 2)], &[3])]
        {
            let mut sites = vec![1, 2, 3];
            let reads = |one: &i32, other: &i32| {
                includes.contains(&(*one, *other))
                    || includes.len() == 2 && (*one, *other) == (3, 2) && includes[0].0 == 3
            };
            without_includes(&mut sites, reads);
            assert_eq!(sites, left, "{includes:?}");
        }
    }
}
