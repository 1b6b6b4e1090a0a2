//! Arguments of a prediction from a model file.

use serde_json::{Map, Value, json};

use super::input::InputArgs;
use super::outcome::Outcome;
use super::paths::InputFile;
use crate::data::schema::Categorical;
use crate::data::table::Table;
use crate::report::{InputSize, Stopwatch};

/// Arguments of `firebox predict`, for models of every algorithm.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct PredictArgs {
    /// New rows, with the columns of the fit: a table in any format; - reads CSV from standard input
    #[arg(value_name = "NEW")]
    pub input: InputFile,
    /// The model: a file that --model of ocnn, sammon, rbf or perceptron train wrote
    #[arg(short, long, value_name = "FILE")]
    pub model: InputFile,
    /// A column that is no coordinate, by name or by number from 1, such as the true classes; not needed where the columns
    /// of both tables have names
    #[arg(long, value_name = "COLUMN")]
    pub label: Option<String>,
    /// The columns that are coordinates, in the order of the fit, such as height,3-7; not needed where both tables have names
    #[arg(long, value_name = "LIST")]
    pub columns: Option<String>,
    /// Columns that are no coordinates, in the same form
    #[arg(long, value_name = "LIST")]
    pub drop: Option<String>,
    /// Columns that are written beside the answer, in the same form, or all
    #[arg(long, value_name = "LIST")]
    pub keep: Option<String>,
}

impl PredictArgs {
    /// The arguments for the new rows as those of an input.
    pub fn rows(&self) -> InputArgs {
        let Self { input, label, columns, drop, keep, .. } = self.clone();
        InputArgs { input, label, labels: None, columns, drop, keep, categorical: Categorical::default() }
    }

    /// The outcome of a prediction of the rows of `table`, without plots.
    pub fn outcome(
        &self,
        input: InputSize,
        watch: &Stopwatch,
        result: Map<String, Value>,
        table: Table,
        summary: String,
    ) -> Outcome {
        Outcome {
            config: json!({"model": self.model.display().to_string()}),
            input,
            timings: watch.timings(),
            peak_device_bytes: 0,
            result,
            table,
            plot: None,
            tables: Vec::new(),
            plots: Vec::new(),
            page: None,
            documents: Vec::new(),
            summary,
            unresolved: false,
        }
    }
}
