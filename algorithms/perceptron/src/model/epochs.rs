//! Epochs of training: mini-batches, Burn's optimisers, early stopping, states.

use burn::{
    module::AutodiffModule,
    optim::{GradientsParams, Optimizer as Steps},
    tensor::{Tensor, backend::Backend},
};
use burn_autodiff::Autodiff;
use firebox_core::{
    Context, Error, Result,
    checkpoint::{Checkpoints, Identity, Keeper, resume},
    random::Random,
    tensor::{read_floats, read_ints},
};

use super::all_reduce;
use super::mlp::Mlp;
use super::snapshot::{Adaptor, TrainingState, capture, load};
use crate::config::{MlpConfig, Task, TrainConfig};
use crate::io::{Expected, decode_snapshot, encode};
use crate::ops::PerceptronOps;
use crate::solve::{BatchTargets, Epoch, LocalSamples, Moments, Samples, State, Stop, ints, losses, mean};

/// Stream of [`Random`] that shuffles epoch 0; epoch e uses stream `STREAM` + e.
const STREAM: u64 = 0x6570_0000_0000;

/// State at the end of training.
pub(super) struct Finished<B: Backend> {
    pub(super) best_network: Mlp<B>,
    pub(super) history: Vec<Epoch>,
    pub(super) best: usize,
    pub(super) stop: Stop,
    pub(super) stale_state: bool,
}

/// Inputs of a run of epochs.
pub(super) struct Run<'a, B: PerceptronOps> {
    pub(super) config: &'a TrainConfig,
    pub(super) network: &'a MlpConfig,
    pub(super) training: &'a LocalSamples<B>,
    pub(super) validation: &'a LocalSamples<B>,
    pub(super) context: &'a Context<B>,
}

impl<B: PerceptronOps> Run<'_, B> {
    /// Runs epochs to the end, from a new network or from a state.
    pub(super) fn epochs<O: Moments<B>>(
        &self,
        optimizer: Adaptor<O, B>,
        checkpoints: &Checkpoints,
        identity: Option<&Identity>,
    ) -> Result<Finished<B>> {
        let Self { config, context, .. } = *self;
        let (observer, ranks) = (&*context.observer, &*context.communicator);
        let start = match (&checkpoints.resume, identity) {
            (Some(path), Some(identity)) => {
                let rows = [self.training.rows, self.validation.rows];
                let expected = Expected { network: self.network, rows, precision: context.precision };
                let snapshot = decode_snapshot(resume(path, identity, context)?, config, expected);
                let snapshot = snapshot.map_err(|error| error.in_file(path))?;
                let steps = snapshot.state.steps(self.training.rows, config.batch);
                load(snapshot, steps, self.network, optimizer, &context.device)
            }
            _ => {
                let network = self.network.init::<Autodiff<B>>(&context.device)?;
                TrainingState { state: State::default(), best_network: network.valid(), network, optimizer }
            }
        };
        let TrainingState { mut state, mut network, mut best_network, mut optimizer } = start;
        let mut keeper = Keeper::new(checkpoints, context);
        let save = |keeper: &mut Keeper<'_>, state: &State, network: &_, best: &_, optimizer: &_| match identity {
            Some(identity) => keeper.save(state.position(), || {
                let snapshot = capture(state, network, best, optimizer, &context.device)?;
                encode((config, self.network), identity, snapshot)
            }),
            None => Ok(()),
        };
        let mut stop = Stop::Epochs;
        while state.history.len() < config.epochs {
            if state.best > 0 && state.history.len() - state.best >= config.patience && self.validation.rows > 0 {
                stop = Stop::Patience;
                break;
            }
            observer.progress(&state.message(), state.history.len() as u64, config.epochs as u64);
            // Training that is stopped within an epoch resumes from the start of that epoch.
            let mut steps = optimizer.clone();
            let result = context.watched(|| {
                let (next, loss) = self.epoch(network.clone(), &mut steps, state.history.len())?;
                let plain = next.valid();
                let epoch = self.validate(&plain, loss)?;
                Ok((next, plain, epoch))
            });
            let (next, plain, epoch) = match result.and_then(|epoch| epoch) {
                Err(Error::Cancelled) => {
                    stop = Stop::Request;
                    break;
                }
                epoch => epoch?,
            };
            optimizer = steps;
            network = next;
            if state.add(epoch) {
                best_network = plain;
            }
            // Rank 0 decides, since clocks differ between ranks.
            if keeper.is_on() && ranks.broadcast_value(u8::from(keeper.is_due())) == 1 {
                save(&mut keeper, &state, &network, &best_network, &optimizer)?;
            }
        }
        save(&mut keeper, &state, &network, &best_network, &optimizer)?;
        let stale_state = keeper.finish(state.position());
        observer.progress(&state.message(), state.history.len() as u64, config.epochs as u64);
        Ok(Finished { best_network, history: state.history, best: state.best, stop, stale_state })
    }

    /// Runs one epoch in shuffled order; returns the network after it and the mean loss. Fails with [`Error::Cancelled`] if
    /// the observer stops it, which leaves the optimiser in an intermediate state.
    fn epoch<O: Moments<B>>(
        &self,
        mut network: Mlp<Autodiff<B>>,
        optimizer: &mut Adaptor<O, B>,
        epoch: usize,
    ) -> Result<(Mlp<Autodiff<B>>, f64)> {
        let Self { config, training: LocalSamples { samples, range, rows }, context, .. } = *self;
        let ranks = &*context.communicator;
        let mut order: Vec<usize> = (0..*rows).collect();
        Random::new(context.seed, STREAM + epoch as u64).shuffle(&mut order);
        let local = order.iter().filter(|row| range.contains(row)).map(|row| (row - range.start) as i64);
        let shuffled = samples.as_ref().map(|samples| samples.select(&ints(local, &context.device)));
        let (mut means, mut from) = (Vec::new(), 0);
        for batch in order.chunks(config.batch) {
            context.go_on()?;
            let count = batch.iter().filter(|row| range.contains(row)).count();
            let mut gradients = None;
            if let Some(shuffled) = shuffled.as_ref().filter(|_| count > 0) {
                let samples = shuffled.slice(from, count);
                from += count;
                let targets = match samples.targets {
                    BatchTargets::Classes(classes) => BatchTargets::Classes(Tensor::from_inner(classes)),
                    BatchTargets::Numbers(numbers) => BatchTargets::Numbers(Tensor::from_inner(numbers)),
                };
                let mut loss = mean(losses(network.forward(Tensor::from_inner(samples.instances)), targets));
                means.push(loss.clone().inner().mul_scalar(count as f64 / *rows as f64));
                if count < batch.len() {
                    loss = loss.mul_scalar(count as f64 / batch.len() as f64);
                }
                gradients = Some(GradientsParams::from_grads(loss.backward(), &network));
            }
            let gradients = match gradients {
                Some(gradients) if ranks.size() == 1 => gradients,
                gradients => all_reduce::gradients(gradients.as_ref(), &network, context)?,
            };
            network = optimizer.step(config.learning_rate, network, gradients);
        }
        B::finish(&context.device, "training")?;
        let means = if means.is_empty() { Vec::new() } else { read_floats(Tensor::cat(means, 0), "training")? };
        let mut mean = [means.into_iter().sum::<f64>()];
        ranks.all_sum(&mut mean);
        let [mean] = mean;
        if !mean.is_finite() {
            return Err(diverged::<B>(&context.device, epoch + 1, "loss is"));
        }
        Ok((network, mean))
    }

    /// Adds loss and accuracy on the validation part to the training loss.
    fn validate(&self, network: &Mlp<B>, loss: f64) -> Result<Epoch> {
        let LocalSamples { samples, rows, .. } = self.validation;
        if *rows == 0 {
            return Ok(Epoch { loss, validation_loss: None, validation_accuracy: None });
        }
        let mut sums = samples.as_ref().map_or(Ok([0.0; 2]), |samples| evaluate(network, samples))?;
        self.context.communicator.all_sum(&mut sums);
        let [validation_loss, accuracy] = sums.map(|sum| Some(sum / *rows as f64));
        let validation_accuracy = accuracy.filter(|_| self.config.task == Task::Classification);
        Ok(Epoch { loss, validation_loss, validation_accuracy })
    }
}

/// Error of a training whose loss or weights are no longer finite after an epoch, counted from 1.
pub(super) fn diverged<B: PerceptronOps>(device: &B::Device, epoch: usize, what: &str) -> Error {
    let what = format!("the {what} not finite; try a smaller `learning_rate`");
    Error::Run { device: B::limits(device).device, phase: format!("epoch {epoch}"), what }
}

/// Sum of the losses, and number of correctly classified rows.
fn evaluate<B: PerceptronOps>(network: &Mlp<B>, samples: &Samples<B>) -> Result<[f64; 2]> {
    let outputs = network.forward(samples.instances.clone());
    let correct = match &samples.targets {
        BatchTargets::Classes(classes) => {
            let predicted = outputs.clone().argmax(1).squeeze_dim::<1>(1);
            Some(predicted.equal(classes.clone()).int().sum())
        }
        BatchTargets::Numbers(_) => None,
    };
    let phase = "validation";
    let losses = read_floats(losses(outputs, samples.targets.clone()), phase)?;
    let correct = correct.map(|it| read_ints(it, phase)).transpose()?;
    let correct = correct.and_then(|it| it.first().copied()).map_or(0.0, f64::from);
    Ok([losses.iter().sum(), correct])
}
