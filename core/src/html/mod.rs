//! Interactive reports: pages of HTML that need no network.
//!
//! A page is a template with one style sheet, one script and the data as JSON, in which arrays are base64. Its policy
//! allows nothing but this script and this style, so that no text from a file can become code.

mod about;
pub mod encode;
mod table;

use std::fmt::Display;

use base64::{Engine, engine::general_purpose::STANDARD};
use minijinja::{AutoEscape, Environment, context};
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

pub use self::{
    about::About,
    table::{Classes, Column, RowTable, TextColumn, classes, input_columns, kept_columns, principal_columns},
};
use crate::error::{Error, Result};

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
/// The style after it of pages that have rows.
const ROWS_STYLE: &str = include_str!("rows.css");
/// The first parts of every script.
const SHARED: [&str; 4] =
    [include_str!("data.js"), include_str!("elements.js"), include_str!("theme.js"), include_str!("axes.js")];
/// The parts after them in the scripts of pages that have rows.
const ROWS: [&str; 7] = [
    include_str!("looks.js"),
    include_str!("points.js"),
    include_str!("density.js"),
    include_str!("nearest.js"),
    include_str!("scatter.js"),
    include_str!("selection.js"),
    include_str!("rows.js"),
];
/// The last part of every script.
const START: &str = include_str!("page.js");
/// Signs around which a script needs no space. Not + and −: two of them with a space between are no ++ or −−.
const PUNCTUATION: [char; 16] = ['{', '}', '(', ')', '[', ']', ';', ',', '=', '<', '>', '?', ':', '&', '|', '!'];

/// A kind of page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Clusters, by `firebox ocnn`.
    Ocnn,
    /// A map, by `firebox sammon`.
    Sammon,
    /// A solution of an equation, by `firebox rbf`.
    Rbf,
}

impl Kind {
    /// The script of the page.
    fn script(self) -> String {
        let (rows, own): (&[&str], &[&str]) = match self {
            Self::Ocnn => (
                &ROWS,
                &[
                    include_str!("clusters.js"),
                    include_str!("tree.js"),
                    include_str!("levels.js"),
                    include_str!("ocnn.js"),
                ],
            ),
            Self::Sammon => (
                &ROWS,
                &[
                    include_str!("shepard.js"),
                    include_str!("logarithmic.js"),
                    include_str!("convergence.js"),
                    include_str!("turning.js"),
                    include_str!("sammon.js"),
                ],
            ),
            Self::Rbf => (
                &[],
                &[
                    include_str!("logarithmic.js"),
                    include_str!("lines.js"),
                    include_str!("field.js"),
                    include_str!("contours.js"),
                    include_str!("paint.js"),
                    include_str!("heatmap.js"),
                    include_str!("plane.js"),
                    include_str!("rbf.js"),
                ],
            ),
        };
        minified(&[&SHARED, rows, own, &[START]].concat().concat())
    }

    /// The style sheet of the page.
    fn style(self) -> String {
        let own = match self {
            Self::Ocnn | Self::Sammon => ROWS_STYLE,
            Self::Rbf => include_str!("field.css"),
        };
        code(&[STYLE, own].concat(), str::to_string)
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
    /// The rows that it shows.
    #[serde(flatten)]
    pub table: RowTable,
    /// What is shown of an algorithm, by name.
    #[serde(flatten)]
    pub content: Map<String, Value>,
}

impl Page {
    /// Renders the page of a run.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if the template fails.
    pub fn render(&self, run: &About) -> Result<String> {
        #[derive(Serialize)]
        struct Data<'a> {
            #[serde(flatten)]
            page: &'a Page,
            title: &'a str,
            #[serde(flatten)]
            run: &'a About,
        }
        let title = if run.input.is_empty() { self.title.clone() } else { format!("{}: {}", run.input, self.title) };
        let failed =
            |error: &dyn Display| Error::input(format!("the page cannot be written: {error}"), "leave out the page");
        let data = Data { page: self, title: &title, run };
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

/// A script without comments, indentation and the spaces around punctuation, which are for readers of the repository. Lines with
/// a quote or a slash keep their spaces: these may be in a string or a pattern.
fn minified(script: &str) -> String {
    let spaces = |line: &str| {
        let mut text = String::with_capacity(line.len());
        for c in line.chars() {
            let is_needless = c == ' ' && text.ends_with(PUNCTUATION);
            if PUNCTUATION.contains(&c) && text.ends_with(' ') {
                text.pop();
            }
            text.extend((!is_needless).then_some(c));
        }
        text
    };
    code(script, |line| if line.contains(['\'', '"', '`', '/']) { line.into() } else { spaces(line) })
}

/// Code without indentation and without the lines that are comments; `change` is applied to each line. A line after an opening
/// bracket, a comma or a semicolon continues the one before.
fn code(text: &str, change: impl Fn(&str) -> String) -> String {
    let is_comment = |line: &str| ["//", "/*", "* ", "*/"].iter().any(|start| line.starts_with(start)) || line == "*";
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_comment(line)).map(change);
    lines.map(|line| if line.ends_with(['{', ',', ';', '(', '[']) { line } else { line + "\n" }).collect()
}

/// Source of a content security policy that allows this text.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests;
