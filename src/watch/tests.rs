//! The watcher on real folders. Nothing here waits for time: a test waits for a notice, and to show that there is none it
//! asks for one and finds that nothing differs.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Instant;

use super::*;

/// So long a test waits for a notice that must come.
const SOON: Duration = Duration::from_secs(20);

struct Site {
    folder: tempfile::TempDir,
    watcher: Watcher,
    notices: Notices,
}

/// A folder with `site.kdl` and other files in it, all of them tracked, and a moment long after they were written.
fn site(files: &[(&str, &str)], tracked: &[&str], mode: Mode) -> Site {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let period = if mode == Mode::Poll { Duration::from_millis(30) } else { Duration::from_secs(3600) };
    let paths = tracked.iter().map(|name| folder.path().join(name)).collect();
    let (watcher, notices) = Watcher::start_with(paths, later(), mode, period).unwrap();
    let mut site = Site { folder, watcher, notices };
    // The first look has been taken when this is answered.
    site.nothing();
    site
}

fn later() -> SystemTime {
    SystemTime::now() + Duration::from_secs(10)
}

impl Site {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn next(&mut self) -> Change {
        match self.notices.receiver.recv_timeout(SOON).unwrap() {
            Notice::Changed(change) => change,
            Notice::Warning(text) => panic!("{text}"),
        }
    }

    /// Waits until a change of exactly this path is told.
    fn changed(&mut self, name: &str) -> Change {
        let change = self.next();
        assert_eq!(change.paths, BTreeSet::from([self.path(name)]));
        change
    }

    /// Nothing differs from what was told.
    fn nothing(&mut self) {
        self.watcher.reload();
        let change = self.next();
        assert!(change.asked && change.paths.is_empty(), "{change:?}");
    }
}

fn in_place(path: &Path, text: &str) {
    let mut file = fs::File::create(path).unwrap();
    for part in text.as_bytes().chunks(3) {
        file.write_all(part).unwrap();
    }
}

fn by_rename(path: &Path, text: &str) {
    let other = path.with_extension("new");
    fs::write(&other, text).unwrap();
    fs::rename(other, path).unwrap();
}

/// As vim does with a backup: the old file is moved away, a new one is written in its place.
fn by_backup(path: &Path, text: &str) {
    let backup = path.with_extension("kdl~");
    fs::rename(path, &backup).unwrap();
    fs::write(path, text).unwrap();
    fs::remove_file(backup).unwrap();
}

fn by_unlinking(path: &Path, text: &str) {
    fs::remove_file(path).unwrap();
    fs::write(path, text).unwrap();
}

/// Each way of saving again and again, in every order of two.
#[test]
fn every_way_of_saving_is_seen_every_time() {
    let ways: [fn(&Path, &str); 4] = [in_place, by_rename, by_backup, by_unlinking];
    for mode in [Mode::Events, Mode::Poll] {
        let mut site = site(&[("site.kdl", "0")], &["site.kdl"], mode);
        for (round, way) in (0..16).map(|n| (n, ways[(n % 4 + n / 4) % 4])) {
            way(&site.path("site.kdl"), &format!("text {round}"));
            site.changed("site.kdl");
        }
        site.nothing();
    }
}

#[test]
fn the_same_text_and_files_beside_are_no_change() {
    let mut site = site(&[("site.kdl", "text"), ("lua/a.lua", "return 1")], &["site.kdl", "lua/a.lua"], Mode::Events);
    by_rename(&site.path("site.kdl"), "text");
    in_place(&site.path("lua/a.lua"), "return 1");
    fs::write(site.path("api.log"), "line").unwrap();
    fs::write(site.path("moondock.db-wal"), "page").unwrap();
    fs::read(site.path("site.kdl")).unwrap();
    site.nothing();
    in_place(&site.path("lua/a.lua"), "return 2");
    site.changed("lua/a.lua");
}

#[test]
fn a_missing_file_is_tracked_until_it_comes() {
    for mode in [Mode::Events, Mode::Poll] {
        let mut site = site(&[("site.kdl", "text")], &["site.kdl", "a/b/c/extra.kdl"], mode);
        fs::create_dir_all(site.path("a/b/c")).unwrap();
        fs::write(site.path("a/b/c/extra.kdl"), "text").unwrap();
        site.changed("a/b/c/extra.kdl");
        fs::remove_dir_all(site.path("a")).unwrap();
        site.changed("a/b/c/extra.kdl");
        fs::create_dir_all(site.path("a/b/c")).unwrap();
        fs::write(site.path("a/b/c/extra.kdl"), "other").unwrap();
        site.changed("a/b/c/extra.kdl");
    }
}

#[test]
fn a_folder_removed_and_made_again() {
    let mut site = site(&[("conf/site.kdl", "0")], &["conf/site.kdl"], Mode::Events);
    for round in 1..4 {
        fs::remove_dir_all(site.path("conf")).unwrap();
        site.changed("conf/site.kdl");
        fs::create_dir(site.path("conf")).unwrap();
        fs::write(site.path("conf/site.kdl"), format!("text {round}")).unwrap();
        site.changed("conf/site.kdl");
        in_place(&site.path("conf/site.kdl"), "in place");
        site.changed("conf/site.kdl");
    }
}

#[test]
fn a_folder_replaced_by_another() {
    let mut site = site(&[("conf/site.kdl", "one"), ("next/site.kdl", "two")], &["conf/site.kdl"], Mode::Events);
    fs::rename(site.path("conf"), site.path("old")).unwrap();
    fs::rename(site.path("next"), site.path("conf")).unwrap();
    site.changed("conf/site.kdl");
    in_place(&site.path("conf/site.kdl"), "three");
    site.changed("conf/site.kdl");
    in_place(&site.path("old/site.kdl"), "four");
    site.nothing();
}

/// As Kubernetes does it: a link to a folder is replaced, and no event names the file.
#[test]
fn a_link_to_a_folder_swapped() {
    let mut site = site(&[("..1/site.kdl", "one")], &[], Mode::Events);
    symlink("..1", site.path("..data")).unwrap();
    symlink("..data/site.kdl", site.path("site.kdl")).unwrap();
    site.watcher.track(BTreeSet::from([site.path("site.kdl")]), later());
    site.nothing();
    for round in 2..5 {
        fs::create_dir(site.path(&format!("..{round}"))).unwrap();
        fs::write(site.path(&format!("..{round}/site.kdl")), format!("text {round}")).unwrap();
        symlink(format!("..{round}"), site.path("..data_tmp")).unwrap();
        fs::rename(site.path("..data_tmp"), site.path("..data")).unwrap();
        site.changed("site.kdl");
        fs::remove_dir_all(site.path(&format!("..{}", round - 1))).unwrap();
    }
    site.nothing();
}

#[test]
fn the_target_of_a_link_edited_and_the_link_pointed_elsewhere() {
    let mut site = site(&[("far/real.kdl", "one"), ("far/other.kdl", "two"), ("near/x", "")], &[], Mode::Events);
    symlink("../far/real.kdl", site.path("near/site.kdl")).unwrap();
    site.watcher.track(BTreeSet::from([site.path("near/site.kdl")]), later());
    site.nothing();
    by_rename(&site.path("far/real.kdl"), "three");
    site.changed("near/site.kdl");
    fs::remove_file(site.path("near/site.kdl")).unwrap();
    symlink("../far/other.kdl", site.path("near/site.kdl")).unwrap();
    site.changed("near/site.kdl");
    in_place(&site.path("far/other.kdl"), "four");
    site.changed("near/site.kdl");
}

#[test]
fn a_folder_is_the_list_of_its_names() {
    let mut site = site(&[("conf.d/a.kdl", "a")], &["conf.d"], Mode::Events);
    in_place(&site.path("conf.d/a.kdl"), "other");
    site.nothing();
    fs::write(site.path("conf.d/b.kdl"), "b").unwrap();
    site.changed("conf.d");
    fs::rename(site.path("conf.d/b.kdl"), site.path("conf.d/c.kdl")).unwrap();
    site.changed("conf.d");
    fs::create_dir(site.path("conf.d/sub")).unwrap();
    site.changed("conf.d");
}

#[test]
fn saves_without_pause_fold_and_the_last_is_told_within_a_second() {
    let mut site = site(&[("site.kdl", "0")], &["site.kdl"], Mode::Events);
    for n in 1..=100 {
        by_rename(&site.path("site.kdl"), &format!("text {n}"));
    }
    let last = Instant::now();
    let mut told = 1;
    site.changed("site.kdl");
    site.watcher.reload();
    while !site.next().asked {
        told += 1;
    }
    assert!(told <= 3, "{told} changes");
    assert!(last.elapsed() < Duration::from_secs(1), "{:?}", last.elapsed());
}

#[test]
fn a_file_cut_short_and_written_again_is_one_change() {
    let mut site = site(&[("site.kdl", "a text of some length")], &["site.kdl"], Mode::Events);
    let path = site.path("site.kdl");
    fs::write(&path, "").unwrap();
    // A look at once sees the empty file, and waits for more.
    let text = "another text of some length";
    fs::write(&path, text).unwrap();
    let change = site.changed("site.kdl");
    assert!(!change.retried);
    site.nothing();
}

#[test]
fn an_empty_file_is_told_when_it_stays_so() {
    let mut site = site(&[("site.kdl", "a text of some length")], &["site.kdl"], Mode::Events);
    fs::write(site.path("site.kdl"), "").unwrap();
    site.changed("site.kdl");
    fs::write(site.path("site.kdl"), "a text of some length").unwrap();
    site.changed("site.kdl");
}

#[test]
fn a_retry_is_answered_whether_or_not_more_came() {
    let mut site = site(&[("site.kdl", "0")], &["site.kdl"], Mode::Events);
    in_place(&site.path("site.kdl"), "hal");
    let change = site.changed("site.kdl");
    assert!(!change.retried);
    site.watcher.retry();
    let change = site.next();
    assert!(change.retried && change.paths.is_empty(), "{change:?}");
    site.watcher.retry();
    in_place(&site.path("site.kdl"), "half, and the rest");
    assert!(site.changed("site.kdl").retried);
    in_place(&site.path("site.kdl"), "new");
    assert!(!site.changed("site.kdl").retried);
}

/// What is saved between the load of a file and the moment it is tracked must not be lost.
#[test]
fn a_save_between_load_and_track_is_seen() {
    let mut site = site(&[("site.kdl", "0"), ("late.lua", "0")], &["site.kdl"], Mode::Events);
    let since = SystemTime::now();
    in_place(&site.path("late.lua"), "saved while it was loaded");
    site.watcher.track([site.path("site.kdl"), site.path("late.lua")].into(), since);
    site.changed("late.lua");
    let tracked = BTreeSet::from([site.path("site.kdl"), site.path("late.lua")]);
    in_place(&site.path("late.lua"), "known already");
    site.watcher.track(tracked, later());
    site.changed("late.lua");
    site.nothing();
}

/// The same for a file that went away, or whose folder was put in the place of another.
#[test]
fn a_path_replaced_between_load_and_track_is_seen() {
    let mut site =
        site(&[("gone.lua", "0"), ("next/a.lua", "1"), ("now/a.lua", "0"), ("x/y", "")], &["x/y"], Mode::Events);
    let since = SystemTime::now();
    fs::remove_file(site.path("gone.lua")).unwrap();
    site.watcher.track(BTreeSet::from([site.path("gone.lua")]), since);
    site.changed("gone.lua");
    let since = SystemTime::now();
    fs::rename(site.path("now"), site.path("old")).unwrap();
    fs::rename(site.path("next"), site.path("now")).unwrap();
    site.watcher.track(BTreeSet::from([site.path("now/a.lua")]), since);
    site.changed("now/a.lua");
}

#[test]
fn what_is_no_longer_tracked_does_not_count() {
    let mut site = site(&[("a", "0"), ("b", "0")], &["a", "b"], Mode::Events);
    site.watcher.track(BTreeSet::from([site.path("a")]), later());
    in_place(&site.path("b"), "1");
    site.nothing();
    in_place(&site.path("a"), "1");
    site.changed("a");
}

#[test]
fn notices_fold_and_end_with_the_watcher() {
    let Site { watcher, mut notices, folder } = site(&[("a", "0")], &["a"], Mode::Events);
    let (sender, receiver) = channel();
    let change = |path: &str, asked| Change { paths: [PathBuf::from(path)].into(), asked, ..Change::default() };
    for notice in
        [Notice::Changed(change("a", true)), Notice::Warning("poll".to_owned()), Notice::Changed(change("b", false))]
    {
        sender.send(notice).unwrap();
    }
    drop(sender);
    let mut folded = Notices { receiver, waiting: VecDeque::new() };
    let mut both = change("a", true);
    both.absorb(change("b", false));
    assert_eq!(folded.next_notice(), Some(Notice::Changed(both)));
    assert_eq!(folded.next_notice(), Some(Notice::Warning("poll".to_owned())));
    assert_eq!(folded.next_notice(), None);
    drop(watcher);
    assert_eq!(notices.next_notice(), None);
    drop(folder);
}
