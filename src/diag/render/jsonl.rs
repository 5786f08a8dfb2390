//! The JSON Lines form: each finding is one object on a line, the same as in the list of the JSON form.

use super::Report;
use super::json::{entry, line};

/// The findings of every site, a line each; nothing when nothing was found.
pub(super) fn write(reports: &[Report<'_>]) -> String {
    reports.iter().flat_map(|report| report.shown().map(|found| line(&entry(found, report.sources)))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{two_files, whole};
    use super::*;

    #[test]
    fn each_line_is_a_finding() {
        let (found, sources) = two_files();
        let text = write(&[whole(&found, &sources)]);
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
        let codes: Vec<&str> = lines.iter().filter_map(|line| line["code"].as_str()).collect();
        assert_eq!(codes, ["name::duplicate", "environment::unused"]);
        assert_eq!(lines[0]["primary"]["end"]["offset"], 25);
    }
}
