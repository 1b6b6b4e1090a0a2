//! Perceptrons.

use firebox::{
    Context, Result,
    backends::{Device, with_context},
    core::{Session, html::About},
    perceptron::{
        Classes, Epoch, FittedMlpClassifier, FittedMlpRegressor, Instances, LayerNumbers, Model, OutputKind,
        PerceptronOps, Targets, Task, TrainConfig, Training,
    },
};
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray1};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};

#[cfg(feature = "cuda")]
use crate::cuda::{Rows, predict};
#[cfg(feature = "cuda")]
use firebox::{Error, Precision};

use crate::{
    arrays::{Matrix, Numbers, matrix, vector},
    config::with_options,
    errors::{exception, in_rows},
    pickle::{Reduced, reduced},
    run::Run,
};

/// Numbers that are converted at a time, so that a prediction needs no copy of all rows.
const BLOCK: usize = 1 << 22;

/// Weights `[k, m]` of a layer, and its biases.
type LayerArrays<'py> = (Bound<'py, PyArray2<f64>>, Option<Vec<f64>>);

/// A trained network.
#[pyclass(frozen, module = "firebox._firebox")]
pub struct Mlp(Model);

#[pymethods]
impl Mlp {
    /// Probabilities of the classes `[n, classes]`, or numbers `[n, targets]`.
    fn predict<'py>(&self, py: Python<'py>, run: &Run, x: Matrix<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (numbers, [rows, columns]) = (x.numbers()?, x.shape());
        let outputs = run.call(py, |device, session| {
            with_context!(device, session, |context| outputs(&self.0, numbers, [rows, columns], context))
        })?;
        matrix(py, outputs, self.0.network.outputs)
    }

    /// Writes the outputs of [`predict`](Self::predict), as 32-bit floats, to the address `target` for rows at the address
    /// `source` of the run's CUDA device.
    #[cfg(feature = "cuda")]
    fn predict_on_device(
        &self,
        py: Python<'_>,
        run: &Run,
        source: u64,
        shape: (usize, usize),
        target: u64,
    ) -> PyResult<()> {
        let rows = Rows { source, target, rows: shape.0, columns: shape.1 };
        run.call(py, |device, session| match device {
            Device::Cuda(device) if session.precision == Precision::F32 => {
                predict(&self.0, rows, &Context { device: device.clone(), session: session.clone() })
            }
            other => {
                let what = format!("the rows are on a CUDA device, and the run is on {}", other.backend());
                Err(Error::input(what, "copy the rows to the host"))
            }
        })
    }

    /// The report of the predictions of rows `[n, k]` with class codes `[n]` and the names of the classes, or with numbers
    /// `[n, t]`, as HTML; `about` is the JSON of the run's description.
    #[pyo3(signature = (run, about, x, codes=None, classes=None, targets=None, training=None, names=None))]
    #[allow(clippy::too_many_arguments)] // Keywords in Python.
    fn report(
        &self,
        py: Python<'_>,
        run: &Run,
        about: &str,
        x: Matrix<'_>,
        codes: Option<PyReadonlyArray1<'_, i64>>,
        classes: Option<Vec<String>>,
        targets: Option<Matrix<'_>>,
        training: Option<&MlpTraining>,
        names: Option<Vec<String>>,
    ) -> PyResult<String> {
        let about: About = serde_json::from_str(about).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let points = x.points(names)?;
        let mut model = self.0.clone();
        let targets = match (codes, targets, &mut model.output) {
            (Some(codes), _, OutputKind::Class(own)) => {
                *own = Classes::Names(classes.unwrap_or_default());
                Targets::Classes(vector(&codes)?.into_iter().map(|code| code as usize).collect(), own.clone())
            }
            (_, Some(targets), OutputKind::Number { names, .. }) => Targets::Numbers(targets.values()?, names.clone()),
            _ => return Err(PyValueError::new_err("there are no targets")),
        };
        let instances = Instances { values: points.values, names: points.names, targets };
        let training = training.map(|training| &training.0);
        run.call(py, |device, session| {
            with_context!(device, session, |context| model.page(&instances, training, context))?.render(&about)
        })
    }

    /// Number of outputs.
    #[getter]
    fn outputs(&self) -> usize {
        self.0.network.outputs
    }

    /// Weights and biases of the layers.
    #[getter]
    fn layers<'py>(&self, py: Python<'py>) -> PyResult<Vec<LayerArrays<'py>>> {
        let mut width = self.0.network.inputs;
        let layer = |(weights, bias): &LayerNumbers| {
            width = weights.len() / width.max(1);
            Ok((matrix(py, weights.clone(), width)?, bias.clone()))
        };
        self.0.layers.iter().map(layer).collect()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced::<Self>(py, &self.0.to_bytes().map_err(exception)?)
    }

    /// The model of a file's content.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Model::from_bytes(bytes).map(Self).map_err(exception)
    }
}

/// The history of a training.
#[pyclass(frozen, module = "firebox._firebox")]
pub struct MlpTraining(Training);

/// Outputs `[n, outputs]` of a network for rows, block by block.
fn outputs<B: PerceptronOps>(
    model: &Model,
    numbers: Numbers<'_>,
    [rows, columns]: [usize; 2],
    context: &Context<B>,
) -> Result<Vec<f64>> {
    let mut all = Vec::with_capacity(rows * model.network.outputs);
    let step = (BLOCK / columns.max(1)).max(1);
    let mut each = |predict: &dyn Fn(Vec<f64>) -> Result<Vec<f64>>| {
        for from in (0..rows).step_by(step) {
            let to = rows.min(from + step);
            let outputs = predict(numbers.to_f64(from * columns, to * columns));
            all.extend(outputs.map_err(|error| in_rows(error, from, to - from, rows))?);
        }
        Ok(())
    };
    match model.task() {
        Task::Classification => {
            let network = FittedMlpClassifier::new(model.clone(), &context.device)?;
            each(&|values| network.predict_proba_with(values, context))
        }
        Task::Regression => {
            let network = FittedMlpRegressor::new(model.clone(), &context.device)?;
            each(&|values| network.predict_with(values, context))
        }
    }?;
    Ok(all)
}

/// Trains a network on rows `[n, k]` with class codes `[n]` from 0 and the number of classes, or with numbers `[n, t]`, from
/// `initial` if that is given. Returns a dictionary, the network and its training.
#[pyfunction]
#[pyo3(signature = (run, options, x, codes=None, n_classes=0, targets=None, class_weights=None, initial=None, names=None))]
#[allow(clippy::too_many_arguments)] // Keywords in Python.
pub fn fit_mlp<'py>(
    py: Python<'py>,
    run: &Run,
    options: &str,
    x: Matrix<'py>,
    codes: Option<PyReadonlyArray1<'py, i64>>,
    n_classes: i64,
    targets: Option<Matrix<'py>>,
    class_weights: Option<Vec<f64>>,
    initial: Option<&Mlp>,
    names: Option<Vec<String>>,
) -> PyResult<(Bound<'py, PyDict>, Mlp, MlpTraining)> {
    let config = with_options(&TrainConfig::new(), options)?;
    let points = x.points(names)?;
    let targets = match (codes, targets) {
        (Some(codes), _) => {
            let codes = vector(&codes)?.into_iter().map(|code| code as usize).collect();
            Targets::Classes(codes, Classes::Numbers((0..n_classes).collect()))
        }
        (None, Some(targets)) => {
            let names = (1..=targets.shape()[1]).map(|at| format!("y{at}")).collect();
            Targets::Numbers(targets.values()?, names)
        }
        (None, None) => return Err(PyValueError::new_err("there are no targets")),
    };
    let instances = Instances { values: points.values, names: points.names, targets };
    let initial = initial.map(|initial| initial.0.clone());
    let (model, training) =
        run.call(py, |device, session| train(&config, &instances, initial, class_weights, device, session))?;
    let column = |of: &dyn Fn(&Epoch) -> Option<f64>| {
        training.history.iter().map(of).collect::<Option<Vec<f64>>>().map(|values| values.into_pyarray(py))
    };
    let result = PyDict::new(py);
    result.set_item("n_iter", training.history.len())?;
    result.set_item("best_epoch", training.best)?;
    result.set_item("loss_curve", column(&|epoch| Some(epoch.loss)))?;
    result.set_item("validation_losses", column(&|epoch| epoch.validation_loss))?;
    result.set_item("validation_scores", column(&|epoch| epoch.validation_accuracy))?;
    Ok((result, Mlp(model), MlpTraining(training)))
}

fn train(
    config: &TrainConfig,
    instances: &Instances,
    initial: Option<Model>,
    class_weights: Option<Vec<f64>>,
    device: &Device,
    session: &Session,
) -> Result<(Model, Training)> {
    with_context!(device, session, |context| match config.task {
        Task::Classification => {
            let fitted = config
                .init_classifier()?
                .with_initial(initial)
                .with_class_weights(class_weights)
                .fit_with(instances, context)?;
            Ok((fitted.model().clone(), fitted.training()?.clone()))
        }
        Task::Regression => {
            let fitted = config.init_regressor()?.with_initial(initial).fit_with(instances, context)?;
            Ok((fitted.model().clone(), fitted.training()?.clone()))
        }
    })
}
