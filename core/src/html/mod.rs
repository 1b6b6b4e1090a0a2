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
    data::{Kept, Points},
    error::{Error, Result},
    plot::principal_components,
    report::Report,
};

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
/// The first parts of every script, in their order.
const SHARED: [&str; 4] =
    [include_str!("data.js"), include_str!("elements.js"), include_str!("theme.js"), include_str!("axes.js")];
/// The next parts of pages with a scatter plot.
const SCATTER: [&str; 5] = [
    include_str!("points.js"),
    include_str!("nearest.js"),
    include_str!("scatter.js"),
    include_str!("selection.js"),
    include_str!("rows.js"),
];
/// The next parts of pages of a network.
const NETWORK: [&str; 7] = [
    include_str!("logarithm.js"),
    include_str!("stepped.js"),
    include_str!("curves.js"),
    include_str!("pictures.js"),
    include_str!("examples.js"),
    include_str!("weights.js"),
    include_str!("network.js"),
];
/// The style of pages of a network, after that of all pages.
const NETWORK_STYLE: &str = include_str!("network.css");
/// The last part of every script.
const START: &str = include_str!("page.js");

/// A kind of page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Clusters, by `firebox ocnn`.
    Ocnn,
    /// A map, by `firebox sammon`.
    Sammon,
    /// A classifier, by `firebox perceptron`.
    Perceptron,
    /// A network that predicts numbers, by `firebox perceptron`.
    Regression,
}

impl Kind {
    /// The script of the page, without comments.
    fn script(self) -> String {
        let (shared, own): (&[&str], &[&str]) = match self {
            Self::Ocnn => (
                &SCATTER,
                &[
                    include_str!("clusters.js"),
                    include_str!("tree.js"),
                    include_str!("levels.js"),
                    include_str!("ocnn.js"),
                ],
            ),
            Self::Sammon => (
                &SCATTER,
                &[
                    include_str!("shepard.js"),
                    include_str!("logarithm.js"),
                    include_str!("convergence.js"),
                    include_str!("turning.js"),
                    include_str!("sammon.js"),
                ],
            ),
            Self::Perceptron => {
                (&NETWORK, &[include_str!("matrix.js"), include_str!("calibration.js"), include_str!("perceptron.js")])
            }
            Self::Regression => {
                (&NETWORK, &[include_str!("nearest.js"), include_str!("parity.js"), include_str!("regression.js")])
            }
        };
        code(&[&SHARED, shared, own, &[START]].concat().concat())
    }

    /// The style of the page, without comments.
    fn style(self) -> String {
        match self {
            Self::Ocnn | Self::Sammon => code(STYLE),
            Self::Perceptron | Self::Regression => code(&[STYLE, NETWORK_STYLE].concat()),
        }
    }
}

/// An interactive report of one run.
#[derive(Debug, Clone, Serialize)]
pub struct Page {
    /// The kind of page.
    pub kind: Kind,
    /// Title of the page, after the input.
    #[serde(skip)]
    pub title: String,
    /// Number of rows that can be selected.
    pub rows: usize,
    /// Columns of numbers.
    pub columns: Vec<Column>,
    /// Columns of text, such as names of the rows.
    pub texts: Vec<TextColumn>,
    /// Classes of the rows, if known.
    pub classes: Option<Classes>,
    /// What is shown of an algorithm, by name.
    #[serde(flatten)]
    pub content: Map<String, Value>,
}

/// A column of numbers, `offset` + `scale`·v.
#[derive(Debug, Clone, Serialize)]
pub struct Column {
    /// Name of the column.
    pub name: String,
    /// The middle of the range.
    pub offset: f64,
    /// Half of the range; 1 if it is a single number.
    pub scale: f64,
    /// The numbers v, as [`encode::floats`], which lie between −1 and 1 so that large numbers keep their differences.
    pub values: String,
}

/// A column of text.
#[derive(Debug, Clone, Serialize)]
pub struct TextColumn {
    /// Name of the column.
    pub name: String,
    /// The text of each row.
    pub values: Vec<String>,
}

/// Classes of a page's rows.
#[derive(Debug, Clone, Serialize)]
pub struct Classes {
    /// Name of their column.
    pub name: String,
    /// Names of the classes.
    pub names: Vec<String>,
    /// The class of each row, as [`encode::indices`].
    pub of: String,
}

impl Column {
    /// Creates a column of numbers.
    pub fn new(name: String, values: impl Iterator<Item = f64> + Clone) -> Self {
        let finite = || values.clone().filter(|value| value.is_finite());
        let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
        // Halves first: the sum or the difference of large numbers is infinite.
        let (offset, half) = if low <= high { (0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low) } else { (0.0, 1.0) };
        let scale = if half > 0.0 { half } else { 1.0 };
        Self { name, offset, scale, values: encode::floats(values.map(|value| (value - offset) / scale)) }
    }
}

/// Two principal components of points with more than two columns, with their shares of the variance.
pub fn principal_columns(points: &Points) -> Vec<Column> {
    if points.columns <= 2 {
        return Vec::new();
    }
    let (places, shares) = principal_components(points);
    let column = |axis: usize| {
        let name = format!("PC {} ({:.0} %)", axis + 1, 100.0 * shares[axis]);
        Column::new(name, places.iter().map(|place| place[axis]))
    };
    [0, 1].map(column).into()
}

/// The first `count` columns of points.
pub fn input_columns(points: &Points, count: usize) -> Vec<Column> {
    let column = |column: usize| {
        let name = points.names.get(column).cloned().unwrap_or_else(|| format!("C{}", column + 1));
        Column::new(name, points.iter().map(move |row| row[column]))
    };
    (0..points.columns.min(count)).map(column).collect()
}

/// The columns that are kept beside the answer.
pub fn kept_columns(kept: &Kept) -> Vec<TextColumn> {
    kept.columns().map(|(name, values)| TextColumn { name: name.into(), values: values.to_vec() }).collect()
}

/// The classes of points, if known, by first appearance; `name` is that of their column.
///
/// # Errors
///
/// Those of [`encode::indices`].
pub fn classes(points: &Points, name: &str) -> Result<Option<Classes>> {
    let Some(labels) = points.labels.as_ref() else { return Ok(None) };
    let mut numbers = HashMap::new();
    let mut distinct = Vec::new();
    let number = |label: &i64| {
        *numbers.entry(*label).or_insert_with(|| {
            distinct.push(*label);
            distinct.len() as u64 - 1
        })
    };
    let of = encode::indices(labels.iter().map(number))?;
    let text = |label: i64| {
        let named = points.label_names.as_ref().and_then(|names| names.get(usize::try_from(label).ok()?));
        named.cloned().unwrap_or_else(|| label.to_string())
    };
    Ok(Some(Classes { name: name.into(), names: distinct.into_iter().map(text).collect(), of }))
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
            |error: &dyn Display| Error::input(format!("the page cannot be written: {error}"), "leave out --html");
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
        let (script, style) = (self.kind.script(), self.kind.style());
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

/// Code without indentation and without the lines that are comments, which are for readers of the repository. A line after
/// an opening bracket, a comma or a semicolon continues the one before.
fn code(text: &str) -> String {
    let is_comment = |line: &str| ["//", "/*", "* ", "*/"].iter().any(|start| line.starts_with(start)) || line == "*";
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_comment(line));
    lines.flat_map(|line| [line, if line.ends_with(['{', ',', ';', '(', '[']) { "" } else { "\n" }]).collect()
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
