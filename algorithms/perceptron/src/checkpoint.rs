//! The state of a training in a [state file](firebox_core::checkpoint).

use burn::{
    module::AutodiffModule,
    optim::{
        Adam, AdamState, AdaptiveMomentumState, Optimizer as _, Sgd, SgdState, SimpleOptimizer,
        adaptor::OptimizerAdaptor,
        momentum::{Momentum, MomentumConfig, MomentumState},
        record::{AdaptorRecord, AdaptorRecordV1},
    },
    tensor::{Element, Tensor, backend::Backend},
};
use burn_autodiff::Autodiff;
use firebox_core::{
    Context, Precision, Result,
    checkpoint::{Checkpoint, Fingerprint, Identity, MAX_COUNT, Tensors, decode, require},
    tensor::{floats, read_floats},
};
use serde::{Deserialize, Serialize};

use crate::{
    config::{Optimizer, Task, TrainConfig},
    data::{Instances, Targets},
    layer::Linear,
    mlp::{Mlp, MlpConfig},
    ops::PerceptronOps,
    train::Epoch,
};

/// Parameters that a training which goes on from a state may change.
const LIMITS: &[&str] = &["epochs", "patience"];
const READING: &str = "reading the state";

/// Identity of this training, which its states carry. The rows' fingerprint is the same however ranks share them.
pub(crate) fn identity<B: Backend>(config: &TrainConfig, instances: &Instances, context: &Context<B>) -> Identity {
    let ranks = &*context.communicator;
    let (own, rows) = instances.place(ranks);
    let columns = instances.names.len();
    let hashes = instances.values.chunks(columns.max(1)).enumerate().map(|(row, values)| {
        let target = match &instances.targets {
            Targets::Classes(codes, _) => codes[row] as u64,
            Targets::Numbers(numbers, _) => numbers[row].to_bits(),
        };
        Fingerprint::default().word((own.start + row) as u64).word(target).numbers(values).value()
    });
    // A sum, so that it does not matter which rank has which row.
    let sums = ranks.all_gather(&[hashes.fold(0, u64::wrapping_add)]);
    let sum = sums.into_iter().fold(0, u64::wrapping_add);
    let outputs = match &instances.targets {
        Targets::Classes(_, classes) => classes.len(),
        Targets::Numbers(..) => 1,
    };
    let hash = [rows, columns, outputs].iter().fold(Fingerprint::default().word(sum), |hash, it| hash.word(*it as u64));
    Identity::new("perceptron", config, LIMITS, hash.to_string(), context)
}

/// How far a training has come, except for the networks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct State {
    pub history: Vec<Epoch>,
    /// The epoch, from 1, whose network is kept.
    pub best: usize,
    /// Its validation loss; infinite without a validation part.
    pub least: f64,
}

impl Default for State {
    fn default() -> Self {
        Self { history: Vec::new(), best: 0, least: f64::INFINITY }
    }
}

impl State {
    /// Adds an epoch; whether its network is the best so far.
    pub(crate) fn add(&mut self, epoch: Epoch) -> bool {
        self.history.push(epoch);
        let better = epoch.validation_loss.is_none_or(|loss| loss < self.least);
        if better {
            self.least = epoch.validation_loss.unwrap_or(f64::INFINITY);
            self.best = self.history.len();
        }
        better
    }

    /// Where the training is, for notices.
    pub(crate) fn position(&self) -> String {
        format!("epoch {}", self.history.len())
    }

    /// A line of progress.
    pub(crate) fn says(&self) -> String {
        match self.history.last() {
            None => "training".into(),
            Some(Epoch { loss, validation_accuracy: Some(accuracy), .. }) => {
                format!("training: loss {loss:.4}, accuracy {:.1} %", 100.0 * accuracy)
            }
            Some(Epoch { loss, validation_loss: Some(other), .. }) => {
                format!("training: loss {loss:.4}, validation {other:.4}")
            }
            Some(Epoch { loss, .. }) => format!("training: loss {loss:.4}"),
        }
    }
}

/// The part of a state that is not an array. Which epoch was the best, and how many steps were taken, follow from the
/// history.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scalars {
    epochs: usize,
}

/// Sizes and precision that a state must fit besides its configuration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame<'a> {
    pub form: &'a MlpConfig,
    /// Rows of the training and of the validation part.
    pub rows: [usize; 2],
    pub precision: Precision,
}

/// The numbers of each parameter, layer by layer, weights before the bias.
type Parameters = Vec<Vec<f64>>;

/// A state as numbers on the host.
pub(crate) struct Numbers {
    state: State,
    network: Parameters,
    best: Parameters,
    /// The optimiser's moments, one after the other, of each parameter; none before the first epoch.
    moments: Vec<Parameters>,
    /// Steps taken so far.
    steps: usize,
}

type Adaptor<O, B> = OptimizerAdaptor<O, Mlp<Autodiff<B>>, Autodiff<B>>;

/// An optimiser whose moments can be taken apart and put together.
pub(crate) trait Moments<B: Backend>: SimpleOptimizer<B> {
    /// The moments of a parameter, in the order of [`moments`].
    fn apart<const D: usize>(moments: Self::State<D>, shape: [usize; D], device: &B::Device) -> Vec<Tensor<B, D>>;

    /// Inverse of [`apart`](Self::apart), after `steps` steps.
    fn together<const D: usize>(moments: Vec<Tensor<B, D>>, steps: usize) -> Option<Self::State<D>>;
}

impl<B: Backend> Moments<B> for Adam {
    fn apart<const D: usize>(
        AdamState { momentum }: AdamState<B, D>,
        _shape: [usize; D],
        _device: &B::Device,
    ) -> Vec<Tensor<B, D>> {
        vec![momentum.moment_1, momentum.moment_2]
    }

    fn together<const D: usize>(moments: Vec<Tensor<B, D>>, steps: usize) -> Option<AdamState<B, D>> {
        let [first, second] = <[_; 2]>::try_from(moments).ok()?;
        Some(AdamState::new(AdaptiveMomentumState::new(steps, first, second)))
    }
}

impl<B: Backend> Moments<B> for Sgd<B> {
    fn apart<const D: usize>(
        SgdState { momentum }: SgdState<B, D>,
        shape: [usize; D],
        device: &B::Device,
    ) -> Vec<Tensor<B, D>> {
        // A velocity can be read only as a step from it: here 1 of it, and 0 of a gradient.
        let step = Momentum::<B>::new(&MomentumConfig { momentum: 1.0, dampening: 1.0, nesterov: false });
        let still = Tensor::zeros(shape, (device, B::FloatElem::dtype()));
        momentum.into_iter().map(|state| step.transform(still.clone(), Some(state)).0).collect()
    }

    fn together<const D: usize>(moments: Vec<Tensor<B, D>>, _steps: usize) -> Option<SgdState<B, D>> {
        let [velocity] = <[_; 1]>::try_from(moments).ok()?;
        Some(SgdState::new(Some(MomentumState::new(velocity))))
    }
}

/// Names of the moments that an optimiser keeps of each parameter.
fn moments(optimizer: Optimizer) -> &'static [&'static str] {
    match optimizer {
        Optimizer::Adam => &["moment_1", "moment_2"],
        Optimizer::Sgd => &["velocity"],
    }
}

/// Name and shape of each parameter, layer by layer, weights before the bias.
fn parameters(form: &MlpConfig) -> Vec<(String, Vec<usize>)> {
    let widths = form.widths();
    let layers = widths.windows(2).enumerate();
    let of = |(at, pair): (usize, &[usize])| {
        let weights = (format!("layer.{at}.weights"), pair.to_vec());
        let bias = form.bias.then(|| (format!("layer.{at}.bias"), vec![pair[1]]));
        [Some(weights), bias].into_iter().flatten()
    };
    layers.flat_map(of).collect()
}

/// The file's content for a training.
pub(crate) fn save<B, O>(
    (config, form): (&TrainConfig, &MlpConfig),
    (run, device): (&Identity, &B::Device),
    state: &State,
    network: &Mlp<Autodiff<B>>,
    kept: &Mlp<B>,
    optimizer: &Adaptor<O, B>,
) -> Result<Checkpoint>
where
    B: PerceptronOps,
    O: Moments<B>,
{
    let mut tensors = Tensors::default();
    let names = parameters(form);
    for (of, network) in [("network", &network.valid()), ("best", kept)] {
        let numbers = network.layers.iter().flat_map(|layer| {
            let weights = read_floats(layer.weights.val(), READING);
            let bias = layer.bias.as_ref().map(|bias| read_floats(bias.val(), READING));
            [Some(weights), bias].into_iter().flatten()
        });
        for ((name, shape), numbers) in names.iter().zip(numbers) {
            tensors.put(format!("{of}.{name}"), shape, numbers?);
        }
    }
    let mut records = optimizer.to_record();
    let ids = network.layers.iter().flat_map(|layer| {
        let bias = layer.bias.as_ref().map(|bias| bias.id);
        [Some(layer.weights.id), bias].into_iter().flatten()
    });
    for ((name, shape), id) in names.iter().zip(ids) {
        let numbers = match (records.remove(&id), &shape[..]) {
            (Some(AdaptorRecord::V1(AdaptorRecordV1::Rank1(of))), &[m]) => read_all(O::apart(of, [m], device)),
            (Some(AdaptorRecord::V1(AdaptorRecordV1::Rank2(of))), &[k, m]) => read_all(O::apart(of, [k, m], device)),
            _ => Vec::new(),
        };
        for (moment, numbers) in moments(config.optimizer).iter().zip(numbers) {
            tensors.put(format!("optimizer.{name}.{moment}"), shape, numbers?);
        }
    }
    let epochs = state.history.len();
    let mut put = |name: &str, of: fn(&Epoch) -> Option<f64>| {
        let values: Vec<f64> = state.history.iter().filter_map(of).collect();
        tensors.put(format!("history.{name}"), &[values.len()], values);
    };
    put("loss", |epoch| Some(epoch.loss));
    put("validation_loss", |epoch| epoch.validation_loss);
    put("validation_accuracy", |epoch| epoch.validation_accuracy);
    Checkpoint::new(run, &Scalars { epochs }, tensors)
}

fn read_all<B: Backend, const D: usize>(tensors: Vec<Tensor<B, D>>) -> Vec<Result<Vec<f64>>> {
    tensors.into_iter().map(|tensor| read_floats(tensor, READING)).collect()
}

/// The numbers of a state; fails if it cannot be one of a training by `config` within `frame`.
pub(crate) fn restore(state: Checkpoint, config: &TrainConfig, frame: Frame<'_>) -> Result<Numbers> {
    let (Scalars { epochs }, mut tensors) = state.parts()?;
    let [training, validation] = frame.rows;
    require(epochs <= MAX_COUNT, "it has too many epochs")?;
    let losses = tensors.take("history.loss", &[epochs])?;
    let measured = if validation > 0 { epochs } else { 0 };
    let validated = tensors.take("history.validation_loss", &[measured])?;
    let classified = if config.task == Task::Classification { measured } else { 0 };
    let right = tensors.take("history.validation_accuracy", &[classified])?;
    require(right.iter().all(|share| (0.0..=1.0).contains(share)), "an accuracy of its history is no share")?;
    let mut state = State::default();
    for (at, loss) in losses.into_iter().enumerate() {
        let (validation_loss, validation_accuracy) = (validated.get(at).copied(), right.get(at).copied());
        state.add(Epoch { loss, validation_loss, validation_accuracy });
    }
    let steps = training.div_ceil(config.batch.max(1)).saturating_mul(epochs);
    require(steps <= MAX_COUNT, "it has too many epochs")?;
    let names = parameters(frame.form);
    let mut take = |of: &str, suffix: &str| {
        let of_parameter = |(name, shape): &(String, Vec<usize>)| {
            let name = format!("{of}.{name}{suffix}");
            let values = tensors.take(&name, shape)?;
            let narrow = frame.precision == Precision::F32;
            let fits = !narrow || values.iter().all(|value| (*value as f32).is_finite());
            require(fits, "it has numbers that are too large for its precision").map(|()| values)
        };
        names.iter().map(of_parameter).collect::<Result<Parameters>>()
    };
    let (network, best) = (take("network", "")?, take("best", "")?);
    let mut all = Vec::new();
    for moment in moments(config.optimizer).iter().filter(|_| epochs > 0) {
        let numbers = take("optimizer", &format!(".{moment}"))?;
        let possible = *moment != "moment_2" || numbers.iter().flatten().all(|value| *value >= 0.0);
        require(possible, "a second moment of its optimiser is below 0")?;
        all.push(numbers);
    }
    tensors.finish()?;
    Ok(Numbers { state, network, best, moments: all, steps })
}

/// A training on its device.
pub(crate) struct Resumed<B: PerceptronOps, O: Moments<B>> {
    pub state: State,
    pub network: Mlp<Autodiff<B>>,
    pub kept: Mlp<B>,
    pub optimizer: Adaptor<O, B>,
}

impl Numbers {
    /// The training that goes on from here.
    pub(crate) fn load<B: PerceptronOps, O: Moments<B>>(
        self,
        form: &MlpConfig,
        optimizer: Adaptor<O, B>,
        device: &B::Device,
    ) -> Resumed<B, O> {
        let network: Mlp<Autodiff<B>> = of_parameters(form, self.network, device);
        let mut moments: Vec<_> = self.moments.into_iter().map(Vec::into_iter).collect();
        let mut records = optimizer.to_record();
        for layer in &network.layers {
            let mut next = || moments.iter_mut().filter_map(Iterator::next).collect::<Vec<Vec<f64>>>();
            let of = next().into_iter().map(|it| floats::<B, 2>(it, layer.weights.dims(), device)).collect();
            if let Some(state) = O::together(of, self.steps) {
                records.insert(layer.weights.id, AdaptorRecord::V1(AdaptorRecordV1::Rank2(state)));
            }
            let Some(bias) = &layer.bias else { continue };
            let of = next().into_iter().map(|it| floats::<B, 1>(it, bias.dims(), device)).collect();
            if let Some(state) = O::together(of, self.steps) {
                records.insert(bias.id, AdaptorRecord::V1(AdaptorRecordV1::Rank1(state)));
            }
        }
        let kept = of_parameters(form, self.best, device);
        Resumed { state: self.state, network, kept, optimizer: optimizer.load_record(records) }
    }
}

fn of_parameters<B: Backend>(form: &MlpConfig, parameters: Parameters, device: &B::Device) -> Mlp<B> {
    let (mut parameters, widths) = (parameters.into_iter(), form.widths());
    let layers = widths.windows(2).map(|pair| {
        let weights = parameters.next().unwrap_or_default();
        let bias = if form.bias { parameters.next() } else { None };
        Linear::of(weights, bias, [pair[0], pair[1]], form.matmul, device)
    });
    let layers = layers.collect();
    form.with_layers(layers)
}

/// Fails unless `bytes` are the file of a state from which a training by `config` can go on, of a network of `inputs` and
/// `outputs`, with `rows` in the training and in the validation part; seed, precision and data are not compared.
pub fn check_state(bytes: &[u8], config: &TrainConfig, [inputs, outputs]: [usize; 2], rows: [usize; 2]) -> Result<()> {
    let state = decode(bytes)?;
    let (form, precision) = (config.network(inputs, outputs, state.run.seed), state.run.precision);
    restore(state, config, Frame { form: &form, rows, precision }).map(drop)
}

#[cfg(test)]
mod tests;
