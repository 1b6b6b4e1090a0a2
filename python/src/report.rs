//! Interactive reports.

use std::{path::PathBuf, time::Instant};

use firebox::{
    Error,
    core::atomic::Staged,
    core::html::{About, Classes, Page, RowTable, input_columns, principal_columns},
    ocnn::Clustering,
    rbf::{AdaptiveConfig, AdaptiveSolution, Problem, Solution},
};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::{arrays::Matrix, errors::exception};

/// A fit, as its interactive report shows it.
#[pyclass(frozen, module = "firebox._firebox")]
pub struct Report {
    content: Content,
    /// Seconds of the fit.
    #[pyo3(get)]
    seconds: f64,
}

/// The contents of reports.
pub enum Content {
    /// Clusters, and whether the rows have weights. Their page is made when it is written, since its levels take time.
    Clusters(Box<Clustering>, bool),
    /// A page, without the columns of the input.
    Page(Box<Page>),
    /// A solution of a problem, the page of which takes evaluations.
    Adaptive(Box<(Problem, AdaptiveSolution, AdaptiveConfig)>),
    /// A solution by the paper's network, with the seed of its control points.
    Paper(Box<(Problem, Solution, u64)>),
}

impl Report {
    /// The report of a fit that began at `start`.
    pub fn new(content: Content, start: Instant) -> Self {
        Self { content, seconds: start.elapsed().as_secs_f64() }
    }
}

#[pymethods]
impl Report {
    /// The page as HTML, whose title begins with `name` unless that is empty. `x` are the rows of the fit, of which `columns` columns are shown, `y` the class of each row as an index
    /// of `y_names`, and `about` is the JSON of the run's description.
    #[pyo3(signature = (about, name="", x=None, names=None, columns=2, y=None, y_names=None))]
    #[allow(clippy::too_many_arguments)] // Keywords in Python.
    fn render(
        &self,
        py: Python<'_>,
        about: &str,
        name: &str,
        x: Option<Matrix<'_>>,
        names: Option<Vec<String>>,
        columns: usize,
        y: Option<Vec<i64>>,
        y_names: Option<Vec<String>>,
    ) -> PyResult<String> {
        let about: About = serde_json::from_str(about).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let points = x.map(|x| x.points(names)).transpose()?;
        py.detach(|| {
            let mut table = RowTable::default();
            if let Some(points) = points {
                table.columns = input_columns(&points, columns);
                if matches!(self.content, Content::Clusters(..)) {
                    table.columns.splice(0..0, principal_columns(&points));
                }
            }
            table.classes = y.map(|y| Classes::new("y", &y, y_names.as_deref())).transpose()?;
            let page = match &self.content {
                Content::Clusters(clustering, weighted) => clustering.page(table, *weighted),
                Content::Page(page) => {
                    let mut page = (**page).clone();
                    page.table.columns.extend(table.columns);
                    page.table.classes = table.classes;
                    Ok(page)
                }
                Content::Adaptive(solved) => {
                    let (problem, solution, config) = &**solved;
                    solution.page(problem, config)
                }
                Content::Paper(solved) => {
                    let (problem, solution, seed) = &**solved;
                    solution.page(problem, *seed)
                }
            }?;
            if name.is_empty() { page } else { page.of_input(name) }.render(&about)
        })
        .map_err(exception)
    }
}

/// Writes a page to a file, which is replaced when it is complete.
#[pyfunction]
pub fn write_page(path: PathBuf, page: &str) -> PyResult<()> {
    let mut staged = Staged::default();
    let written = staged.add(&path, |out| out.write_all(page.as_bytes())).and_then(|()| staged.commit());
    written.map_err(|error| match error {
        Error::Outputs { mut failed, .. } if !failed.is_empty() => exception(failed.remove(0)),
        error => exception(error),
    })
}
