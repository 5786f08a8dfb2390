//! What the schema says of a node or an option, as text for people.

use crate::kdl::schema::{Kind, NodeSpec, NotYet, Schema, ValueSpec};

/// The most settings that are listed by their names.
const MOST_NAMES: usize = 40;

/// A node or option in Markdown: what it is, what it takes, its default, an example.
pub(super) fn describe(schema: &Schema, spec: &NodeSpec) -> String {
    let name = if spec.name.is_empty() { String::new() } else { format!("`{}`: ", spec.name) };
    let mut paragraphs = vec![format!("{name}{}.", spec.description)];
    paragraphs.extend(not_yet(&spec.not_yet));
    paragraphs.extend(takes(spec).map(|takes| format!("Takes {takes}.")));
    paragraphs.extend(spec.default.as_ref().map(|default| format!("Default: {default}")));
    paragraphs.extend(spec.hint.clone());
    let settings: Vec<String> = schema
        .settings(spec)
        .filter(|setting| !setting.name.is_empty() && setting.not_yet != NotYet::All)
        .take(MOST_NAMES)
        .map(|setting| format!("`{}`", setting.name))
        .collect();
    if !settings.is_empty() {
        paragraphs.push(format!("Settings: {}", settings.join(", ")));
    }
    paragraphs.extend(spec.examples.iter().map(|example| format!("```kdl\n{example}\n```")));
    paragraphs.join("\n\n")
}

fn not_yet(not_yet: &NotYet) -> Option<String> {
    match not_yet {
        NotYet::Nothing => None,
        NotYet::All => Some("Not available yet in this version of moondock.".to_owned()),
        NotYet::Values(values) if values.iter().any(|value| value == "*") => {
            Some("Its first value is not available yet in this version of moondock.".to_owned())
        }
        NotYet::Values(values) => Some(format!(
            "Not available yet in this version of moondock: {}.",
            listed(values.iter().map(String::as_str))
        )),
    }
}

/// What values it takes, as a phrase.
fn takes(spec: &NodeSpec) -> Option<String> {
    let values = spec.values.as_ref()?;
    let first = phrase(values.at(0));
    let about = match values.each.description.as_str() {
        "" => String::new(),
        description if values.at.is_empty() && description != first => format!("{description}: "),
        _ => String::new(),
    };
    let all: Vec<String> =
        values.at.iter().map(|(_, spec)| format!("{} ({})", spec.description, phrase(spec))).collect();
    match all.as_slice() {
        [] => Some(format!("{about}{first}")),
        all => Some(all.join(", then ")),
    }
}

/// What a value may be, as a phrase.
pub(super) fn phrase(spec: &ValueSpec) -> String {
    if !spec.one_of.is_empty() {
        return format!("one of {}", listed(spec.one_of.iter().map(String::as_str)));
    }
    let kind = match spec.format {
        Some(format) if format.is_quantity() => format!("a {} such as {}", format.name(), quantity(format.name())),
        _ => spec.kind.name().to_owned(),
    };
    let least = spec.from.clone().or_else(|| spec.least.map(|least| least.to_string()));
    let most = spec.most.map(|most| most.to_string());
    match (least, most) {
        (Some(least), Some(most)) => format!("{kind} from {least} to {most}"),
        (Some(least), None) => format!("{kind} of at least {least}"),
        (None, Some(most)) => format!("{kind} of at most {most}"),
        (None, None) => kind,
    }
}

fn quantity(format: &str) -> &'static str {
    if format == "size" { "\"64KiB\"" } else { "\"250ms\", \"5s\" or \"1h\"" }
}

fn listed<'w>(words: impl Iterator<Item = &'w str>) -> String {
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// What an annotation means.
pub(super) fn annotation(name: &str) -> Option<&'static str> {
    ANNOTATIONS.iter().find(|(known, _)| *known == name).map(|(_, about)| *about)
}

/// The annotations and what they mean.
pub(super) const ANNOTATIONS: [(&str, &str); 3] = [
    (
        "env",
        "`(env)NAME` is the value of an environment variable; `default=\"…\"` beside it stands in when there is none.",
    ),
    ("file", "`(file)\"path\"` is the text of a file without the line break at its end, relative to this file."),
    ("secret", "`(secret)name` is the value of an entry of `secrets`."),
];

/// Whether the value is a switch.
pub(super) fn is_switch(spec: &ValueSpec) -> bool {
    spec.kind == Kind::Boolean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_in_the_schema_can_be_described() {
        let schema = Schema::of_site().unwrap();
        for spec in schema.all() {
            let text = describe(&schema, spec);
            assert!(text.contains(&spec.description) && !text.contains("\n\n\n"), "{text}");
        }
        let top = |name: &str| describe(&schema, schema.top().get(name).unwrap());
        assert!(top("environment").contains("`max-runspaces`"), "{}", top("environment"));
        assert!(top("schedule").contains("Not available yet"), "{}", top("schedule"));
        let timeout = schema.setting(schema.top().get("server").unwrap(), "timeout").unwrap();
        assert!(describe(&schema, timeout).contains("of at least 1ms"), "{}", describe(&schema, timeout));
    }
}
