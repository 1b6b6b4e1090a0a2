//! The synchronisation matrix S of points.

use burn::tensor::{Int, Tensor, backend::Backend};
use firebox_core::{Result, tensor::read_ints};

/// The synchronisation matrix S of points: the number of steps at which each pair was in step.
///
/// Stored for active neurons only. Equal points share a neuron; an isolated point has none and is in step with itself
/// only.
#[derive(Debug, Clone)]
pub struct SyncMatrix<B: Backend> {
    pub(crate) counts: Option<Tensor<B, 2, Int>>,
    /// The row of `counts` of each point; absent for isolated points.
    pub(crate) row_of: Vec<Option<u32>>,
    pub(crate) steps: usize,
}

impl<B: Backend> SyncMatrix<B> {
    /// Number of points.
    pub fn points(&self) -> usize {
        self.row_of.len()
    }

    /// S of the active neurons `[n, n]`, 32-bit, on the device; absent if all are isolated.
    pub fn neurons(&self) -> Option<&Tensor<B, 2, Int>> {
        self.counts.as_ref()
    }

    /// The index of a point in [`SyncMatrix::neurons`]; absent for isolated points.
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
