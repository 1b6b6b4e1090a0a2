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
pub struct OcnnInput<B: Backend>(Source<B>);

#[derive(Debug, Clone)]
enum Source<B: Backend> {
    Tensor(Tensor<B, 2>),
    Host(HostInput),
}

impl<B: Backend> OcnnInput<B> {
    /// The input on the host, and the relative rounding error of its coordinates.
    pub(super) fn read(self) -> Result<(HostInput, f64)> {
        match self.0 {
            Source::Tensor(points) => {
                let epsilon = points.dtype().finfo().map_or(f64::from(f32::EPSILON), |float| float.epsilon);
                Ok((HostInput::Points(read_points(points)?), epsilon))
            }
            Source::Host(input) => Ok((input, f64::EPSILON)),
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
        Self(Source::Tensor(points))
    }
}

impl<B: Backend> From<HostInput> for OcnnInput<B> {
    fn from(input: HostInput) -> Self {
        Self(Source::Host(input))
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
