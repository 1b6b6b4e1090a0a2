//! Epochs of training: mini-batches, early stopping, states.

use std::time::Instant;

use burn::tensor::{TensorMetadata, backend::Backend, ops::FloatTensor};
use firebox_backends::collectives::all_sum;
use firebox_core::{
    Context, Error, Result,
    checkpoint::{Checkpoints, Identity, Keeper, resume},
    random::Random,
    tensor::{concatenate, float_values, primitive, zeros},
};

use crate::config::{MlpConfig, Task, TrainConfig};
use crate::io::{Expected, Snapshot, decode_snapshot, encode};
use crate::ops::{PerceptronOps, sums::column_sums};
use crate::solve::{
    Epoch, Iterate, LayerNumbers, LocalSamples, Network, Samples, State, Stop, argmax, concatenated, cross_entropy,
    losses, step,
};

/// Stream of [`Random`] that shuffles epoch 0; epoch e uses stream `STREAM` + e.
const STREAM: u64 = 0x6570_0000_0000;
/// Phase named by errors.
const READING: &str = "reading the state";

/// Training on its device.
pub(super) struct Progress<B: Backend> {
    pub(super) state: State,
    iterate: Iterate<B>,
    /// Parameters `[p]` of the best epoch.
    pub(super) best: FloatTensor<B>,
}

/// Inputs of a run of epochs.
pub(super) struct Run<'a, B: PerceptronOps> {
    pub(super) config: &'a TrainConfig,
    pub(super) network: &'a MlpConfig,
    /// Layers to begin with, instead of random ones.
    pub(super) initial: Option<&'a [LayerNumbers]>,
    pub(super) training: &'a LocalSamples<B>,
    pub(super) validation: &'a LocalSamples<B>,
    pub(super) context: &'a Context<B>,
    /// Start of the time that [`TrainConfig::time_limit`] limits.
    pub(super) began: Instant,
}

impl<B: PerceptronOps> Run<'_, B> {
    /// Runs epochs to the end, from a new network or from a state. Returns the training, the reason for its end, and
    /// whether the state file is outdated.
    pub(super) fn epochs(
        &self,
        checkpoints: &Checkpoints,
        identity: Option<&Identity>,
    ) -> Result<(Progress<B>, Stop, bool)> {
        let Self { config, context, .. } = *self;
        let (observer, ranks) = (&*context.observer, &*context.communicator);
        let Progress { mut state, mut iterate, mut best } = self.start(checkpoints, identity)?;
        let mut keeper = Keeper::new(checkpoints, context);
        let save = |keeper: &mut Keeper<'_>, state: &State, iterate: &_, best: &_| match identity {
            Some(identity) => keeper
                .save(state.position(), || encode((config, self.network), identity, capture(state, iterate, best)?)),
            None => Ok(()),
        };
        let mut stop = Stop::Epochs;
        while state.history.len() < config.epochs {
            if state.best > 0
                && state.history.len() - state.best >= config.patience_epochs()
                && self.validation.rows > 0
            {
                stop = Stop::Patience;
                break;
            }
            // Clocks differ between ranks: rank 0 decides for all.
            if let Some(limit) = config.time_limit.filter(|_| state.best > 0) {
                let late = self.began.elapsed().as_secs_f64() >= limit;
                if ranks.broadcast_value(u8::from(late)) == 1 {
                    observer.notice(&format!(
                        "the time limit of {limit} s ended the training after epoch {} of {}; the model is of epoch {}",
                        state.history.len(),
                        config.epochs,
                        state.best
                    ));
                    stop = Stop::Time;
                    break;
                }
            }
            observer.progress(&state.message(), state.history.len() as u64, config.epochs as u64);
            // Training that is stopped within an epoch resumes from the start of that epoch.
            let result = context.watched(|| {
                let (next, loss) = self.epoch(iterate.clone(), state.history.len())?;
                let epoch = self.validate(next.result(config), loss, state.history.len() + 1)?;
                Ok((next, epoch))
            });
            let (next, epoch) = match result.and_then(|epoch| epoch) {
                Err(Error::Cancelled) => {
                    stop = Stop::Request;
                    break;
                }
                epoch => epoch?,
            };
            iterate = next;
            if state.add(epoch) {
                best = iterate.result(config).clone();
            }
            // Rank 0 decides, since clocks differ between ranks.
            if keeper.is_on() && ranks.broadcast_value(u8::from(keeper.is_due())) == 1 {
                save(&mut keeper, &state, &iterate, &best)?;
            }
        }
        save(&mut keeper, &state, &iterate, &best)?;
        let stale_state = keeper.finish(state.position());
        observer.progress(&state.message(), state.history.len() as u64, config.epochs as u64);
        Ok((Progress { state, iterate, best }, stop, stale_state))
    }

    /// The training from a state file, or a new one.
    fn start(&self, checkpoints: &Checkpoints, identity: Option<&Identity>) -> Result<Progress<B>> {
        let Self { config, context, .. } = *self;
        let upload = |values: Vec<f64>| {
            let count = values.len();
            primitive::<B, 1>(values, [count], &context.device)
        };
        let (Some(path), Some(identity)) = (&checkpoints.resume, identity) else {
            let parameters = upload(match self.initial {
                Some(layers) => concatenated(layers),
                None => concatenated(&self.network.initial_layers()?),
            });
            let moments = config.moments().iter();
            let moments = moments.map(|_| zeros::<B>(parameters.shape(), &context.device)).collect();
            let iterate = Iterate { parameters: parameters.clone(), moments, steps: 0 };
            return Ok(Progress { state: State::default(), iterate, best: parameters });
        };
        let rows = [self.training.rows, self.validation.rows];
        let expected = Expected { network: self.network, rows, precision: context.precision };
        let snapshot = decode_snapshot(resume(path, identity, context)?, config, expected);
        let Snapshot { state, parameters, best, moments } = snapshot.map_err(|error| error.in_file(path))?;
        let steps = state.steps(self.training.rows, config.batch_rows());
        let moments = moments.into_iter().map(upload).collect();
        let iterate = Iterate { parameters: upload(parameters), moments, steps };
        Ok(Progress { state, iterate, best: upload(best) })
    }

    /// Runs one epoch in shuffled order; returns the network after it and the mean loss. Fails with [`Error::Cancelled`] if
    /// the observer stops it.
    fn epoch(&self, mut iterate: Iterate<B>, epoch: usize) -> Result<(Iterate<B>, f64)> {
        let Self { config, training: LocalSamples { samples, range, rows, .. }, context, .. } = *self;
        let ranks = &*context.communicator;
        let mut order: Vec<usize> = (0..*rows).collect();
        Random::new(context.seed, STREAM + epoch as u64).shuffle(&mut order);
        let local = order.iter().filter(|row| range.contains(row)).map(|row| (row - range.start) as i32);
        let shuffled = samples.as_ref().map(|samples| samples.select(local.collect()));
        let (mut sums, mut from) = (Vec::new(), 0);
        let batches = order.chunks(config.batch_rows());
        let span = config.averaging_epochs() * batches.len() as f64;
        for batch in batches {
            context.go_on()?;
            let count = batch.iter().filter(|row| range.contains(row)).count();
            let local = shuffled.as_ref().filter(|_| count > 0).map(|shuffled| {
                let samples = shuffled.slice(from, count);
                from += count;
                let (sum, gradient) = self.gradient(&iterate.parameters, samples, batch.len());
                sums.push(sum);
                gradient
            });
            let gradient = match local {
                Some(gradient) if ranks.size() == 1 => gradient,
                local => {
                    let zeros = || zeros::<B>(iterate.parameters.shape(), &context.device);
                    all_sum(local.unwrap_or_else(zeros), context, "training")?
                }
            };
            iterate = step(config, span, iterate, gradient);
        }
        B::finish(&context.device, "training")?;
        let sums = if sums.is_empty() { Vec::new() } else { float_values::<B>(concatenate::<B>(sums, 0), "training")? };
        let mut loss = [sums.into_iter().sum::<f64>() / *rows as f64];
        ranks.all_sum(&mut loss);
        let [loss] = loss;
        if !loss.is_finite() {
            return Err(diverged::<B>(&context.device, epoch + 1, "loss is"));
        }
        Ok((iterate, loss))
    }

    /// Sum `[1]` of the losses of `samples`, and its gradient `[p]` divided by the `batch` rows of all ranks.
    fn gradient(
        &self,
        parameters: &FloatTensor<B>,
        samples: Samples<B>,
        batch: usize,
    ) -> (FloatTensor<B>, FloatTensor<B>) {
        let Samples { instances, targets, weights } = samples;
        self.network.with_parameters::<B>(parameters).gradient(instances, |outputs| {
            let (losses, gradient) = losses::<B>(self.config.task, outputs, targets, weights, 1.0 / batch as f64);
            (column_sums::<B>(losses), gradient)
        })
    }

    /// Adds loss and accuracy on the validation part to the training loss of `epoch`, counted from 1. Fails if the loss is not
    /// finite.
    fn validate(&self, parameters: &FloatTensor<B>, loss: f64, epoch: usize) -> Result<Epoch> {
        let LocalSamples { samples, rows, .. } = self.validation;
        if *rows == 0 {
            return Ok(Epoch { loss, validation_loss: None, validation_accuracy: None });
        }
        let mut sums = match samples {
            Some(samples) => self.evaluate(&self.network.with_parameters(parameters), samples)?,
            None => [0.0; 2],
        };
        self.context.communicator.all_sum(&mut sums);
        if !sums[0].is_finite() {
            return Err(diverged::<B>(&self.context.device, epoch, "validation loss is"));
        }
        let [validation_loss, accuracy] = sums.map(|sum| Some(sum / *rows as f64));
        let validation_accuracy = accuracy.filter(|_| self.config.task == Task::Classification);
        Ok(Epoch { loss, validation_loss, validation_accuracy })
    }

    /// Sum of the weighted losses of the validation part, and number of correctly classified rows.
    fn evaluate(&self, network: &Network<B>, samples: &Samples<B>) -> Result<[f64; 2]> {
        let LocalSamples { targets, weights, .. } = self.validation;
        let outputs = float_values::<B>(network.forward(samples.instances.clone()), "validation")?;
        let m = self.network.outputs;
        Ok(match self.config.task {
            Task::Classification => {
                let codes = || targets.iter().map(|&code| code as usize);
                let weight = |at: usize| weights.as_ref().map_or(1.0, |weights| weights[at]);
                let losses = codes().zip(outputs.chunks(m)).map(|(code, row)| cross_entropy(row, code));
                let losses = losses.enumerate().map(|(at, loss)| weight(at) * loss);
                let correct = argmax(&outputs, m).into_iter().zip(codes()).filter(|(own, code)| own == code).count();
                [losses.sum(), correct as f64]
            }
            Task::Regression => {
                let squares: f64 = outputs.iter().zip(targets).map(|(x, y)| (x - y).powi(2)).sum();
                [squares / m as f64, 0.0]
            }
        })
    }
}

/// Reads a training from its device.
fn capture<B: PerceptronOps>(state: &State, iterate: &Iterate<B>, best: &FloatTensor<B>) -> Result<Snapshot> {
    let read = |values: &FloatTensor<B>| float_values::<B>(values.clone(), READING);
    // Before the first step the moments are 0, and not part of a state.
    let moments = if state.history.is_empty() { &[] } else { iterate.moments.as_slice() };
    let moments = moments.iter().map(read).collect::<Result<_>>()?;
    Ok(Snapshot { state: state.clone(), parameters: read(&iterate.parameters)?, best: read(best)?, moments })
}

/// Error of a training whose loss or weights are no longer finite after an epoch, counted from 1.
pub(super) fn diverged<B: PerceptronOps>(device: &B::Device, epoch: usize, what: &str) -> Error {
    let what = format!("the {what} not finite; try a smaller `learning_rate`");
    Error::Run { device: B::limits(device).device, phase: format!("epoch {epoch}"), what }
}
