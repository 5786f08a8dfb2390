//! `moondock routes`: what a site answers, one line for each endpoint and static folder.

use std::path::Path;
use std::process::ExitCode;

use clap::ValueEnum;

use crate::diag::render;
use crate::endpoint::{Action, Endpoint};
use crate::site::Site;
use crate::site::load::Loader;

use super::output::Output;

/// How the list is written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// An aligned table
    Human,
    /// One JSON array
    Json,
}

/// A line of the list.
struct Row {
    methods: String,
    path: String,
    environment: String,
    handler: String,
    place: String,
}

/// Lists what the site answers: 0, or 1 when it has errors, or 2 when it could not look.
pub(super) fn run(output: &mut Output, path: &Path, format: Format) -> ExitCode {
    let loaded = match Loader::default().load(path) {
        Ok(loaded) => loaded,
        Err(error) => {
            output.err(&super::could_not_look(path, &error));
            return ExitCode::from(2);
        }
    };
    let Some(site) = loaded.site else {
        let style = output.err_style();
        output.err(&render::human(&loaded.diagnostics, &loaded.sources, style));
        return ExitCode::from(1);
    };
    let rows = rows(&site);
    output.out(&match format {
        Format::Human => table(&rows),
        Format::Json => json(&rows),
    });
    ExitCode::SUCCESS
}

fn rows(site: &Site) -> Vec<Row> {
    let endpoints = site.endpoints.iter().map(|endpoint| row(endpoint));
    let statics = site.statics.iter().map(|folder| Row {
        methods: "GET HEAD".into(),
        path: format!("{}/…", folder.prefix),
        environment: String::new(),
        handler: format!("static {}", relative(&folder.folder, &site.folder)),
        place: String::new(),
    });
    endpoints.chain(statics).collect()
}

fn relative(path: &Path, folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    path.strip_prefix(folder).unwrap_or(path).display().to_string()
}

fn row(endpoint: &Endpoint) -> Row {
    let (environment, handler) = match &endpoint.action {
        Action::Script { environment, inline: true, .. } => (environment.to_string(), "lua".to_owned()),
        Action::Script { environment, script, .. } => (environment.to_string(), script.origin.to_string()),
        Action::Respond { status, .. } => (String::new(), format!("respond {status}")),
        Action::Redirect { location, status } => (String::new(), format!("redirect {status} {location}")),
    };
    Row {
        methods: endpoint.methods.join(" "),
        path: endpoint.pattern.text.to_string(),
        environment,
        handler,
        place: format!("{}:{}", endpoint.place.file, endpoint.place.line),
    }
}

/// The rows with their columns aligned, without trailing blanks.
fn table(rows: &[Row]) -> String {
    let cells = |row: &Row| {
        [row.methods.clone(), row.path.clone(), row.environment.clone(), row.handler.clone(), row.place.clone()]
    };
    let all: Vec<[String; 5]> = rows.iter().map(cells).collect();
    let width = |column: usize| all.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    let mut out = String::new();
    for row in &all {
        let padded = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        out.push_str(padded.collect::<Vec<_>>().join("  ").trim_end());
        out.push('\n');
    }
    out
}

fn json(rows: &[Row]) -> String {
    let rows: Vec<serde_json::Value> = rows
        .iter()
        .map(|row| {
            serde_json::json!({
                "methods": row.methods.split(' ').collect::<Vec<_>>(),
                "path": row.path,
                "environment": Some(&row.environment).filter(|name| !name.is_empty()),
                "handler": row.handler,
                "place": Some(&row.place).filter(|place| !place.is_empty()),
            })
        })
        .collect();
    format!("{:#}\n", serde_json::Value::from(rows))
}
