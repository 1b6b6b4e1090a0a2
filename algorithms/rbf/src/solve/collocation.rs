//! The weighted collocation matrix A = [L φₖ(xᵢ)/√N; √λ·L φₖ(xⱼ)/√K] on the host, and its derivatives by c and ln a.

use faer::Mat;
use firebox_backends::cpu::{BLOCK, Block, Blocks, Isa, Loop, SimdLevel};
use firebox_core::{Error, Result, watch::Watch};
use rayon::prelude::*;

use super::{
    gaussian::{gaussian, pack, squares},
    network::{RbfNetwork, check_shape},
};
use crate::types::{Coefficient, Conditions, System, root_mean};

/// Minimum number of elements per task: tens of microseconds of work.
const MIN_TASK: usize = 1 << 14;

/// A system with rows scaled by 1/√N and √(λ/K), so that I = ½‖A·w − target‖².
#[derive(Debug, Clone)]
pub(crate) struct Weighted {
    dims: usize,
    interior: Rows,
    boundary: Rows,
    /// b, the interior rows first.
    pub(crate) target: Vec<f64>,
}

/// Conditions of one kind in blocks of 64.
#[derive(Debug, Clone)]
struct Rows {
    points: Blocks<f64>,
    /// α, γ, then β if present.
    terms: Blocks<f64>,
    drift: bool,
}

impl Rows {
    fn new(conditions: &Conditions, scale: f64) -> Self {
        let (n, dims) = (conditions.len(), conditions.dims);
        let each = |coefficient: &Coefficient| -> Vec<f64> { (0..n).map(|i| scale * coefficient.at(i)).collect() };
        let mut terms = [each(&conditions.laplacian), each(&conditions.value)].concat();
        if let Some(beta) = &conditions.gradient {
            (0..dims).for_each(|x| terms.extend((0..n).map(|i| scale * beta[i * dims + x])));
        }
        let drift = conditions.gradient.is_some();
        let rows = if drift { 2 + dims } else { 2 };
        Self { points: pack(&conditions.points, dims), terms: Blocks::pack(&terms, rows, n), drift }
    }
}

/// Conditions ‖A·w − b‖ → min, whose matrix A depends on the neurons' centres and widths, both row-major: one width per
/// neuron, or one per axis.
pub(crate) trait Collocated {
    fn dims(&self) -> usize;

    /// b.
    fn target(&self) -> &[f64];

    /// A.
    fn matrix(&self, centres: &[f64], widths: &[f64]) -> Result<Mat<f64>>;

    /// ∂(A·w)/∂(cₖ, ln aₖ) with w fixed, the columns of a neuron side by side.
    fn jacobian(&self, centres: &[f64], widths: &[f64], weights: &[f64]) -> Result<Mat<f64>>;
}

impl Weighted {
    /// Scales the rows of `system`. Fails if its sizes do not agree, or if a number is not finite.
    pub(crate) fn new(system: &System) -> Result<Self> {
        let System { interior, boundary, penalty } = system;
        check("interior", interior)?;
        check("boundary", boundary)?;
        if interior.dims != boundary.dims {
            let what = format!("{} dimensions inside, {} on the boundary", interior.dims, boundary.dims);
            return Err(Error::input(what, "give both kinds of conditions in the same space"));
        }
        if !(penalty.is_finite() && *penalty >= 0.0) {
            let reason = "the penalty of the boundary is a finite number, 0 or more".into();
            return Err(Error::Config { field: "penalty", value: penalty.to_string(), reason });
        }
        let share = |factor: f64, conditions: &Conditions| (factor / conditions.len().max(1) as f64).sqrt();
        let (inside, outside) = (share(1.0, interior), share(*penalty, boundary));
        let scaled = |conditions: &Conditions, share: f64| -> Vec<f64> {
            conditions.target.iter().map(|target| share * target).collect()
        };
        Ok(Self {
            dims: interior.dims,
            interior: Rows::new(interior, inside),
            boundary: Rows::new(boundary, outside),
            target: [scaled(interior, inside), scaled(boundary, outside)].concat(),
        })
    }

    /// N + K.
    pub(crate) fn rows(&self) -> usize {
        self.target.len()
    }
}

impl Collocated for Weighted {
    fn dims(&self) -> usize {
        self.dims
    }

    fn target(&self) -> &[f64] {
        &self.target
    }

    /// A, (N + K) × m, the interior rows first.
    fn matrix(&self, centres: &[f64], widths: &[f64]) -> Result<Mat<f64>> {
        check_shape(self.dims, centres, widths)?;
        let (level, watch) = (SimdLevel::best(), Watch::current());
        let mut matrix = Mat::zeros(self.rows(), widths.len());
        let work = columns(&mut matrix).into_par_iter().enumerate();
        work.with_min_len(MIN_TASK / self.rows().max(1) + 1).for_each(|(k, column)| {
            if watch.stopped() {
                return;
            }
            let (inside, outside) = column.split_at_mut(self.interior.points.columns());
            let centre = &centres[k * self.dims..(k + 1) * self.dims];
            for (rows, out) in [(&self.interior, inside), (&self.boundary, outside)] {
                level.run(Values { rows, centre, width: widths[k], out });
            }
        });
        watch.go_on()?;
        Ok(matrix)
    }

    /// ∂(A·w)/∂(cₖ, ln aₖ) with w fixed: (N + K) × m(dims + 1), the columns of a neuron side by side.
    fn jacobian(&self, centres: &[f64], widths: &[f64], weights: &[f64]) -> Result<Mat<f64>> {
        check_shape(self.dims, centres, widths)?;
        let (level, watch, each) = (SimdLevel::best(), Watch::current(), self.dims + 1);
        let mut jacobian = Mat::zeros(self.rows(), widths.len() * each);
        let mut groups = columns(&mut jacobian);
        let least = MIN_TASK / (self.rows().max(1) * each) + 1;
        groups.par_chunks_mut(each).zip(weights).enumerate().with_min_len(least).for_each(|(k, (group, &weight))| {
            if watch.stopped() {
                return;
            }
            let n = self.interior.points.columns();
            let (inside, outside): (Vec<_>, Vec<_>) = group.iter_mut().map(|column| column.split_at_mut(n)).unzip();
            let centre = &centres[k * self.dims..(k + 1) * self.dims];
            for (rows, out) in [(&self.interior, inside), (&self.boundary, outside)] {
                level.run(Slopes { rows, centre, width: widths[k], weight, out });
            }
        });
        watch.go_on()?;
        Ok(jacobian)
    }
}

/// Unweighted residuals r = Lu − target at every condition; incomplete if the thread's [`Watch`] stops it.
pub(crate) fn residual(conditions: &Conditions, network: &RbfNetwork) -> Vec<f64> {
    let mut residual: Vec<f64> = conditions.target.iter().map(|target| -target).collect();
    let mut add = |coefficient: &Coefficient, of: &dyn Fn() -> Vec<f64>| {
        if *coefficient != Coefficient::Zero {
            let parts = of().into_iter().enumerate();
            residual.iter_mut().zip(parts).for_each(|(sum, (i, part))| *sum += coefficient.at(i) * part);
        }
    };
    add(&conditions.laplacian, &|| network.laplacian(&conditions.points));
    add(&conditions.value, &|| network.evaluate(&conditions.points));
    if let Some(beta) = &conditions.gradient {
        let gradient = network.gradient(&conditions.points);
        let parts = gradient.chunks(conditions.dims).zip(beta.chunks(conditions.dims));
        for (sum, (slopes, beta)) in residual.iter_mut().zip(parts) {
            *sum += slopes.iter().zip(beta).map(|(slope, b)| slope * b).sum::<f64>();
        }
    }
    residual
}

/// Root mean squares √(Σr1²/N) and √(Σr2²/K) of the residuals.
pub(crate) fn root_means(system: &System, network: &RbfNetwork) -> [f64; 2] {
    [&system.interior, &system.boundary].map(|conditions| root_mean(&residual(conditions, network)))
}

/// √(2I).
pub(crate) fn residual_norm(system: &System, network: &RbfNetwork) -> f64 {
    let [inside, outside] = root_means(system, network);
    system.norm(inside, outside)
}

/// The columns of an owned matrix, which are contiguous.
pub(crate) fn columns(matrix: &mut Mat<f64>) -> Vec<&mut [f64]> {
    let contiguous = matrix.col_iter_mut().filter_map(|column| column.try_as_col_major_mut());
    contiguous.map(|column| column.as_slice_mut()).collect()
}

fn check(kind: &str, conditions: &Conditions) -> Result<()> {
    let (n, dims) = (conditions.len(), conditions.dims);
    let coefficient = |coefficient: &Coefficient| match coefficient {
        Coefficient::Each(values) => values.len() == n && values.iter().all(|value| value.is_finite()),
        _ => true,
    };
    let rows = |values: &[f64]| values.len() == n * dims && values.iter().all(|value| value.is_finite());
    let sound = [
        ((2..=3).contains(&dims), "dimensions"),
        (rows(&conditions.points), "points"),
        (coefficient(&conditions.laplacian), "coefficients of the Laplacian"),
        (conditions.gradient.as_deref().is_none_or(rows), "coefficients of the gradient"),
        (coefficient(&conditions.value), "coefficients of the value"),
        (conditions.target.iter().all(|value| value.is_finite()), "right-hand sides"),
    ];
    match sound.iter().find(|(sound, _)| !sound) {
        Some((_, what)) => {
            let what = format!("the {kind} conditions' {what} are not finite or not as many as there should be");
            Err(Error::input(what, "give each condition a point in 2 or 3 dimensions, finite coefficients and data"))
        }
        None => Ok(()),
    }
}

/// β·(x − c) of the points of a block.
#[inline(always)]
fn drift(points: &[Block<f64>], beta: &[Block<f64>], centre: &[f64]) -> Block<f64> {
    let mut along = Block::default();
    for ((x, beta), &c) in points.iter().zip(beta).zip(centre) {
        for l in 0..BLOCK {
            along[l] += beta[l] * (x[l] - c);
        }
    }
    along
}

/// A neuron's column of A: Lφ.
struct Values<'a> {
    rows: &'a Rows,
    centre: &'a [f64],
    width: f64,
    out: &'a mut [f64],
}

impl Loop for Values<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let q = 1.0 / (self.width * self.width);
        let two_n = 2.0 * self.centre.len() as f64;
        for (b, out) in self.out.chunks_mut(BLOCK).enumerate() {
            let (points, terms) = (self.rows.points.block(b), self.rows.terms.block(b));
            let r2 = squares::<I>(points, self.centre);
            let phi = gaussian::<I>(&r2, q);
            let mut bracket = Block::default();
            for l in 0..BLOCK {
                bracket[l] = terms[0][l] * q * (4.0 * q * r2[l] - two_n) + terms[1][l];
            }
            if self.rows.drift {
                let along = drift(points, &terms[2..], self.centre);
                for l in 0..BLOCK {
                    bracket[l] -= 2.0 * q * along[l];
                }
            }
            for l in 0..BLOCK {
                bracket[l] *= phi[l];
            }
            out.copy_from_slice(&bracket[..out.len()]);
        }
    }
}

/// A neuron's columns w·∂(Lφ)/∂(c, ln a): one per coordinate, the last by ln a.
struct Slopes<'a> {
    rows: &'a Rows,
    centre: &'a [f64],
    width: f64,
    weight: f64,
    out: Vec<&'a mut [f64]>,
}

impl Loop for Slopes<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(mut self) {
        let (q, dims) = (1.0 / (self.width * self.width), self.centre.len());
        let n = dims as f64;
        for b in 0..self.rows.points.count() {
            let (points, terms) = (self.rows.points.block(b), self.rows.terms.block(b));
            let r2 = squares::<I>(points, self.centre);
            let mut phi = gaussian::<I>(&r2, q);
            for l in 0..BLOCK {
                phi[l] *= self.weight;
            }
            let along = if self.rows.drift { drift(points, &terms[2..], self.centre) } else { Block::default() };
            let mut slope = Block::default();
            for l in 0..BLOCK {
                let s = q * r2[l];
                let curvature = terms[0][l] * q * ((8.0 * s - (4.0 * n + 16.0)) * s + 4.0 * n);
                slope[l] = phi[l] * (curvature + 4.0 * q * along[l] * (1.0 - s) + 2.0 * s * terms[1][l]);
            }
            let place = b * BLOCK..self.rows.points.columns().min((b + 1) * BLOCK);
            self.out[dims][place.clone()].copy_from_slice(&slope[..place.len()]);
            let mut bracket = Block::default();
            for l in 0..BLOCK {
                let curvature = terms[0][l] * q * (4.0 * q * r2[l] - (2.0 * n + 4.0));
                bracket[l] = curvature - 2.0 * q * along[l] + terms[1][l];
            }
            for ((x, &c), y) in points.iter().zip(self.centre).zip(0..) {
                for l in 0..BLOCK {
                    slope[l] = 2.0 * q * phi[l] * ((x[l] - c) * bracket[l]);
                }
                if self.rows.drift {
                    for l in 0..BLOCK {
                        slope[l] += 2.0 * q * phi[l] * terms[2 + y][l];
                    }
                }
                self.out[y][place.clone()].copy_from_slice(&slope[..place.len()]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        parity::reference::Functional,
        tests::{reference, samples},
    };

    fn near(got: f64, wanted: f64, scale: f64) {
        assert!((got - wanted).abs() <= 1e-13 * scale, "{got} {wanted}");
    }

    #[test]
    fn matrix_and_derivatives_match_the_reference() {
        for dims in [2, 3] {
            for n in [1, 64, 70, 200] {
                let (system, network) = samples::mixed(dims, 9, n);
                let (centres, widths, weights) = (network.centres(), network.widths(), network.weights());
                let weighted = Weighted::new(&system).unwrap();
                let matrix = weighted.matrix(centres, widths).unwrap();
                let jacobian = weighted.jacobian(centres, widths, weights).unwrap();
                assert_eq!((matrix.nrows(), matrix.ncols(), jacobian.ncols()), (n + 4, 9, 9 * (dims + 1)));
                let kinds = [(&system.interior, 0, 1.0 / n as f64), (&system.boundary, n, 3.0 / 4.0)];
                for (conditions, first, share) in kinds {
                    let share = f64::sqrt(share);
                    for i in 0..conditions.len() {
                        let functional = Functional::at(conditions, i);
                        near(weighted.target[first + i], share * conditions.target[i], 1.0);
                        for k in 0..9 {
                            let (x, c, a) = (conditions.point(i), &centres[k * dims..][..dims], widths[k]);
                            near(matrix[(first + i, k)], share * functional.of(x, c, a), 30.0);
                            let at = k * (dims + 1);
                            for (y, slope) in functional.by_centre(x, c, a).iter().enumerate() {
                                near(jacobian[(first + i, at + y)], share * weights[k] * slope, 100.0);
                            }
                            let slope = share * weights[k] * a * functional.by_width(x, c, a);
                            near(jacobian[(first + i, at + dims)], slope, 100.0);
                        }
                    }
                    let residual = residual(conditions, &network);
                    let wanted = reference::residual(conditions, centres, widths, weights);
                    residual.iter().zip(wanted).for_each(|(got, wanted)| near(*got, wanted, 100.0));
                }
            }
        }
    }

    #[test]
    fn inconsistent_systems_are_refused() {
        let (system, network) = samples::mixed(2, 3, 5);
        let refused = |change: &dyn Fn(&mut System)| {
            let mut system = system.clone();
            change(&mut system);
            Weighted::new(&system).unwrap_err().to_string()
        };
        assert!(refused(&|it| it.penalty = -1.0).starts_with("penalty = -1: "));
        assert!(refused(&|it| it.interior.target[0] = f64::NAN).contains("interior conditions' right-hand sides"));
        assert!(refused(&|it| it.boundary.points.truncate(3)).contains("boundary conditions' points"));
        assert!(refused(&|it| it.interior.value = Coefficient::Each(vec![])).contains("coefficients of the value"));
        let weighted = Weighted::new(&system).unwrap();
        assert!(weighted.matrix(network.centres(), &[1.0]).is_err());
    }
}
