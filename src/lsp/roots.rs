//! Which site files the open texts belong to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
pub(super) fn alone(texts: &Texts, is_read: impl Fn(&Path) -> bool) -> impl Iterator<Item = &PathBuf> {
    texts.keys().filter(move |path| is_kdl(path) && !is_read(path))
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
        let texts: Texts = ["a.kdl", "inner/deep/b.lua", "inner/site.kdl"].map(|name| (at(name), Arc::from(""))).into();
        assert_eq!(nearest(&texts), [at("inner/site.kdl"), at("site.kdl")]);
        let alone: Vec<_> = alone(&texts, |path| path.ends_with("inner/site.kdl")).collect();
        assert_eq!(alone, [&at("a.kdl")]);
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
