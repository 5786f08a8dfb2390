//! Static folders.

use tempfile::TempDir;

use super::*;

/// A folder `public` with secrets in it and beside it, and a server of it.
fn served() -> (TempDir, Started) {
    let folder = tempfile::tempdir().unwrap();
    let public = folder.path().join("public");
    std::fs::create_dir_all(public.join("sub/deep")).unwrap();
    std::fs::create_dir_all(public.join(".git")).unwrap();
    for (name, text) in [
        ("secret.txt", "MARKER"),
        ("public/index.html", "<p>index"),
        ("public/sub/x.txt", "inside"),
        ("public/sub/index.html", "sub index"),
        ("public/sp ace \u{6708}.txt", "inside2"),
        ("public/.env", "MARKER"),
        ("public/.git/config", "MARKER"),
        ("public/endpoint", "MARKER"),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    std::os::unix::fs::symlink("../secret.txt", public.join("out")).unwrap();
    std::os::unix::fs::symlink("/etc", public.join("etc")).unwrap();
    std::os::unix::fs::symlink(".env", public.join("visible")).unwrap();
    std::os::unix::fs::symlink("sub/x.txt", public.join("link.txt")).unwrap();
    let server = Made::new()
        .folder("/files", &public)
        .folder("/files/sub/deep", &folder.path().join("public/sub"))
        .respond("GET", "/files/endpoint", "endpoint")
        .start();
    (folder, server)
}

#[test]
fn what_is_there_is_served_with_its_type() {
    let (_folder, server) = served();
    for (path, text, kind) in [
        ("/files/sub/x.txt", "inside", "text/plain; charset=utf-8"),
        ("/files/sp%20ace%20%E6%9C%88.txt", "inside2", "text/plain; charset=utf-8"),
        ("/%66iles/link.txt", "inside", "text/plain; charset=utf-8"),
        ("/files/", "<p>index", "text/html; charset=utf-8"),
        ("/files/sub/", "sub index", "text/html; charset=utf-8"),
        ("/files/sub/deep/x.txt", "inside", "text/plain; charset=utf-8"),
        ("/files/endpoint", "endpoint", "text/plain"),
    ] {
        let answered = server.ask(&format!("GET {path}"), b"");
        assert_eq!(
            (answered.status, answered.text(), answered.header("content-type")),
            (200, text, Some(kind)),
            "{path}"
        );
    }
}

#[test]
fn folders_ranges_and_conditions() {
    let (_folder, server) = served();
    assert_eq!(server.ask("GET /files?a=1", b"").header("location"), Some("/files/?a=1"));
    assert_eq!(server.ask("GET /files/sub", b"").status, 308);
    let file = server.ask("GET /files/sub/x.txt", b"");
    assert_eq!(file.header("x-static"), Some("yes"));
    let head = server.ask("HEAD /files/sub/x.txt", b"");
    assert_eq!(
        (head.status, head.header("content-length"), head.header("etag")),
        (200, Some("6"), file.header("etag"))
    );
    let part = server.ask("GET /files/sub/x.txt\nrange: bytes=0-2", b"");
    assert_eq!((part.status, part.text()), (206, "ins"));
    assert_eq!(server.ask("GET /files/sub/x.txt\nrange: bytes=99-", b"").status, 416);
    let tag = file.header("etag").unwrap();
    assert_eq!(server.ask(&format!("GET /files/sub/x.txt\nif-none-match: {tag}"), b"").status, 304);
    let modified = file.header("last-modified").unwrap();
    assert_eq!(server.ask(&format!("GET /files/sub/x.txt\nif-modified-since: {modified}"), b"").status, 304);
    let refused = server.ask("POST /files/sub/x.txt", b"abc");
    assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD, OPTIONS")));
    assert_eq!(server.ask("POST /files/none", b"").status, 404);
}

#[test]
fn nothing_hidden_or_outside_is_served_however_it_is_spelt() {
    let (folder, server) = served();
    let absolute = folder.path().join("secret.txt").display().to_string();
    for name in [
        "../secret.txt",
        "..%2fsecret.txt",
        "%2e%2e/secret.txt",
        "%2e%2e%2fsecret.txt",
        ".%2e/secret.txt",
        "sub/../../secret.txt",
        "sub/%2e%2e/%2e%2e/secret.txt",
        "..%5csecret.txt",
        "..\\secret.txt",
        "%252e%252e%252fsecret.txt",
        "..%c0%afsecret.txt",
        "....//secret.txt",
        "%2fetc%2fpasswd",
        "/etc/passwd",
        "//etc/passwd",
        "%00/../secret.txt",
        "sub/x.txt%00.html",
        "out",
        "etc/passwd",
        ".env",
        "%2eenv",
        "sub/../.env",
        "visible",
        ".git/config",
        &absolute,
        &absolute.replace('/', "%2f"),
        "file:///etc/passwd",
        "..;/secret.txt",
        "sub/x.txt/",
        "sub/deep",
        "none/",
    ] {
        for prefix in ["/files/", "/files//", "/%66iles/"] {
            let answered = server.ask(&format!("GET {prefix}{name}"), b"");
            assert!(matches!(answered.status, 400 | 404 | 308), "{prefix}{name}: {}", answered.status);
            assert!(!answered.text().contains("MARKER") && !answered.text().contains("root:"), "{prefix}{name}");
        }
    }
}
