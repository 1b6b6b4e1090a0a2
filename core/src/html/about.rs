//! A run, as its page describes it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::report::Report;

/// A run, as its page describes it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct About {
    /// Summary for the user, one or more lines.
    pub summary: String,
    /// The command or the call that repeats the run.
    pub command: String,
    /// Facts of the run such as version, device and times, by name.
    pub facts: Vec<(String, String)>,
    /// Every parameter, by name.
    pub settings: Vec<(String, String)>,
}

impl About {
    /// The description of a run of the program.
    pub fn new(report: &Report, summary: &str) -> Self {
        Self {
            summary: summary.into(),
            command: command_line(&report.arguments),
            facts: facts(report),
            settings: settings(&report.config),
        }
    }
}

/// The entries of a configuration as names and text.
pub fn settings(config: &Value) -> Vec<(String, String)> {
    config.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), text(value))).collect()
}

/// The command that repeats a run, for a POSIX shell.
fn command_line(arguments: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=+@%".contains(c);
    let quoted = |argument: &String| match argument.is_empty() || !argument.chars().all(plain) {
        true => format!("'{}'", argument.replace('\'', "'\\''")),
        false => argument.clone(),
    };
    std::iter::once("firebox".to_string()).chain(arguments.iter().map(quoted)).collect::<Vec<_>>().join(" ")
}

/// The facts of a run, by name.
fn facts(report: &Report) -> Vec<(String, String)> {
    let seconds = |value: f64| format!("{value:.3}");
    // A built-in problem has no file.
    let input = (!report.input.paths.is_empty()).then(|| ("input".into(), report.input.paths.join(", ")));
    let mut facts: Vec<(String, String)> = vec![("version".into(), report.version.clone())];
    facts.extend(input);
    facts.extend([
        ("rows".into(), report.input.rows.to_string()),
        ("columns".into(), report.input.columns.to_string()),
        ("backend".into(), report.backend.clone()),
        ("device".into(), report.device.clone()),
        ("precision".into(), report.precision.clone()),
        ("seed".into(), report.seed.to_string()),
        ("seconds".into(), seconds(report.timings.total_s)),
    ]);
    let phases = report.timings.phases.iter();
    facts.extend(phases.map(|(phase, value)| {
        (format!("seconds, {}", phase.trim_end_matches("_s")), seconds(value.as_f64().unwrap_or(0.0)))
    }));
    facts
}

/// A value as text.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "–".into(),
        other => other.to_string(),
    }
}
