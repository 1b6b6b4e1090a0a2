//! Interactive reports: pages of HTML that need no network.
//!
//! A page is a template with one style sheet, one script and the data as JSON, in which arrays are base64. Its policy
//! allows nothing but this script and this style, so that no text from a file can become code.

pub mod encode;

use std::{collections::HashMap, fmt::Display};

use base64::{Engine, engine::general_purpose::STANDARD};
use minijinja::{AutoEscape, Environment, context};
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::{
    data::Points,
    error::{Error, Result},
    plot::principal_components,
    report::Report,
};

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
/// The parts of the script, in their order.
const SCRIPTS: [&str; 13] = [
    include_str!("data.js"),
    include_str!("elements.js"),
    include_str!("theme.js"),
    include_str!("axes.js"),
    include_str!("points.js"),
    include_str!("nearest.js"),
    include_str!("scatter.js"),
    include_str!("selection.js"),
    include_str!("clusters.js"),
    include_str!("tree.js"),
    include_str!("levels.js"),
    include_str!("ocnn.js"),
    include_str!("page.js"),
];

/// An interactive report of one run.
#[derive(Debug, Clone, Serialize)]
pub struct Page {
    /// The kind of page, which the script knows.
    pub kind: &'static str,
    /// Title of the page, after the input.
    #[serde(skip)]
    pub title: String,
    /// Number of rows that can be selected.
    pub rows: usize,
    /// Columns of the rows.
    pub columns: Vec<Column>,
    /// Classes of the rows, if known.
    pub classes: Option<Classes>,
    /// What is shown of an algorithm, by name.
    #[serde(flatten)]
    pub content: Map<String, Value>,
}

/// A column of a page.
#[derive(Debug, Clone, Serialize)]
pub struct Column {
    /// Name of the column.
    pub name: String,
    /// The numbers, as [`encode::floats`].
    pub values: String,
}

/// Classes of a page's rows.
#[derive(Debug, Clone, Serialize)]
pub struct Classes {
    /// Names of the classes.
    pub names: Vec<String>,
    /// The class of each row, as [`encode::unsigned`].
    pub of: String,
}

/// The columns of points: two principal components of more than two columns, then the first `count` columns.
pub fn columns(points: &Points, count: usize) -> Vec<Column> {
    let mut columns = Vec::new();
    if points.columns > 2 {
        let (places, shares) = principal_components(points);
        columns.extend([0, 1].map(|axis| Column {
            name: format!("principal component {} ({:.0} %)", axis + 1, 100.0 * shares[axis]),
            values: encode::floats(places.iter().map(|place| place[axis])),
        }));
    }
    columns.extend((0..points.columns.min(count)).map(|column| Column {
        name: points.names.get(column).cloned().unwrap_or_else(|| format!("C{}", column + 1)),
        values: encode::floats(points.iter().map(|row| row[column])),
    }));
    columns
}

/// The classes of points, if known, by first appearance.
pub fn classes(points: &Points) -> Option<Classes> {
    let labels = points.labels.as_ref()?;
    let mut numbers = HashMap::new();
    let mut distinct = Vec::new();
    let of: Vec<u64> = labels
        .iter()
        .map(|label| {
            *numbers.entry(label).or_insert_with(|| {
                distinct.push(*label);
                distinct.len() as u64 - 1
            })
        })
        .collect();
    let name = |label: i64| {
        let named = points.label_names.as_ref().and_then(|names| names.get(usize::try_from(label).ok()?));
        named.cloned().unwrap_or_else(|| label.to_string())
    };
    Some(Classes { names: distinct.into_iter().map(name).collect(), of: encode::unsigned(of.into_iter()) })
}

impl Page {
    /// Renders the page of a run with its report and its summary.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if the template fails.
    pub fn render(&self, report: &Report, summary: &str) -> Result<String> {
        #[derive(Serialize)]
        struct Data<'a> {
            #[serde(flatten)]
            page: &'a Page,
            title: &'a str,
            summary: &'a str,
            command: String,
            facts: Vec<(String, String)>,
            settings: Vec<(String, String)>,
        }
        let input = report.input.paths.first().map(|path| format!("{path}: ")).unwrap_or_default();
        let title = format!("{input}{}", self.title);
        let failed =
            |error: &dyn Display| Error::input(format!("the page cannot be written: {error}"), "leave out `html`");
        let data = Data {
            page: self,
            title: &title,
            summary,
            command: command_line(&report.arguments),
            facts: facts(report),
            settings: report.config.as_object().into_iter().flatten().map(|(k, v)| (k.clone(), text(v))).collect(),
        };
        let data = serde_json::to_string(&data).map_err(|error| failed(&error))?;
        // A script element ends at the first `</script`, also within a string.
        let data = data.replace('<', "\\u003c");
        let (script, style) = (code(&SCRIPTS.concat()), code(STYLE));
        let policy = format!(
            "default-src 'none'; script-src '{}'; style-src '{}'; img-src data: blob:; base-uri 'none'; form-action 'none'",
            hash(&script),
            hash(&style)
        );
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::Html);
        let context = context! { title, style, script, data, policy };
        environment.render_named_str("page.html", TEMPLATE, context).map_err(|error| failed(&error))
    }
}

/// Code without indentation and without the lines that are comments, which are for readers of the repository.
fn code(text: &str) -> String {
    let is_comment = |line: &str| ["//", "/*", "* ", "*/"].iter().any(|start| line.starts_with(start)) || line == "*";
    let lines = text.lines().map(str::trim_start).filter(|line| !line.is_empty() && !is_comment(line));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Source of a content security policy that allows this text.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
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
    let mut facts: Vec<(String, String)> = vec![
        ("version".into(), report.version.clone()),
        ("input".into(), report.input.paths.join(", ")),
        ("rows".into(), report.input.rows.to_string()),
        ("columns".into(), report.input.columns.to_string()),
        ("backend".into(), report.backend.clone()),
        ("device".into(), report.device.clone()),
        ("precision".into(), report.precision.clone()),
        ("seed".into(), report.seed.to_string()),
        ("seconds".into(), seconds(report.timings.total_s)),
    ];
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

#[cfg(test)]
mod tests;
