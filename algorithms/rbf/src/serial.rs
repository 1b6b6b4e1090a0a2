//! faer's decompositions on one thread, whatever it is built with: else a feature that another crate asks for would have its
//! bits depend on the number of threads.

use faer::{
    Mat, Par,
    diag::Diag,
    dyn_stack::{MemBuffer, MemStack},
    linalg::{
        qr::{
            col_pivoting::factor::{qr_in_place, qr_in_place_scratch},
            no_pivoting::factor::recommended_block_size,
        },
        svd::{self, ComputeSvdVectors, svd_scratch},
    },
};
use firebox_core::Result;

use crate::qr::failed;

/// A = U·S·Vᵀ of a square matrix.
#[derive(Debug)]
pub(crate) struct Svd {
    pub(crate) left: Mat<f64>,
    /// Falling.
    pub(crate) values: Vec<f64>,
    pub(crate) right: Mat<f64>,
}

impl Svd {
    pub(crate) fn new(matrix: &Mat<f64>) -> Result<Self> {
        let (n, all) = (matrix.nrows(), ComputeSvdVectors::Thin);
        let (mut left, mut values, mut right) = (Mat::zeros(n, n), Diag::zeros(n), Mat::zeros(n, n));
        let scratch = svd_scratch::<f64>(n, n, all, all, Par::Seq, Default::default());
        let (u, v) = (Some(left.as_mut()), Some(right.as_mut()));
        let stack = &mut MemBuffer::new(scratch);
        svd::svd(matrix.as_ref(), values.as_mut(), u, v, Par::Seq, MemStack::new(stack), Default::default())
            .map_err(|error| failed(&format!("no singular values: {error:?}")))?;
        Ok(Self { left, values: values.column_vector().iter().copied().collect(), right })
    }
}

/// |R|'s diagonal in the QR of a square matrix with columns exchanged, falling.
pub(crate) fn pivoted_diagonal(mut matrix: Mat<f64>) -> Vec<f64> {
    let n = matrix.nrows();
    let block = recommended_block_size::<f64>(n, n);
    let scratch = qr_in_place_scratch::<usize, f64>(n, n, block, Par::Seq, Default::default());
    let (mut forth, mut back, mut factors) = (vec![0usize; n], vec![0; n], Mat::zeros(block, n));
    let stack = &mut MemBuffer::new(scratch);
    let params = Default::default();
    qr_in_place(matrix.as_mut(), factors.as_mut(), &mut forth, &mut back, Par::Seq, MemStack::new(stack), params);
    (0..n).map(|k| matrix[(k, k)].abs()).collect()
}
