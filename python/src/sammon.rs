//! Maps of distances.

use std::time::Instant;

use firebox::{
    Context, Result,
    backends::with_context,
    core::html::{Page, RowTable},
    sammon::{self, Data, SammonConfig, SammonInput, SammonMap, SammonOps},
};
use numpy::{IntoPyArray, PyArray2};
use pyo3::{prelude::*, types::PyDict};

use crate::{
    arrays::{Matrix, matrix},
    config::with_options,
    errors::exception,
    pickle::{Reduced, reduced},
    report::{Content, Report},
    run::Run,
};

/// A map that places new points.
#[pyclass(frozen, module = "firebox._firebox")]
pub struct SammonModel(sammon::SammonModel);

#[pymethods]
impl SammonModel {
    /// Places of new rows, or with `precomputed` of new points by their distances to all points of the fit.
    #[pyo3(signature = (run, x, precomputed=false))]
    fn transform<'py>(
        &self,
        py: Python<'py>,
        run: &Run,
        x: Matrix<'py>,
        precomputed: bool,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (model, dims) = (&self.0, self.0.dims());
        let places = if precomputed {
            let distances = x.values()?;
            run.call(py, |device, session| {
                with_context!(device, session, |context| model.transform_distances(&distances, context))
            })
        } else {
            let points = x.points(None)?;
            run.call(py, |device, session| {
                with_context!(device, session, |context| model.transform_with(&points, context))
            })
        }?;
        matrix(py, places, dims)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced::<Self>(py, &self.0.to_bytes().map_err(exception)?)
    }

    /// The model of a file's content.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        sammon::SammonModel::from_bytes(bytes).map(Self).map_err(exception)
    }
}

/// Maps rows, or with `precomputed` the points of a matrix of distances, from `start` `[n, dims]` if that is given.
/// Returns a dictionary, the model and the report.
#[pyfunction]
#[pyo3(signature = (run, options, x, precomputed=false, start=None, names=None))]
pub fn fit_sammon<'py>(
    py: Python<'py>,
    run: &Run,
    options: &str,
    x: Matrix<'py>,
    precomputed: bool,
    start: Option<Matrix<'py>>,
    names: Option<Vec<String>>,
) -> PyResult<(Bound<'py, PyDict>, SammonModel, Report)> {
    let sammon = with_options(&SammonConfig::new(2), options)?.init().map_err(exception)?;
    let data = if precomputed { Data::Distances(x.distances()?) } else { Data::Features(x.points(names)?) };
    let start = start.map(|start| start.values()).transpose()?;
    let dims = sammon.config().dims;
    let clock = Instant::now();
    let (map, model, page) = run
        .call(py, |device, session| with_context!(device, session, |context| fitted(&sammon, data, start, context)))?;
    let result = PyDict::new(py);
    result.set_item("stress", map.stress)?;
    result.set_item("stress_error", map.stress_error)?;
    result.set_item("kruskal_stress", map.stress1)?;
    result.set_item("trustworthiness", map.neighbourhoods.map(|of| of.trustworthiness))?;
    result.set_item("continuity", map.neighbourhoods.map(|of| of.continuity))?;
    result.set_item("n_iter", map.iterations)?;
    result.set_item("stop", map.stop)?;
    result.set_item("point_stress", map.point_stress.map(|each| each.into_pyarray(py)))?;
    result.set_item("embedding", matrix(py, map.coordinates, dims)?)?;
    Ok((result, SammonModel(model), Report::new(Content::Page(Box::new(page)), clock)))
}

/// The map's numbers without its backend.
struct HostMap {
    coordinates: Vec<f64>,
    stress: f64,
    stress_error: f64,
    stress1: f64,
    point_stress: Option<Vec<f64>>,
    neighbourhoods: Option<sammon::Neighbourhoods>,
    iterations: usize,
    stop: String,
}

fn fitted<B: SammonOps>(
    sammon: &sammon::Sammon,
    data: Data,
    start: Option<Vec<f64>>,
    context: &Context<B>,
) -> Result<(HostMap, sammon::SammonModel, Page)> {
    let map = sammon.fit_with(SammonInput::from(data).starting_at(start), context)?;
    let model = map.model().clone();
    let page = map.page(RowTable::default())?;
    let stress_error = map.stress_sample.map_or(0.0, |sample| sample.error);
    let SammonMap { coordinates, stress, stress1, point_stress, neighbourhoods, iterations, stop, .. } = map;
    let stop = stop.to_string();
    Ok((
        HostMap { coordinates, stress, stress_error, stress1, point_stress, neighbourhoods, iterations, stop },
        model,
        page,
    ))
}
