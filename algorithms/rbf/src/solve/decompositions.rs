//! faer's decompositions on a single thread, so that the bits do not depend on the number of threads if another crate
//! enables faer's `rayon` feature.
//!
//! They cannot be interrupted. Large ones run on a thread of their own, which a stop request abandons: it ends with its
//! decomposition or with the process.

use std::{
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};

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
use firebox_core::{Error, Result, watch::Watch};

/// The error of a least-squares solution.
pub(crate) fn failed(what: &str) -> Error {
    Error::Run { device: "the host".into(), phase: "the least squares".into(), what: what.into() }
}

/// Minimum number of rows of a decomposition on a thread of its own.
const LARGE: usize = 256;
/// Interval of stop checks while waiting for a decomposition.
const POLL: Duration = Duration::from_millis(20);

/// Runs `work` on a matrix of `rows` so that the thread's [`Watch`] can stop it.
fn interruptible<T: Send + 'static>(rows: usize, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let watch = Watch::current();
    if rows < LARGE || !watch.is_active() {
        return Ok(work());
    }
    let (send, receive) = channel();
    // The receiver is gone if the computation was stopped.
    let spawned = thread::Builder::new().name("decomposition".into()).spawn(move || drop(send.send(work())));
    spawned.map_err(|error| failed(&format!("no thread for a decomposition: {error}")))?;
    loop {
        watch.go_on()?;
        match receive.recv_timeout(POLL) {
            Ok(made) => return Ok(made),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(failed("a decomposition ended without a result")),
        }
    }
}

/// A = U·S·Vᵀ of a square matrix.
#[derive(Debug)]
pub(crate) struct Svd {
    pub(crate) left: Mat<f64>,
    /// Singular values, descending.
    pub(crate) values: Vec<f64>,
    pub(crate) right: Mat<f64>,
}

impl Svd {
    /// Fails if the iteration does not converge, or if the thread's [`Watch`] stops it.
    pub(crate) fn new(matrix: &Mat<f64>) -> Result<Self> {
        let (rows, matrix) = (matrix.nrows(), matrix.clone());
        interruptible(rows, move || Self::decompose(&matrix))?
    }

    fn decompose(matrix: &Mat<f64>) -> Result<Self> {
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

/// |R|'s diagonal in the column-pivoted QR of a square matrix, descending. Fails only if the thread's [`Watch`] stops
/// it.
pub(crate) fn pivoted_diagonal(matrix: Mat<f64>) -> Result<Vec<f64>> {
    interruptible(matrix.nrows(), move || decompose_pivoted(matrix))
}

fn decompose_pivoted(mut matrix: Mat<f64>) -> Vec<f64> {
    let n = matrix.nrows();
    let block = recommended_block_size::<f64>(n, n);
    let scratch = qr_in_place_scratch::<usize, f64>(n, n, block, Par::Seq, Default::default());
    let (mut forth, mut back, mut factors) = (vec![0usize; n], vec![0; n], Mat::zeros(block, n));
    let stack = &mut MemBuffer::new(scratch);
    let params = Default::default();
    qr_in_place(matrix.as_mut(), factors.as_mut(), &mut forth, &mut back, Par::Seq, MemStack::new(stack), params);
    (0..n).map(|k| matrix[(k, k)].abs()).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use firebox_core::{Error, watch::watched};

    use super::*;
    use crate::tests::samples::StopAfter;

    #[test]
    fn large_decompositions_have_the_same_bits_on_their_own_thread() {
        let matrix = Mat::from_fn(LARGE + 4, LARGE + 4, |i, j| ((i * 31 + j * 17) % 101) as f64 - 50.0);
        let both = || (Svd::new(&matrix).unwrap(), pivoted_diagonal(matrix.clone()).unwrap());
        let ((here, diagonal), (apart, other)) = (both(), watched(Some(Arc::new(firebox_core::Silent)), both).unwrap());
        assert!(here.left == apart.left && here.values == apart.values && here.right == apart.right);
        assert_eq!(diagonal, other);
    }

    #[test]
    fn decompositions_are_abandoned_on_a_stop_request() {
        let matrix = Mat::from_fn(900, 900, |i, j| ((i * 31 + j * 17) % 101) as f64 - 50.0);
        let alone = std::time::Instant::now();
        Svd::new(&matrix).unwrap();
        let alone = alone.elapsed();
        let start = std::time::Instant::now();
        let outcome = watched(Some(StopAfter::queries(3)), || Svd::new(&matrix).err());
        assert!(matches!(outcome, Err(Error::Cancelled)));
        assert!(start.elapsed() < alone / 2, "{:?} of {alone:?}", start.elapsed());
    }
}
