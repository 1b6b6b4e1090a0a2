//! Input of a clustering.

use burn::tensor::{Tensor, backend::Backend};
use firebox_core::{
    Result,
    data::{Distances, Points, SparseRows},
    tensor::read_floats,
};

use crate::solve::{
    auto::{HostInput, Links},
    neurons::no_points,
};

/// Input of a clustering, created by `From`: points `[N, d]` as a tensor or on the host, sparse rows, a matrix of
/// distances, or a graph.
#[derive(Debug, Clone)]
pub struct OcnnInput<B: Backend> {
    source: Source<B>,
    weights: Option<Vec<u32>>,
}

#[derive(Debug, Clone)]
enum Source<B: Backend> {
    Tensor(Tensor<B, 2>),
    Host(HostInput),
}

impl<B: Backend> OcnnInput<B> {
    /// The same input with a weight for each point, for an [`Ocnn`](crate::Ocnn): a weight of m is m equal points. Labels
    /// and scores remain one per row; sizes and the number of noise points count weights.
    ///
    /// ```
    /// use burn::tensor::Tensor;
    /// use burn_ndarray::NdArray;
    /// use firebox_core::Context;
    /// use firebox_ocnn::{Ocnn, OcnnInput};
    ///
    /// let points = Tensor::<NdArray, 2>::from_data([[0.0], [1.0], [2.0]], &Default::default());
    /// let context = Context::new(points.device());
    /// let input = OcnnInput::from(points).with_weights(vec![5, 1, 2]);
    /// let fitted = Ocnn::default().fit_with(input, &context)?;
    /// assert_eq!(fitted.clustering().sizes, [8]);
    /// # Ok::<(), firebox_core::Error>(())
    /// ```
    ///
    /// A fit fails unless there are as many weights as points, all from 1 on, with a sum of at most 2³² − 1.
    pub fn with_weights(self, weights: Vec<u32>) -> Self {
        Self { weights: Some(weights), ..self }
    }

    /// The input on the host with its weights, and the relative rounding error of its coordinates.
    pub(super) fn read(self) -> Result<(HostInput, Option<Vec<u32>>, f64)> {
        match self.source {
            Source::Tensor(points) => {
                let epsilon = points.dtype().finfo().map_or(f64::from(f32::EPSILON), |float| float.epsilon);
                Ok((HostInput::Points(read_points(points)?), self.weights, epsilon))
            }
            Source::Host(input) => Ok((input, self.weights, f64::EPSILON)),
        }
    }
}

/// Reads points `[N, d]` from the device.
pub(super) fn read_points<B: Backend>(points: Tensor<B, 2>) -> Result<Points> {
    let [rows, d] = points.dims();
    // Not every device can read an empty tensor.
    if rows == 0 || d == 0 {
        return Err(no_points(rows, d));
    }
    Points::new(read_floats(points, "reading the points")?, d)
}

impl<B: Backend> From<Tensor<B, 2>> for OcnnInput<B> {
    fn from(points: Tensor<B, 2>) -> Self {
        Self { source: Source::Tensor(points), weights: None }
    }
}

impl<B: Backend> From<HostInput> for OcnnInput<B> {
    fn from(input: HostInput) -> Self {
        Self { source: Source::Host(input), weights: None }
    }
}

impl<B: Backend> From<Points> for OcnnInput<B> {
    fn from(points: Points) -> Self {
        HostInput::Points(points).into()
    }
}

impl<B: Backend> From<SparseRows> for OcnnInput<B> {
    fn from(rows: SparseRows) -> Self {
        HostInput::Sparse(rows).into()
    }
}

impl<B: Backend> From<Distances> for OcnnInput<B> {
    fn from(distances: Distances) -> Self {
        HostInput::Distances(distances).into()
    }
}

impl<B: Backend> From<Links> for OcnnInput<B> {
    fn from(links: Links) -> Self {
        HostInput::Graph(links).into()
    }
}
