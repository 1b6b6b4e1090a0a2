//! A training's state in a file, written whole or not at all: safetensors of bytes, Burn's records of the network, the
//! best one and the optimiser, and all else as JSON in the metadata.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    time::Instant,
};

use burn::{
    module::Module,
    optim::{
        Adam, AdamState, AdaptiveMomentumState, Optimizer, Sgd, SgdState, SimpleOptimizer,
        adaptor::OptimizerAdaptor,
        momentum::{Momentum, MomentumConfig, MomentumState},
        record::{AdaptorRecord, AdaptorRecordV1},
    },
    record::{BinBytesRecorder, DoublePrecisionSettings, Record, Recorder},
    tensor::{Tensor, backend::Backend},
};
use burn_autodiff::Autodiff;
use firebox_core::{Context, Error, Precision, Result, data::atomic, error::Place};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde::{Deserialize, Serialize};

use crate::{
    config::TrainConfig,
    layer::own,
    mlp::{Mlp, MlpConfig},
    ops::PerceptronOps,
    train::Epoch,
};

const FORMAT: &str = "firebox perceptron checkpoint 2";
const KEY: &str = "firebox";
const NAMES: [&str; 3] = ["network", "best", "optimizer"];

/// Files that a training's state goes to and comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoints {
    /// Where the state is written, whole or not at all: every so often, when the run is stopped, and at its end.
    pub file: Option<PathBuf>,
    /// Seconds between two writes.
    pub every: f64,
    /// A state to go on from. Its configuration, seed, precision and data must be the run's; the epochs and the patience
    /// may differ.
    pub resume: Option<PathBuf>,
    /// What tells the data from others.
    pub data: String,
}

impl Default for Checkpoints {
    fn default() -> Self {
        Self { file: None, every: 60.0, resume: None, data: String::new() }
    }
}

/// How far a training has come, but for the networks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    pub history: Vec<Epoch>,
    /// The epoch, from 1, whose network is kept.
    pub best: usize,
    /// The loss then; kept as bits, since JSON has no infinity.
    #[serde(with = "bits")]
    pub least: f64,
}

impl Default for State {
    fn default() -> Self {
        Self { history: Vec::new(), best: 0, least: f64::INFINITY }
    }
}

mod bits {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(value.to_bits())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        u64::deserialize(from).map(f64::from_bits)
    }
}

impl State {
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

/// What a state belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Header {
    format: String,
    config: TrainConfig,
    network: MlpConfig,
    data: String,
    seed: u64,
    precision: Precision,
    state: State,
}

/// When the next state is to be written.
pub(crate) struct Clock {
    last: Instant,
    every: Option<f64>,
}

impl Clock {
    pub(crate) fn due(&mut self) -> bool {
        let due = self.every.is_some_and(|every| self.last.elapsed().as_secs_f64() >= every);
        if due {
            self.last = Instant::now();
        }
        due
    }
}

type Adaptor<O, B> = OptimizerAdaptor<O, Mlp<Autodiff<B>>, Autodiff<B>>;
/// The moments of all weights.
type All<O, B> = <Adaptor<O, B> as Optimizer<Mlp<Autodiff<B>>, Autodiff<B>>>::Record;
/// Twice as wide as f32 needs, so that one format does for both floats.
type Bytes = BinBytesRecorder<DoublePrecisionSettings>;

fn record<B: Backend>(of: impl Record<B>) -> Result<Vec<u8>> {
    Bytes::default().record(of, ()).map_err(|error| Error::input(format!("a record cannot be written: {error}"), ""))
}

/// An optimiser whose moments can be cast to the backend's own float: a record comes back in the float that the device was
/// first used with in this process.
pub(crate) trait Moments<B: Backend>: SimpleOptimizer<B> {
    fn own<const D: usize>(moments: Self::State<D>, device: &B::Device) -> Self::State<D>;
}

impl<B: Backend> Moments<B> for Adam {
    fn own<const D: usize>(AdamState { momentum }: AdamState<B, D>, _: &B::Device) -> AdamState<B, D> {
        let AdaptiveMomentumState { time, moment_1, moment_2, max_moment_2 } = momentum;
        let mut momentum = AdaptiveMomentumState::new(time, own(moment_1), own(moment_2));
        momentum.max_moment_2 = max_moment_2.map(own);
        AdamState::new(momentum)
    }
}

impl<B: Backend> Moments<B> for Sgd<B> {
    fn own<const D: usize>(SgdState { momentum }: SgdState<B, D>, device: &B::Device) -> SgdState<B, D> {
        // A velocity can be read only as a step from it: here 1 of it, and 0 of a gradient.
        let step = Momentum::<B>::new(&MomentumConfig { momentum: 1.0, dampening: 1.0, nesterov: false });
        let still = || Tensor::zeros([1; D], device);
        SgdState::new(momentum.map(|state| MomentumState::new(own(step.transform(still(), Some(state)).0))))
    }
}

/// Of vectors and matrices, which are all that a network has.
fn cast<B: Backend, O: Moments<B>>(
    AdaptorRecord::V1(moments): AdaptorRecord<O, Autodiff<B>>,
    device: &B::Device,
) -> AdaptorRecord<O, Autodiff<B>> {
    AdaptorRecord::V1(match moments {
        AdaptorRecordV1::Rank1(moments) => AdaptorRecordV1::Rank1(O::own(moments, device)),
        AdaptorRecordV1::Rank2(moments) => AdaptorRecordV1::Rank2(O::own(moments, device)),
        other => other,
    })
}

impl Checkpoints {
    pub(crate) fn clock(&self) -> Clock {
        Clock { last: Instant::now(), every: self.file.as_ref().map(|_| self.every) }
    }

    fn header<B: Backend>(&self, config: &TrainConfig, network: &MlpConfig, state: &State, of: &Context<B>) -> Header {
        let limits = TrainConfig::new();
        let config = TrainConfig { epochs: limits.epochs, patience: limits.patience, ..config.clone() };
        Header {
            format: FORMAT.into(),
            config,
            network: network.clone(),
            data: self.data.clone(),
            seed: of.seed,
            precision: of.precision,
            state: state.clone(),
        }
    }

    #[allow(clippy::too_many_arguments)] // A training's state is all of these.
    pub(crate) fn write<B, O>(
        &self,
        config: &TrainConfig,
        form: &MlpConfig,
        state: &State,
        network: &Mlp<Autodiff<B>>,
        kept: &Mlp<B>,
        optimizer: &Adaptor<O, B>,
        context: &Context<B>,
    ) -> Result<()>
    where
        B: PerceptronOps,
        O: Moments<B>,
    {
        let Some(path) = self.file.as_ref().filter(|_| context.communicator.rank() == 0) else { return Ok(()) };
        let parts = [
            record::<Autodiff<B>>(network.clone().into_record())?,
            record::<B>(kept.clone().into_record())?,
            record::<Autodiff<B>>(optimizer.to_record())?,
        ];
        let header = self.header(config, form, state, context);
        let failed = |error: &dyn std::fmt::Display| Error::input(format!("no checkpoint can be written: {error}"), "");
        let text = serde_json::to_string(&header).map_err(|error| failed(&error))?;
        let views = NAMES.iter().zip(&parts).map(|(name, bytes)| {
            let view = TensorView::new(Dtype::U8, vec![bytes.len()], bytes);
            view.map(|view| (*name, view)).map_err(|error| failed(&error))
        });
        let views = views.collect::<Result<Vec<_>>>()?;
        let bytes = safetensors::serialize(views, Some(HashMap::from([(KEY.to_string(), text)])));
        let bytes = bytes.map_err(|error| failed(&error))?;
        atomic::write(path, |out| out.write_all(&bytes))
    }

    #[allow(clippy::too_many_arguments, clippy::type_complexity)] // As above.
    pub(crate) fn read<B, O>(
        &self,
        path: &Path,
        config: &TrainConfig,
        form: &MlpConfig,
        network: Mlp<Autodiff<B>>,
        kept: Mlp<B>,
        optimizer: Adaptor<O, B>,
        context: &Context<B>,
    ) -> Result<(State, Mlp<Autodiff<B>>, Mlp<B>, Adaptor<O, B>)>
    where
        B: PerceptronOps,
        O: Moments<B>,
    {
        let refuse = |what: String, help: &str| Error::input_at(Place::file(path), what, help);
        let bad = |error: &dyn std::fmt::Display| {
            let help = "give the file that --checkpoint wrote";
            refuse(format!("this is no checkpoint of a perceptron: {error}"), help)
        };
        let bytes = std::fs::read(path).map_err(|source| Error::Io { action: "read", path: path.into(), source })?;
        let (_, metadata) = SafeTensors::read_metadata(&bytes).map_err(|error| bad(&error))?;
        let text = metadata.metadata().as_ref().and_then(|it| it.get(KEY));
        let text = text.ok_or_else(|| bad(&"its metadata say nothing of it"))?;
        let theirs: Header = serde_json::from_str(text).map_err(|error| bad(&error))?;
        let ours = self.header(config, form, &theirs.state, context);
        let differs = [
            (theirs.format != ours.format, "its format is of another version"),
            (theirs.config != ours.config || theirs.network != ours.network, "its run had other parameters"),
            (theirs.seed != ours.seed, "its run had another seed"),
            (theirs.precision != ours.precision, "its run had another precision"),
            (theirs.data != ours.data, "its run had other data"),
        ];
        if let Some((_, what)) = differs.iter().find(|(differs, _)| *differs) {
            let help =
                "resume with the same data, parameters, seed and precision; only --epochs and --patience may differ";
            return Err(refuse((*what).into(), help));
        }
        let tensors = SafeTensors::deserialize(&bytes).map_err(|error| bad(&error))?;
        let part = |name: &str| tensors.tensor(name).map(|it| it.data().to_vec()).map_err(|error| bad(&error));
        let recorder = Bytes::default();
        let device = &context.device;
        let [network_then, kept_then, optimizer_then] = [part(NAMES[0])?, part(NAMES[1])?, part(NAMES[2])?];
        let network_then = recorder.load(network_then, device).map_err(|error| bad(&error))?;
        let kept_then = recorder.load(kept_then, device).map_err(|error| bad(&error))?;
        let optimizer_then: All<O, B> = recorder.load(optimizer_then, device).map_err(|error| bad(&error))?;
        let optimizer_then = optimizer_then.into_iter().map(|(id, moments)| (id, cast(moments, device))).collect();
        Ok((
            theirs.state,
            network.load_record(network_then),
            kept.load_record(kept_then),
            optimizer.load_record(optimizer_then),
        ))
    }
}
