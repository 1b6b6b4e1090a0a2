//! Outcome of a run.

use std::{
    fmt,
    io::{self, Write},
};

use serde_json::{Map, Value};

use super::paths::{DocumentOut, PageOut, PlotOut, TableOut};
use crate::data::table::Table;
use crate::error::Result;
use crate::html::Page;
use crate::plot::kinds::Plot;
use crate::report::{InputSize, Timings};

/// Result of a run and its outputs.
#[derive(Debug)]
pub struct Outcome {
    /// Every parameter of the run.
    pub config: Value,
    /// Size of the data.
    pub input: InputSize,
    /// Time by phase.
    pub timings: Timings,
    /// Largest sum of live buffers on the device, as planned, in bytes.
    pub peak_device_bytes: u64,
    /// The report's `result`.
    pub result: Map<String, Value>,
    /// Main result, for standard output or `-o`.
    pub table: Table,
    /// Plot for `--plot`.
    pub plot: Option<Plot>,
    /// Further tables and their destinations.
    pub tables: Vec<(TableOut, Table)>,
    /// Further plots and their destinations.
    pub plots: Vec<(PlotOut, Plot)>,
    /// Interactive report and its destination. Its failure does not keep the other outputs from being written.
    pub page: Option<(PageOut, Result<Page>)>,
    /// Files in the algorithm's own formats, and their destinations.
    pub documents: Vec<(DocumentOut, Document)>,
    /// Summary for the user, one or two sentences.
    pub summary: String,
    /// Whether the result falls short of what was asked for. The program writes it all the same and exits with code 3.
    pub unresolved: bool,
}

type Fill = dyn Fn(&mut dyn Write) -> io::Result<()> + Send;

/// A file in an algorithm's own format, generated while it is written.
pub struct Document(Box<Fill>);

impl Document {
    /// Creates a file whose content `fill` writes.
    pub fn new(fill: impl Fn(&mut dyn Write) -> io::Result<()> + Send + 'static) -> Self {
        Self(Box::new(fill))
    }

    /// Writes the content.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        (self.0)(out)
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Document")
    }
}

/// Command lines for the conformance tests.
#[derive(Debug, Clone, Default)]
pub struct Conformance {
    /// Arguments of a small run that succeeds. `{csv}` is replaced by a generated table of two columns with labels.
    pub good: Vec<String>,
    /// For each parameter its field and out-of-range arguments, which replace those of the same name in `good`.
    pub bad: Vec<(&'static str, Vec<String>)>,
}
