//! Block sampling: each epoch every block of points meets one other, and time and memory go with N.

use burn::tensor::ops::FloatTensor;
use firebox_core::{
    Context, Result,
    random::Random,
    tensor::{primitive, read_floats, tensor},
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{
    Metric, SammonOps, bits,
    input::{Frame, Host, Prepared},
    ops::{Epoch, Problem, Source},
};

/// The streams of [`Random`] that epochs and samples are drawn from.
const EPOCHS: u64 = u64::from_be_bytes(*b"sam-epoc");
const SAMPLE: u64 = u64::from_be_bytes(*b"sam-samp");
/// Epochs of one call, fewer if all of them have more than so many points.
const PERIOD: usize = 10;
const MOST: usize = 10_000_000;
/// α of the first epoch and of the last.
const ALPHA: [f64; 2] = [1.0, 0.02];

/// Sampling under way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sampled {
    #[serde(with = "bits")]
    pub(crate) x: Vec<f64>,
    epoch: usize,
}

/// What does not change while it is.
pub(crate) struct Blocks<'a, B: SammonOps> {
    points: FloatTensor<B>,
    multiplicity: FloatTensor<B>,
    metric: Metric,
    power: f64,
    epochs: usize,
    block: usize,
    context: &'a Context<B>,
}

impl<'a, B: SammonOps> Blocks<'a, B> {
    /// Over a problem of features; `None` of any other.
    pub(crate) fn new(problem: &Problem<B>, epochs: usize, block: usize, context: &'a Context<B>) -> Option<Self> {
        let Source::Features { points, metric, .. } = &problem.source else { return None };
        let n = tensor::<B, 2>(points.clone()).dims()[1];
        let multiplicity = problem.multiplicity.clone();
        // At least eight blocks, so that points meet others each time; no more than a launch has cubes along an axis.
        let block = block.min(n / 8).max(n.div_ceil(usize::from(u16::MAX))).max(1);
        Some(Self {
            points: points.clone(),
            multiplicity,
            metric: *metric,
            power: problem.power,
            epochs,
            block,
            context,
        })
    }

    fn epoch(&self, epoch: usize, n: usize) -> Epoch {
        let mut order: Vec<u32> = (0..n as u32).collect();
        Random::new(self.context.seed, EPOCHS.wrapping_add(epoch as u64)).shuffle(&mut order);
        let share = epoch as f64 / (self.epochs.max(2) - 1) as f64;
        Epoch { order, alpha: ALPHA[0] * (ALPHA[1] / ALPHA[0]).powf(share) }
    }
}

impl Sampled {
    pub(crate) fn new(x: Vec<f64>) -> Self {
        Self { x, epoch: 0 }
    }

    /// Some epochs; how many are done, and whether those are all.
    pub(crate) fn advance<B: SammonOps>(&mut self, blocks: &Blocks<B>, m: usize) -> Result<(usize, bool)> {
        let n = self.x.len() / m.max(1);
        // Short enough that a wish to stop is heard within a second or two.
        let period = (MOST / n.max(1)).clamp(1, PERIOD);
        let until = (self.epoch + period).min(blocks.epochs);
        let epochs: Vec<Epoch> = (self.epoch..until).into_par_iter().map(|epoch| blocks.epoch(epoch, n)).collect();
        let device = &blocks.context.device;
        let moved = B::sammon_sampled(
            blocks.points.clone(),
            blocks.metric,
            blocks.multiplicity.clone(),
            blocks.power,
            primitive::<B, 2>(self.x.clone(), [m, n], device),
            &epochs,
            blocks.block,
        );
        B::finish(device, "sampling")?;
        self.x = read_floats(tensor::<B, 2>(moved), "sampling")?;
        self.epoch = until;
        Ok((epochs.len(), until == blocks.epochs))
    }
}

/// Some of the points, drawn once and for all.
pub(crate) struct Sample {
    pub(crate) chosen: Vec<usize>,
    n: usize,
}

impl Sample {
    /// At most `most` of n.
    pub(crate) fn new(n: usize, most: usize) -> Self {
        let mut all: Vec<usize> = (0..n).collect();
        if n > most {
            Random::new(0, SAMPLE).shuffle(&mut all);
            all.truncate(most);
            all.sort_unstable();
        }
        Self { chosen: all, n }
    }

    /// Their places, of all places `[m, n]`.
    pub(crate) fn places(&self, x: &[f64]) -> Vec<f64> {
        x.chunks(self.n).flat_map(|row| self.chosen.iter().map(|&i| row[i])).collect()
    }

    /// They alone.
    pub(crate) fn points(&self, prepared: &Prepared) -> Prepared {
        let host = match &prepared.host {
            Host::Features { values, d, metric, frame } => Host::Features {
                values: self.chosen.iter().flat_map(|&i| values[i * d..(i + 1) * d].iter().copied()).collect(),
                d: *d,
                metric: *metric,
                frame: Frame::clone(frame),
            },
            Host::Distances(values) => Host::Distances(
                self.chosen.iter().flat_map(|&i| self.chosen.iter().map(move |&j| values[i * self.n + j])).collect(),
            ),
        };
        let counts = self.chosen.iter().map(|&i| prepared.counts[i]).collect();
        Prepared { host, counts, index: Vec::new(), unit: prepared.unit, zero_pairs: 0 }
    }
}
