//! Weights by dense least squares: w that minimises ‖A·w − b‖ for fixed centres and widths, by Householder QR.

use std::collections::HashSet;

use faer::{Mat, MatMut};
use firebox_core::{Error, Result, watch::Watch};

use super::{
    collocation::{Collocated, Weighted, columns, root_means},
    decompositions::{Svd, failed, pivoted_diagonal},
    householder::Qr,
    network::RbfNetwork,
    triangular::Triangle,
};
use crate::types::System;

/// A least-squares solution for the weights.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fit {
    /// w.
    pub(crate) weights: Vec<f64>,
    /// The condition number of A with its columns scaled, in the 1-norm of R, estimated from below, mostly within a
    /// factor of 3; ∞ if a neuron reaches no control point or duplicates another.
    pub(crate) condition: f64,
    /// Numerical rank of A, its columns scaled: diagonal elements of a pivoted QR above (N + K)·ε of the largest.
    pub(crate) rank: usize,
    /// Singular directions left out by the truncation.
    pub(crate) truncated: usize,
    /// √(Σ r1²/N).
    pub(crate) residual_interior: f64,
    /// √(Σ r2²/K).
    pub(crate) residual_boundary: f64,
    /// I.
    pub(crate) objective: f64,
}

/// The weights for `centres`, row-major m × dims, and `widths`.
///
/// With `truncation`, singular values of A (columns scaled) below that share of the largest are left out and w is the
/// minimum-norm solution. Without it nothing is truncated; neurons that reach no control point, or duplicate an earlier
/// one bit for bit, have weight 0.
///
/// # Errors
///
/// [`Error::Config`] if there are fewer conditions than neurons, [`Error::Run`] if a weight is not finite,
/// [`Error::Cancelled`] if the thread's [`Watch`] stops it.
pub(crate) fn fit(system: &System, centres: &[f64], widths: &[f64], truncation: Option<f64>) -> Result<Fit> {
    let weighted = Weighted::new(system)?;
    let solver = Solver::new(&weighted, centres, widths)?;
    let (weights, truncated) = solver.weights(truncation)?;
    let condition = solver.triangle.condition()?;
    let rank = solver.rank(condition)?;
    let network = RbfNetwork::new(weighted.dims(), centres.to_vec(), widths.to_vec(), weights)?;
    let [residual_interior, residual_boundary] = root_means(system, &network);
    // A stopped sum is incomplete.
    Watch::current().go_on()?;
    let objective = 0.5 * system.norm(residual_interior, residual_boundary).powi(2);
    Ok(Fit {
        weights: network.weights().to_vec(),
        condition,
        rank,
        truncated,
        residual_interior,
        residual_boundary,
        objective,
    })
}

/// The QR of A with scaled columns, and Qᵀb.
#[derive(Debug, Clone)]
pub(crate) struct Solver {
    rows: usize,
    qr: Qr,
    pub(crate) triangle: Triangle,
    /// Column scales: powers of 2 that bring norms near 1 without rounding.
    pub(crate) scales: Vec<f64>,
    /// Qᵀb.
    image: Vec<f64>,
}

impl Solver {
    /// Fails if there are fewer conditions than neurons, or if an element of A is not finite.
    pub(crate) fn new(conditions: &impl Collocated, centres: &[f64], widths: &[f64]) -> Result<Self> {
        let dims = conditions.dims();
        let (rows, neurons) = (conditions.target().len(), centres.len() / dims);
        if neurons > rows {
            let what = format!("least squares need as many control points as neurons or more, and there are {rows}");
            let reason = format!("{what}; take more points or fewer neurons");
            return Err(Error::Config { field: "neurons", value: neurons.to_string(), reason });
        }
        let mut matrix = conditions.matrix(centres, widths)?;
        let scales = scale(&mut matrix)?;
        let qr = Qr::new(matrix)?;
        let mut image = conditions.target().to_vec();
        qr.transpose_apply(MatMut::from_column_major_slice_mut(&mut image, rows, 1))?;
        let mut r = qr.r();
        // Otherwise rounding would determine the weight of a duplicate. Zero columns already have a 0.
        duplicates(dims, centres, widths).into_iter().for_each(|k| r[(k, k)] = 0.0);
        Ok(Self { rows, qr, triangle: Triangle(r), scales, image })
    }

    /// The first m of Qᵀb.
    pub(crate) fn image(&self) -> &[f64] {
        &self.image[..self.scales.len()]
    }

    /// w, and the number of truncated directions.
    pub(crate) fn weights(&self, truncation: Option<f64>) -> Result<(Vec<f64>, usize)> {
        let mut weights = self.image[..self.scales.len()].to_vec();
        let mut truncated = 0;
        match truncation {
            None => self.triangle.solve(&mut weights),
            Some(share) => (weights, truncated) = self.truncated_svd(&weights, share)?,
        }
        weights.iter_mut().zip(&self.scales).for_each(|(weight, scale)| *weight *= scale);
        match weights.iter().all(|weight| weight.is_finite()) {
            true => Ok((weights, truncated)),
            false => Err(failed("the weights are not finite; give neurons of other widths, or truncate the rank")),
        }
    }

    /// The minimum-norm solution with R's singular values above `share` of the largest, and how many are below.
    fn truncated_svd(&self, image: &[f64], share: f64) -> Result<(Vec<f64>, usize)> {
        let Svd { left, values, right } = Svd::new(&self.triangle.0)?;
        let m = image.len();
        let mut solution = vec![0.0; m];
        let kept = (0..m).take_while(|&k| values[k] > share * values[0] && values[k] > 0.0).count();
        let watch = Watch::current();
        for k in 0..kept {
            watch.go_on()?;
            let factor = (0..m).map(|i| left[(i, k)] * image[i]).sum::<f64>() / values[k];
            (0..m).for_each(|i| solution[i] += factor * right[(i, k)]);
        }
        Ok((solution, m - kept))
    }

    /// ½‖A·w − b‖², computed as ½‖R·w − Qᵀb‖².
    pub(crate) fn objective(&self, weights: &[f64]) -> f64 {
        let mut product: Vec<f64> = weights.iter().zip(&self.scales).map(|(weight, scale)| weight / scale).collect();
        self.triangle.apply(&mut product);
        let (within, beyond) = self.image.split_at(product.len());
        let within = product.iter().zip(within).map(|(p, b)| (p - b) * (p - b)).sum::<f64>();
        0.5 * (within + beyond.iter().map(|b| b * b).sum::<f64>())
    }

    /// Rounding level of ‖A·w − b‖.
    pub(crate) fn rounding(&self, weights: &[f64]) -> f64 {
        let terms = weights.iter().zip(&self.scales).map(|(weight, scale)| (weight / scale).abs()).sum::<f64>();
        f64::EPSILON * (terms + self.image.iter().map(|b| b * b).sum::<f64>().sqrt())
    }

    /// The last rows of Qᵀ·`matrix`: its part orthogonal to the range of A.
    pub(crate) fn orthogonal_part(&self, mut matrix: Mat<f64>) -> Result<Mat<f64>> {
        self.qr.transpose_apply(matrix.as_mut())?;
        let first = self.scales.len();
        Ok(matrix.as_ref().submatrix(first, 0, self.rows - first, matrix.ncols()).to_owned())
    }

    /// The last rows of −Qᵀb: the residual, which is orthogonal to the range of A.
    pub(crate) fn orthogonal_residual(&self) -> Vec<f64> {
        self.image[self.scales.len()..].iter().map(|b| -b).collect()
    }

    /// Numerical rank of A; full without a pivoted QR unless `condition` is near 1/ε.
    fn rank(&self, condition: f64) -> Result<usize> {
        let (m, share) = (self.scales.len(), self.rows as f64 * f64::EPSILON);
        if 3.0 * m as f64 * condition * share < 1.0 {
            return Ok(m);
        }
        let diagonal = pivoted_diagonal(self.triangle.0.clone())?;
        Ok(diagonal.iter().take_while(|&&element| element > share * diagonal[0]).count())
    }
}

/// Neurons with the centre and width of an earlier one.
fn duplicates(dims: usize, centres: &[f64], widths: &[f64]) -> Vec<usize> {
    let m = centres.len() / dims;
    let mut seen = HashSet::with_capacity(m);
    // Adding 0 maps −0 to 0.
    let bits = |centre: &[f64], a: &[f64]| centre.iter().chain(a).map(|x| (x + 0.0).to_bits()).collect::<Vec<u64>>();
    let neurons = centres.chunks(dims).zip(widths.chunks((widths.len() / m.max(1)).max(1))).enumerate();
    neurons.filter(|(_, (centre, a))| !seen.insert(bits(centre, a))).map(|(k, _)| k).collect()
}

/// Multiplies columns by powers of 2 that bring their norms near 1, and returns these; 1 for a zero column.
pub(super) fn scale(matrix: &mut Mat<f64>) -> Result<Vec<f64>> {
    let (mut scales, watch) = (Vec::with_capacity(matrix.ncols()), Watch::current());
    for (k, column) in columns(matrix).into_iter().enumerate() {
        watch.go_on()?;
        let largest = column.iter().fold(0.0f64, |most, element| most.max(element.abs()));
        // `max` ignores NaN; the sum does not.
        let sum: f64 = column.iter().sum();
        if !(largest.is_finite() && sum.is_finite()) {
            return Err(failed(&format!("neuron {k} gives numbers that are not finite; give it another width")));
        }
        let norm = largest * column.iter().map(|it| (it / largest).powi(2)).sum::<f64>().sqrt();
        let scale = if largest > 0.0 { (-norm.log2().round()).clamp(-1000.0, 1000.0).exp2() } else { 1.0 };
        column.iter_mut().for_each(|element| *element *= scale);
        scales.push(scale);
    }
    Ok(scales)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;
    use crate::tests::samples;

    #[test]
    fn poisson_sine_is_solved_as_well_as_f64_can() {
        for seed in 0..3 {
            for (side, n, k, most) in [(8, 448, 76, 5e-6), (14, 900, 140, 2e-7)] {
                let system = samples::poisson_sine(n, k, seed);
                let (centres, widths) = samples::grid(side, PI, 0.35, 8.0);
                let fit = fit(&system, &centres, &widths, None).unwrap();
                let network = RbfNetwork::new(2, centres, widths, fit.weights.clone()).unwrap();
                let error = samples::error(&network, PI, samples::sine_exact);
                println!("{}: {error:.2e}, {:.1e}, rank {}", side * side, fit.condition, fit.rank);
                assert!(error < most, "{side} {seed}: {error}");
                assert!(fit.truncated == 0 && fit.condition > 1e10 && fit.residual_boundary < 1e-6);
            }
        }
    }

    #[test]
    fn exact_weights_are_found_again() {
        let (system, network) = samples::mixed(3, 6, 60);
        let (centres, widths) = (network.centres(), network.widths());
        let mut exact = system.clone();
        for conditions in [&mut exact.interior, &mut exact.boundary] {
            conditions.target.iter_mut().for_each(|target| *target = 0.0);
            conditions.target = crate::solve::collocation::residual(conditions, &network);
        }
        for truncation in [None, Some(1e-13)] {
            let fit = fit(&exact, centres, widths, truncation).unwrap();
            assert!(fit.weights.iter().zip(network.weights()).all(|(a, b)| (a - b).abs() < 1e-11), "{fit:?}");
            assert!(fit.rank == 6 && fit.truncated == 0 && fit.objective < 1e-24);
        }
        // The objective in the coordinates of Q is that of plain loops.
        let solver = Solver::new(&Weighted::new(&system).unwrap(), centres, widths).unwrap();
        let plain = crate::tests::reference::objective(&system, centres, widths, network.weights());
        assert!((solver.objective(network.weights()) / plain - 1.0).abs() < 1e-12);
    }

    #[test]
    fn duplicate_and_unreached_neurons_are_handled() {
        let system = samples::poisson_sine(100, 20, 1);
        let (mut centres, mut widths) = samples::grid(4, PI, 0.0, 1.0);
        // A duplicate, and a neuron that reaches no control point.
        centres.extend([centres[0], centres[1], 1e6, 1e6]);
        widths.extend([widths[0], 0.1]);
        let plain = fit(&system, &centres, &widths, None).unwrap();
        assert_eq!((plain.rank, plain.condition, &plain.weights[16..]), (16, f64::INFINITY, &[0.0; 2][..]));
        let shortest = fit(&system, &centres, &widths, Some(1e-13)).unwrap();
        assert_eq!(shortest.truncated, 2);
        assert!((shortest.weights[0] - shortest.weights[16]).abs() < 1e-9 * shortest.weights[0].abs());
        assert!(
            (plain.objective / shortest.objective - 1.0).abs() < 1e-6,
            "{} {}",
            plain.objective,
            shortest.objective
        );
    }

    /// Past a condition of 1/ε the last elements of R's diagonal are rounding, some below ε; no weight may be dropped
    /// for it.
    #[test]
    fn wide_neurons_all_have_weights() {
        let system = samples::poisson_sine(3600, 300, 0);
        let (centres, widths) = samples::grid(30, PI, 0.35, 8.0);
        let fit = fit(&system, &centres, &widths, None).unwrap();
        println!("{:.1e}, rank {}", fit.condition, fit.rank);
        assert_eq!((fit.weights.iter().filter(|w| **w == 0.0).count(), fit.truncated), (0, 0));
        assert!(fit.condition.is_finite() && fit.rank < 900, "{} {}", fit.condition, fit.rank);
        let network = RbfNetwork::new(2, centres, widths, fit.weights).unwrap();
        let error = samples::error(&network, PI, samples::sine_exact);
        assert!(error < 2e-7, "{error}");
    }

    #[test]
    fn bits_do_not_depend_on_the_number_of_threads() {
        let system = samples::poisson_sine(900, 140, 0);
        let (centres, widths) = samples::grid(14, PI, 0.35, 8.0);
        let peak = samples::peak(1000, 160, 0);
        let (start, wide) = samples::grid(5, 1.0, 0.0, 0.7);
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut lm = crate::solve::levenberg_marquardt::Lm::new(&peak, start.clone(), &wide).unwrap();
                (0..3).for_each(|_| drop(lm.advance(&peak)));
                (
                    fit(&system, &centres, &widths, Some(1e-13)).unwrap(),
                    fit(&system, &centres, &widths, None).unwrap(),
                    lm,
                )
            })
        };
        assert_eq!(with(1), with(3));
    }

    #[test]
    fn too_many_neurons_are_refused_with_advice() {
        let (centres, widths) = samples::grid(8, PI, 0.0, 1.0);
        let error = fit(&samples::poisson_sine(40, 10, 0), &centres, &widths, None).unwrap_err();
        let wanted = "neurons = 64: least squares need as many control points as neurons or more, and there are 50; \
                      take more points or fewer neurons";
        assert_eq!((error.to_string().as_str(), error.exit_code()), (wanted, 2));
        let narrow = vec![1e-200; 16];
        let centres = &samples::grid(4, PI, 0.0, 1.0).0;
        let mut system = samples::poisson_sine(40, 10, 0);
        system.interior.points[..2].copy_from_slice(&centres[..2]);
        let error = fit(&system, centres, &narrow, None).unwrap_err();
        assert!(error.to_string().contains("neuron 0 gives numbers that are not finite"), "{error}");
    }
}
