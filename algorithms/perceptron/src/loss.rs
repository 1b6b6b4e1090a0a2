//! Losses, and sums that always run in one order.
//!
//! Burn picks among its sums by a stopwatch, and each rounds in an order of its own, so that the same seed would give
//! other bits the next time. These are products with ones by the one kernel that takes every size.

use burn::tensor::{Int, Tensor, backend::Backend};
use firebox_core::tensor::tensor;

use crate::{
    ops::{Matmul, PerceptronOps},
    tensor_ops::primitive,
};

/// What is known of rows, on the device.
pub(crate) enum Known<B: Backend> {
    /// The codes of their classes `[n]`.
    Classes(Tensor<B, 1, Int>),
    /// Numbers `[n, 1]`.
    Numbers(Tensor<B, 2>),
}

/// The loss of each row `[n, 1]` for results `[n, m]`: ln Σ eˣ − x of its class, or (x − y)².
pub(crate) fn losses<B: PerceptronOps>(results: Tensor<B, 2>, known: Known<B>) -> Tensor<B, 2> {
    match known {
        Known::Classes(classes) => {
            // Less ln Σ eˣ as a constant, the powers are probabilities and their sum S is 1, where ln S = S − 1 in value
            // and slope. So nothing is handed back through ln, for which Burn takes `recip`, 12 bits on NdArray.
            let x = results.clone() - results.detach().max_dim(1);
            let x = x.clone() - row_sums(x.detach().exp()).log();
            let own = x.clone().gather(1, classes.unsqueeze_dim(1));
            row_sums(x.exp()).sub_scalar(1.0) - own
        }
        Known::Numbers(numbers) => {
            let off = results - numbers;
            off.clone() * off
        }
    }
}

/// Means over rows: `[m]` of `[n, m]`, n from 1.
pub(crate) fn mean<B: PerceptronOps>(values: Tensor<B, 2>) -> Tensor<B, 1> {
    let n = values.dims()[0];
    // Not `div_scalar`, whose backward pass takes 1/n in f32.
    column_sums(values).mul_scalar(1.0 / n as f64)
}

/// Sums over rows: `[m]` of `[n, m]`, n from 1.
pub(crate) fn column_sums<B: PerceptronOps>(values: Tensor<B, 2>) -> Tensor<B, 1> {
    let ones = Tensor::ones([1, values.dims()[0]], (&values.device(), values.dtype()));
    product(ones, values).squeeze_dim(0)
}

/// Sums over columns: `[n, 1]` of `[n, m]`, m from 1.
fn row_sums<B: PerceptronOps>(values: Tensor<B, 2>) -> Tensor<B, 2> {
    let ones = Tensor::ones([values.dims()[1], 1], (&values.device(), values.dtype()));
    product(values, ones)
}

fn product<B: PerceptronOps>(left: Tensor<B, 2>, right: Tensor<B, 2>) -> Tensor<B, 2> {
    tensor(B::perceptron_layer(primitive(left), primitive(right), None, None, Matmul::Tile))
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

    /// The loss and its gradient are those of Burn, large results among them.
    #[test]
    fn losses_are_burns() {
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
        same(mean(losses(a.clone(), Known::Classes(classes()))), a, entropy, b);
        let (a, b) = (x(), x());
        let squares = MseLoss::new().forward(b.clone(), y(), Reduction::Mean);
        // Burn's mean is over all numbers, ours over rows, which have one each in a training.
        let of_columns = mean(losses(a.clone(), Known::Numbers(y())));
        same(row_sums(of_columns.unsqueeze()).reshape([1]).mul_scalar(1.0 / 3.0), a, squares, b);
    }
}
