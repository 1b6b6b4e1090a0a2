//! Arguments of interactive reports.

use super::{input::PreparationArgs, paths::PageOut};
use crate::{
    data::{Kept, Points, Standardise},
    error::Result,
    html::{RowTable, classes, input_columns, kept_columns},
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
    /// The rows of the report: the input's columns, named as they were prepared, unless `has_columns` is false, with the columns
    /// that are kept beside the answer and the classes.
    ///
    /// # Errors
    ///
    /// Those of [`classes`].
    pub fn table(
        &self,
        (points, kept): (&Points, &Kept),
        preparation: PreparationArgs,
        has_columns: bool,
    ) -> Result<RowTable> {
        let mut columns = if has_columns { input_columns(points, self.html_columns) } else { Vec::new() };
        if preparation.standardise != Standardise::None {
            columns.iter_mut().for_each(|column| column.name.push_str(", standardised"));
        }
        let classes = classes(points, points.label_column.as_deref().unwrap_or("class"))?;
        Ok(RowTable { rows: points.rows, columns, texts: kept_columns(kept), classes })
    }
}
