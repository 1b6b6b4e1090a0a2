//! Upper triangular matrices: products, solutions, and an estimate of the condition number.

use faer::Mat;
use firebox_core::{Result, watch::Watch};

/// A square upper triangular matrix R. Solutions set the unknown of a zero on the diagonal to 0.
#[derive(Debug, Clone)]
pub(crate) struct Triangle(pub(super) Mat<f64>);

impl Triangle {
    fn len(&self) -> usize {
        self.0.ncols()
    }

    /// R·x, in place.
    pub(crate) fn apply(&self, x: &mut [f64]) {
        for j in 0..self.len() {
            let (factor, column) = (x[j], self.0.col_as_slice(j));
            x[..j].iter_mut().zip(column).for_each(|(x, r)| *x += factor * r);
            x[j] = factor * column[j];
        }
    }

    /// R⁻¹·x, in place.
    pub(crate) fn solve(&self, x: &mut [f64]) {
        for j in (0..self.len()).rev() {
            let column = self.0.col_as_slice(j);
            let value = if column[j] == 0.0 { 0.0 } else { x[j] / column[j] };
            x[j] = value;
            x[..j].iter_mut().zip(column).for_each(|(x, r)| *x -= value * r);
        }
    }

    /// R⁻ᵀ·x, in place.
    pub(crate) fn solve_transposed(&self, x: &mut [f64]) {
        for j in 0..self.len() {
            let column = self.0.col_as_slice(j);
            let above: f64 = x[..j].iter().zip(column).map(|(x, r)| x * r).sum();
            x[j] = if column[j] == 0.0 { 0.0 } else { (x[j] - above) / column[j] };
        }
    }

    /// ‖R‖₁·‖R⁻¹‖₁, the second by [`inverse_norm`]; ∞ if the diagonal has a 0. Fails only if the thread's [`Watch`] stops
    /// it.
    pub(crate) fn condition(&self) -> Result<f64> {
        let m = self.len();
        if (0..m).any(|k| self.0[(k, k)] == 0.0) {
            return Ok(f64::INFINITY);
        }
        let sums = (0..m).map(|j| self.0.col_as_slice(j)[..=j].iter().map(|x| x.abs()).sum());
        let solve = |x: &mut [f64], transposed: bool| {
            if transposed {
                self.solve_transposed(x)
            } else {
                self.solve(x)
            }
            Ok(())
        };
        Ok(sums.fold(0.0, f64::max) * inverse_norm(m, &solve)?)
    }
}

/// ‖R⁻¹‖₁ of a matrix with m rows, estimated from below, mostly within a factor of 3 (Hager 1984; Higham 1988,
/// algorithm 4.1). `solve` computes R⁻¹·x, or R⁻ᵀ·x if its second argument is true. Fails if `solve` does, or if the
/// thread's [`Watch`] stops it.
pub(crate) fn inverse_norm(m: usize, solve: &dyn Fn(&mut [f64], bool) -> Result<()>) -> Result<f64> {
    let watch = Watch::current();
    let sum = |x: &[f64]| x.iter().map(|x| x.abs()).sum::<f64>();
    let mut x = vec![1.0 / m as f64; m];
    solve(&mut x, false)?;
    let (mut estimate, mut last) = (sum(&x), m);
    for _ in 0..5 {
        watch.go_on()?;
        let mut slopes: Vec<f64> = x.iter().map(|x| 1f64.copysign(*x)).collect();
        solve(&mut slopes, true)?;
        let steepest = (0..m).fold(0, |best, k| if slopes[k].abs() > slopes[best].abs() { k } else { best });
        if steepest == last {
            break;
        }
        last = steepest;
        watch.go_on()?;
        x = vec![0.0; m];
        x[steepest] = 1.0;
        solve(&mut x, false)?;
        let found = sum(&x);
        if found <= estimate {
            break;
        }
        estimate = found;
    }
    watch.go_on()?;
    // Higham's alternating vector, for matrices whose signs cancel above.
    let slant = |k: usize| 1.0 + k as f64 / m.saturating_sub(1).max(1) as f64;
    let mut x: Vec<f64> = (0..m).map(|k| if k % 2 == 0 { slant(k) } else { -slant(k) }).collect();
    solve(&mut x, false)?;
    Ok(estimate.max(2.0 * sum(&x) / (3.0 * m as f64)))
}

#[cfg(test)]
mod tests {
    use firebox_core::random::Random;

    use super::*;

    fn graded(m: usize, least: f64) -> Triangle {
        let mut random = Random::new(m as u64, 0);
        Triangle(Mat::from_fn(m, m, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Less => 0.3 * random.normal() * least.powf(i as f64 / m as f64),
            std::cmp::Ordering::Equal => least.powf(i as f64 / m as f64),
            std::cmp::Ordering::Greater => 0.0,
        }))
    }

    #[test]
    fn solutions_undo_products() {
        let triangle = graded(20, 1e-3);
        let wanted: Vec<f64> = (0..20).map(|k| f64::from(k) - 7.5).collect();
        let mut x = wanted.clone();
        triangle.apply(&mut x);
        triangle.solve(&mut x);
        assert!(x.iter().zip(&wanted).all(|(x, y)| (x - y).abs() < 1e-10), "{x:?}");
        // xᵀR⁻ᵀ… (R⁻ᵀx, Ry) = (x, y).
        let (mut transposed, mut product) = (wanted.clone(), wanted.clone());
        triangle.solve_transposed(&mut transposed);
        triangle.apply(&mut product);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        assert!((dot(&transposed, &product) - dot(&wanted, &wanted)).abs() < 1e-9);
    }

    #[test]
    fn conditions_are_near_the_true_ones() {
        for m in [1, 2, 5, 30] {
            for least in [1.0, 1e-4, 1e-10] {
                let triangle = graded(m, least);
                let mut inverse = 0.0f64;
                for k in 0..m {
                    let mut x = vec![0.0; m];
                    x[k] = 1.0;
                    triangle.solve(&mut x);
                    inverse = inverse.max(x.iter().map(|x| x.abs()).sum());
                }
                let column = |j: usize| (0..m).map(|i| triangle.0[(i, j)].abs()).sum::<f64>();
                let truth = inverse * (0..m).map(column).fold(0.0, f64::max);
                let estimate = triangle.condition().unwrap();
                assert!(estimate <= 1.000_001 * truth && estimate >= truth / 3.0, "{m} {least}: {estimate} {truth}");
            }
        }
        let mut singular = graded(4, 0.1);
        singular.0[(2, 2)] = 0.0;
        assert_eq!(singular.condition().unwrap(), f64::INFINITY);
        let mut x = vec![1.0; 4];
        singular.solve(&mut x);
        assert!(x[2] == 0.0 && x.iter().all(|x| x.is_finite()));
    }
}
