//! Block sampling: in each epoch every block of points interacts with one other block; time and memory are O(N).

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

use burn::tensor::{TensorMetadata, ops::FloatTensor};
use firebox_core::{
    Context, Result, Share,
    random::Random,
    tensor::{float_values, primitive, select, upload_int},
};
use rayon::prelude::*;

use crate::{
    ops::SammonOps,
    types::{Epoch, Metric, Problem, Source},
};

/// The stream of [`Random`] that epochs are drawn from.
const EPOCHS: u64 = u64::from_be_bytes(*b"sam-epoc");
/// Maximum epochs per call.
const PERIOD: usize = 10;
/// Maximum points of all epochs of a call, of which one epoch may have more.
const PERIOD_POINTS: usize = 10_000_000;
/// Step lengths α of the first and of the last epoch; geometric in between.
const ALPHA: [f64; 2] = [1.0, 0.02];

/// State of block sampling.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SamplingState {
    pub(crate) x: Vec<f64>,
    epoch: usize,
}

/// Constants of block sampling.
pub(crate) struct BlockSampler<'a, B: SammonOps> {
    points: FloatTensor<B>,
    multiplicity: FloatTensor<B>,
    metric: Metric,
    power: f64,
    epochs: usize,
    block: usize,
    context: &'a Context<B>,
    /// Epochs that were drawn while those before them ran.
    ahead: Mutex<Option<(Range<usize>, Vec<Epoch>)>>,
}

impl<'a, B: SammonOps> BlockSampler<'a, B> {
    /// From a problem of features; `None` for stored distances.
    pub(crate) fn new(problem: &Problem<B>, epochs: usize, block: usize, context: &'a Context<B>) -> Option<Self> {
        let Source::Features { points, metric, .. } = &problem.source else { return None };
        let n = points.shape()[1];
        // At least eight blocks, so that partners vary; at most the number of cubes along an axis of a launch.
        let block = block.min(n / 8).max(n.div_ceil(usize::from(u16::MAX))).max(1);
        let (points, multiplicity) = (points.clone(), problem.multiplicity.clone());
        let (metric, power, ahead) = (*metric, problem.power, Mutex::default());
        Some(Self { points, multiplicity, metric, power, epochs, block, context, ahead })
    }

    /// Embedding after `epochs` over `points` `[d, n]`, from `x` `[m, n]`.
    fn moved(
        &self,
        points: FloatTensor<B>,
        multiplicity: FloatTensor<B>,
        x: Vec<f64>,
        m: usize,
        epochs: &[Epoch],
    ) -> Result<Vec<f64>> {
        let (device, n) = (&self.context.device, x.len() / m.max(1));
        let x = primitive::<B, 2>(x, [m, n], device);
        let moved = B::sammon_sampled(points, self.metric, multiplicity, self.power, x, epochs, self.block);
        B::finish(device, "sampling")?;
        float_values::<B>(moved, "sampling")
    }

    fn draw(&self, epochs: Range<usize>, n: usize) -> Vec<Epoch> {
        epochs.into_par_iter().map(|epoch| self.epoch(epoch, n)).collect()
    }

    /// The epochs drawn ahead, replaced by `next`.
    fn replace_ahead(&self, next: Option<(Range<usize>, Vec<Epoch>)>) -> Option<(Range<usize>, Vec<Epoch>)> {
        std::mem::replace(&mut *self.ahead.lock().unwrap_or_else(PoisonError::into_inner), next)
    }

    fn epoch(&self, epoch: usize, n: usize) -> Epoch {
        let mut order: Vec<u32> = (0..n as u32).collect();
        Random::new(self.context.seed, EPOCHS.wrapping_add(epoch as u64)).shuffle(&mut order);
        let share = epoch as f64 / (self.epochs.max(2) - 1) as f64;
        Epoch { order, alpha: ALPHA[0] * (ALPHA[1] / ALPHA[0]).powf(share) }
    }
}

impl SamplingState {
    pub(crate) fn new(x: Vec<f64>) -> Self {
        Self { x, epoch: 0 }
    }

    /// State of n points at `epoch` of `epochs`; `None` if no call ends at that epoch.
    pub(crate) fn at(x: Vec<f64>, n: usize, epoch: usize, epochs: usize) -> Option<Self> {
        let ends = epoch == epochs || epoch.is_multiple_of(period(n));
        (epoch <= epochs && ends).then_some(Self { x, epoch })
    }

    /// Runs the epochs of one call. Returns their number, and whether all epochs are done.
    pub(crate) fn advance<B: SammonOps>(&mut self, blocks: &BlockSampler<B>, m: usize) -> Result<(usize, bool)> {
        let n = self.x.len() / m.max(1);
        let until = (self.epoch + period(n)).min(blocks.epochs);
        let range = self.epoch..until;
        let ahead = blocks.replace_ahead(None).filter(|(ahead, _)| *ahead == range);
        let epochs = ahead.map_or_else(|| blocks.draw(range, n), |(_, epochs)| epochs);
        self.epoch = until;
        if blocks.context.communicator.size() > 1 {
            for epoch in &epochs {
                self.advance_distributed(blocks, m, epoch)?;
            }
            return Ok((epochs.len(), until == blocks.epochs));
        }
        let next = until..(until + period(n)).min(blocks.epochs);
        // A device is idle while epochs are drawn, which takes longer than to run them.
        let moved = rayon::in_place_scope(|scope| {
            scope.spawn(|_| {
                let epochs = blocks.draw(next.clone(), n);
                blocks.replace_ahead(Some((next, epochs)));
            });
            blocks.moved(blocks.points.clone(), blocks.multiplicity.clone(), self.x.clone(), m, &epochs)
        });
        self.x = moved?;
        Ok((epochs.len(), until == blocks.epochs))
    }

    /// Runs an epoch with its pairs of blocks distributed over ranks.
    fn advance_distributed<B: SammonOps>(&mut self, blocks: &BlockSampler<B>, m: usize, epoch: &Epoch) -> Result<()> {
        let (context, n) = (blocks.context, epoch.order.len());
        let ranks = &*context.communicator;
        let parts: Vec<Vec<u32>> =
            (0..ranks.size()).map(|rank| part(epoch, blocks.block, Share { rank, ..ranks.share() })).collect();
        let (own, device) = (&parts[ranks.rank()], &context.device);
        let mut moved = Vec::new();
        if !own.is_empty() {
            let count = own.len();
            let order = upload_int::<B>(own.iter().map(|&i| i as i32).collect(), device);
            let points = select::<B>(blocks.points.clone(), 1, order.clone());
            let multiplicity = select::<B>(blocks.multiplicity.clone(), 0, order);
            let places = self.x.chunks(n).flat_map(|row| own.iter().map(|&i| row[i as usize])).collect::<Vec<f64>>();
            let epoch = Epoch { order: (0..count as u32).collect(), alpha: epoch.alpha };
            moved = blocks.moved(points, multiplicity, places, m, &[epoch])?;
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

/// Epochs per call: few enough that cancellation takes effect within a second or two.
pub(crate) fn period(n: usize) -> usize {
    (PERIOD_POINTS / n.max(1)).clamp(1, PERIOD)
}

/// Points of a share's pairs of blocks, ordered so that blocks keep their partners. The last of an odd number of blocks
/// is in the share of its partner, the first block.
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
