//! `moondock run`: serves a site until a signal ends it.

use std::path::Path;
use std::process::ExitCode;
use std::time::SystemTime;

use crate::diag::render;
use crate::server::Running;
use crate::server::reload::Origin;
use crate::site::Site;
use crate::site::load::Loader;

use super::output::Output;

/// Serves the site: 0 after a graceful stop, 78 for a bad site, 2 when there is none, 1 when the machine refuses.
pub(super) fn run(output: &mut Output, path: &Path) -> ExitCode {
    let mut loader = Loader::default();
    let since = SystemTime::now();
    let loaded = match loader.load(path) {
        Ok(loaded) => loaded,
        Err(error) => {
            output.err(&super::could_not_look(path, &error));
            return ExitCode::from(2);
        }
    };
    if !loaded.diagnostics.is_empty() {
        let style = output.err_style();
        output.err(&render::human(&loaded.diagnostics, &loaded.sources, style));
    }
    let Some(site) = loaded.site else {
        output.err(&format!("moondock: {} has errors; nothing was started\n", path.display()));
        return ExitCode::from(super::BAD_SITE);
    };
    let origin = Origin { path: path.to_path_buf(), loader, watch: loaded.watch, since };
    let announced = site.clone();
    let ended = crate::server::run::run(site, origin, |running| output.out(&report(&announced, running)));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output.err(&format!("moondock: {error}\n"));
            ExitCode::from(1)
        }
    }
}

/// What a person wants to see once it runs.
fn report(site: &Site, running: &Running) -> String {
    let mut out = String::new();
    let title = site.title.as_deref().unwrap_or("moondock");
    let version = site.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    out.push_str(&format!("{title}{version}\n"));
    for address in running.addresses() {
        out.push_str(&format!("  listening on {address}\n"));
    }
    let statics = match site.statics.len() {
        0 => String::new(),
        count => format!(", {count} static"),
    };
    out.push_str(&format!("  routes        {}{statics}\n", site.endpoints.len()));
    for environment in &site.environments {
        let settings = &environment.settings;
        let kind = if settings.persistent { "persistent" } else { "clean" };
        out.push_str(&format!(
            "  environment   {}: {kind}, at most {} runspaces\n",
            environment.name, settings.max_runspaces
        ));
    }
    out.push_str(&hint(site, running));
    out
}

/// A line to try: the first GET without parameters.
fn hint(site: &Site, running: &Running) -> String {
    let simple = site.endpoints.iter().find(|endpoint| {
        endpoint.methods.iter().any(|method| matches!(&**method, "GET" | "ANY")) && !endpoint.pattern.text.contains('{')
    });
    let address = running.addresses().iter().map(ToString::to_string).find(|address| address.starts_with("http"));
    match (simple, address) {
        (Some(endpoint), Some(address)) => {
            format!("  try           curl {address}{}\n", endpoint.pattern.text)
        }
        _ => String::new(),
    }
}
