//! Training of a network on instances.

use std::{borrow::Cow, time::Instant};

use burn::tensor::{DType, Element};
use firebox_backends::limits::{Buffer, admit};
use firebox_core::{
    Communicator, Context, Error, Precision, Result,
    checkpoint::Checkpoints,
    report::{Stopwatch, Timings},
    tensor::float_values,
};

use super::epochs::{Progress, Run, diverged};
use crate::config::{ClassWeight, InputScale, MlpConfig, Task, TrainConfig};
use crate::io::identity;
use crate::ops::PerceptronOps;
use crate::solve::{
    Classes, Epoch, Imputation, Instances, LocalSamples, Model, OutputKind, Parts, Ranges, Scaling, Stop, Targets,
    local_rows,
};
use crate::types::{Matmul, MatmulKernel};

/// Number of numbered classes beyond which they may be meant as amounts.
const MANY: usize = 50;

/// History and figures of a training.
#[derive(Debug, Clone)]
pub struct Training {
    /// The configuration, with the values of all options that depend on the data.
    pub config: TrainConfig,
    /// One entry per epoch.
    pub history: Vec<Epoch>,
    /// Epoch of the model, from 1.
    pub best: usize,
    /// Reason why training ended.
    pub stop: Stop,
    /// Split of the rows.
    pub parts: Parts,
    /// Matrix product kernel of the largest layer in the forward pass.
    pub matmul: MatmulKernel,
    /// Device memory planned, in bytes.
    pub peak_device_bytes: u64,
    /// The state file is outdated, because later states could not be written.
    pub stale_state: bool,
    /// Wall times by phase.
    pub timings: Timings,
}

/// Optional input of a training, beside its configuration and its rows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Given<'a> {
    /// The network to continue from, instead of random weights.
    pub initial: Option<&'a Model>,
    /// Weights of the classes, instead of those of the configuration.
    pub class_weights: Option<&'a [f64]>,
}

/// Trains a network of `config`; see [`fit_with`](super::MlpEstimator::fit_with). The model is the network with the lowest
/// validation loss, or the last one without a validation part. A training that was stopped before it had such a network
/// returns the initial one, and 0 as [`Training::best`].
pub(crate) fn train<B: PerceptronOps>(
    config: &TrainConfig,
    instances: &Instances,
    given: Given<'_>,
    checkpoints: &Checkpoints,
    context: &Context<B>,
) -> Result<(Model, Training)> {
    let began = Instant::now();
    config.validate()?;
    instances.check()?;
    given.check(instances, checkpoints)?;
    if context.precision == Precision::F64 && !B::supports_dtype(&context.device, DType::F64) {
        return Err(Error::Device {
            backend: B::limits(&context.device).device,
            what: "Burn's tensor operations, which training uses, do not support 64-bit floats".into(),
            help: "train with `precision = f32`, or with `backend = ndarray`".into(),
        });
    }
    if let Targets::Classes(_, Classes::Numbers(of)) = &instances.targets
        && of.len() > MANY
    {
        let numbers = of.len();
        context.observer.notice(&format!(
            "the target has {numbers} different numbers, each of which is a class: are these amounts? if so, give \
             `task = regression`"
        ));
    }
    let mut watch = Stopwatch::default();
    let ranks = &*context.communicator;
    let (own, rows) = instances.global_range(ranks);
    let parts = Parts::draw(rows, config.test, config.validation, context.seed)?;
    let training_rows = local_rows(&parts.training, &own);
    let imputation = match given.initial {
        Some(model) => model.imputation.clone(),
        None => Imputation::of(config.missing, &instances.values, &instances.names, &training_rows, ranks)?,
    };
    let mut instances = Cow::Borrowed(instances);
    if instances.values.iter().any(|value| value.is_nan()) {
        let Instances { values, names, .. } = instances.to_mut();
        imputation.apply(values, names)?;
    }
    let instances = &*instances;
    let (values, names) = (&instances.values, &instances.names);
    let mut scaling = Scaling::of(values, names, &training_rows, ranks)?;
    let ranges = Ranges::of(values, names.len(), &training_rows, ranks);
    let scale = config.standardise.unwrap_or_else(|| ranges.scale(&scaling));
    scaling = match scale {
        InputScale::None => Scaling::none(names.len()),
        InputScale::Standard => scaling,
        InputScale::Robust if ranks.size() > 1 => {
            let what = "`standardise = robust` sorts each column, whose rows are in several processes";
            return Err(Error::input(what, "run it without mpirun, or give `standardise = standard`"));
        }
        InputScale::Robust => Scaling::robust(values, names.len(), &training_rows),
        InputScale::Common => ranges.share(scaling),
    };
    if let Some(model) = given.initial {
        scaling = model.scaling.clone();
    }
    let parameters = config.network(names.len(), instances.targets.outputs(), context.seed).parameters();
    let config = &config.resolved(parts.training.len(), parameters).with_standardise(Some(scale));
    let output = match (&instances.targets, config.task, given.initial) {
        (Targets::Classes(_, classes), Task::Classification, _) => OutputKind::Class(classes.clone()),
        (Targets::Numbers(..), Task::Regression, Some(model)) => model.output.clone(),
        (Targets::Numbers(values, names), Task::Regression, None) => {
            OutputKind::Number { names: names.clone(), scaling: Scaling::of(values, names, &training_rows, ranks)? }
        }
        _ => {
            let help = "give classes for classification, numbers for regression";
            return Err(Error::input("the targets are for another task", help));
        }
    };
    let mut network = config.network(instances.names.len(), instances.targets.outputs(), context.seed);
    let size = network
        .widths()
        .windows(2)
        .map(|pair| [config.batch_rows().min(parts.training.len()), pair[0], pair[1]])
        .max_by_key(|size| size.iter().map(|&it| it as u128).product::<u128>())
        .unwrap_or([1; 3]);
    let dtype = B::FloatElem::dtype();
    let (method, matmul) = B::perceptron_strategy(&context.device, dtype, size, config.matmul, config.allow_tf32)?;
    if config.matmul != Matmul::Auto || config.allow_tf32 {
        network.matmul = method;
    }
    let validation_rows = local_rows(&parts.validation, &own).len();
    let peak_device_bytes = plan(config, &network, instances.rows(), validation_rows, context)?;
    given.check_network(&network, &output)?;
    let weights = match given.class_weights {
        Some(weights) => Some(weights.to_vec()),
        None => class_weights(config, &instances.targets, &training_rows, ranks),
    };
    let load = |rows: &[usize]| {
        LocalSamples::<B>::new(instances, &own, rows, (&scaling, &output), weights.as_deref(), &context.device)
    };
    let (training, validation) = (load(&parts.training), load(&parts.validation));
    watch.lap("data_s");
    // The fingerprint reads all values, so it is computed only if states are used.
    let has_state = checkpoints.file.is_some() || checkpoints.resume.is_some();
    let identity = has_state.then(|| identity(config, instances, context));
    let identity = identity.as_ref();
    let initial = given.initial.map(|model| model.layers.as_slice());
    let run = Run { config, network: &network, initial, training: &training, validation: &validation, context, began };
    let (Progress { state, best, .. }, stop, stale_state) = run.epochs(checkpoints, identity)?;
    B::finish(&context.device, "training")?;
    let mut layers = network.split(float_values::<B>(best, "reading the network")?);
    // Training says nothing about the effect of a constant column, which new rows may vary; rows of an earlier training may
    // have varied it.
    let is_unknown = |column: usize| given.initial.is_none() && ranges.is_constant(column);
    let first = layers.first_mut().map(|(weights, _)| weights.chunks_mut(network.widths()[1]));
    first.into_iter().flatten().enumerate().filter(|(column, _)| is_unknown(*column)).for_each(|(_, it)| it.fill(0.0));
    let (history, best) = (state.history, state.best);
    // A request may come before the first epoch ends, when no network is the best yet.
    if !Model::is_finite(&layers) || (best == 0 && stop != Stop::Request) {
        return Err(diverged::<B>(&context.device, history.len(), "weights are"));
    }
    watch.lap("training_s");
    let columns = instances.names.clone();
    let wide = context.precision == Precision::F64;
    let model = Model { network, columns, scaling, imputation, output, layers, wide };
    let timings = watch.timings();
    let config = config.clone();
    Ok((model, Training { config, history, best, stop, parts, matmul, peak_device_bytes, stale_state, timings }))
}

impl Given<'_> {
    fn check(&self, instances: &Instances, checkpoints: &Checkpoints) -> Result<()> {
        if self.initial.is_some() && (checkpoints.file.is_some() || checkpoints.resume.is_some()) {
            let what = "a training that continues from a network has no states in files";
            return Err(Error::input(what, "leave out the states, or the network"));
        }
        let Some(weights) = self.class_weights else { return Ok(()) };
        let Targets::Classes(_, classes) = &instances.targets else {
            return Err(Error::input("the targets are numbers, which have no class weights", "leave them out"));
        };
        if weights.len() != classes.len() || weights.iter().any(|weight| !(*weight >= 0.0 && weight.is_finite())) {
            let what =
                format!("{} class weights for {} classes, or one of them is below 0", weights.len(), classes.len());
            return Err(Error::input(what, "give one finite number from 0 on for each class"));
        }
        Ok(())
    }

    /// Fails unless the network to continue from has the layers and outputs of the training.
    fn check_network(&self, network: &MlpConfig, output: &OutputKind) -> Result<()> {
        let Some(model) = self.initial else { return Ok(()) };
        let of = |network: &MlpConfig| (network.widths(), network.activation, network.bias);
        if of(&model.network) != of(network) || model.output != *output {
            let what = "the network to continue from has other layers, columns or outputs than this training";
            return Err(Error::input(what, "give the options and classes that it was trained with"));
        }
        Ok(())
    }
}

/// Weight of each class by its number among the training rows of all ranks; those of classes without rows are not used.
fn class_weights(
    config: &TrainConfig,
    targets: &Targets,
    rows: &[usize],
    ranks: &dyn Communicator,
) -> Option<Vec<f64>> {
    let Targets::Classes(codes, classes) = targets else { return None };
    if config.class_weight == ClassWeight::None {
        return None;
    }
    let mut counts = vec![0.0; classes.len()];
    rows.iter().for_each(|&row| counts[codes[row]] += 1.0);
    ranks.all_sum(&mut counts);
    let (total, present) = (counts.iter().sum::<f64>(), counts.iter().filter(|count| **count > 0.0).count());
    Some(counts.into_iter().map(|count: f64| total / (present as f64 * count.max(1.0))).collect())
}

/// Device memory of training in bytes: rows; a batch in all layers, forward and backward; two layers' results for the
/// validation part; and per parameter its value, two moments and average, these at the start of the epoch and after the step,
/// the best value, and the gradient.
fn plan<B: PerceptronOps>(
    config: &TrainConfig,
    network: &MlpConfig,
    rows: usize,
    validation: usize,
    context: &Context<B>,
) -> Result<u64> {
    let width = size_of::<B::FloatElem>();
    let widths: Vec<u128> = network.widths().iter().map(|&it| it as u128).collect();
    let wide: u128 = widths.iter().sum();
    let pair = widths.windows(2).map(|pair| pair[0] + pair[1]).max().unwrap_or(0);
    let mut buffers = vec![
        Buffer::new("the rows", 2 * rows as u128 * (network.inputs as u128 + 1), width),
        Buffer::new("the layers' results", 4 * wide * (config.batch_rows().min(rows) as u128), width),
        Buffer::new("the layers' results for the validation part", pair * validation as u128, width),
    ];
    buffers.extend((0..14).map(|_| Buffer::new("the weights and their moments", network.parameters(), width)));
    if context.communicator.size() > 1 {
        // The gradient of this rank, the sum, and the parts of the sum.
        buffers.push(Buffer::new("gradients of all ranks", 3 * network.parameters(), width));
    }
    admit(context, &buffers, "take fewer `hidden` neurons, a smaller `batch`, or fewer rows")
}
