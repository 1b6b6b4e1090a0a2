//! Classifiers and regressors: fitting, and what was fitted.

use std::{borrow::Cow, marker::PhantomData, path::Path};

use burn::tensor::{Int, Tensor, backend::Backend};
use firebox_core::{
    Context, Error, Result,
    checkpoint::Checkpoints,
    data::Missing,
    tensor::{floats, read_floats},
};

use super::predict::Score;
use super::{Training, train};
use crate::config::{Task, TrainConfig, invalid};
use crate::ops::PerceptronOps;
use crate::solve::{Epoch, Instances, Model, Network, argmax, ints, probabilities};

/// Type that stands for a [`Task`].
pub trait TaskKind {
    /// The task.
    const TASK: Task;
}

/// [`Task::Classification`].
#[derive(Debug, Clone, Copy)]
pub enum Classification {}

/// [`Task::Regression`].
#[derive(Debug, Clone, Copy)]
pub enum Regression {}

impl TaskKind for Classification {
    const TASK: Task = Task::Classification;
}

impl TaskKind for Regression {
    const TASK: Task = Task::Regression;
}

/// Multilayer perceptron to be trained for the task `T`.
///
/// Columns are standardised. The share [`test`](TrainConfig::test) of the rows is held out, and the share
/// [`validation`](TrainConfig::validation) of the others determines the best epoch; with 0 for both, all rows are trained
/// on, and the last epoch is the model. Created by [`new`](Self::new), or with other options by
/// [`TrainConfig::init_classifier`] and [`TrainConfig::init_regressor`].
#[derive(Debug, Clone)]
pub struct MlpEstimator<T> {
    config: TrainConfig,
    checkpoints: Checkpoints,
    task: PhantomData<T>,
}

/// Multilayer perceptron that learns classes.
pub type MlpClassifier = MlpEstimator<Classification>;

/// Multilayer perceptron that learns numbers.
pub type MlpRegressor = MlpEstimator<Regression>;

impl TrainConfig {
    /// Classifier with these options.
    ///
    /// # Errors
    /// [`Error::Config`] as [`validate`](Self::validate), and for the task regression.
    pub fn init_classifier(&self) -> Result<MlpClassifier> {
        self.init()
    }

    /// Regressor with these options; the task may be left at its default.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    pub fn init_regressor(&self) -> Result<MlpRegressor> {
        self.init()
    }

    /// Model for the task `T`, which the configuration must have unless its task is the default.
    fn init<T: TaskKind>(&self) -> Result<MlpEstimator<T>> {
        self.validate()?;
        if ![T::TASK, Task::default()].contains(&self.task) {
            let [task, needed] = [self.task, T::TASK].map(|task| format!("{task:?}").to_lowercase());
            return invalid("task", task, format!("must be {needed} for this model"));
        }
        Ok(MlpEstimator::of(self.clone()))
    }
}

impl<T: TaskKind> MlpEstimator<T> {
    /// Network with hidden layers of these widths, ≥ 1, and the defaults of [`TrainConfig`]; a linear model without
    /// hidden layers. The fit checks the widths.
    pub fn new(hidden: impl Into<Vec<usize>>) -> Self {
        Self::of(TrainConfig::new().with_hidden(hidden.into()))
    }

    fn of(config: TrainConfig) -> Self {
        Self { config: config.with_task(T::TASK), checkpoints: Checkpoints::default(), task: PhantomData }
    }

    /// The configuration.
    pub fn config(&self) -> &TrainConfig {
        &self.config
    }

    /// Saves states of the training to a file, and resumes from one.
    pub fn with_checkpoints(mut self, checkpoints: Checkpoints) -> Self {
        self.checkpoints = checkpoints;
        self
    }

    /// Trains with the seed, the observer, the memory limit and the ranks of `context`.
    ///
    /// [`Instances`] are the rows with their targets on the host: from tensors by [`Instances::classes`] and
    /// [`Instances::numbers`], or from a table by [`Instances::from_labels`] and [`Instances::from_column`]. Ranks that
    /// share a training pass consecutive rows, with classes equal on all ranks ([`Instances::with_classes_of_all`]). NaN among
    /// their values is a missing number, which [`TrainConfig::missing`] treats.
    ///
    /// A request to stop ends training after a batch, with the network of the best epoch so far and
    /// [`Stop::Request`](crate::Stop::Request) in [`FittedMlp::training`].
    ///
    /// ```
    /// use burn::tensor::Tensor;
    /// use burn_ndarray::NdArray;
    /// use firebox_core::Context;
    /// use firebox_perceptron::{Instances, TrainConfig};
    ///
    /// let x = Tensor::<NdArray, 1>::from_floats([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], &Default::default());
    /// let instances = Instances::numbers(x.clone().reshape([8, 1]), x * 2.0)?;
    /// let line = TrainConfig::new().with_hidden(Vec::new()).with_validation(0.0).with_epochs(3).init_regressor()?;
    /// let context = Context::<NdArray>::new(Default::default()).seed(1);
    /// assert_eq!(line.fit_with(&instances, &context)?.history()?.len(), 3);
    /// # Ok::<(), firebox_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Config`] for a parameter out of range, or a matrix product that the device lacks
    /// - [`Error::Input`] for targets of another task, too few rows, or a state of another training
    /// - [`Error::Device`] for 64-bit floats on a device without them, and [`Error::Memory`] for too little memory
    /// - [`Error::Run`] for a loss or weights that are not finite, and for a device that fails
    /// - [`Error::Cancelled`] if the observer stopped training before an epoch gave a network
    pub fn fit_with<B: PerceptronOps>(&self, instances: &Instances, context: &Context<B>) -> Result<FittedMlp<B, T>> {
        let mut instances = Cow::Borrowed(instances);
        if self.config.missing == Missing::Drop {
            instances.to_mut().retain_complete();
        }
        let (model, training) = train(&self.config, &instances, &self.checkpoints, context)?;
        // Only a request to stop leaves no best network; otherwise `train` fails.
        if training.best == 0 {
            return Err(Error::Cancelled);
        }
        let fitted = FittedMlp::new(model, &context.device)?;
        Ok(FittedMlp { training: Some(training), memory_limit: context.memory_limit, ..fitted })
    }
}

impl MlpClassifier {
    /// Trains on rows `x` `[n, k]` of classes `y` `[n]`, any whole numbers, with seed 0 on the device of `x`.
    ///
    /// ```
    /// use burn::tensor::{Int, Tensor};
    /// use burn_ndarray::NdArray;
    /// use firebox_perceptron::MlpClassifier;
    ///
    /// let rows = Tensor::<NdArray, 1, Int>::arange(0..40, &Default::default());
    /// let x = rows.clone().float().reshape([40, 1]);
    /// let y = rows.greater_elem(19).int() * 7; // Classes 0 and 7.
    /// let network = MlpClassifier::new([8]).fit(x.clone(), y)?;
    /// assert_eq!(network.predict(x.clone())?.dims(), [40]);
    /// assert_eq!(network.predict_proba(x)?.dims(), [40, 2]);
    /// # Ok::<(), firebox_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`fit_with`](Self::fit_with), and if the numbers of rows differ or a number is not finite.
    pub fn fit<B: PerceptronOps>(&self, x: Tensor<B, 2>, y: Tensor<B, 1, Int>) -> Result<FittedMlpClassifier<B>> {
        let context = Context::new(x.device());
        self.fit_with(&Instances::classes(x, y)?, &context)
    }
}

impl MlpRegressor {
    /// Trains on rows `x` `[n, k]` of numbers `y` `[n]`, in any unit, with seed 0 on the device of `x`.
    ///
    /// # Errors
    /// As [`fit_with`](Self::fit_with), and if the numbers of rows differ or a number is not finite.
    pub fn fit<B: PerceptronOps>(&self, x: Tensor<B, 2>, y: Tensor<B, 1>) -> Result<FittedMlpRegressor<B>> {
        let context = Context::new(x.device());
        self.fit_with(&Instances::numbers(x, y)?, &context)
    }

    /// Trains on rows `x` `[n, k]` of t numbers each, `y` `[n, t]`, with seed 0 on the device of `x`. Each column of `y` is
    /// standardised, and all count equally.
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    pub fn fit_several<B: PerceptronOps>(&self, x: Tensor<B, 2>, y: Tensor<B, 2>) -> Result<FittedMlpRegressor<B>> {
        let context = Context::new(x.device());
        self.fit_with(&Instances::several_numbers(x, y)?, &context)
    }
}

/// Trained multilayer perceptron on a device.
#[derive(Debug, Clone)]
pub struct FittedMlp<B: Backend, T> {
    model: Model,
    training: Option<Training>,
    network: Network<B>,
    device: B::Device,
    memory_limit: Option<u64>,
    task: PhantomData<T>,
}

/// Trained [`MlpClassifier`].
pub type FittedMlpClassifier<B> = FittedMlp<B, Classification>;

/// Trained [`MlpRegressor`].
pub type FittedMlpRegressor<B> = FittedMlp<B, Regression>;

impl<B: PerceptronOps, T: TaskKind> FittedMlp<B, T> {
    /// Loads a model to a device.
    ///
    /// # Errors
    /// [`Error::Input`] for a model of another task.
    pub fn new(model: Model, device: &B::Device) -> Result<Self> {
        if model.task() != T::TASK {
            let what = format!("the model was trained for {:?}, not for {:?}", model.task(), T::TASK).to_lowercase();
            return Err(Error::input(what, "give a model of the other task"));
        }
        let network = model.network(device);
        Ok(Self { model, training: None, network, device: device.clone(), memory_limit: None, task: PhantomData })
    }

    /// Loads a model file to a device.
    ///
    /// # Errors
    /// A file that cannot be read or is not a model, or a model of another task.
    pub fn load(path: impl AsRef<Path>, device: &B::Device) -> Result<Self> {
        Self::new(Model::load(path.as_ref())?, device).map_err(|error| error.in_file(path.as_ref()))
    }

    /// Writes the model to a file (.safetensors), whole or not at all.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.model.save(path.as_ref())
    }

    /// The network with its columns, scaling and classes, on the host.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// History and figures of the training.
    ///
    /// # Errors
    /// [`Error::Input`] for a model from a file, which does not hold them.
    pub fn training(&self) -> Result<&Training> {
        let what = "a model from a file has no history of its training";
        self.training.as_ref().ok_or_else(|| Error::input(what, "train it in this process"))
    }

    /// Losses and accuracies, one entry per epoch.
    ///
    /// # Errors
    /// As [`training`](Self::training).
    pub fn history(&self) -> Result<&[Epoch]> {
        self.training().map(|training| training.history.as_slice())
    }

    /// Compares predictions with the targets of `instances`, whose columns are found by their names.
    ///
    /// # Errors
    /// A missing column, targets of another task, or a class that the model does not know.
    pub fn score(&self, instances: &Instances) -> Result<Score> {
        instances.check_targets()?;
        let values = self.model.columns_of(&instances.names, &instances.values)?;
        self.model.score(values, &instances.targets, &self.context())
    }

    fn context(&self) -> Context<B> {
        let mut context = Context::new(self.device.clone());
        context.memory_limit = self.memory_limit;
        context
    }

    /// Outputs `[n, outputs]` for rows `[n, k]`, row-major.
    fn outputs(&self, x: Tensor<B, 2>) -> Result<Vec<f64>> {
        let ([rows, columns], inputs) = (x.dims(), self.model.columns.len());
        if columns != inputs {
            let what = format!("the rows have {columns} columns, and the model takes {inputs}");
            return Err(Error::input(what, "give the columns that it was trained on, in their order"));
        }
        if rows == 0 {
            return Err(Error::input("there are no rows to predict", "give at least one row"));
        }
        let context = self.context();
        self.model.plan(rows, &context)?;
        self.model.results(&self.network, read_floats(x, "reading the rows")?, &context)
    }
}

impl<B: PerceptronOps> FittedMlpClassifier<B> {
    /// Most probable class `[n]` of each row of `x` `[n, k]`, n ≥ 1, as its number in training; for classes that are words,
    /// as the index among [`Model::classes`]. On the device of `x`.
    ///
    /// # Errors
    /// Another number of columns than in training, no rows, too little device memory, an output that is not finite, or a class
    /// beyond the backend's integers.
    pub fn predict(&self, x: Tensor<B, 2>) -> Result<Tensor<B, 1, Int>> {
        let (device, classes) = (x.device(), self.model.classes()?);
        let codes = argmax(&self.outputs(x)?, classes.len());
        let numbers: Vec<i64> = codes.into_iter().map(|code| classes.number(code)).collect();
        let largest = i64::MAX >> (64 - 8 * size_of::<B::IntElem>());
        if let Some(number) = numbers.iter().find(|number| number.unsigned_abs() > largest as u64) {
            let what = format!("class {number} is too large for the integers of this backend");
            return Err(Error::input(what, "renumber the classes and train again, or predict on another backend"));
        }
        Ok(ints(numbers.into_iter(), &device))
    }

    /// Probability `[n, classes]` of each of the [`Model::classes`] for each row of `x` `[n, k]`, n ≥ 1, on the device of
    /// `x`.
    ///
    /// # Errors
    /// As [`predict`](Self::predict), but classes may be beyond the backend's integers.
    pub fn predict_proba(&self, x: Tensor<B, 2>) -> Result<Tensor<B, 2>> {
        let (device, rows, classes) = (x.device(), x.dims()[0], self.model.classes()?.len());
        Ok(floats(probabilities(&self.outputs(x)?, classes), [rows, classes], &device))
    }
}

impl<B: PerceptronOps> FittedMlpRegressor<B> {
    /// Number `[n]` for each row of `x` `[n, k]`, n ≥ 1, in the unit of the training, on the device of `x`.
    ///
    /// # Errors
    /// Another number of columns than in training, no rows, too little device memory, an output that is not finite, or a
    /// model of several numbers.
    pub fn predict(&self, x: Tensor<B, 2>) -> Result<Tensor<B, 1>> {
        let (device, rows, outputs) = (x.device(), x.dims()[0], self.model.network.outputs);
        if outputs > 1 {
            let what = format!("the model predicts {outputs} numbers");
            return Err(Error::input(what, "call `predict_several`"));
        }
        Ok(floats(self.outputs(x)?, [rows], &device))
    }

    /// Numbers `[n, t]` for each row of `x` `[n, k]`, n ≥ 1, in the units of the training, on the device of `x`.
    ///
    /// # Errors
    /// As [`predict`](Self::predict), but for a model of several numbers.
    pub fn predict_several(&self, x: Tensor<B, 2>) -> Result<Tensor<B, 2>> {
        let (device, shape) = (x.device(), [x.dims()[0], self.model.network.outputs]);
        Ok(floats(self.outputs(x)?, shape, &device))
    }
}

#[cfg(test)]
mod tests;
