//! Clustering.

use std::{mem::take, time::Instant};

use firebox::{
    Context, Result,
    backends::with_context,
    core::data::{Distances, SparseRows},
    ocnn::{self, Clustering, OcnnConfig, OcnnInput, OcnnOps, PaperConfig, Shares},
};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::{prelude::*, types::PyDict};

use crate::{
    arrays::{Matrix, matrix, vector},
    config::with_options,
    errors::exception,
    pickle::{Reduced, reduced},
    report::{Content, Report},
    run::Run,
};

/// A clustering that predicts the clusters of new points.
#[pyclass(frozen, module = "firebox._firebox")]
pub struct OcnnModel(ocnn::OcnnModel);

#[pymethods]
impl OcnnModel {
    /// The clusters of new rows.
    fn predict<'py>(&self, py: Python<'py>, run: &Run, x: Matrix<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let points = x.points(None)?;
        self.clusters_of(py, run, Input::Points(points))
    }

    /// The clusters of new sparse rows in SciPy's CSR form.
    #[pyo3(signature = (run, data, indices, indptr, columns))]
    fn predict_sparse<'py>(
        &self,
        py: Python<'py>,
        run: &Run,
        data: PyReadonlyArray1<'py, f64>,
        indices: PyReadonlyArray1<'py, u32>,
        indptr: PyReadonlyArray1<'py, i64>,
        columns: usize,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        self.clusters_of(py, run, Input::Sparse(sparse(&data, &indices, &indptr, columns)?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced::<Self>(py, &self.0.to_bytes().map_err(exception)?)
    }

    /// The model of a file's content.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        ocnn::OcnnModel::from_bytes(bytes).map(Self).map_err(exception)
    }
}

impl OcnnModel {
    fn clusters_of<'py>(&self, py: Python<'py>, run: &Run, input: Input) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let labels = run.call(py, |device, session| {
            with_context!(device, session, |context| self.0.predict_with(input.for_backend(context), context))
        })?;
        Ok(labels.into_pyarray(py))
    }
}

/// Input on the host, of any backend.
enum Input {
    Points(firebox::core::data::Points),
    Sparse(SparseRows),
    Distances(Distances),
}

impl Input {
    fn for_backend<B: OcnnOps>(self, _: &Context<B>) -> OcnnInput<B> {
        match self {
            Self::Points(points) => points.into(),
            Self::Sparse(rows) => rows.into(),
            Self::Distances(distances) => distances.into(),
        }
    }
}

/// Sparse rows in SciPy's CSR form.
fn sparse(
    data: &PyReadonlyArray1<'_, f64>,
    indices: &PyReadonlyArray1<'_, u32>,
    indptr: &PyReadonlyArray1<'_, i64>,
    columns: usize,
) -> PyResult<SparseRows> {
    let starts = vector(indptr)?.into_iter().map(|start| start as usize).collect();
    SparseRows::new(starts, vector(indices)?, vector(data)?, columns).map_err(exception)
}

/// The options of an automatic clustering, with defaults for those that are left out.
fn configuration(options: &str) -> PyResult<ocnn::Ocnn> {
    with_options(&OcnnConfig::new(), options)?.init().map_err(exception)
}

/// A dictionary of results, the model, which distances do not have, and the report.
type Fitted<'py> = (Bound<'py, PyDict>, Option<OcnnModel>, Report);

/// Clusters rows, or with `precomputed` the points of a matrix of distances.
#[pyfunction]
#[pyo3(signature = (run, options, x, precomputed=false, weights=None, names=None))]
pub fn fit_ocnn<'py>(
    py: Python<'py>,
    run: &Run,
    options: &str,
    x: Matrix<'py>,
    precomputed: bool,
    weights: Option<PyReadonlyArray1<'py, u32>>,
    names: Option<Vec<String>>,
) -> PyResult<Fitted<'py>> {
    let ocnn = configuration(options)?;
    let input = if precomputed { Input::Distances(x.distances()?) } else { Input::Points(x.points(names)?) };
    let weights = weights.as_ref().map(vector).transpose()?;
    fitted(py, run, &ocnn, input, weights)
}

/// [`fit_ocnn`] of sparse rows in SciPy's CSR form.
#[pyfunction]
pub fn fit_sparse_ocnn<'py>(
    py: Python<'py>,
    run: &Run,
    options: &str,
    data: PyReadonlyArray1<'py, f64>,
    indices: PyReadonlyArray1<'py, u32>,
    indptr: PyReadonlyArray1<'py, i64>,
    columns: usize,
) -> PyResult<Fitted<'py>> {
    let ocnn = configuration(options)?;
    fitted(py, run, &ocnn, Input::Sparse(sparse(&data, &indices, &indptr, columns)?), None)
}

fn fitted<'py>(
    py: Python<'py>,
    run: &Run,
    ocnn: &ocnn::Ocnn,
    input: Input,
    weights: Option<Vec<u32>>,
) -> PyResult<Fitted<'py>> {
    let start = Instant::now();
    let (with_model, weighted) = (!matches!(input, Input::Distances(_)), weights.is_some());
    let (mut clustering, model) = run
        .call(py, |device, session| with_context!(device, session, |context| cluster(ocnn, input, weights, context)))?;
    let model = with_model.then_some(OcnnModel(model));
    let result = described(py, &mut clustering)?;
    Ok((result, model, Report::new(Content::Clusters(Box::new(clustering), weighted), start)))
}

fn cluster<B: OcnnOps>(
    ocnn: &ocnn::Ocnn,
    input: Input,
    weights: Option<Vec<u32>>,
    context: &Context<B>,
) -> Result<(Clustering, ocnn::OcnnModel)> {
    let mut input = input.for_backend(context);
    if let Some(weights) = weights {
        input = input.with_weights(weights);
    }
    Ok(ocnn.fit_with(input, context)?.into_parts())
}

/// The result of a clustering as NumPy arrays and numbers. Large arrays that its report does not need are moved out of it.
fn described<'py>(py: Python<'py>, clustering: &mut Clustering) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    let exemplars: Vec<i64> = clustering.exemplars().into_iter().map(|point| point as i64).collect();
    let shares = |point: usize| clustering.shares.of_point(point);
    let own = |(point, &label): (usize, &i64)| {
        usize::try_from(label).ok().and_then(|label| shares(point).get(label).copied()).unwrap_or(0.0)
    };
    let probabilities: Vec<f64> = clustering.labels.iter().enumerate().map(own).collect();
    result.set_item("n_clusters", clustering.count())?;
    result.set_item("evidence", clustering.evidence)?;
    result.set_item("p_value", clustering.probability)?;
    result.set_item(
        "cluster_sizes",
        clustering.sizes.iter().map(|&size| size as i64).collect::<Vec<_>>().into_pyarray(py),
    )?;
    result.set_item("exemplars", exemplars.into_pyarray(py))?;
    result.set_item("graph_neighbors", clustering.graphs)?;
    result.set_item("probabilities", probabilities.into_pyarray(py))?;
    result.set_item("memberships", take(&mut clustering.memberships).into_pyarray(py))?;
    result.set_item("outlier_scores", clustering.outliers.clone().into_pyarray(py))?;
    // No page shows the shares, which are large.
    clustering.shares = Shares::default();
    result.set_item("linkage", matrix(py, take(&mut clustering.linkage), 4)?)?;
    result.set_item("labels", take(&mut clustering.labels).into_pyarray(py))?;
    Ok(result)
}

/// Clusters rows by the paper's network of all pairs. Returns the labels and the scale.
#[pyfunction]
pub fn fit_paper_ocnn<'py>(
    py: Python<'py>,
    run: &Run,
    options: &str,
    x: Matrix<'py>,
) -> PyResult<(Bound<'py, PyArray1<i64>>, f64)> {
    let network = with_options(&PaperConfig::new(0.5), options)?.init().map_err(exception)?;
    let points = x.points(None)?;
    let (labels, scale) = run.call(py, |device, session| {
        with_context!(device, session, |context| {
            network.fit_with(points, context).map(|clusters| (clusters.host_labels, clusters.scale))
        })
    })?;
    Ok((labels.into_pyarray(py), scale))
}
