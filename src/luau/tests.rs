use super::known::{Fields, Known};
use super::outline::{Outline, Outliner};

fn known() -> Known {
    let fields = |names: &[&str]| Fields::These(names.iter().map(|name| (*name).to_owned()).collect());
    Known::new([
        ("json".to_owned(), fields(&["encode", "decode"])),
        ("req".to_owned(), fields(&["params", "body", "json"])),
        ("print".to_owned(), Fields::Any),
        ("kv".to_owned(), Fields::Any),
    ])
}

fn outline(text: &str) -> Outline {
    Outliner::default().outline(text, &known())
}

/// What is named, as `global` or `global.field`.
fn names(text: &str) -> Vec<String> {
    let found = outline(text);
    assert!(found.names.iter().all(|name| {
        let meant = name.field.as_deref().unwrap_or(&name.global);
        &text[name.at.clone()] == meant
    }));
    let shown = |name: &super::outline::Name| match &name.field {
        Some(field) => format!("{}.{field}", name.global),
        None => name.global.to_string(),
    };
    found.names.iter().map(shown).collect()
}

#[test]
fn a_name_is_known_where_its_local_is_visible() {
    let nothing: &[&str] = &[];
    let cases: &[(&str, &[&str])] = &[
        ("return x", &["x"]),
        ("local x = 1 return x", nothing),
        ("local x = x", &["x"]),
        ("do local x = 1 end return x", &["x"]),
        ("if a then local b = 1 end return b", &["a", "b"]),
        ("if true then local b = 1 elseif b then else return b end", &["b", "b"]),
        ("while a do local b = 1 end return b", &["a", "b"]),
        ("for i = i, n, s do print(i) end return i", &["i", "n", "s", "i"]),
        ("for k, v in t do print(k, v) end print(k)", &["t", "k"]),
        ("repeat local done = true until done", nothing),
        ("repeat local done = true until done print(done)", &["done"]),
        ("local function f(a, ...) return f, a, ... end return f, a", &["a"]),
        ("local f = function(a) return f end", &["f"]),
        ("function f() return f end return f", &["f", "f"]),
        ("local t = {} function t.f(a) return a end function t:g() return self end return self", &["self"]),
        ("function t.f() end", &["t"]),
        ("function t.u.f() end", &["t"]),
        ("x = 1 return x", &["x"]),
        ("x += 1", &["x"]),
        ("x, y.z = a, b", &["a", "b", "y"]),
        ("return { x = 1, [y] = 2, z }", &["y", "z"]),
        ("return `a {x} b`", &["x"]),
        ("return if a then b else c", &["a", "b", "c"]),
        ("local x: Foo = y :: Bar", &["y"]),
        ("type Foo = { x: number } local function f(a: Foo): Foo return a end", nothing),
        ("local x <const> = 1", nothing),
        ("f { a } f 'x' f(a)", &["f", "a", "f", "f", "a"]),
        ("-- x\n--[[ y ]] return 'z'", nothing),
        ("return a.b.c, a[b].c, (a).b, ('x'):rep(n)", &["a", "a", "b", "a", "n"]),
        ("local a <const>, b = f(), g() continue_ = 1 return a, b", &["f", "g"]),
    ];
    for (text, want) in cases {
        assert_eq!(names(text), *want, "{text}");
    }
}

#[test]
fn fields_are_looked_at_where_they_are_known() {
    let nothing: &[&str] = &[];
    let cases: &[(&str, &[&str])] = &[
        ("return json.encode(1)", nothing),
        ("return json.encod(1)", &["json.encod"]),
        ("local json = {} return json.encod", nothing),
        ("return json.encode.x", nothing),
        ("json.encod = 1", nothing),
        ("return kv.anything, kv:anything()", nothing),
        ("return vars.a, secrets.b, vars['c']", &["vars.a", "secrets.b", "vars"]),
        ("return req.body, req:json()", &["req", "req"]),
        ("return req.bdy", &["req", "req.bdy"]),
        ("local req = {} return req.bdy, req", nothing),
        ("return _G.print, _G.prnt, _G.x.y", &["prnt", "x"]),
    ];
    for (text, want) in cases {
        assert_eq!(names(text), *want, "{text}");
    }
}

#[test]
fn what_a_script_sets() {
    let found =
        outline("a = 1 local b function c() end function d.e() end _G.f = 1 b = 2 for g = 1, 2 do g = 3 end h()");
    assert_eq!(found.assigned.iter().map(|name| &**name).collect::<Vec<_>>(), ["a", "c", "f"]);
    assert_eq!(found.locals.iter().map(|name| &**name).collect::<Vec<_>>(), ["b", "g"]);
    assert!(!found.opaque);
    for text in ["_G[name] = 1", "local g = _G", "setmetatable(_G, {})"] {
        assert!(outline(text).opaque, "{text}");
    }
}

#[test]
fn parameters_of_the_path() {
    let params =
        |text: &str| outline(text).params.iter().map(|name| text[name.at.clone()].to_owned()).collect::<Vec<_>>();
    assert_eq!(params("return req.params.id, req.params['x'], req.query.y, req.params:z(), f.params.a"), ["id"]);
    assert!(params("local req = f() return req.params.id").is_empty());
}

#[test]
fn a_status_returned_bare() {
    let status = |text: &str| outline(text).status.map(|(number, at)| (number, text[at].to_owned()));
    for (text, want) in [
        ("return 404", Some(404)),
        ("if a then return 404 end return 200", Some(404)),
        ("if a then return 404 end return 'x'", None),
        ("local function f() return 1, 2 end return 404", Some(404)),
        ("return nil, 404", None),
        ("return 42", None),
        ("return 404.5", None),
        ("return x", None),
        ("return", None),
        ("return (404)", None),
        ("local function f() return 404 end return f()", None),
        ("return 404 -- gone", Some(404)),
    ] {
        assert_eq!(status(text).map(|(number, _)| number), want, "{text}");
        assert!(status(text).is_none_or(|(number, place)| place == number.to_string()), "{text}");
    }
}

#[test]
fn comments_that_allow() {
    let text = "--moondock: allow a::b because\nx()\ny() -- moondock:allow c::d\r\nz()\n-- moondock: allow\n--[[ moondock: allow e::f ]]\n";
    let found = outline(text).allowed;
    let shown: Vec<(&str, &str, &str)> =
        found.iter().map(|it| (&*it.code, &text[it.at.clone()], &text[it.covers.clone()])).collect();
    assert_eq!(
        shown,
        [
            ("a::b", "a::b", "--moondock: allow a::b because\nx()"),
            ("c::d", "c::d", "y() -- moondock:allow c::d\r\nz()\r".trim_end_matches('\r')),
            ("", "", "-- moondock: allow\n--[[ moondock: allow e::f ]]"),
        ]
    );
}

#[test]
fn nothing_is_said_of_what_the_grammar_does_not_know() {
    let found = outline("return x y z = = (");
    assert!(found.names.is_empty() && found.opaque);
}

#[test]
fn a_mistake_leaves_nothing_for_the_next_text() {
    let mut outliner = Outliner::default();
    let broken = format!("return {}1 = ", "(".repeat(2_000));
    for _ in 0..3 {
        assert!(outliner.outline(&broken, &known()).opaque);
        assert_eq!(outliner.outline("return x", &known()).names.len(), 1);
    }
}

#[test]
fn nesting_without_end_is_fine_on_a_small_stack() {
    let work = || {
        for (open, close) in
            [("(", ")"), ("{", "}"), ("if a then ", " end"), ("function() return ", " end"), ("- ", "")]
        {
            let text = format!("return {}1{}", open.repeat(20_000), close.repeat(20_000));
            outline(&text);
        }
        let text = format!("return {}", "a.".repeat(100_000) + "b");
        assert_eq!(names(&text), ["a"]);
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap();
}
