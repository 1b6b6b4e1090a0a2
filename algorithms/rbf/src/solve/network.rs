//! The trained network: u(x) = Σₖ wₖ exp(−Σᵢ (xᵢ − cₖᵢ)²/aₖᵢ²), and its derivatives.

use firebox_backends::cpu::{BLOCK, Block, Blocks, Isa, Loop, Real, SimdLevel};
use firebox_core::{Error, Result, watch::Watch};
use rayon::prelude::*;

use super::gaussian::{gaussian, pack};
use crate::types::MAX_DIMS;

/// m Gaussians with centres, widths and weights, in 1 to 5 dimensions. A neuron has one width, or one per axis.
///
/// Values at points are incomplete if the thread's [`Watch`] stops the evaluation.
///
/// ```
/// use firebox_rbf::RbfNetwork;
///
/// let network = RbfNetwork::new(2, vec![0.0, 0.0], vec![1.0], vec![2.0])?;
/// assert_eq!(network.evaluate(&[0.0, 0.0]), [2.0]);
/// assert_eq!(network.laplacian(&[0.0, 0.0]), [-8.0]);
/// # Ok::<(), firebox_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RbfNetwork {
    dims: usize,
    centres: Vec<f64>,
    widths: Vec<f64>,
    weights: Vec<f64>,
    /// Names of the coordinates; none if they are unknown.
    names: Vec<String>,
}

impl RbfNetwork {
    /// A network of `centres`, row-major m × `dims`, m `weights`, and `widths`, m or, with one per axis, row-major m ×
    /// `dims`.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] unless there are 1 to 5 dimensions, the sizes agree, all numbers are finite and the widths
    /// positive.
    pub fn new(dims: usize, centres: Vec<f64>, widths: Vec<f64>, weights: Vec<f64>) -> Result<Self> {
        let per_axis = centres.len() == widths.len() && !centres.is_empty();
        let shortened = if per_axis { &widths[..widths.len() / dims.max(1)] } else { &widths };
        check_shape(dims, &centres, shortened)?;
        if weights.len() != shortened.len() {
            return Err(unfit(format!("{} weights for {} neurons", weights.len(), shortened.len())));
        }
        if let Some(at) = widths.iter().position(|a| !(a.is_finite() && *a > 0.0)) {
            return Err(unfit(format!("the width of neuron {} is {}", at / dims, widths[at])));
        }
        if let Some(k) = weights.iter().position(|w| !w.is_finite()) {
            return Err(unfit(format!("the weight of neuron {k} is {}", weights[k])));
        }
        Ok(Self { dims, centres, widths, weights, names: Vec::new() })
    }

    /// The network with names of its coordinates, which model files keep.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] unless there are as many distinct names as dimensions.
    pub fn named(mut self, names: Vec<String>) -> Result<Self> {
        let repeats = names.iter().enumerate().any(|(at, name)| names[..at].contains(name));
        if names.len() != self.dims || repeats {
            return Err(unfit(format!("{} names of {} coordinates, or equal ones", names.len(), self.dims)));
        }
        self.names = names;
        Ok(self)
    }

    /// Names of the coordinates; none if they are unknown.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Dimensions of space, n.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// Neurons, m.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Returns `false`: [`new`](Self::new) refuses a network without neurons.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// c, row-major m × n.
    pub fn centres(&self) -> &[f64] {
        &self.centres
    }

    /// a, m values or, with one per axis, row-major m × n.
    pub fn widths(&self) -> &[f64] {
        &self.widths
    }

    /// Returns `true` if neurons have one width per axis.
    pub fn has_axis_widths(&self) -> bool {
        self.widths.len() > self.weights.len()
    }

    /// w.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// u at `points`, row-major; an incomplete last point is ignored.
    pub fn evaluate(&self, points: &[f64]) -> Vec<f64> {
        self.sums(Term::Value, points)
    }

    /// ∇u at `points`, row-major like `points`; an incomplete last point is ignored.
    pub fn gradient(&self, points: &[f64]) -> Vec<f64> {
        self.sums(Term::Gradient, points)
    }

    /// Δu at `points`, row-major; an incomplete last point is ignored.
    pub fn laplacian(&self, points: &[f64]) -> Vec<f64> {
        self.sums(Term::Laplacian, points)
    }

    fn sums(&self, term: Term, points: &[f64]) -> Vec<f64> {
        let (level, watch, packed) = (SimdLevel::best(), Watch::current(), pack(points, self.dims));
        let each = if term == Term::Gradient { self.dims } else { 1 };
        let mut sums = vec![0.0; packed.columns() * each];
        let one = |(b, out): (usize, &mut [f64])| {
            if !watch.stopped() {
                level.run(Sums { network: self, term, points: &packed, block: b, out });
            }
        };
        // At least tens of microseconds of work per task.
        let least = (1 << 14) / (BLOCK * self.len()).max(1) + 1;
        sums.par_chunks_mut(BLOCK * each).enumerate().with_min_len(least).for_each(one);
        sums
    }
}

/// Fails unless `centres` and `widths` are finite, positive widths, of one size, in 1 to 5 dimensions.
pub(crate) fn check_shape(dims: usize, centres: &[f64], widths: &[f64]) -> Result<()> {
    if !(1..=MAX_DIMS).contains(&dims) {
        return Err(unfit(format!("{dims} dimensions, but there may be 1 to {MAX_DIMS}")));
    }
    if widths.is_empty() {
        return Err(unfit("no neurons".into()));
    }
    if centres.len() != dims * widths.len() {
        let what = format!("{} coordinates of centres for {} neurons", centres.len(), widths.len());
        return Err(unfit(format!("{what} in {dims} dimensions")));
    }
    if let Some(k) = widths.iter().position(|a| !(a.is_finite() && *a > 0.0)) {
        return Err(unfit(format!("the width of neuron {k} is {}", widths[k])));
    }
    if let Some(at) = centres.iter().position(|c| !c.is_finite()) {
        return Err(unfit(format!("the centre of neuron {} has a coordinate {}", at / dims, centres[at])));
    }
    Ok(())
}

fn unfit(what: String) -> Error {
    let help = "a network has a centre, a positive width and a weight for each neuron, all finite";
    Error::input(format!("not a network: {what}"), help)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Term {
    Value,
    Gradient,
    Laplacian,
}

/// The sum over all neurons at the points of one block.
struct Sums<'a> {
    network: &'a RbfNetwork,
    term: Term,
    points: &'a Blocks<f64>,
    block: usize,
    out: &'a mut [f64],
}

impl Loop for Sums<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let RbfNetwork { dims, centres, widths, weights, .. } = self.network;
        let points = self.points.block(self.block);
        let each = widths.len() / weights.len().max(1);
        let mut sums = [Block::default(); MAX_DIMS];
        for ((centre, widths), &w) in centres.chunks_exact(*dims).zip(widths.chunks_exact(each)).zip(weights) {
            let q = |axis: usize| 1.0 / (widths[axis % each] * widths[axis % each]);
            let mut squares = Block::default();
            for (axis, (x, &c)) in points.iter().zip(centre).enumerate() {
                let q = q(axis);
                for l in 0..BLOCK {
                    let d = x[l] - c;
                    squares[l] = f64::fma::<I>(q * d, d, squares[l]);
                }
            }
            let phi = gaussian::<I>(&squares, 1.0);
            match self.term {
                Term::Value => {
                    for l in 0..BLOCK {
                        sums[0][l] = f64::fma::<I>(w, phi[l], sums[0][l]);
                    }
                }
                Term::Laplacian => {
                    for (axis, (x, &c)) in points.iter().zip(centre).enumerate() {
                        let q = q(axis);
                        let (slope, start) = (4.0 * w * q * q, -2.0 * w * q);
                        for l in 0..BLOCK {
                            let d = x[l] - c;
                            sums[0][l] = f64::fma::<I>(phi[l], f64::fma::<I>(slope * d, d, start), sums[0][l]);
                        }
                    }
                }
                Term::Gradient => {
                    for (axis, ((sum, x), &c)) in sums.iter_mut().zip(points).zip(centre).enumerate() {
                        let factor = -2.0 * w * q(axis);
                        for l in 0..BLOCK {
                            sum[l] = f64::fma::<I>(factor * (x[l] - c), phi[l], sum[l]);
                        }
                    }
                }
            }
        }
        let each = if self.term == Term::Gradient { *dims } else { 1 };
        for (l, out) in self.out.chunks_mut(each).enumerate() {
            for (out, sum) in out.iter_mut().zip(&sums) {
                *out = sum[l];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use firebox_core::random::Random;

    use super::*;
    use crate::parity::reference;

    #[test]
    fn values_and_derivatives_match_the_reference() {
        let mut random = Random::new(3, 0);
        for dims in [1, 2, 3, 5] {
            for n in [0, 1, 63, 64, 65, 200] {
                let mut draw = |count: usize, low: f64, high: f64| -> Vec<f64> {
                    (0..count).map(|_| random.uniform(low, high)).collect()
                };
                let (centres, widths, weights) = (draw(7 * dims, -1.0, 1.0), draw(7, 0.2, 2.0), draw(7, -1.0, 1.0));
                let points = draw(n * dims, -1.0, 1.0);
                let network = RbfNetwork::new(dims, centres, widths, weights).unwrap();
                let plain = |alpha: f64, beta: &[f64], gamma: f64| -> Vec<f64> {
                    let functional = reference::Functional { alpha, beta, gamma };
                    let neurons = || network.centres.chunks(dims).zip(&network.widths).zip(&network.weights);
                    let at = |x: &[f64]| neurons().map(|((c, &a), w)| w * functional.of(x, c, a)).sum();
                    points.chunks(dims).map(at).collect()
                };
                let near = |got: &[f64], wanted: &[f64]| {
                    assert_eq!(got.len(), wanted.len());
                    let scale = wanted.iter().fold(1.0f64, |most, value| most.max(value.abs()));
                    assert!(got.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-13 * scale), "{got:?} {wanted:?}");
                };
                near(&network.evaluate(&points), &plain(0.0, &[], 1.0));
                near(&network.laplacian(&points), &plain(1.0, &[], 0.0));
                let gradient = network.gradient(&points);
                for x in 0..dims {
                    let unit: Vec<f64> = (0..dims).map(|y| f64::from(u8::from(x == y))).collect();
                    let part: Vec<f64> = gradient.iter().skip(x).step_by(dims).copied().collect();
                    near(&part, &plain(0.0, &unit, 0.0));
                }
            }
        }
    }

    #[test]
    fn widths_per_axis_match_central_differences() {
        let mut random = Random::new(4, 0);
        for dims in [2, 3, 5] {
            let mut draw = |count: usize, low: f64| (0..count).map(|_| random.uniform(low, 1.5)).collect::<Vec<f64>>();
            let (centres, widths, weights) = (draw(5 * dims, -1.0), draw(5 * dims, 0.4), draw(5, -1.0));
            let points = draw(70 * dims, -1.0);
            let network = RbfNetwork::new(dims, centres.clone(), widths.clone(), weights.clone()).unwrap();
            assert!(network.has_axis_widths() && network.len() == 5);
            let plain = |x: &[f64]| -> f64 {
                let neurons = centres.chunks(dims).zip(widths.chunks(dims)).zip(&weights);
                let exponent = |c: &[f64], a: &[f64]| -> f64 {
                    x.iter().zip(c).zip(a).map(|((x, c), a)| ((x - c) / a).powi(2)).sum()
                };
                neurons.map(|((c, a), w)| w * (-exponent(c, a)).exp()).sum()
            };
            let (values, gradient, laplacian) =
                (network.evaluate(&points), network.gradient(&points), network.laplacian(&points));
            let h = 1e-4;
            for (i, x) in points.chunks(dims).enumerate() {
                assert!((values[i] - plain(x)).abs() < 1e-13);
                let mut sum = 0.0;
                for axis in 0..dims {
                    let [more, less] = [h, -h].map(|by| {
                        let mut moved = x.to_vec();
                        moved[axis] += by;
                        plain(&moved)
                    });
                    assert!((gradient[i * dims + axis] - (more - less) / (2.0 * h)).abs() < 1e-6);
                    sum += (more - 2.0 * plain(x) + less) / (h * h);
                }
                // Rounding 4ε/h² per axis, truncation h²/12·u⁗.
                assert!((laplacian[i] - sum).abs() < 1e-5, "{} {sum}", laplacian[i]);
            }
        }
    }

    #[test]
    fn invalid_networks_are_refused() {
        let refused = |dims, centres: &[f64], widths: &[f64], weights: &[f64]| {
            RbfNetwork::new(dims, centres.into(), widths.into(), weights.into()).unwrap_err().to_string()
        };
        assert_eq!(refused(6, &[0.0; 6], &[1.0], &[1.0]), "not a network: 6 dimensions, but there may be 1 to 5");
        assert_eq!(refused(2, &[], &[], &[]), "not a network: no neurons");
        assert_eq!(refused(2, &[0.0; 2], &[-1.0], &[1.0]), "not a network: the width of neuron 0 is -1");
        assert_eq!(refused(2, &[0.0; 2], &[1.0], &[f64::NAN]), "not a network: the weight of neuron 0 is NaN");
        assert_eq!(refused(2, &[0.0; 2], &[1.0], &[]), "not a network: 0 weights for 1 neurons");
        let flat = refused(2, &[0.0; 4], &[1.0, 1.0, 1.0, 0.0], &[1.0; 2]);
        assert_eq!(flat, "not a network: the width of neuron 1 is 0");
        let infinite = refused(2, &[0.0, f64::INFINITY], &[1.0], &[1.0]);
        assert_eq!(infinite, "not a network: the centre of neuron 0 has a coordinate inf");
        let few = refused(3, &[0.0; 4], &[1.0], &[1.0]);
        assert_eq!(few, "not a network: 4 coordinates of centres for 1 neurons in 3 dimensions");
    }
}
