//! What the steps leave behind, and the components read from it.

use burn::tensor::{
    Int, Tensor, TensorData,
    backend::Backend,
    ops::{FloatTensor, IntTensor},
};
use firebox_core::{
    Context, Error, Result,
    tensor::{read_floats, read_ints},
};

use crate::{
    OcnnConfig, OcnnOps,
    components::{Forest, breadth_first},
    config::{Linking, Sync},
};

/// Rows of links asked for at once in a breadth-first search.
pub(crate) const BATCH: usize = 1024;

/// The phase in progress and messages.
const LINKING: &str = "linking";

/// The smallest neuron of each neuron's component, and S `[n, n]` if it was kept.
pub(crate) type Components<B> = (Vec<usize>, Option<Tensor<B, 2, Int>>);

/// All recorded steps, or their sum.
pub(crate) enum Record<B: Backend> {
    Signs(Vec<Tensor<B, 2, Int>>),
    Outputs(Vec<Tensor<B, 2>>),
    /// S `[n, n]`, none before the first period; taken out while it is added to, so that it can be in place.
    Counts(Option<Tensor<B, 2, Int>>),
}

impl<B: OcnnOps> Record<B> {
    pub(crate) fn new(config: &OcnnConfig) -> Self {
        match (config.keep_sync, config.sync) {
            (true, _) => Self::Counts(None),
            (false, Sync::Phase) => Self::Signs(Vec::new()),
            (false, Sync::Fragmentary) => Self::Outputs(Vec::new()),
        }
    }

    /// Takes in a period's trajectory `[P + 1, n]`.
    pub(crate) fn take(&mut self, trajectory: Tensor<B, 2>, config: &OcnnConfig) {
        let [rows, n] = trajectory.dims();
        let signs = |trajectory: Tensor<B, 2>| B::ocnn_increase_bits(trajectory.into_primitive().tensor());
        let outputs = |trajectory: Tensor<B, 2>| trajectory.slice([1..rows, 0..n]);
        match self {
            Self::Signs(parts) => parts.push(Tensor::from_primitive(signs(trajectory))),
            Self::Outputs(parts) => parts.push(outputs(trajectory)),
            Self::Counts(counts) => {
                let before = counts.take().map(Tensor::into_primitive);
                *counts = Some(Tensor::from_primitive(match (config.sync, config.epsilon) {
                    (Sync::Fragmentary, Some(epsilon)) => {
                        B::ocnn_fragmentary_sync(outputs(trajectory).into_primitive().tensor(), epsilon, before)
                    }
                    _ => B::ocnn_phase_sync(signs(trajectory), rows - 1, before),
                }));
            }
        }
    }

    /// The smallest neuron of each of the `n` neurons' components, and S if it was kept.
    pub(crate) fn components(self, config: &OcnnConfig, n: usize, context: &Context<B>) -> Result<Components<B>> {
        let (limit, ranks) = (config.limit(), &*context.communicator);
        let share = ranks.share();
        let union_find = |roots: IntTensor<B>| -> Result<Vec<usize>> {
            let roots = read_ints(Tensor::<B, 1, Int>::from_primitive(roots), LINKING)?;
            // A kernel that did not run leaves what no forest has.
            let sound = |(i, &root): (usize, &i32)| (0..=i as i32).contains(&root) && roots[root as usize] == root;
            if !roots.iter().enumerate().all(sound) {
                let device = B::limits(&context.device).device;
                let what = "the components that came back are no components".into();
                return Err(Error::Run { device, phase: LINKING.into(), what });
            }
            if share.is_whole() {
                return Ok(roots.into_iter().map(|root| root as usize).collect());
            }
            Ok(Forest::joined(n, ranks.all_gather(&roots).into_iter().map(|root| root as usize)).roots())
        };
        let mut asked = 0;
        let mut search = |links: &dyn Fn(&[u32]) -> Result<Vec<i32>>| {
            breadth_first(n, BATCH, |rows| {
                context.checkpoint(LINKING, asked as u64, n as u64)?;
                asked += rows.len();
                let own = &rows[share.of(rows.len())];
                let words = if own.is_empty() { Vec::new() } else { links(own)? };
                Ok::<_, Error>(ranks.all_gather(&words))
            })
        };
        let words = |links: IntTensor<B>| read_ints(Tensor::<B, 2, Int>::from_primitive(links), LINKING);
        match self {
            Self::Signs(parts) => {
                let bits = Tensor::cat(parts, 0).into_primitive();
                let roots = match config.linking {
                    Linking::UnionFind => union_find(B::ocnn_phase_components(bits, config.steps, limit, share))?,
                    Linking::BreadthFirst => {
                        search(&|rows| words(B::ocnn_phase_links(bits.clone(), config.steps, limit, rows)))?
                    }
                };
                Ok((roots, None))
            }
            Self::Outputs(parts) => {
                let outputs: FloatTensor<B> = Tensor::cat(parts, 0).into_primitive().tensor();
                let epsilon = config.epsilon.unwrap_or_default();
                let roots = match config.linking {
                    Linking::UnionFind => union_find(B::ocnn_fragmentary_components(outputs, epsilon, limit, share))?,
                    Linking::BreadthFirst => {
                        search(&|rows| words(B::ocnn_fragmentary_links(outputs.clone(), epsilon, limit, rows)))?
                    }
                };
                Ok((roots, None))
            }
            Self::Counts(None) => Ok(((0..n).collect(), None)),
            Self::Counts(Some(counts)) => {
                // Rows as they are asked for: a copy of all of S on the host would be as much memory again.
                let roots = search(&|rows| {
                    let index: Vec<i64> = rows.iter().map(|&row| i64::from(row)).collect();
                    let index = TensorData::new(index, [rows.len()]);
                    let index = Tensor::<B, 1, Int>::from_data(index, &counts.device());
                    let above = read_ints(counts.clone().select(0, index), LINKING)?;
                    Ok(above.chunks(n).zip(rows).flat_map(|(row, &i)| link_words(row, i as usize, limit)).collect())
                })?;
                Ok((roots, Some(counts)))
            }
        }
    }
}

/// The links of neuron `i` from its row of S, a bit a neuron; none with itself.
fn link_words(row: &[i32], i: usize, limit: usize) -> Vec<i32> {
    let mut words = vec![0i32; row.len().div_ceil(32)];
    for (j, &count) in row.iter().enumerate().filter(|&(j, _)| j != i) {
        words[j / 32] |= i32::from(count as usize > limit) << (j % 32);
    }
    words
}

/// How many neurons' outputs did not change in a trajectory `[P + 1, n]`.
pub(crate) fn standing<B: Backend>(trajectory: Tensor<B, 2>) -> Result<usize> {
    let range = trajectory.clone().max_dim(0) - trajectory.min_dim(0);
    Ok(read_floats(range, "simulation")?.into_iter().filter(|&range| range == 0.0).count())
}

/// The synchronisation matrix S of points: at how many steps each pair was in step.
///
/// Kept for the neurons that ran. Equal points share one; a point that nothing reaches has none and is in step with
/// itself alone.
#[derive(Debug, Clone)]
pub struct SyncMatrix<B: Backend> {
    pub(crate) counts: Option<Tensor<B, 2, Int>>,
    /// The row of `counts` that stands for each point.
    pub(crate) row_of: Vec<Option<u32>>,
    pub(crate) steps: usize,
}

impl<B: Backend> SyncMatrix<B> {
    /// How many points there are.
    pub fn points(&self) -> usize {
        self.row_of.len()
    }

    /// S of the neurons that ran `[n, n]`, 32-bit, on the device; none if none ran.
    pub fn neurons(&self) -> Option<&Tensor<B, 2, Int>> {
        self.counts.as_ref()
    }

    /// The neuron of [`SyncMatrix::neurons`] that stands for a point; none for a point that nothing reaches.
    pub fn neuron_of(&self, point: usize) -> Option<usize> {
        self.row_of.get(point).copied().flatten().map(|row| row as usize)
    }

    /// S of the points, row-major `[N, N]`, on the host.
    pub fn into_values(self) -> Result<Vec<i32>> {
        let Self { counts, row_of, steps } = self;
        let (width, counts) = match counts {
            Some(counts) => (counts.dims()[0], read_ints(counts, "reading S")?),
            None => (0, Vec::new()),
        };
        if width == row_of.len() {
            return Ok(counts);
        }
        let mut values = Vec::with_capacity(row_of.len() * row_of.len());
        for (i, row) in row_of.iter().enumerate() {
            values.extend(row_of.iter().enumerate().map(|(j, column)| match (row, column) {
                (Some(row), Some(column)) => counts[*row as usize * width + *column as usize],
                _ if i == j => steps as i32,
                _ => 0,
            }));
        }
        Ok(values)
    }
}
