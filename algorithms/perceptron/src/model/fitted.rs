//! Trained classifiers and regressors, which predict.

use std::{marker::PhantomData, path::Path};

use burn::tensor::{Int, Tensor, backend::Backend, ops::FloatTensor};
use firebox_core::{
    Context, Error, Result,
    tensor::{float_values, floats, into_primitive, read_floats, tensor},
};

use super::{
    Training,
    on_device::{is_separate, largest, softmax},
    predict::Score,
    task::{Classification, Regression, TaskKind},
};
use crate::ops::PerceptronOps;
use crate::solve::{Epoch, Instances, Model, Network, argmax, ints, probabilities};

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

/// Outputs `[n, outputs]` of a network.
enum Outputs<B: Backend> {
    Device(FloatTensor<B>),
    Host(Vec<f64>),
}

/// Trained [`MlpClassifier`](crate::MlpClassifier).
pub type FittedMlpClassifier<B> = FittedMlp<B, Classification>;

/// Trained [`MlpRegressor`](crate::MlpRegressor).
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

    /// A model with its training, on the device and with the memory limit of `context`.
    pub(super) fn of_training(model: Model, training: Training, context: &Context<B>) -> Result<Self> {
        let fitted = Self::new(model, &context.device)?;
        Ok(Self { training: Some(training), memory_limit: context.memory_limit, ..fitted })
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

    /// Outputs `[n, outputs]` for rows `[n, k]`.
    fn outputs(&self, x: Tensor<B, 2>) -> Result<Outputs<B>> {
        let ([rows, columns], inputs) = (x.dims(), self.model.columns.len());
        if columns != inputs {
            let what = format!("the rows have {columns} columns, and the model takes {inputs}");
            return Err(Error::input(what, "give the columns that it was trained on, in their order"));
        }
        if rows == 0 {
            return Err(Error::input("there are no rows to predict", "give at least one row"));
        }
        let context = self.context();
        let read = |x| read_floats(x, "reading the rows");
        if !is_separate::<B>(&self.device) {
            return self.outputs_with(read(x)?, &context).map(Outputs::Host);
        }
        let block_rows = self.model.device_block(rows, &context)?;
        match self.model.device_results(&self.network, into_primitive(x.clone()), rows, block_rows, &context)? {
            Some(outputs) => Ok(Outputs::Device(outputs)),
            None => self.model.results(&self.network, read(x)?, &context).map(Outputs::Host),
        }
    }

    /// [`outputs`](Self::outputs) on the device of `x`.
    fn device_outputs(&self, x: Tensor<B, 2>) -> Result<Tensor<B, 2>> {
        let (device, shape) = (x.device(), [x.dims()[0], self.model.network.outputs]);
        Ok(match self.outputs(x)? {
            Outputs::Device(outputs) => tensor(outputs),
            Outputs::Host(outputs) => floats(outputs, shape, &device),
        })
    }

    /// Outputs `[n, outputs]` for `values` of the model's columns, row-major: logits of classes, or numbers in their unit.
    fn outputs_with(&self, values: Vec<f64>, context: &Context<B>) -> Result<Vec<f64>> {
        let (count, inputs) = (values.len(), self.model.columns.len());
        if !count.is_multiple_of(inputs.max(1)) {
            let what = format!("{count} numbers do not fill rows of the {inputs} columns that the model takes");
            return Err(Error::input(what, "give the columns that it was trained on, in their order"));
        }
        self.model.plan(count / inputs.max(1), context)?;
        self.model.results(&self.network, values, context)
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
        let limit = i64::MAX >> (64 - 8 * size_of::<B::IntElem>());
        let is_large = |number: &&i64| number.unsigned_abs() > limit as u64;
        let all: Vec<i64> = (0..classes.len()).map(|code| classes.number(code)).collect();
        let outputs = match self.outputs(x)? {
            Outputs::Host(outputs) => outputs,
            Outputs::Device(outputs) if all.iter().any(|number| is_large(&number)) => {
                float_values::<B>(outputs, "predicting")?
            }
            Outputs::Device(outputs) => {
                return Ok(ints(all.into_iter(), &device).select(0, largest::<B>(outputs)));
            }
        };
        let numbers: Vec<i64> = argmax(&outputs, classes.len()).into_iter().map(|code| all[code]).collect();
        if let Some(number) = numbers.iter().find(is_large) {
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
        Ok(match self.outputs(x)? {
            Outputs::Device(outputs) => softmax::<B>(outputs),
            Outputs::Host(outputs) => floats(probabilities(&outputs, classes), [rows, classes], &device),
        })
    }

    /// [`predict_proba`](Self::predict_proba) on the host, of `values` `[n, k]`, row-major, with the limits and the observer of
    /// `context`.
    ///
    /// # Errors
    /// As [`predict_proba`](Self::predict_proba); also if the values do not fill whole rows, or if the run is cancelled.
    pub fn predict_proba_with(&self, values: Vec<f64>, context: &Context<B>) -> Result<Vec<f64>> {
        Ok(probabilities(&self.outputs_with(values, context)?, self.model.classes()?.len()))
    }
}

impl<B: PerceptronOps> FittedMlpRegressor<B> {
    /// [`predict_several`](Self::predict_several) on the host, of `values` `[n, k]`, row-major, with the limits and the
    /// observer of `context`.
    ///
    /// # Errors
    /// As [`predict_several`](Self::predict_several); also if the values do not fill whole rows, or if the run is cancelled.
    pub fn predict_with(&self, values: Vec<f64>, context: &Context<B>) -> Result<Vec<f64>> {
        self.outputs_with(values, context)
    }

    /// Number `[n]` for each row of `x` `[n, k]`, n ≥ 1, in the unit of the training, on the device of `x`.
    ///
    /// # Errors
    /// Another number of columns than in training, no rows, too little device memory, an output that is not finite, or a
    /// model of several numbers.
    pub fn predict(&self, x: Tensor<B, 2>) -> Result<Tensor<B, 1>> {
        let (rows, outputs) = (x.dims()[0], self.model.network.outputs);
        if outputs > 1 {
            let what = format!("the model predicts {outputs} numbers");
            return Err(Error::input(what, "call `predict_several`"));
        }
        Ok(self.device_outputs(x)?.reshape([rows]))
    }

    /// Numbers `[n, t]` for each row of `x` `[n, k]`, n ≥ 1, in the units of the training, on the device of `x`.
    ///
    /// # Errors
    /// As [`predict`](Self::predict), but for a model of several numbers.
    pub fn predict_several(&self, x: Tensor<B, 2>) -> Result<Tensor<B, 2>> {
        self.device_outputs(x)
    }
}
