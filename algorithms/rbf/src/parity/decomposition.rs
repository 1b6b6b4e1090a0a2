//! The QR decomposition of a device: solutions that are known, and the norms of columns.

use firebox_core::{random::Random, tensor::primitive};

use super::problem::Problem;
use crate::ops::RbfOps;

/// Most columns, unless there are more than are applied in a call.
const COLUMNS: usize = 400;
const MANY_COLUMNS: usize = 4096;
/// Error of a solution relative to its size: condition numbers of the matrix are below 20, and sums of 1200 terms have
/// rounding errors of 1e-13.
const TOLERANCE: f64 = 1e-10;

impl<B: RbfOps> Problem<B> {
    /// Random matrices with twice as many rows as columns, one of them with a column of zeros.
    pub(super) fn check_qr(&self) -> Result<(), String> {
        let size = self.inputs.size.m;
        let m = if size > MANY_COLUMNS { size } else { size.min(COLUMNS) };
        self.check_qr_with(m, None).and_then(|()| self.check_qr_with(m, Some(m / 2)))
    }

    fn check_qr_with(&self, m: usize, zero: Option<usize>) -> Result<(), String> {
        let n = 2 * m + 3;
        let mut random = Random::new(self.inputs.weights[0].to_bits(), 82);
        let mut draw = |count: usize| -> Vec<f64> { (0..count).map(|_| random.normal()).collect() };
        let (mut columns, mut x) = (draw(n * m), draw(m));
        if let Some(k) = zero {
            columns[k * n..(k + 1) * n].fill(0.0);
            x[k] = 0.0;
        }
        let product = |x: &[f64]| -> Vec<f64> {
            (0..n).map(|i| columns.iter().skip(i).step_by(n).zip(x).map(|(a, x)| a * x).sum()).collect()
        };
        let transposed = |y: &[f64]| -> Vec<f64> {
            columns.chunks(n).map(|column| column.iter().zip(y).map(|(a, y)| a * y).sum()).collect()
        };
        let near = |what: &str, found: &[f64]| match found.iter().zip(&x).find(|(a, b)| (**a - **b).abs() > TOLERANCE) {
            Some((a, b)) => Err(format!("{what}: {a:e}, not {b:e}")),
            None => Ok(()),
        };
        let run = || -> firebox_core::Result<_> {
            let qr = B::qr(primitive::<B, 2>(columns.clone(), [m, n], &self.device))?;
            let mut solution = qr.image(&product(&x))?;
            qr.solve(&mut solution, false)?;
            // RᵀR = AᵀA.
            let mut normal = transposed(&product(&x));
            qr.solve(&mut normal, true)?;
            qr.solve(&mut normal, false)?;
            Ok((solution, normal, qr.column_norms().map(<[f64]>::to_vec)))
        };
        let (solution, normal, [sums, lengths]) = run().map_err(|error| error.to_string())?;
        near("A·w = b", &solution)?;
        // Not with a column of zeros, where the unknown 0 of the first solution is not that of R.
        if zero.is_none() {
            near("RᵀR·w = Aᵀb", &normal)?;
        }
        for (k, column) in columns.chunks(n).enumerate() {
            let length = column.iter().map(|a| a * a).sum::<f64>().sqrt();
            let most = ((k + 1) as f64).sqrt() * length;
            let off = TOLERANCE * length;
            if (lengths[k] - length).abs() > off || sums[k] < length - off || sums[k] > most + off {
                return Err(format!(
                    "norms of column {k}: {:e} and {:e} where √Σa² is {length:e}",
                    sums[k], lengths[k]
                ));
            }
        }
        Ok(())
    }
}
