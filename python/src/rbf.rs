//! Partial differential equations.

use std::path::PathBuf;

use firebox::{
    backends::with_context,
    rbf::{AdaptiveConfig, NetworkFormat, PiecewiseNetwork, Problem, RbfConfig, RbfNetwork},
};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes, types::PyDict};

use crate::{
    arrays::{Matrix, matrix},
    config::with_options,
    errors::exception,
    run::Run,
};

/// A solution: a sum of Gaussians in each region of the problem.
#[pyclass(frozen, module = "firebox._firebox")]
pub struct RbfFunction(PiecewiseNetwork);

#[pymethods]
impl RbfFunction {
    /// Number of dimensions.
    #[getter]
    fn dims(&self) -> usize {
        self.0.dims()
    }

    /// Number of neurons.
    #[getter]
    fn neurons(&self) -> usize {
        self.0.len()
    }

    /// Values `[n]` at points.
    fn evaluate<'py>(&self, py: Python<'py>, x: Matrix<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.at(py, x, PiecewiseNetwork::evaluate)?.into_pyarray(py))
    }

    /// Gradients `[n, d]` at points.
    fn gradient<'py>(&self, py: Python<'py>, x: Matrix<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        matrix(py, self.at(py, x, PiecewiseNetwork::gradient)?, self.0.dims())
    }

    /// Laplacians `[n]` at points.
    fn laplacian<'py>(&self, py: Python<'py>, x: Matrix<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.at(py, x, PiecewiseNetwork::laplacian)?.into_pyarray(py))
    }

    /// The content of a model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let Some(network) = self.0.single() else {
            return Err(PyValueError::new_err(
                "a solution of several regions cannot be saved: save its values at points",
            ));
        };
        let mut bytes = Vec::new();
        network.write(NetworkFormat::Safetensors, &mut bytes)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Pickles as the content of a model file.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }

    /// Inverse of `to_bytes`.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let network = RbfNetwork::from_bytes(NetworkFormat::Safetensors, bytes).map_err(exception)?;
        Ok(Self(network.into()))
    }
}

impl RbfFunction {
    fn at(&self, py: Python<'_>, x: Matrix<'_>, of: fn(&PiecewiseNetwork, &[f64]) -> Vec<f64>) -> PyResult<Vec<f64>> {
        let ([_, columns], dims) = (x.shape(), self.0.dims());
        if columns != dims {
            let text = format!("the points have {columns} coordinates, and the solution {dims}");
            return Err(PyValueError::new_err(text));
        }
        let numbers = x.numbers()?;
        Ok(py.detach(|| of(&self.0, &numbers.to_f64(0, numbers.len()))))
    }
}

/// Names of the built-in problems.
#[pyfunction]
pub fn named_problems() -> [&'static str; 8] {
    Problem::NAMES
}

/// A problem from the text of a problem file, from a file, or by name.
fn problem(text: Option<&str>, path: Option<PathBuf>, name: Option<&str>) -> PyResult<Problem> {
    match (text, path, name) {
        (Some(text), ..) => Problem::parse(text),
        (_, Some(path), _) => Problem::read(path),
        (_, _, Some(name)) => Problem::named(name),
        _ => return Err(PyValueError::new_err("give the problem's text, file or name")),
    }
    .map_err(exception)
}

/// Name and coordinates of a problem, and the least and largest coordinates of its domain.
type Described = (String, Vec<String>, (Vec<f64>, Vec<f64>));

/// Checks a problem, and describes it.
#[pyfunction]
#[pyo3(signature = (text=None, path=None, name=None))]
pub fn check_problem(text: Option<&str>, path: Option<PathBuf>, name: Option<&str>) -> PyResult<Described> {
    let problem = problem(text, path, name)?;
    let (low, high) = problem.domain().bounds();
    Ok((problem.name().into(), problem.coordinates().to_vec(), (low.to_vec(), high.to_vec())))
}

/// For each of the points `[n, d]`, true if it is in the domain of a problem.
#[pyfunction]
#[pyo3(signature = (x, text=None, path=None, name=None))]
pub fn contains<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    text: Option<&str>,
    path: Option<PathBuf>,
    name: Option<&str>,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let problem = problem(text, path, name)?;
    let (columns, dims) = (x.shape()[1], problem.dims());
    if columns != dims {
        return Err(PyValueError::new_err(format!("the points have {columns} coordinates, and the problem {dims}")));
    }
    let inside: Vec<bool> = x.as_slice()?.chunks_exact(dims).map(|point| problem.domain().contains(point)).collect();
    Ok(inside.into_pyarray(py))
}

/// Solves a problem by a network that grows. Returns a dictionary and the solution.
#[pyfunction]
#[pyo3(signature = (run, options, text=None, path=None, name=None))]
pub fn solve_adaptive<'py>(
    py: Python<'py>,
    run: &Run,
    options: &str,
    text: Option<&str>,
    path: Option<PathBuf>,
    name: Option<&str>,
) -> PyResult<(Bound<'py, PyDict>, RbfFunction)> {
    let solver = with_options(&AdaptiveConfig::new(), options)?.init(problem(text, path, name)?).map_err(exception)?;
    let solution =
        run.call(py, |device, session| with_context!(device, session, |context| solver.fit_with(context)))?;
    let result = PyDict::new(py);
    result.set_item("resolved", solution.is_resolved())?;
    result.set_item("estimate", solution.estimate())?;
    result.set_item("relative_l2", solution.accuracy().map(|accuracy| accuracy.relative_l2))?;
    Ok((result, RbfFunction(solution.network().clone())))
}

/// Solves a problem by the paper's network of given size. Returns a dictionary and the solution.
#[pyfunction]
#[pyo3(signature = (run, options, text=None, path=None, name=None))]
pub fn solve_paper<'py>(
    py: Python<'py>,
    run: &Run,
    options: &str,
    text: Option<&str>,
    path: Option<PathBuf>,
    name: Option<&str>,
) -> PyResult<(Bound<'py, PyDict>, RbfFunction)> {
    let solver = with_options(&RbfConfig::new(), options)?.init(problem(text, path, name)?).map_err(exception)?;
    let solution = run.call(py, |device, session| {
        with_context!(device, session, |context| solver.fit_with(context).map(|solution| solution.into_host()))
    })?;
    let result = PyDict::new(py);
    result.set_item("residual_interior", solution.residual_interior)?;
    result.set_item("residual_boundary", solution.residual_boundary)?;
    result.set_item("relative_l2", solution.accuracy().map(|accuracy| accuracy.relative_l2))?;
    result.set_item("cycles", solution.cycles)?;
    Ok((result, RbfFunction(solution.network().clone().into())))
}
