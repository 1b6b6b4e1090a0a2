//! Training: mini-batches, Burn's optimisers, early stopping.

use burn::{
    module::AutodiffModule,
    optim::{
        AdamConfig, GradientsParams, Optimizer as Steps, SgdConfig, adaptor::OptimizerAdaptor,
        decay::WeightDecayConfig, momentum::MomentumConfig,
    },
    tensor::{DType, Element, Tensor, backend::Backend},
};
use burn_autodiff::Autodiff;
use firebox_backends::limits::{Buffer, admit};
use firebox_core::{
    Context, Error, Precision, Result,
    checkpoint::{Checkpoints, Identity, Keeper, resume},
    random::Random,
    report::{Stopwatch, Timings},
    tensor::read_floats,
};
use serde::{Deserialize, Serialize};

use crate::{
    checkpoint::{Frame, Moments, Resumed, State, identity, restore, save},
    config::{Optimizer, Task, TrainConfig},
    data::{Instances, Parts, Scaling, Targets, among},
    loss::{Known, losses, mean},
    mlp::{Mlp, MlpConfig},
    model::{Gives, Model},
    ops::PerceptronOps,
    rows::{Own, Part, ints},
    shared,
};

/// The stream of [`Random`] from which epoch 0 is shuffled; each next one has its own.
const STREAM: u64 = 0x6570_0000_0000;

/// What was measured after a pass over the training part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// The mean loss of its batches, each before its step.
    pub loss: f64,
    /// The loss on the validation part, if there is one.
    pub validation_loss: Option<f64>,
    /// The share of its rows whose class is right.
    pub validation_accuracy: Option<f64>,
}

/// Why a training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// All epochs were run.
    Epochs,
    /// The validation loss did not get better for as long as the patience lasts.
    Patience,
    /// The observer wished it.
    Request,
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Epochs => "epochs",
            Self::Patience => "patience",
            Self::Request => "request",
        })
    }
}

/// What a training gives.
#[derive(Debug, Clone)]
pub struct Trained {
    /// The best network by the validation loss; without a validation part the last.
    pub model: Model,
    /// One entry an epoch.
    pub history: Vec<Epoch>,
    /// The epoch, from 1, that the model is of.
    pub best: usize,
    /// Why it ended.
    pub stop: Stop,
    /// Which rows did what.
    pub parts: Parts,
    /// What multiplied in the widest layer, forward.
    pub matmul: &'static str,
    /// Bytes planned on the device.
    pub peak_device_bytes: u64,
    /// Whether the state file is older than the training's end, because later states could not be written.
    pub stale_state: bool,
    /// Where the time went.
    pub timings: Timings,
}

/// Trains a network of `config` on `instances`, of ranks that share the training on those of all of them, as they follow one
/// another in the order of the ranks; their classes are the same everywhere ([`Instances::of_all`]). A wish to stop ends the training after a batch, and what is best by
/// then comes back with [`Stop::Request`].
///
/// Fails if a parameter is out of its range, if the rows do not suffice, if they do not fit on the device, or if the
/// loss is no number any more.
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
            what: "Burn's tensor operations, which training is made of, have no 64-bit floats there".into(),
            help: "train with --precision f32, or with --backend ndarray".into(),
        });
    }
    let mut watch = Stopwatch::default();
    let ranks = &*context.communicator;
    let (own, rows) = instances.place(ranks);
    let parts = Parts::draw(rows, config.test, config.validation, context.seed)?;
    let learnt = among(&parts.training, &own);
    let scaling = Scaling::of(&instances.values, &instances.names, &learnt, ranks)?;
    let gives = match (&instances.targets, config.task) {
        (Targets::Classes(_, classes), Task::Classification) => Gives::Class(classes.clone()),
        (Targets::Numbers(values, name), Task::Regression) => Gives::Number {
            name: name.clone(),
            scaling: Scaling::of(values, std::slice::from_ref(name), &learnt, ranks)?,
        },
        _ => return Err(Error::input("the rows are for another task", "give classes to classify, numbers to fit")),
    };
    let outputs = match &gives {
        Gives::Class(classes) => classes.len(),
        Gives::Number { .. } => 1,
    };
    let mut network = config.network(instances.names.len(), outputs, context.seed);
    let widest = network
        .widths()
        .windows(2)
        .map(|pair| [config.batch.min(parts.training.len()), pair[0], pair[1]])
        .max_by_key(product);
    let dtype = B::FloatElem::dtype();
    let size = widest.unwrap_or([1; 3]);
    let (way, matmul) = B::perceptron_strategy(&context.device, dtype, size, config.matmul, config.allow_tf32)?;
    if config.matmul != crate::ops::Matmul::Auto || config.allow_tf32 {
        network.matmul = way;
    }
    let peak_device_bytes = plan(config, &network, instances.rows(), context)?;
    let part = |rows: &[usize]| Own::<B>::new(instances, &own, rows, (&scaling, &gives), &context.device);
    let (training, validation) = (part(&parts.training), part(&parts.validation));
    watch.lap("data_s");
    // Looking at every number takes time: only where a state needs it.
    let kept = checkpoints.file.is_some() || checkpoints.resume.is_some();
    let identity = kept.then(|| identity(config, instances, context));
    let identity = identity.as_ref();
    let run = Run { config, network: &network, training: &training, validation: &validation, context };
    let decay = (config.weight_decay > 0.0).then(|| WeightDecayConfig::new(config.weight_decay as f32));
    let state = match config.optimizer {
        Optimizer::Adam => run.all(AdamConfig::new().with_weight_decay(decay).init(), checkpoints, identity)?,
        Optimizer::Sgd => {
            let momentum = MomentumConfig { momentum: config.momentum, dampening: 0.0, nesterov: false };
            let sgd = SgdConfig::new().with_weight_decay(decay).with_momentum(Some(momentum));
            run.all(sgd.init(), checkpoints, identity)?
        }
    };
    B::finish(&context.device, "training")?;
    let layers = Model::layers_of(&state.kept)?;
    if state.stop != Stop::Request && !(state.best > 0 && Model::is_finite(&layers)) {
        return Err(Error::Run {
            device: B::limits(&context.device).device,
            phase: format!("epoch {}", state.history.len()),
            what: "the weights are no numbers any more; try a smaller --learning-rate".into(),
        });
    }
    watch.lap("training_s");
    let columns = instances.names.clone();
    let wide = context.precision == Precision::F64;
    let model = Model { network, columns, scaling, gives, layers, wide };
    let timings = watch.timings();
    let Ended { history, best, stop, stale_state, .. } = state;
    Ok(Trained { model, history, best, stop, parts, matmul, peak_device_bytes, stale_state, timings })
}

fn product(size: &[usize; 3]) -> u128 {
    size.iter().map(|&it| it as u128).product()
}

/// The bytes of a training: rows, a batch in all layers forward and backward, and of each weight the number and two
/// moments, these as the epoch began, its gradient, the best so far, and one that is being made.
fn plan<B: PerceptronOps>(config: &TrainConfig, network: &MlpConfig, rows: usize, context: &Context<B>) -> Result<u64> {
    let width = size_of::<B::FloatElem>();
    let wide: u128 = network.widths().iter().map(|&it| it as u128).sum();
    let mut buffers = vec![
        Buffer::new("the rows", 2 * rows as u128 * (network.inputs as u128 + 1), width),
        Buffer::new("the layers' results", 4 * wide * (config.batch.min(rows) as u128), width),
        Buffer::new("the weights and their moments", 9 * network.parameters(), width),
    ];
    if context.communicator.size() > 1 {
        // Of this rank, of all, and cut into parameters.
        buffers.push(Buffer::new("gradients of all ranks", 3 * network.parameters(), width));
    }
    admit(context, &buffers, "take fewer --hidden neurons, a smaller --batch, or fewer rows")
}

/// What a training ends with.
struct Ended<B: Backend> {
    kept: Mlp<B>,
    history: Vec<Epoch>,
    best: usize,
    stop: Stop,
    stale_state: bool,
}

struct Run<'a, B: PerceptronOps> {
    config: &'a TrainConfig,
    network: &'a MlpConfig,
    training: &'a Own<B>,
    validation: &'a Own<B>,
    context: &'a Context<B>,
}

type Diff<B> = Autodiff<B>;
type Adaptor<O, B> = OptimizerAdaptor<O, Mlp<Diff<B>>, Diff<B>>;

impl<B: PerceptronOps> Run<'_, B> {
    fn all<O>(
        &self,
        optimizer: Adaptor<O, B>,
        checkpoints: &Checkpoints,
        identity: Option<&Identity>,
    ) -> Result<Ended<B>>
    where
        O: Moments<B>,
    {
        let Self { config, context, .. } = *self;
        let (observer, ranks, form) = (&*context.observer, &*context.communicator, self.network);
        let resumed = match (&checkpoints.resume, identity) {
            (Some(path), Some(identity)) => {
                let rows = [self.training.rows, self.validation.rows];
                let frame = Frame { form, rows, precision: context.precision };
                let numbers = restore(resume(path, identity, context)?, config, frame);
                numbers.map_err(|error| error.in_file(path))?.load(form, optimizer, &context.device)
            }
            _ => {
                let network = form.init::<Diff<B>>(&context.device)?;
                Resumed { state: State::default(), kept: network.valid(), network, optimizer }
            }
        };
        let Resumed { mut state, mut network, mut kept, mut optimizer } = resumed;
        let mut keeper = Keeper::new(checkpoints, context);
        let keep = |keeper: &mut Keeper<'_>, state: &State, network: &_, kept: &_, optimizer: &_| match identity {
            Some(identity) => {
                let run = (identity, &context.device);
                keeper.save(state.position(), || save((config, form), run, state, network, kept, optimizer))
            }
            None => Ok(()),
        };
        let mut stop = Stop::Epochs;
        while state.history.len() < config.epochs {
            if state.best > 0 && state.history.len() - state.best >= config.patience && self.validation.rows > 0 {
                stop = Stop::Patience;
                break;
            }
            observer.progress(&state.says(), state.history.len() as u64, config.epochs as u64);
            // Stopped within an epoch, a training goes on from where that began.
            let mut steps = optimizer.clone();
            let passed = context.watched(|| {
                let Some((next, loss)) = self.epoch(network.clone(), &mut steps, state.history.len())? else {
                    return Err(Error::Cancelled);
                };
                let plain = next.valid();
                let epoch = self.measure(&plain, loss)?;
                Ok((next, plain, epoch))
            });
            let (next, plain, epoch) = match passed.and_then(|passed| passed) {
                Err(Error::Cancelled) => {
                    stop = Stop::Request;
                    break;
                }
                passed => passed?,
            };
            optimizer = steps;
            network = next;
            if state.add(epoch) {
                kept = plain;
            }
            // Clocks differ between ranks: the first decides for all.
            if keeper.is_on() && ranks.first(u8::from(keeper.is_due())) == 1 {
                keep(&mut keeper, &state, &network, &kept, &optimizer)?;
            }
        }
        keep(&mut keeper, &state, &network, &kept, &optimizer)?;
        let stale_state = keeper.finish(state.position());
        observer.progress(&state.says(), state.history.len() as u64, config.epochs as u64);
        Ok(Ended { kept, history: state.history, best: state.best, stop, stale_state })
    }

    /// One pass over the training part in an order of its own; the network after it and the batches' mean loss. Nothing
    /// if the observer wishes to stop: the optimiser is worth nothing then.
    fn epoch<O>(
        &self,
        mut network: Mlp<Diff<B>>,
        optimizer: &mut Adaptor<O, B>,
        epoch: usize,
    ) -> Result<Option<(Mlp<Diff<B>>, f64)>>
    where
        O: Moments<B>,
    {
        let Self { config, training: Own { part, of, rows }, context, .. } = *self;
        let ranks = &*context.communicator;
        let mut order: Vec<usize> = (0..*rows).collect();
        Random::new(context.seed, STREAM + epoch as u64).shuffle(&mut order);
        let own = order.iter().filter(|at| of.contains(at)).map(|at| at - of.start);
        let shuffled = part.as_ref().map(|part| part.select(&ints(own, &context.device)));
        let (mut means, mut from) = (Vec::new(), 0);
        for batch in order.chunks(config.batch) {
            if context.cancelled() {
                return Ok(None);
            }
            let count = batch.iter().filter(|at| of.contains(at)).count();
            let mut gradients = None;
            if let Some(shuffled) = shuffled.as_ref().filter(|_| count > 0) {
                let part = shuffled.slice(from, from + count);
                from += count;
                let known = match part.known {
                    Known::Classes(classes) => Known::Classes(Tensor::from_inner(classes)),
                    Known::Numbers(numbers) => Known::Numbers(Tensor::from_inner(numbers)),
                };
                let mut loss = mean(losses(network.forward(Tensor::from_inner(part.instances)), known));
                means.push(loss.clone().inner().mul_scalar(count as f64 / *rows as f64));
                if count < batch.len() {
                    loss = loss.mul_scalar(count as f64 / batch.len() as f64);
                }
                gradients = Some(GradientsParams::from_grads(loss.backward(), &network));
            }
            let gradients = match gradients {
                Some(gradients) if ranks.size() == 1 => gradients,
                gradients => shared::sum(gradients.as_ref(), &network, context)?,
            };
            network = optimizer.step(config.learning_rate, network, gradients);
        }
        B::finish(&context.device, "training")?;
        let means = if means.is_empty() { Vec::new() } else { read_floats(Tensor::cat(means, 0), "training")? };
        let mut mean = [means.into_iter().sum::<f64>()];
        ranks.all_sum(&mut mean);
        let [mean] = mean;
        if !mean.is_finite() {
            return Err(Error::Run {
                device: B::limits(&context.device).device,
                phase: format!("epoch {}", epoch + 1),
                what: "the loss is no number any more; try a smaller --learning-rate".into(),
            });
        }
        Ok(Some((network, mean)))
    }

    /// The loss and accuracy on the validation part.
    fn measure(&self, network: &Mlp<B>, loss_before: f64) -> Result<Epoch> {
        let Own { part, rows, .. } = self.validation;
        if *rows == 0 {
            return Ok(Epoch { loss: loss_before, validation_loss: None, validation_accuracy: None });
        }
        // The loss, and how many are right.
        let mut sums = part.as_ref().map_or(Ok([0.0; 2]), |part| self.judge(network, part))?;
        self.context.communicator.all_sum(&mut sums);
        let [loss, right] = sums.map(|sum| Some(sum / *rows as f64));
        let right = right.filter(|_| self.config.task == Task::Classification);
        Ok(Epoch { loss: loss_before, validation_loss: loss, validation_accuracy: right })
    }

    /// The sum of the losses on some rows, and how many of them have the right class.
    fn judge(&self, network: &Mlp<B>, part: &Part<B>) -> Result<[f64; 2]> {
        let results = network.forward(part.instances.clone());
        let (known, right) = match &part.known {
            Known::Classes(classes) => {
                let found = results.clone().argmax(1).squeeze_dim::<1>(1);
                let right = found.equal(classes.clone()).int().sum();
                (Known::Classes(classes.clone()), Some(right))
            }
            Known::Numbers(numbers) => (Known::Numbers(numbers.clone()), None),
        };
        let phase = "validation";
        let losses = read_floats(losses(results, known), phase)?;
        let right = right.map(|it| firebox_core::tensor::read_ints(it, phase)).transpose()?;
        let right = right.and_then(|it| it.first().copied()).map_or(0.0, f64::from);
        Ok([losses.iter().sum(), right])
    }
}
