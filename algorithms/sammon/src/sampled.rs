//! Block sampling: each epoch every block of points meets one other, and time and memory go with N.

use burn::tensor::{DType, Int, Tensor, TensorData, ops::FloatTensor};
use firebox_core::{
    Context, Result, Share,
    random::Random,
    tensor::{primitive, read_floats, tensor},
};
use rayon::prelude::*;

use crate::{
    Metric, SammonOps,
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
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sampled {
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

    /// Sampling of n points that has come to `epoch` of `epochs`, where a call may end.
    pub(crate) fn at(x: Vec<f64>, n: usize, epoch: usize, epochs: usize) -> Option<Self> {
        let ends = epoch == epochs || epoch.is_multiple_of(period(n));
        (epoch <= epochs && ends).then_some(Self { x, epoch })
    }

    /// Some epochs; how many are done, and whether those are all.
    pub(crate) fn advance<B: SammonOps>(&mut self, blocks: &Blocks<B>, m: usize) -> Result<(usize, bool)> {
        let n = self.x.len() / m.max(1);
        let until = (self.epoch + period(n)).min(blocks.epochs);
        let epochs: Vec<Epoch> = (self.epoch..until).into_par_iter().map(|epoch| blocks.epoch(epoch, n)).collect();
        self.epoch = until;
        if blocks.context.communicator.size() > 1 {
            for epoch in &epochs {
                self.advance_shared(blocks, m, epoch)?;
            }
            return Ok((epochs.len(), until == blocks.epochs));
        }
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
        Ok((epochs.len(), until == blocks.epochs))
    }

    /// An epoch, each rank with its pairs of blocks.
    fn advance_shared<B: SammonOps>(&mut self, blocks: &Blocks<B>, m: usize, epoch: &Epoch) -> Result<()> {
        let (context, n) = (blocks.context, epoch.order.len());
        let ranks = &*context.communicator;
        let parts: Vec<Vec<u32>> =
            (0..ranks.size()).map(|rank| part(epoch, blocks.block, Share { rank, ..ranks.share() })).collect();
        let (own, device) = (&parts[ranks.rank()], &context.device);
        let mut moved = Vec::new();
        if !own.is_empty() {
            let count = own.len();
            let order: Vec<i32> = own.iter().map(|&i| i as i32).collect();
            let order = Tensor::<B, 1, Int>::from_data(TensorData::new(order, [count]), (device, DType::I32));
            let points = tensor::<B, 2>(blocks.points.clone()).select(1, order.clone());
            let multiplicity = tensor::<B, 1>(blocks.multiplicity.clone()).select(0, order);
            let places = self.x.chunks(n).flat_map(|row| own.iter().map(|&i| row[i as usize])).collect::<Vec<f64>>();
            let epoch = Epoch { order: (0..count as u32).collect(), alpha: epoch.alpha };
            let found = B::sammon_sampled(
                points.into_primitive().tensor(),
                blocks.metric,
                multiplicity.into_primitive().tensor(),
                blocks.power,
                primitive::<B, 2>(places, [m, count], device),
                &[epoch],
                blocks.block,
            );
            B::finish(device, "sampling")?;
            moved = read_floats(tensor::<B, 2>(found), "sampling")?;
        }
        let all = ranks.all_gather(&moved);
        let mut rest = &all[..];
        for part in &parts {
            for row in self.x.chunks_mut(n) {
                let (moved, after) = rest.split_at(part.len());
                part.iter().zip(moved).for_each(|(&i, &x)| row[i as usize] = x);
                rest = after;
            }
        }
        Ok(())
    }
}

/// Epochs of one call: short enough that a wish to stop is heard within a second or two.
pub(crate) fn period(n: usize) -> usize {
    (MOST / n.max(1)).clamp(1, PERIOD)
}

/// The points of a share's pairs of blocks, in such an order that they meet whom they meet in the whole. The last of an odd
/// number of blocks, which meets the first, is with it.
fn part(epoch: &Epoch, block: usize, share: Share) -> Vec<u32> {
    let (order, n) = (&epoch.order, epoch.order.len());
    let blocks = n.div_ceil(block);
    let pairs = share.of(blocks / 2);
    let mut part = order[(2 * pairs.start * block).min(n)..(2 * pairs.end * block).min(n)].to_vec();
    if share.rank == 0 && blocks % 2 == 1 {
        part.extend(&order[(blocks - 1) * block..]);
    }
    part
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

    /// n.
    pub(crate) fn points_of_all(&self) -> usize {
        self.n
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
