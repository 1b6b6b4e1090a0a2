//! Blocked Householder QR of a tall matrix without rank truncation.
//!
//! faer's QR skips columns that depend on earlier ones to within 16·rows·ε. At the condition numbers of wide Gaussians
//! (1e12 and more) that truncation costs accuracy. Its block reflectors I − V·T⁻ᵀ·Vᵀ, T with the upper triangle of VᵀV
//! and half its diagonal, are used here.

use faer::{
    Conj, Mat, MatMut, MatRef, Par,
    dyn_stack::{MemBuffer, MemStack},
    linalg::householder::{
        apply_block_householder_transpose_on_the_left_in_place_scratch as block_scratch,
        apply_block_householder_transpose_on_the_left_in_place_with_conj as transpose_block,
    },
    prelude::{Reborrow, ReborrowMut},
};
use firebox_backends::cpu::{Isa, Loop, Real, SimdLevel, dot};
use firebox_core::{Result, watch::Watch};

/// Columns per panel.
const PANEL: usize = 32;
/// Columns updated per task.
const TASK_COLUMNS: usize = 32;
/// Minimum number of elements for parallel updates.
const MIN_PARALLEL: usize = 1 << 14;

/// A = Q·R.
#[derive(Debug, Clone)]
pub(crate) struct Qr {
    /// R above, the reflectors below.
    packed: Mat<f64>,
    /// T of each panel, side by side.
    factors: Mat<f64>,
}

impl Qr {
    /// Decomposes `matrix` with at least as many rows as columns. Fails only if the thread's [`Watch`] stops it.
    pub(crate) fn new(mut matrix: Mat<f64>) -> Result<Self> {
        let watch = Watch::current();
        let (rows, columns) = (matrix.nrows(), matrix.ncols());
        let mut factors = Mat::zeros(PANEL.min(columns.max(1)), columns);
        let level = SimdLevel::best();
        for first in (0..columns).step_by(PANEL) {
            watch.go_on()?;
            let width = PANEL.min(columns - first);
            let below = matrix.as_mut().submatrix_mut(first, first, rows - first, columns - first);
            let (mut panel, rest) = below.split_at_col_mut(width);
            let mut factor = factors.as_mut().submatrix_mut(0, first, width, width);
            let slices = panel.rb_mut().col_iter_mut().filter_map(|column| column.try_as_col_major_mut());
            level.run(Panel { columns: slices.map(|column| column.as_slice_mut()).collect(), factor: factor.rb_mut() });
            update(panel.rb(), factor.rb(), rest, &watch);
        }
        watch.go_on()?;
        Ok(Self { packed: matrix, factors })
    }

    /// Number of columns.
    pub(crate) fn len(&self) -> usize {
        self.packed.ncols()
    }

    /// R, square.
    pub(crate) fn r(&self) -> Mat<f64> {
        Mat::from_fn(self.len(), self.len(), |i, j| if i <= j { self.packed[(i, j)] } else { 0.0 })
    }

    /// Qᵀ·`matrix`, in place. Fails only if the thread's [`Watch`] stops it.
    pub(crate) fn transpose_apply(&self, matrix: MatMut<'_, f64>) -> Result<()> {
        let (watch, rows) = (Watch::current(), self.packed.nrows());
        in_tasks(matrix, &|mut matrix| {
            let scratch = block_scratch::<f64>(rows, self.factors.nrows(), matrix.ncols());
            let mut memory = MemBuffer::new(scratch);
            // faer's loop over panels, with a stop check in each.
            for first in (0..self.len()).step_by(PANEL) {
                if watch.stopped() {
                    return;
                }
                let width = PANEL.min(self.len() - first);
                let basis = self.packed.as_ref().submatrix(first, first, rows - first, width);
                let factor = self.factors.as_ref().submatrix(0, first, width, width);
                let below = matrix.rb_mut().subrows_mut(first, rows - first);
                transpose_block(basis, factor, Conj::No, below, Par::Seq, MemStack::new(&mut memory));
            }
        });
        watch.go_on()
    }
}

/// Applies the reflectors of a panel to the columns after it.
fn update(basis: MatRef<'_, f64>, factor: MatRef<'_, f64>, matrix: MatMut<'_, f64>, watch: &Watch) {
    in_tasks(matrix, &|matrix| {
        if matrix.ncols() > 0 && !watch.stopped() {
            let scratch = block_scratch::<f64>(basis.nrows(), factor.nrows(), matrix.ncols());
            transpose_block(basis, factor, Conj::No, matrix, Par::Seq, MemStack::new(&mut MemBuffer::new(scratch)));
        }
    });
}

/// Runs `work` on parts of the columns in parallel. Parts do not depend on the number of threads, hence neither do the
/// bits.
fn in_tasks(matrix: MatMut<'_, f64>, work: &(impl Fn(MatMut<'_, f64>) + Sync)) {
    let columns = matrix.ncols();
    if columns <= TASK_COLUMNS || matrix.nrows() * columns <= MIN_PARALLEL {
        return work(matrix);
    }
    let half = (columns / 2).next_multiple_of(TASK_COLUMNS).min(columns - 1);
    let (left, right) = matrix.split_at_col_mut(half);
    rayon::join(|| in_tasks(left, work), || in_tasks(right, work));
}

/// The columns of a panel, from its first diagonal element down, and its T.
struct Panel<'a> {
    columns: Vec<&'a mut [f64]>,
    factor: MatMut<'a, f64>,
}

impl Loop for Panel<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(mut self) {
        for j in 0..self.columns.len() {
            let (done, rest) = self.columns.split_at_mut(j + 1);
            let Some((reflector, done)) = done.split_last_mut() else { return };
            let Some((head, tail)) = reflector[j..].split_first_mut() else { return };
            let tail = &mut *tail;
            let squares = dot::<f64, I>(tail, tail);
            // A column that is 0 below its head needs no reflection, which faer encodes as τ = ∞.
            let mut tau = f64::INFINITY;
            if squares > 0.0 {
                let signed = (*head * *head + squares).sqrt().copysign(*head);
                let divisor = *head + signed;
                tail.iter_mut().for_each(|element| *element *= 1.0 / divisor);
                *head = -signed;
                tau = 0.5 * (1.0 + squares / (divisor * divisor));
            }
            self.factor[(j, j)] = tau;
            for (i, other) in done.iter().enumerate() {
                self.factor[(i, j)] = other[j] + dot::<f64, I>(&other[j + 1..], tail);
            }
            for column in rest {
                let Some((top, below)) = column[j..].split_first_mut() else { return };
                let factor = -(*top + dot::<f64, I>(tail, below)) / tau;
                *top += factor;
                for (element, v) in below.iter_mut().zip(&*tail) {
                    *element = f64::fma::<I>(factor, *v, *element);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use firebox_core::random::Random;

    use super::*;

    fn random(rows: usize, columns: usize) -> Mat<f64> {
        let mut random = Random::new(rows as u64, columns as u64);
        Mat::from_fn(rows, columns, |_, _| random.normal())
    }

    /// Asserts that ‖QᵀA − R‖ and ‖RᵀR − AᵀA‖ are at rounding level.
    fn check(matrix: Mat<f64>) {
        let qr = Qr::new(matrix.clone()).unwrap();
        let mut image = matrix.clone();
        qr.transpose_apply(image.as_mut()).unwrap();
        let r = qr.r();
        let top = image.as_ref().submatrix(0, 0, r.nrows(), r.ncols());
        let below = image.as_ref().submatrix(r.nrows(), 0, matrix.nrows() - r.nrows(), r.ncols());
        let scale = matrix.norm_l2().max(1.0);
        assert!((top - &r).norm_l2() < 1e-14 * scale, "{:?}", matrix.shape());
        assert!(below.norm_l2() < 1e-14 * scale, "{:?}", matrix.shape());
        let gram = r.transpose() * &r - matrix.transpose() * &matrix;
        assert!(gram.norm_l2() < 1e-14 * scale * scale, "{:?}", matrix.shape());
    }

    #[test]
    fn every_shape_is_decomposed() {
        for columns in [0, 1, 2, 31, 32, 33, 64, 100] {
            for rows in [columns, columns + 1, columns + 70, 5 * columns] {
                check(random(rows.max(1), columns));
            }
        }
        check(random(1040, 196));
    }

    #[test]
    fn dependent_and_empty_columns_are_kept() {
        let mut matrix = random(80, 40);
        for i in 0..80 {
            matrix[(i, 3)] = 0.0;
            matrix[(i, 0)] = 0.0;
            matrix[(i, 35)] = matrix[(i, 7)] + 1e-15 * matrix[(i, 8)];
        }
        let r = Qr::new(matrix.clone()).unwrap().r();
        assert_eq!((r[(0, 0)], r[(3, 3)]), (0.0, 0.0));
        check(matrix);
    }

    #[test]
    fn bits_do_not_depend_on_the_number_of_threads() {
        let matrix = random(900, 300);
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Qr::new(matrix.clone()).unwrap().packed)
        };
        assert_eq!(with(1), with(3));
    }
}
