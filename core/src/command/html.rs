//! Arguments of interactive reports.

use super::paths::PageOut;

// Plain comments: clap would use doc comments as the description of the whole command.
#[derive(Debug, Clone, Default, clap::Args)]
#[allow(missing_docs)]
pub struct HtmlArgs {
    /// Write an interactive report: one file that opens in a browser, without a network (.html)
    #[arg(long, value_name = "PAGE")]
    pub html: Option<PageOut>,
    /// Columns of the input in the report: the first N
    #[arg(long, value_name = "N", default_value_t = 2, requires = "html", hide_short_help = true)]
    pub html_columns: usize,
}
