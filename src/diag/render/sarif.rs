//! The SARIF 2.1.0 form, as code scanning reads it: one log, and in it one run for each site.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Value, json};

use super::super::{Code, Diagnostic, Fix, Label, Sources, Span, codes};
use super::{Report, json, word};

/// Where the format is defined.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// What cannot stand in the path of a URI.
const NO_PATH: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'<').add(b'>').add(b'?').add(b'[').add(b']').add(b'^');
/// What cannot stand in the first part of a relative path, where a colon would end a scheme.
const NO_FIRST: &AsciiSet = &NO_PATH.add(b':').add(b'`').add(b'{').add(b'|').add(b'}').add(b'\\');

/// The log of every site.
pub(super) fn write(reports: &[Report<'_>]) -> String {
    let runs: Vec<Value> = reports.iter().map(run).collect();
    json::line(&json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": runs }))
}

fn run(report: &Report<'_>) -> Value {
    let results: Vec<Value> = report.shown().map(|found| result(found, report.sources)).collect();
    let rules: Vec<Value> = codes::ALL.iter().map(|code| rule(code)).collect();
    let driver = json!({ "name": "moondock", "version": env!("CARGO_PKG_VERSION"), "rules": rules });
    json!({ "tool": { "driver": driver }, "columnKind": "unicodeCodePoints", "results": results })
}

fn rule(code: &Code) -> Value {
    json!({
        "id": code.id,
        "shortDescription": { "text": code.title },
        "defaultConfiguration": { "level": word(code.severity) },
        "help": {
            "text": format!("{}: `moondock explain {}` tells more", code.title, code.id),
            "markdown": code.explanation,
        },
    })
}

fn result(found: &Diagnostic, sources: &Sources) -> Value {
    let help = found.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    let related: Vec<Value> = found.related.iter().map(|label| location(label, sources)).collect();
    let fixes: Vec<Value> = found.fixes.iter().map(|it| fix(it, sources)).collect();
    json!({
        "ruleId": found.code.id,
        "ruleIndex": codes::ALL.iter().position(|code| code.id == found.code.id),
        "level": word(found.severity),
        "message": { "text": format!("{}{help}", found.message) },
        "locations": [location(&found.primary, sources)],
        "relatedLocations": related,
        "fixes": fixes,
    })
}

fn location(label: &Label, sources: &Sources) -> Value {
    let physical = json!({ "artifactLocation": artifact(label.span, sources), "region": region(label.span, sources) });
    match label.text.is_empty() {
        true => json!({ "physicalLocation": physical }),
        false => json!({ "physicalLocation": physical, "message": { "text": label.text } }),
    }
}

fn artifact(span: Span, sources: &Sources) -> Value {
    json!({ "uri": uri(&sources.get(span.file).name) })
}

/// A path as the reference that SARIF wants: relative as it is shown, or a `file:` URI.
fn uri(path: &str) -> String {
    let path = path.replace(std::path::MAIN_SEPARATOR, "/");
    let (first, rest) = path.split_at(path.find('/').unwrap_or(path.len()));
    let root = if first.is_empty() { "file://" } else { "" };
    format!("{root}{}{}", utf8_percent_encode(first, NO_FIRST), utf8_percent_encode(rest, NO_PATH))
}

/// A place in lines and columns of characters, and in bytes.
fn region(span: Span, sources: &Sources) -> Value {
    let (start_line, start_column) = sources.line_column(span.file, span.start);
    let (end_line, end_column) = sources.line_column(span.file, span.end);
    json!({
        "startLine": start_line,
        "startColumn": start_column,
        "endLine": end_line,
        "endColumn": end_column,
        "byteOffset": span.start,
        "byteLength": span.end - span.start,
    })
}

/// A fix; its edits are all in one file, or grouped by file as they come.
fn fix(fix: &Fix, sources: &Sources) -> Value {
    let change = |edits: &[(Span, String)]| {
        let replace = |(span, text): &(Span, String)| json!({ "deletedRegion": region(*span, sources), "insertedContent": { "text": text } });
        let replacements: Vec<Value> = edits.iter().map(replace).collect();
        json!({ "artifactLocation": artifact(edits[0].0, sources), "replacements": replacements })
    };
    let changes: Vec<Value> = fix.edits.chunk_by(|one, other| one.0.file == other.0.file).map(change).collect();
    json!({ "description": { "text": fix.title }, "artifactChanges": changes })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{two_files, whole};
    use super::*;
    use crate::diag::Diagnostics;

    fn log(found: &Diagnostics, sources: &Sources) -> Value {
        serde_json::from_str(&write(&[whole(found, sources)])).expect("JSON")
    }

    #[test]
    fn the_log_has_what_the_standard_requires() {
        let (found, sources) = two_files();
        let log = log(&found, &sources);
        assert_eq!(log["version"], "2.1.0");
        let run = &log["runs"][0];
        assert_eq!(run["columnKind"], "unicodeCodePoints");
        let driver = &run["tool"]["driver"];
        assert_eq!(driver["name"], "moondock");
        let rules = driver["rules"].as_array().expect("rules");
        assert_eq!(rules.len(), codes::ALL.len());
        for rule in rules {
            assert!(rule["id"].is_string() && rule["shortDescription"]["text"].is_string(), "{rule}");
            assert!(matches!(rule["defaultConfiguration"]["level"].as_str(), Some("error" | "warning")), "{rule}");
            assert!(rule["help"]["text"].is_string(), "{rule}");
        }
        for result in run["results"].as_array().expect("results") {
            let index = result["ruleIndex"].as_u64().expect("an index") as usize;
            assert_eq!(rules[index]["id"], result["ruleId"]);
            assert!(result["message"]["text"].is_string(), "{result}");
        }
    }

    #[test]
    fn places_are_told_in_characters_and_bytes() {
        let (found, sources) = two_files();
        let log = log(&found, &sources);
        let far = &log["runs"][0]["results"][1];
        assert_eq!(far["level"], "warning");
        let place = &far["relatedLocations"][1];
        assert_eq!(place["physicalLocation"]["artifactLocation"]["uri"], "conf.d/%C3%A9.kdl");
        assert_eq!(place["message"]["text"], "and elsewhere");
        let region = json!({
            "startLine": 1, "startColumn": 3, "endLine": 1, "endColumn": 11, "byteOffset": 3, "byteLength": 8,
        });
        assert_eq!(place["physicalLocation"]["region"], region);
    }

    #[test]
    fn a_fix_says_what_to_replace() {
        let mut sources = Sources::default();
        let file = sources.add("site.kdl", "a true\n");
        let span = Span::new(file, 2..6);
        let mut found = Diagnostics::default();
        found.push(Diagnostic::new(&codes::SYNTAX_KEYWORD, "m", span, "").fix("write #true", span, "#true"));
        let fix = &log(&found, &sources)["runs"][0]["results"][0]["fixes"][0];
        assert_eq!(fix["description"]["text"], "write #true");
        let change = &fix["artifactChanges"][0];
        assert_eq!(change["artifactLocation"]["uri"], "site.kdl");
        assert_eq!(change["replacements"][0]["deletedRegion"]["startColumn"], 3);
        assert_eq!(change["replacements"][0]["deletedRegion"]["endColumn"], 7);
        assert_eq!(change["replacements"][0]["insertedContent"]["text"], "#true");
    }

    #[test]
    fn names_of_files_become_references() {
        for (name, reference) in [
            ("a b/site.kdl", "a%20b/site.kdl"),
            ("<stdin>", "%3Cstdin%3E"),
            ("/srv/100%.kdl", "file:///srv/100%25.kdl"),
            ("c:d.kdl", "c%3Ad.kdl"),
        ] {
            assert_eq!(uri(name), reference);
        }
    }
}
