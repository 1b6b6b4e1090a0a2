//! Partial differential equations.

use std::{fs, path::PathBuf, sync::Arc, time::Instant};

use firebox::{
    Error,
    backends::with_context,
    rbf::{AdaptiveConfig, Function, Measurements, NetworkFormat, PiecewiseNetwork, Problem, RbfConfig, RbfNetwork},
};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::{
    PyTraverseError, PyVisit,
    exceptions::PyValueError,
    prelude::*,
    types::{PyBytes, PyDict, PyTuple},
};

use crate::{
    arrays::{Matrix, matrix, vector},
    config::with_options,
    errors::exception,
    report::{Content, Report},
    run::Run,
};

/// An unknown of a solution: a sum of Gaussians in each region of the problem.
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

    /// The contents of model files of the networks, of which [`RbfProblem::restored`] makes the solution again.
    #[getter]
    fn networks<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let content = |network: &RbfNetwork| {
            let mut bytes = Vec::new();
            network.write(NetworkFormat::Safetensors, &mut bytes)?;
            Ok(PyBytes::new(py, &bytes))
        };
        self.0.networks().iter().map(content).collect()
    }
}

impl RbfFunction {
    fn at(&self, py: Python<'_>, x: Matrix<'_>, of: fn(&PiecewiseNetwork, &[f64]) -> Vec<f64>) -> PyResult<Vec<f64>> {
        check_columns(x.shape()[1], self.0.dims(), "solution")?;
        let numbers = x.numbers()?;
        Ok(py.detach(|| of(&self.0, &numbers.to_f64(0, numbers.len()))))
    }
}

/// A callable that a problem and its [`Origin`] share, so that Python's collector of cycles meets one reference to it.
type Callable = Arc<Py<PyAny>>;

/// A function in Python that takes an array `[n, d]` of points and returns their values `[n]`.
fn function(py: Python<'_>, callable: &Callable) -> PyResult<Function> {
    let (callable, name) = (callable.clone(), callable.getattr(py, "name")?.extract::<String>(py)?);
    Ok(Function::batch(name, move |points, dims| {
        let values = Python::attach(|py| {
            let values = callable.call1(py, (matrix(py, points.to_vec(), dims)?,))?;
            vector(&values.extract::<PyReadonlyArray1<'_, f64>>(py)?)
        });
        Ok(values?)
    }))
}

/// Measured values of an unknown: its name, points `[n, d]`, values `[n]`, and the standard deviation of their noise.
#[derive(FromPyObject)]
struct Data<'py>(String, PyReadonlyArray2<'py, f64>, PyReadonlyArray1<'py, f64>, Option<f64>);

impl Data<'_> {
    /// The values as those of `problem`, which errors call `name`.
    fn of(&self, problem: &Problem, name: String) -> PyResult<Measurements> {
        let Self(of, points, values, noise) = self;
        let names = problem.function_names();
        let unknown = names.iter().position(|name| name == of).ok_or_else(|| {
            PyValueError::new_err(format!("{name}: '{of}' is not a function: give one of {}", names.join(", ")))
        })?;
        check_columns(points.shape()[1], problem.dims(), "problem")?;
        let (points, values) = (points.as_slice()?.into(), values.as_slice()?.into());
        Ok(Measurements { name, unknown, points, values, noise: *noise })
    }
}

/// Where a problem comes from, to restore it in another process.
enum Origin {
    Text(String, Vec<Callable>),
    /// The content of a file, and its path: tables may be beside it.
    File(String, PathBuf),
    Name(String),
}

/// A problem, parsed and checked.
#[pyclass(frozen, module = "firebox._firebox")]
pub struct RbfProblem {
    problem: Problem,
    origin: Origin,
}

impl RbfProblem {
    fn new(problem: firebox::Result<Problem>, origin: Origin) -> PyResult<Self> {
        problem.map(|problem| Self { problem, origin }).map_err(exception)
    }
}

#[pymethods]
impl RbfProblem {
    /// The problem of the text of a problem file, in which `{ function = k }` is `functions[k]`: a callable with a `name`; with
    /// measured values.
    #[staticmethod]
    #[pyo3(signature = (text, functions=Vec::new(), data=Vec::new()))]
    fn parse(py: Python<'_>, text: String, functions: Vec<Py<PyAny>>, data: Vec<Data<'_>>) -> PyResult<Self> {
        let functions: Vec<Callable> = functions.into_iter().map(Arc::new).collect();
        let given = functions.iter().map(|it| function(py, it)).collect::<PyResult<Vec<_>>>()?;
        // The boundary is sampled, which may take a while.
        let mut problem = py.detach(|| Problem::parse_with(&text, &given)).map_err(exception)?;
        for (k, data) in data.iter().enumerate() {
            let measurements = data.of(&problem, format!("data[{k}]"))?;
            problem = problem.with_measurements(measurements).map_err(exception)?;
        }
        Self::new(Ok(problem), Origin::Text(text, functions))
    }

    /// The problem of a file.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        match fs::read_to_string(&path) {
            Ok(text) => Self::parse_file(py, text, std::path::absolute(path)?),
            // The library's error has advice, such as for text that is not UTF-8.
            Err(source) => {
                let error = Problem::read(&path).err();
                Err(exception(error.unwrap_or(Error::Io { action: "read", path, source })))
            }
        }
    }

    /// The problem of a file with this text.
    #[staticmethod]
    fn parse_file(py: Python<'_>, text: String, path: PathBuf) -> PyResult<Self> {
        let problem = py.detach(|| Problem::parse_file(&text, &path));
        Self::new(problem, Origin::File(text, path))
    }

    /// A built-in problem.
    #[staticmethod]
    fn named(py: Python<'_>, name: String) -> PyResult<Self> {
        let problem = py.detach(|| Problem::named(&name));
        Self::new(problem, Origin::Name(name))
    }

    /// Names of the built-in problems.
    #[staticmethod]
    fn names() -> Vec<&'static str> {
        Problem::NAMES.to_vec()
    }

    #[getter]
    fn name(&self) -> &str {
        self.problem.name()
    }

    /// Names of the unknowns that are functions of the coordinates.
    #[getter]
    fn functions(&self) -> Vec<String> {
        self.problem.function_names().to_vec()
    }

    /// Names of the coordinates.
    #[getter]
    fn coordinates(&self) -> Vec<String> {
        self.problem.coordinates().to_vec()
    }

    /// Least and largest coordinates of the domain.
    #[getter]
    fn bounds(&self) -> (Vec<f64>, Vec<f64>) {
        let (low, high) = self.problem.domain().bounds();
        (low.to_vec(), high.to_vec())
    }

    /// For each of the points `[n, d]`, true if it is in the domain.
    fn contains<'py>(&self, py: Python<'py>, x: PyReadonlyArray2<'py, f64>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let (domain, dims) = (self.problem.domain(), self.problem.dims());
        check_columns(x.shape()[1], dims, "problem")?;
        let inside: Vec<bool> = x.as_slice()?.chunks_exact(dims).map(|point| domain.contains(point)).collect();
        Ok(inside.into_pyarray(py))
    }

    /// Solves the problem by networks that grow. Returns a dictionary, each unknown that is a function, and a report, which solutions
    /// of several unknowns lack.
    fn solve_adaptive<'py>(
        &self,
        py: Python<'py>,
        run: &Run,
        options: &str,
    ) -> PyResult<(Bound<'py, PyDict>, Vec<RbfFunction>, Option<Report>)> {
        let start = Instant::now();
        let config = with_options(&AdaptiveConfig::new(), options)?;
        let solver = config.init(self.problem.clone()).map_err(exception)?;
        let solution =
            run.call(py, |device, session| with_context!(device, session, |context| solver.fit_with(context)))?;
        let result = PyDict::new(py);
        result.set_item("resolved", solution.is_resolved())?;
        result.set_item("estimate", solution.estimate())?;
        result.set_item("relative_l2", solution.accuracy().map(|accuracy| accuracy.relative_l2))?;
        let errors: Vec<f64> = solution.accuracies().iter().map(|accuracy| accuracy.relative_l2).collect();
        result.set_item("relative_l2_each", errors)?;
        let count = self.problem.function_names().len();
        let numbers = self.problem.unknowns()[count..].iter().zip(&solution.found.parameters);
        let numbers: Vec<_> = numbers.map(|(name, it)| (name.clone(), it.value, it.standard_error)).collect();
        result.set_item("numbers", numbers)?;
        result.set_item("noise", solution.found.fits.iter().map(|fit| fit.noise).collect::<Vec<_>>())?;
        let functions = solution.networks()[..count].iter().cloned().map(RbfFunction).collect();
        if self.problem.unknowns().len() > 1 {
            return Ok((result, functions, None));
        }
        let config = solver.config().clone();
        let report = Content::Adaptive(Box::new((self.problem.clone(), solution, config)));
        Ok((result, functions, Some(Report::new(report, start))))
    }

    /// Solves the problem by the paper's network of given size. Returns a dictionary, the solution and its report.
    fn solve_paper<'py>(
        &self,
        py: Python<'py>,
        run: &Run,
        options: &str,
    ) -> PyResult<(Bound<'py, PyDict>, Vec<RbfFunction>, Option<Report>)> {
        let start = Instant::now();
        let config = with_options(&RbfConfig::new(), options)?;
        let solver = config.init(self.problem.clone()).map_err(exception)?;
        let solution = run.call(py, |device, session| {
            with_context!(device, session, |context| solver.fit_with(context).map(|solution| solution.into_host()))
        })?;
        let result = PyDict::new(py);
        result.set_item("residual_interior", solution.residual_interior)?;
        result.set_item("residual_boundary", solution.residual_boundary)?;
        result.set_item("relative_l2", solution.accuracy().map(|accuracy| accuracy.relative_l2))?;
        result.set_item("cycles", solution.cycles)?;
        let function = RbfFunction(solution.network().clone().into());
        let report = Content::Paper(Box::new((self.problem.clone(), solution, run.seed())));
        Ok((result, vec![function], Some(Report::new(report, start))))
    }

    /// The unknown of a solution of which these are the [`RbfFunction::networks`].
    fn restored(&self, py: Python<'_>, networks: Vec<Bound<'_, PyBytes>>) -> PyResult<RbfFunction> {
        let network = |it: &Bound<'_, PyBytes>| RbfNetwork::from_bytes(NetworkFormat::Safetensors, it.as_bytes());
        let networks = networks.iter().map(network).collect::<firebox::Result<Vec<_>>>().map_err(exception)?;
        let restored = py.detach(|| PiecewiseNetwork::of_problem(&self.problem, networks));
        restored.map(RbfFunction).map_err(exception)
    }

    /// Pickles as the text with its functions and measured values, the text with the path beside which its tables are, or the name.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (restore, arguments) = match &self.origin {
            Origin::Text(text, functions) => {
                let functions: Vec<_> = functions.iter().map(|it| it.bind(py)).collect();
                let data = self.data(py)?;
                ("parse", (text, functions, data).into_pyobject(py)?)
            }
            Origin::File(text, path) => ("parse_file", (text, path.as_path()).into_pyobject(py)?),
            Origin::Name(name) => ("named", (name,).into_pyobject(py)?),
        };
        Ok((py.get_type::<Self>().getattr(restore)?, arguments))
    }

    /// Shows the callables to Python's collector of cycles: they may refer to the problem. What refers to it ends the cycle.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.origin {
            Origin::Text(_, functions) => functions.iter().try_for_each(|it| visit.call(&**it)),
            Origin::File(..) | Origin::Name(_) => Ok(()),
        }
    }
}

/// A set of measured values as [`Data`].
type Values<'py> = (String, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>, Option<f64>);

impl RbfProblem {
    /// The measured values.
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Vec<Values<'py>>> {
        let names = self.problem.function_names();
        let values = |of: &Measurements| {
            let points = matrix(py, of.points.to_vec(), self.problem.dims())?;
            Ok((names[of.unknown].clone(), points, of.values.to_vec().into_pyarray(py), of.noise))
        };
        self.problem.measurements().iter().map(values).collect()
    }
}

fn check_columns(columns: usize, dims: usize, whose: &str) -> PyResult<()> {
    if columns == dims {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("the points have {columns} coordinates, and the {whose} {dims}")))
}
