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

/// The text of scripts, in their order.
macro_rules! scripts {
    ($($name:literal),+ $(,)?) => {
        &[$(include_str!(concat!($name, ".js"))),+]
    };
}

const TEMPLATE: &str = include_str!("shared/page.html");
const STYLE: &str = include_str!("shared/page.css");
/// The first parts of every script.
const SHARED: &[&str] = scripts!["shared/data", "shared/elements", "shared/theme", "shared/axes"];
/// The parts after them in the scripts of pages that have a scatter plot of rows.
const ROWS: &[&str] = scripts![
    "rows/looks",
    "rows/points",
    "rows/density",
    "rows/places",
    "shared/nearest",
    "rows/scatter",
    "rows/selection",
    "rows/rows",
];
/// The parts after them in the scripts of pages of a network.
const NETWORK: &[&str] = scripts![
    "shared/logarithm",
    "perceptron/stepped",
    "perceptron/curves",
    "perceptron/pictures",
    "perceptron/examples",
    "perceptron/weights",
    "perceptron/network",
];
/// The last part of every script.
const START: &[&str] = scripts!["shared/page"];
/// Signs around which a script needs no space.
const PUNCTUATION: &str = "{}()[];,=<>?:&|!*/%+-";

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
    /// A classifier, by `firebox perceptron`.
    Perceptron,
    /// A network that predicts numbers, by `firebox perceptron`.
    Regression,
}

impl Kind {
    /// The script of the page.
    fn script(self) -> String {
        let parts: [&[&str]; 2] = match self {
            Self::Ocnn => [
                ROWS,
                scripts!["ocnn/clusters", "ocnn/blocks", "ocnn/dendrogram", "ocnn/tree", "ocnn/levels", "ocnn/ocnn",],
            ],
            Self::Sammon => [
                ROWS,
                scripts!["sammon/shepard", "shared/logarithm", "sammon/convergence", "sammon/turning", "sammon/sammon",],
            ],
            Self::Rbf => [
                scripts!["shared/logarithm"],
                scripts!["rbf/lines", "rbf/field", "rbf/contours", "rbf/paint", "rbf/heatmap", "rbf/plane", "rbf/rbf",],
            ],
            Self::Perceptron => {
                [NETWORK, scripts!["perceptron/matrix", "perceptron/calibration", "perceptron/perceptron"]]
            }
            Self::Regression => [NETWORK, scripts!["shared/nearest", "perceptron/parity", "perceptron/regression"]],
        };
        minified(&[SHARED, parts[0], parts[1], START].concat().concat())
    }

    /// The style sheet of the page.
    fn style(self) -> String {
        let own = match self {
            Self::Ocnn | Self::Sammon => include_str!("rows/rows.css"),
            Self::Rbf => include_str!("rbf/field.css"),
            Self::Perceptron | Self::Regression => include_str!("perceptron/network.css"),
        };
        code(&[STYLE, own].concat(), dense)
    }
}

/// An interactive report of one run.
#[derive(Debug, Clone, Serialize)]
pub struct Page {
    /// The kind of page.
    pub kind: Kind,
    /// Title of the page.
    #[serde(skip)]
    pub title: String,
    /// The rows that it shows.
    #[serde(flatten)]
    pub table: RowTable,
    /// The data of the algorithm, by name.
    #[serde(flatten)]
    pub content: Map<String, Value>,
}

impl Page {
    /// Begins the title with the name of the input or the problem.
    pub fn of_input(self, name: &str) -> Self {
        Self { title: format!("{name}: {}", self.title), ..self }
    }

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
        let failed = |error: &dyn Display| {
            Error::input(format!("the page cannot be written: {error}"), "leave out the interactive report")
        };
        let data = Data { page: self, title: &self.title, run };
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
        let context = context! { title => &self.title, style, script, data, policy };
        environment.render_named_str("page.html", TEMPLATE, context).map_err(|error| failed(&error))
    }
}

/// A script without comments, indentation and the spaces around punctuation outside of strings, which are for readers of the
/// repository. Lines keep their spaces if they have a slash without spaces, which may be in a pattern, or a template that is not
/// whole. Constants become variables, whose keyword is shorter.
fn minified(script: &str) -> String {
    let shortened = |line: &str| line.strip_prefix("const ").map_or_else(|| line.into(), |rest| format!("let {rest}"));
    let is_plain = |line: &str| {
        let quotes = line.matches('`').count();
        (quotes == 0 || quotes == 2) && !line.replace(" / ", "").contains('/')
    };
    code(script, |line| {
        let line: String = shortened(line);
        if is_plain(&line) { without_spaces(&line) } else { line }
    })
}

/// A line of a script without the spaces around punctuation. Two signs keep theirs: they are no ++ or −−.
fn without_spaces(line: &str) -> String {
    let is_sign = |c: char| c == '+' || c == '-';
    let (mut text, mut quote, mut before) = (String::with_capacity(line.len()), None, '\0');
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        let after = rest.peek().copied().unwrap_or_default();
        let is_beside = PUNCTUATION.contains(before) || PUNCTUATION.contains(after);
        let is_needless = quote.is_none() && c == ' ' && is_beside && !(is_sign(before) && is_sign(after));
        match quote {
            Some(open) if c == open && before != '\\' => quote = None,
            None if ['\'', '"', '`'].contains(&c) => quote = Some(c),
            _ => {}
        }
        text.extend((!is_needless).then_some(c));
        before = c;
    }
    text
}

/// A line of a style sheet without the spaces around its signs.
fn dense(line: &str) -> String {
    let line = line.replace(" {", "{").replace(" }", "}");
    [": ", "; ", ", ", "{ "].iter().fold(line, |line, sign| line.replace(sign, sign.trim_end()))
}

/// Code without indentation and without the lines that are comments; `change` is applied to each line. A line after an opening
/// bracket, a brace, a comma or a semicolon continues the one before.
fn code(text: &str, change: impl Fn(&str) -> String) -> String {
    let is_comment = |line: &str| ["//", "/*", "* ", "*/"].iter().any(|start| line.starts_with(start)) || line == "*";
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_comment(line)).map(change);
    lines.map(|line| if line.ends_with(['{', '}', ',', ';', '(', '[']) { line } else { line + "\n" }).collect()
}

/// Source of a content security policy that allows this text.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests;
