//! Classifiers and regressors before training.

use std::{borrow::Cow, marker::PhantomData};

use burn::tensor::{Int, Tensor};
use firebox_core::{Context, Error, Result, checkpoint::Checkpoints, data::Missing};

use super::{
    Given,
    fitted::{FittedMlp, FittedMlpClassifier, FittedMlpRegressor},
    task::{Classification, Regression, TaskKind},
    train,
};
use crate::config::{Task, TrainConfig, invalid};
use crate::ops::PerceptronOps;
use crate::solve::{Instances, Model};

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
    initial: Option<Model>,
    class_weights: Option<Vec<f64>>,
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
        Self {
            config: config.with_task(T::TASK),
            checkpoints: Checkpoints::default(),
            initial: None,
            class_weights: None,
            task: PhantomData,
        }
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

    /// Continues from a trained network instead of random weights, with its scaling of columns and its treatment of missing
    /// numbers. Moments of the optimiser start at 0.
    ///
    /// A fit fails unless the network has the layers, columns and outputs of the training.
    pub fn with_initial(mut self, model: impl Into<Option<Model>>) -> Self {
        self.initial = model.into();
        self
    }

    /// Weights of the classes in the loss, in the order of the classes, instead of [`TrainConfig::class_weight`].
    ///
    /// A fit fails unless there is one for each class, all finite and from 0 on.
    pub fn with_class_weights(mut self, weights: impl Into<Option<Vec<f64>>>) -> Self {
        self.class_weights = weights.into();
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
        let given = Given { initial: self.initial.as_ref(), class_weights: self.class_weights.as_deref() };
        let (model, training) = train(&self.config, &instances, given, &self.checkpoints, context)?;
        // Only a request to stop leaves no best network; otherwise `train` fails.
        if training.best == 0 {
            return Err(Error::Cancelled);
        }
        FittedMlp::of_training(model, training, context)
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

#[cfg(test)]
mod tests;
