//! Cross-entropy and squared error.

use burn::tensor::{Int, Tensor, backend::Backend};

use crate::ops::PerceptronOps;
use crate::ops::sums::{column_sums, row_sums};

/// Targets of a batch on the device.
#[derive(Clone)]
pub(crate) enum BatchTargets<B: Backend> {
    /// Class codes `[n]`.
    Classes(Tensor<B, 1, Int>),
    /// Numbers `[n, 1]`.
    Numbers(Tensor<B, 2>),
}

/// Loss of each row `[n, 1]` for outputs `[n, m]`: ln Σ eˣ − x of its class, or (x − y)².
pub(crate) fn losses<B: PerceptronOps>(outputs: Tensor<B, 2>, targets: BatchTargets<B>) -> Tensor<B, 2> {
    match targets {
        BatchTargets::Classes(classes) => {
            // Shifted by ln Σ eˣ as a constant, the powers are probabilities with sum S = 1, where ln S = S − 1 in value
            // and slope. This avoids the backward pass of ln, in which Burn uses `recip`, 12 bits on NdArray.
            let x = outputs.clone() - outputs.detach().max_dim(1);
            let x = x.clone() - row_sums(x.detach().exp()).log();
            let own = x.clone().gather(1, classes.unsqueeze_dim(1));
            row_sums(x.exp()).sub_scalar(1.0) - own
        }
        BatchTargets::Numbers(numbers) => {
            let error = outputs - numbers;
            error.clone() * error
        }
    }
}

/// Column means `[m]` of `[n, m]`, n ≥ 1.
pub(crate) fn mean<B: PerceptronOps>(values: Tensor<B, 2>) -> Tensor<B, 1> {
    let n = values.dims()[0];
    // The backward pass of `div_scalar` computes 1/n in f32.
    column_sums(values).mul_scalar(1.0 / n as f64)
}

#[cfg(test)]
mod tests {
    use burn::{
        nn::loss::{CrossEntropyLossConfig, MseLoss, Reduction},
        tensor::TensorData,
    };
    use burn_autodiff::Autodiff;
    use burn_ndarray::NdArray;
    use firebox_core::tensor::{floats, read_floats};

    use super::*;

    type B = Autodiff<NdArray<f64>>;

    /// Losses and gradients equal Burn's, also for large outputs.
    #[test]
    fn losses_equal_burns() {
        let device = Default::default();
        let values = || vec![0.5, -1.0, 2.0, 800.0, 790.0, 801.0, -3.0, -900.0, 0.0, 1.0, 1.0, 1.0];
        let x = || floats::<B, 2>(values(), [4, 3], &device).require_grad();
        let classes = || Tensor::<B, 1, Int>::from_data(TensorData::from([2i64, 0, 2, 1]), &device);
        let y = || floats::<B, 2>(vec![0.5; 12], [4, 3], &device);
        let same = |ours: Tensor<B, 1>, at: Tensor<B, 2>, theirs: Tensor<B, 1>, there: Tensor<B, 2>| {
            let gradient = |of: &Tensor<B, 1>, by: &Tensor<B, 2>| by.grad(&of.backward()).unwrap();
            let [a, b] = [gradient(&ours, &at), gradient(&theirs, &there)].map(|it| read_floats(it, "test").unwrap());
            let [c, d] = [ours, theirs].map(|it| read_floats(it, "test").unwrap());
            let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-12 * (1.0 + b.abs()));
            assert!(a.len() == b.len() && near(&a, &b) && near(&c, &d), "{a:?} {b:?} {c:?} {d:?}");
        };
        let (a, b) = (x(), x());
        let entropy = CrossEntropyLossConfig::new().init(&device).forward(b.clone(), classes());
        same(mean(losses(a.clone(), BatchTargets::Classes(classes()))), a, entropy, b);
        let (a, b) = (x(), x());
        let squares = MseLoss::new().forward(b.clone(), y(), Reduction::Mean);
        // Burn's mean is over all elements, ours over rows, which have one element in training.
        let of_columns = mean(losses(a.clone(), BatchTargets::Numbers(y())));
        same(row_sums(of_columns.unsqueeze()).reshape([1]).mul_scalar(1.0 / 3.0), a, squares, b);
    }
}
