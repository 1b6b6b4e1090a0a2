//! What the steps leave behind, and the components read from it.

use burn::tensor::{DType, Int, Tensor, TensorData, backend::Backend};
use firebox_core::Result;

use crate::{
    OcnnConfig, OcnnOps,
    components::breadth_first,
    config::{Linking, Sync},
};

/// Rows of links asked for at once in a breadth-first search.
pub(crate) const BATCH: usize = 1024;

fn ints<B: Backend>(tensor: burn::tensor::ops::IntTensor<B>) -> Vec<i32> {
    Tensor::<B, 1, Int>::from_primitive(tensor).into_data().iter::<i32>().collect()
}

/// The smallest neuron of each neuron's component, and S if it was kept.
pub(crate) type Components<B> = (Vec<usize>, Option<Tensor<B, 2, Int>>);

/// All recorded steps, or their sum.
pub(crate) enum Record<B: Backend> {
    Signs(Vec<Tensor<B, 2, Int>>),
    Outputs(Vec<Tensor<B, 2>>),
    Counts(Tensor<B, 2, Int>),
}

impl<B: OcnnOps> Record<B> {
    pub(crate) fn new(config: &OcnnConfig, n: usize, device: &B::Device) -> Self {
        match (config.keep_sync, config.sync) {
            (true, _) => Self::Counts(Tensor::zeros([n, n], (device, DType::I32))),
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
                // Taken out while it is added to, so that it can be in place.
                let device = counts.device();
                let before = std::mem::replace(counts, Tensor::zeros([0, 0], (&device, DType::I32))).into_primitive();
                let after = match (config.sync, config.epsilon) {
                    (Sync::Fragmentary, Some(epsilon)) => {
                        B::ocnn_fragmentary_sync(outputs(trajectory).into_primitive().tensor(), epsilon, before)
                    }
                    _ => B::ocnn_phase_sync(signs(trajectory), rows - 1, before),
                };
                *counts = Tensor::from_primitive(after);
            }
        }
    }

    /// The smallest neuron of each neuron's component, and S if it was kept.
    pub(crate) fn components(self, config: &OcnnConfig, n: usize) -> Result<Components<B>> {
        let limit = config.limit();
        let on_device = |roots: Vec<i32>| roots.into_iter().map(|root| root as usize).collect::<Vec<_>>();
        let bfs = |links: &dyn Fn(&[u32]) -> burn::tensor::ops::IntTensor<B>| {
            breadth_first(n, BATCH, |rows| -> Result<Vec<i32>> {
                let words = Tensor::<B, 2, Int>::from_primitive(links(rows));
                Ok(words.into_data().iter::<i32>().collect())
            })
        };
        match self {
            Self::Signs(parts) => {
                let bits = Tensor::cat(parts, 0).into_primitive();
                let roots = match config.linking {
                    Linking::UnionFind => on_device(ints::<B>(B::ocnn_phase_components(bits, config.steps, limit))),
                    Linking::BreadthFirst => bfs(&|rows| B::ocnn_phase_links(bits.clone(), config.steps, limit, rows))?,
                };
                Ok((roots, None))
            }
            Self::Outputs(parts) => {
                let outputs = Tensor::cat(parts, 0).into_primitive().tensor();
                let epsilon = config.epsilon.unwrap_or_default();
                let roots = match config.linking {
                    Linking::UnionFind => on_device(ints::<B>(B::ocnn_fragmentary_components(outputs, epsilon, limit))),
                    Linking::BreadthFirst => {
                        bfs(&|rows| B::ocnn_fragmentary_links(outputs.clone(), epsilon, limit, rows))?
                    }
                };
                Ok((roots, None))
            }
            Self::Counts(counts) => {
                // The backend's integers are 32 bits wide here, so this copies nothing.
                let data = counts.clone().into_data().convert::<i32>();
                let values = data.as_slice::<i32>().unwrap_or_default();
                let row = |i: u32| &values[i as usize * n..(i as usize + 1) * n];
                let roots = breadth_first(n, BATCH, |rows| -> Result<Vec<i32>> {
                    let mut words = vec![0i32; rows.len() * n.div_ceil(32)];
                    for (words, &i) in words.chunks_mut(n.div_ceil(32)).zip(rows) {
                        for (j, &count) in row(i).iter().enumerate() {
                            if j != i as usize && count as usize > limit {
                                words[j / 32] |= 1 << (j % 32);
                            }
                        }
                    }
                    Ok(words)
                })?;
                Ok((roots, Some(counts)))
            }
        }
    }
}

/// S of the points from S of the neurons that stand for them.
pub(crate) fn for_points<B: Backend>(counts: Tensor<B, 2, Int>, of_point: &[u32]) -> Tensor<B, 2, Int> {
    if counts.dims()[0] == of_point.len() {
        return counts;
    }
    let index: Vec<i64> = of_point.iter().map(|&neuron| i64::from(neuron)).collect();
    let rows = index.len();
    let index = Tensor::<B, 1, Int>::from_data(TensorData::new(index, [rows]), &counts.device());
    counts.select(0, index.clone()).select(1, index)
}
