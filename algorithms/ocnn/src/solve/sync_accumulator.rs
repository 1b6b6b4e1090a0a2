//! Accumulates synchronisation over steps, and finds the components of linked neurons.

use burn::tensor::{
    Int, Tensor, TensorMetadata,
    backend::Backend,
    ops::{FloatTensor, IntTensor},
};
use firebox_core::{
    Context, Error, Result,
    tensor::{concatenate, concatenate_int, int_values, select_int, slice, upload_int},
};

use super::components::breadth_first;
use crate::{
    config::{Linking, PaperConfig, Sync},
    ops::{OcnnOps, union_find::union},
};

/// Rows of links per query of the breadth-first search.
pub(crate) const LINK_ROWS: usize = 1024;

/// Name of the phase in progress reports and messages.
const LINKING: &str = "linking";

/// The smallest index in each neuron's component, and S `[n, n]` if it is kept.
pub(crate) type Components<B> = (Vec<u32>, Option<Tensor<B, 2, Int>>);

/// Recorded steps, or the sum of their synchronisation.
pub(crate) enum SyncAccumulator<B: Backend> {
    /// Signs of increase, packed.
    Signs(Vec<IntTensor<B>>),
    /// Outputs `[P, n]` of each period.
    Outputs(Vec<FloatTensor<B>>),
    /// S `[n, n]`, absent before the first period; moved into each update, so that it can be in place.
    Counts(Option<IntTensor<B>>),
}

impl<B: OcnnOps> SyncAccumulator<B> {
    pub(crate) fn new(config: &PaperConfig) -> Self {
        match (config.keep_sync, config.sync) {
            (true, _) => Self::Counts(None),
            (false, Sync::Phase) => Self::Signs(Vec::new()),
            (false, Sync::Fragmentary) => Self::Outputs(Vec::new()),
        }
    }

    /// Records a period's trajectory `[P + 1, n]`.
    pub(crate) fn record(&mut self, trajectory: FloatTensor<B>, config: &PaperConfig) {
        let [rows, n] = trajectory.shape().dims();
        let signs = |trajectory| B::ocnn_increase_bits(trajectory);
        let outputs = |trajectory| slice::<B, 2>(trajectory, [1..rows, 0..n]);
        match self {
            Self::Signs(parts) => parts.push(signs(trajectory)),
            Self::Outputs(parts) => parts.push(outputs(trajectory)),
            Self::Counts(counts) => {
                let before = counts.take();
                *counts = Some(match (config.sync, config.epsilon) {
                    (Sync::Fragmentary, Some(epsilon)) => {
                        B::ocnn_fragmentary_sync(outputs(trajectory), epsilon, before)
                    }
                    _ => B::ocnn_phase_sync(signs(trajectory), rows - 1, before),
                });
            }
        }
    }

    /// The components of `n` neurons linked in more than θ·T steps, and S if it is kept.
    pub(crate) fn components(self, config: &PaperConfig, n: usize, context: &Context<B>) -> Result<Components<B>> {
        let (limit, ranks) = (config.limit(), &*context.communicator);
        let share = ranks.share();
        let union_find = |roots: IntTensor<B>| -> Result<Vec<u32>> {
            let roots = int_values::<B>(roots, LINKING)?;
            // A kernel that did not run leaves invalid roots.
            let valid = |(i, &root): (usize, &i32)| (0..=i as i32).contains(&root) && roots[root as usize] == root;
            if !roots.iter().enumerate().all(valid) {
                let device = B::limits(&context.device).device;
                let what = "the device returned invalid components".into();
                return Err(Error::Run { device, phase: LINKING.into(), what });
            }
            let roots: Vec<u32> = roots.into_iter().map(|root| root as u32).collect();
            Ok(if share.is_whole() { roots } else { union(n, ranks.all_gather(&roots)) })
        };
        let mut queried = 0;
        let mut search = |links: &dyn Fn(&[u32]) -> Result<Vec<i32>>| {
            breadth_first(n, LINK_ROWS, |rows| {
                context.checkpoint(LINKING, queried as u64, n as u64)?;
                queried += rows.len();
                let own = &rows[share.of(rows.len())];
                let words = if own.is_empty() { Vec::new() } else { links(own)? };
                Ok::<_, Error>(ranks.all_gather(&words))
            })
        };
        let words = |links: IntTensor<B>| int_values::<B>(links, LINKING);
        match self {
            Self::Signs(parts) => {
                let bits = concatenate_int::<B>(parts, 0);
                let roots = match config.linking {
                    Linking::UnionFind => union_find(B::ocnn_phase_components(bits, config.steps, limit, share))?,
                    Linking::BreadthFirst => {
                        search(&|rows| words(B::ocnn_phase_links(bits.clone(), config.steps, limit, rows)))?
                    }
                };
                Ok((roots, None))
            }
            Self::Outputs(parts) => {
                let outputs = concatenate::<B>(parts, 0);
                let epsilon = config.epsilon.unwrap_or_default();
                let roots = match config.linking {
                    Linking::UnionFind => union_find(B::ocnn_fragmentary_components(outputs, epsilon, limit, share))?,
                    Linking::BreadthFirst => {
                        search(&|rows| words(B::ocnn_fragmentary_links(outputs.clone(), epsilon, limit, rows)))?
                    }
                };
                Ok((roots, None))
            }
            Self::Counts(None) => Ok(((0..n as u32).collect(), None)),
            Self::Counts(Some(counts)) => {
                // Rows are read on demand, since a host copy of S would double its memory.
                let roots = search(&|rows| {
                    let index = upload_int::<B>(rows.iter().map(|&row| row as i32).collect(), &context.device);
                    let values = int_values::<B>(select_int::<B>(counts.clone(), 0, index), LINKING)?;
                    Ok(values.chunks(n).zip(rows).flat_map(|(row, &i)| link_words(row, i as usize, limit)).collect())
                })?;
                Ok((roots, Some(Tensor::from_primitive(counts))))
            }
        }
    }
}

/// The links of neuron `i` from its row of S, a bit per neuron, without itself.
fn link_words(row: &[i32], i: usize, limit: usize) -> Vec<i32> {
    let mut words = vec![0i32; row.len().div_ceil(32)];
    for (j, &count) in row.iter().enumerate().filter(|&(j, _)| j != i) {
        words[j / 32] |= i32::from(count as usize > limit) << (j % 32);
    }
    words
}
