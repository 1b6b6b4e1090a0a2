//! Least squares on the device of a context, where that has a QR decomposition in f64, and on the host otherwise.

use std::cell::Cell;

use burn::tensor::{Shape, TensorMetadata, ops::FloatTensor};
use firebox_backends::{
    DeviceQr, QrSupport,
    limits::{Buffer, Limits, admit},
};
use firebox_core::{
    Context, Result,
    tensor::{add, concatenate, primitive, zeros},
    watch::Watch,
};

use crate::{
    ops::{RbfOps, ndarray::host_limits, transfer},
    solve::{
        adaptive::{Arrays, Border, Engine, Functionals, Host, LeastSquares, Neurons, Point, Triangular},
        decompositions::failed,
        triangular::inverse_norm,
    },
    types::{Ellipsoids, OperatorRows, RowSums},
};

/// Neurons from which on the device is used.
pub(super) const LEAST_ON_DEVICE: usize = 1000;
/// Neurons up to which the host solves what the device has no memory for; more would take hours.
const MOST_ON_HOST: usize = 8192;
/// Help of errors of memory.
const HELP: &str = "take fewer neurons";

/// The device of a context, and the host.
pub(super) struct DeviceEngine<'a, B: RbfOps> {
    context: &'a Context<B>,
    has_qr: bool,
    /// Elements of the smallest matrix that the device has refused.
    refused: Cell<u128>,
    /// The device has decomposed a matrix.
    used: Cell<bool>,
}

impl<'a, B: RbfOps> DeviceEngine<'a, B> {
    /// The device of `context` if it has a QR decomposition; a notice says why it has none.
    pub(super) fn new(context: &'a Context<B>) -> Self {
        let support = B::qr_support(&context.device);
        if let QrSupport::Missing(reason) = support {
            let device = B::limits(&context.device).device;
            context.observer.notice(&format!("least squares run in f64 on the host, not on {device}: {reason}"));
        }
        let has_qr = support == QrSupport::Available;
        Self { context, has_qr, refused: Cell::new(u128::MAX), used: Cell::new(false) }
    }

    /// Returns `true` if networks of this size are solved on the device.
    pub(super) fn takes(&self, neurons: usize) -> bool {
        self.has_qr && neurons >= LEAST_ON_DEVICE
    }

    /// Limits of this rank's share of the memory in which networks of this size are solved. The size of a single buffer is
    /// checked with its actual number of rows.
    pub(super) fn limits(&self, neurons: usize) -> Limits {
        if !self.takes(neurons) {
            return self.host();
        }
        let limits = B::limits(&self.context.device);
        let free = limits.free.map(|free| free / self.context.sharers.device.max(1) as u64);
        Limits { free, largest_buffer: None, ..limits }
    }

    fn host(&self) -> Limits {
        let limits = host_limits();
        let free = limits.free.map(|free| free / self.context.sharers.host.max(1) as u64);
        Limits { free, ..limits }
    }

    /// Returns `true` if the device has decomposed a matrix.
    pub(super) fn was_used(&self) -> bool {
        self.used.get()
    }

    /// Aᵀ of `rows` for the neurons of a region.
    fn region<const D: usize>(
        &self,
        rows: &Functionals<D>,
        region: usize,
        neurons: &Ellipsoids<B>,
        sums: Option<&RowSums<B>>,
    ) -> FloatTensor<B> {
        let matrix = rows.layers(region).into_iter().map(|layer| {
            let arrays = Arrays::new(rows.points(), layer.iter().map(|term| (term.row, *term)));
            B::rbf_operators(&self.operator_rows::<D>(arrays, rows.points(), sums.cloned()), neurons)
        });
        let m = neurons.centres.shape()[1];
        matrix.reduce(add::<B>).unwrap_or_else(|| zeros::<B>(Shape::new([m, rows.len()]), &self.context.device))
    }

    fn operator_rows<const D: usize>(&self, arrays: Arrays, n: usize, sums: Option<RowSums<B>>) -> OperatorRows<B> {
        let (device, count) = (&self.context.device, arrays.mixed.coefficients(D));
        OperatorRows {
            points: primitive::<B, 2>(arrays.points, [D, n], device),
            coefficients: primitive::<B, 2>(arrays.coefficients, [count, n], device),
            mixed: arrays.mixed,
            has_derivatives: arrays.has_derivatives,
            sums,
        }
    }

    fn ellipsoids<const D: usize>(&self, [centres, widths]: [&[Point<D>]; 2]) -> Ellipsoids<B> {
        let upload = |values: &[Point<D>]| {
            let by_axis = transfer::to_dimension_major(values.as_flattened(), D);
            primitive::<B, 2>(by_axis, [D, values.len()], &self.context.device)
        };
        Ellipsoids { centres: upload(centres), widths: upload(widths) }
    }

    /// Aᵀ of `rows` with `border`.
    fn matrix<const D: usize>(
        &self,
        rows: &Functionals<D>,
        neurons: &Neurons<D>,
        border: Option<&Border>,
    ) -> FloatTensor<B> {
        let device = &self.context.device;
        let sums = transfer::row_sums::<B>(rows.sums(), device);
        let parts = neurons.blocks().enumerate().filter(|(_, own)| !own.is_empty());
        let parts = parts.map(|(region, own)| {
            let own = self.ellipsoids([&neurons.centres[own.clone()], &neurons.widths[own]]);
            self.region(rows, region, &own, sums.as_ref())
        });
        let mut parts: Vec<FloatTensor<B>> = parts.collect();
        if let Some(border) = border {
            parts.push(primitive::<B, 2>(border.column.clone(), [1, rows.len()], device));
        }
        // A single part is not copied.
        let matrix = if parts.len() == 1 { parts.remove(0) } else { concatenate::<B>(parts, 0) };
        let Some(border) = border else { return matrix };
        let row: Vec<f64> = border.row.iter().copied().chain([0.0]).collect();
        let count = row.len();
        concatenate::<B>(vec![matrix, primitive::<B, 2>(row, [count, 1], device)], 1)
    }

    /// Checks that the device has memory for the matrix of `rows` and `neurons`, as often as it is copied, and for the
    /// workspace of its decomposition. If it has not, the host must have it.
    fn admits<const D: usize>(&self, rows: &Functionals<D>, neurons: &Neurons<D>, is_bordered: bool) -> Result<bool> {
        let layers = neurons.blocks().enumerate().map(|(region, _)| rows.layers(region).len()).max();
        let copies = match layers {
            Some(2..) => 3,
            _ if is_bordered || neurons.starts.len() > 2 => 2,
            _ => 1,
        };
        let elements = rows.len() as u128 * neurons.len() as u128;
        let buffer = || Buffer::new("the matrix of conditions", elements, size_of::<f64>());
        if elements < self.refused.get() {
            let work = Buffer::new("the workspace of its decomposition", elements / 8, size_of::<f64>());
            let plan = [vec![buffer(); copies], vec![work]].concat();
            // Memory of earlier matrices that the device still holds counts as free.
            B::memory_cleanup(&self.context.device);
            match admit(self.context, &plan, HELP) {
                Ok(_) => return Ok(true),
                Err(error) if neurons.len() > MOST_ON_HOST => return Err(error),
                Err(error) => {
                    self.refused.set(elements);
                    let text = format!("least squares of {} neurons run on the host: {error}", neurons.len());
                    self.context.observer.notice(&text);
                }
            }
        }
        self.host().admit(&[buffer()], self.context.memory_limit, HELP)?;
        Ok(false)
    }

    /// The rows' values on the device.
    fn device_values<const D: usize>(
        &self,
        rows: &Functionals<D>,
        neurons: &Neurons<D>,
        weights: &[f64],
    ) -> Result<Vec<f64>> {
        let mut values = vec![0.0; rows.len()];
        for (region, own) in neurons.blocks().enumerate().filter(|(_, own)| !own.is_empty()) {
            let ellipsoids = self.ellipsoids([&neurons.centres[own.clone()], &neurons.widths[own.clone()]]);
            for layer in rows.layers(region) {
                let arrays = Arrays::new(layer.len(), layer.iter().copied().enumerate());
                let operators = self.operator_rows::<D>(arrays, layer.len(), None);
                let weights = transfer::vector::<B>(&weights[own.clone()], &self.context.device);
                let found = B::rbf_operator_values(&operators, &ellipsoids, weights);
                let [found] = transfer::fetch([found], self.context)?;
                layer.iter().zip(found).for_each(|(term, value)| values[term.row] += value);
            }
        }
        rows.sum_up(&mut values);
        Ok(values)
    }
}

impl<B: RbfOps, const D: usize> Engine<D> for DeviceEngine<'_, B> {
    fn least_squares(
        &self,
        rows: &Functionals<D>,
        neurons: &Neurons<D>,
        border: Option<&Border>,
        targets: Vec<f64>,
    ) -> Result<LeastSquares> {
        if !self.takes(neurons.len()) || !self.admits(rows, neurons, border.is_some())? {
            return Host.least_squares(rows, neurons, border, targets);
        }
        // A decomposition on the device cannot be interrupted.
        Watch::current().go_on()?;
        let qr = B::qr(self.matrix(rows, neurons, border))?;
        Watch::current().go_on()?;
        if let Some(k) = qr.column_norms()[1].iter().position(|norm| !norm.is_finite()) {
            return Err(failed(&format!("neuron {k} gives numbers that are not finite; give it another width")));
        }
        let mut weights = qr.image(&targets)?;
        qr.solve(&mut weights, false)?;
        self.used.set(true);
        Ok(LeastSquares { weights, triangle: Box::new(OnDevice(qr)), on_device: true })
    }

    fn values(&self, rows: &Functionals<D>, neurons: &Neurons<D>, weights: &[f64]) -> Result<Vec<f64>> {
        if self.takes(neurons.len()) {
            self.device_values(rows, neurons, weights)
        } else {
            Host.values(rows, neurons, weights)
        }
    }
}

/// R on a device.
struct OnDevice(Box<dyn DeviceQr>);

impl Triangular for OnDevice {
    fn solve(&self, x: &mut [f64]) -> Result<()> {
        self.0.solve(x, false)
    }

    fn solve_transposed(&self, x: &mut [f64]) -> Result<()> {
        self.0.solve(x, true)
    }

    fn condition(&self) -> Result<f64> {
        let [sums, norms] = self.0.column_norms();
        if norms.contains(&0.0) {
            return Ok(f64::INFINITY);
        }
        // Powers of 2, as on the host. R·S has columns of norms near 1, S of 1/scales; (R·S)⁻¹ = S⁻¹·R⁻¹.
        let scales: Vec<f64> = norms.iter().map(|norm| norm.log2().round().exp2()).collect();
        let solve = |x: &mut [f64], transposed: bool| {
            let scale = |x: &mut [f64]| x.iter_mut().zip(&scales).for_each(|(x, scale)| *x *= scale);
            if transposed {
                scale(x);
            }
            self.0.solve(x, transposed)?;
            if !transposed {
                scale(x);
            }
            Ok(())
        };
        let largest = sums.iter().zip(&scales).map(|(sum, scale)| sum / scale).fold(0.0, f64::max);
        let condition = largest * inverse_norm(scales.len(), &solve)?;
        Ok(if condition.is_nan() { f64::INFINITY } else { condition })
    }
}

#[cfg(test)]
mod tests {
    use burn_ndarray::NdArray;
    use firebox_core::{random::Random, tensor::float_values};

    use super::*;
    use crate::solve::adaptive::samples;

    /// The matrix and the values that a device computes are those of the host: two regions, rows of one side, of two, and
    /// of two in one region, sums, and a border.
    #[test]
    fn matrices_and_values_are_those_of_the_host() {
        type B = NdArray<f64>;
        let context = Context::<B>::new(Default::default());
        let engine = DeviceEngine::new(&context);
        let mut random = Random::new(4, 0);
        for regions in [1, 2] {
            let (rows, neurons) = samples::piecewise(regions, &mut random);
            let host = rows.matrix(&neurons).unwrap();
            let border = Border {
                column: (0..rows.len()).map(|_| random.normal()).collect(),
                row: (0..neurons.len()).map(|_| random.normal()).collect(),
            };
            for border in [None, Some(&border)] {
                let matrix = engine.matrix(&rows, &neurons, border);
                let (n, m) = (rows.len() + border.iter().count(), neurons.len() + border.iter().count());
                assert_eq!(matrix.shape().dims::<2>(), [m, n]);
                let found = float_values::<B>(matrix, "test").unwrap();
                for (k, column) in found.chunks(n).enumerate() {
                    for (i, &value) in column.iter().enumerate() {
                        let expected = match border {
                            Some(border) if k == neurons.len() => border.column.get(i).copied().unwrap_or(0.0),
                            Some(border) if i == rows.len() => border.row[k],
                            _ => host[(i, k)],
                        };
                        assert!((value - expected).abs() <= 1e-12 * (1.0 + expected.abs()), "{i} {k}");
                    }
                }
            }
            let weights: Vec<f64> = (0..neurons.len()).map(|_| random.normal()).collect();
            let both = [engine.device_values(&rows, &neurons, &weights), rows.values(&neurons, &weights)];
            let [found, expected] = both.map(Result::unwrap);
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-11));
        }
    }
}
