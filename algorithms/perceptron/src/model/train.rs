//! Training of a network on instances.

use burn::{
    optim::{AdamConfig, SgdConfig, decay::WeightDecayConfig, momentum::MomentumConfig},
    tensor::{DType, Element},
};
use firebox_backends::limits::{Buffer, admit};
use firebox_core::{
    Context, Error, Precision, Result,
    checkpoint::Checkpoints,
    report::{Stopwatch, Timings},
};

use crate::{
    config::{MlpConfig, Optimizer, Task, TrainConfig},
    io::checkpoint::identity,
    model::epochs::{Finished, Run},
    ops::PerceptronOps,
    solve::{
        data::{
            instances::{Instances, Targets},
            parts::{Parts, local_rows},
            scaling::Scaling,
        },
        dataset::LocalSamples,
        fitted::{Model, OutputKind},
        state::{Epoch, Stop},
    },
    types::Matmul,
};

/// Result of [`train`].
#[derive(Debug, Clone)]
pub struct Trained {
    /// Network with the lowest validation loss; the last one without a validation part.
    pub model: Model,
    /// One entry per epoch.
    pub history: Vec<Epoch>,
    /// Epoch of the model, from 1.
    pub best: usize,
    /// Reason why training ended.
    pub stop: Stop,
    /// Split of the rows.
    pub parts: Parts,
    /// Matrix product kernel of the largest layer in the forward pass.
    pub matmul: &'static str,
    /// Device memory planned, in bytes.
    pub peak_device_bytes: u64,
    /// Whether the state file is outdated, because later states could not be written.
    pub stale_state: bool,
    /// Wall times by phase.
    pub timings: Timings,
}

/// Trains a network of `config` on `instances`. Ranks that share a training pass consecutive rows, with classes equal on all
/// ranks ([`Instances::of_all`]). A request to stop ends training after a batch, and returns the best network so far with
/// [`Stop::Request`].
///
/// Fails if a parameter is out of range, if there are too few rows, if the device memory does not suffice, or if the loss
/// is not finite.
pub fn train<B: PerceptronOps>(
    config: &TrainConfig,
    instances: &Instances,
    checkpoints: &Checkpoints,
    context: &Context<B>,
) -> Result<Trained> {
    config.validate()?;
    instances.check()?;
    if context.precision == Precision::F64 && !B::supports_dtype(&context.device, DType::F64) {
        return Err(Error::Device {
            backend: B::limits(&context.device).device,
            what: "Burn's tensor operations, which training uses, do not support 64-bit floats".into(),
            help: "train with `precision = f32`, or with `backend = ndarray`".into(),
        });
    }
    let mut watch = Stopwatch::default();
    let ranks = &*context.communicator;
    let (own, rows) = instances.place(ranks);
    let parts = Parts::draw(rows, config.test, config.validation, context.seed)?;
    let training_rows = local_rows(&parts.training, &own);
    let scaling = Scaling::of(&instances.values, &instances.names, &training_rows, ranks)?;
    let output = match (&instances.targets, config.task) {
        (Targets::Classes(_, classes), Task::Classification) => OutputKind::Class(classes.clone()),
        (Targets::Numbers(values, name), Task::Regression) => OutputKind::Number {
            name: name.clone(),
            scaling: Scaling::of(values, std::slice::from_ref(name), &training_rows, ranks)?,
        },
        _ => {
            return Err(Error::input(
                "the targets are for another task",
                "give classes for classification, numbers for regression",
            ));
        }
    };
    let mut network = config.network(instances.names.len(), instances.targets.outputs(), context.seed);
    let size = network
        .widths()
        .windows(2)
        .map(|pair| [config.batch.min(parts.training.len()), pair[0], pair[1]])
        .max_by_key(|size| size.iter().map(|&it| it as u128).product::<u128>())
        .unwrap_or([1; 3]);
    let dtype = B::FloatElem::dtype();
    let (method, matmul) = B::perceptron_strategy(&context.device, dtype, size, config.matmul, config.allow_tf32)?;
    if config.matmul != Matmul::Auto || config.allow_tf32 {
        network.matmul = method;
    }
    let peak_device_bytes = plan(config, &network, instances.rows(), context)?;
    let load = |rows: &[usize]| LocalSamples::<B>::new(instances, &own, rows, (&scaling, &output), &context.device);
    let (training, validation) = (load(&parts.training), load(&parts.validation));
    watch.lap("data_s");
    // The fingerprint reads all values, so only if states are used.
    let has_state = checkpoints.file.is_some() || checkpoints.resume.is_some();
    let identity = has_state.then(|| identity(config, instances, context));
    let identity = identity.as_ref();
    let run = Run { config, network: &network, training: &training, validation: &validation, context };
    let decay = (config.weight_decay > 0.0).then(|| WeightDecayConfig::new(config.weight_decay as f32));
    let finished = match config.optimizer {
        Optimizer::Adam => run.epochs(AdamConfig::new().with_weight_decay(decay).init(), checkpoints, identity)?,
        Optimizer::Sgd => {
            let momentum = MomentumConfig { momentum: config.momentum, dampening: 0.0, nesterov: false };
            let sgd = SgdConfig::new().with_weight_decay(decay).with_momentum(Some(momentum));
            run.epochs(sgd.init(), checkpoints, identity)?
        }
    };
    B::finish(&context.device, "training")?;
    let layers = finished.best_network.to_host("reading the network")?;
    if finished.stop != Stop::Request && !(finished.best > 0 && Model::is_finite(&layers)) {
        return Err(Error::Run {
            device: B::limits(&context.device).device,
            phase: format!("epoch {}", finished.history.len()),
            what: "the weights are not finite; try a smaller `learning_rate`".into(),
        });
    }
    watch.lap("training_s");
    let columns = instances.names.clone();
    let wide = context.precision == Precision::F64;
    let model = Model { network, columns, scaling, output, layers, wide };
    let timings = watch.timings();
    let Finished { history, best, stop, stale_state, .. } = finished;
    Ok(Trained { model, history, best, stop, parts, matmul, peak_device_bytes, stale_state, timings })
}

/// Device memory of training in bytes: rows; a batch in all layers, forward and backward; and per parameter its value and
/// two moments, copies of these from the start of the epoch, the gradient, the best value, and one temporary.
fn plan<B: PerceptronOps>(config: &TrainConfig, network: &MlpConfig, rows: usize, context: &Context<B>) -> Result<u64> {
    let width = size_of::<B::FloatElem>();
    let wide: u128 = network.widths().iter().map(|&it| it as u128).sum();
    let mut buffers = vec![
        Buffer::new("the rows", 2 * rows as u128 * (network.inputs as u128 + 1), width),
        Buffer::new("the layers' results", 4 * wide * (config.batch.min(rows) as u128), width),
        Buffer::new("the weights and their moments", 9 * network.parameters(), width),
    ];
    if context.communicator.size() > 1 {
        // Of this rank, the sum, and its parts.
        buffers.push(Buffer::new("gradients of all ranks", 3 * network.parameters(), width));
    }
    admit(context, &buffers, "take fewer `hidden` neurons, a smaller `batch`, or fewer rows")
}
