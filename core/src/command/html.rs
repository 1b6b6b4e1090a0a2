//! Arguments of interactive reports.

use super::{input::PreparationArgs, paths::PageOut};
use crate::{
    data::{Points, Standardise},
    html::{Column, input_columns},
};

// Plain comments: clap would use doc comments as the description of the whole command.
#[derive(Debug, Clone, Default, clap::Args)]
#[allow(missing_docs)]
pub struct PageArgs {
    /// Write an interactive report: one file that opens in a browser, without a network (.html)
    #[arg(long, value_name = "PAGE")]
    pub html: Option<PageOut>,
}

#[derive(Debug, Clone, Default, clap::Args)]
#[allow(missing_docs)]
pub struct HtmlArgs {
    #[command(flatten)]
    pub page: PageArgs,
    /// Columns of the input in the report: the first N
    #[arg(long, value_name = "N", default_value_t = 2, requires = "html", hide_short_help = true)]
    pub html_columns: usize,
}

impl HtmlArgs {
    /// The input's columns in the report, named as they were prepared.
    pub fn input_columns(&self, points: &Points, preparation: PreparationArgs) -> Vec<Column> {
        let mut columns = input_columns(points, self.html_columns);
        if preparation.standardise != Standardise::None {
            columns.iter_mut().for_each(|column| column.name.push_str(", standardised"));
        }
        columns
    }
}
