//! Structs of tensors as arguments and results of operations on `Fusion<B>`.

use burn::tensor::ops::FloatTensor;
use burn_fusion::{Fusion, FusionBackend};
use firebox_backends::{
    DeviceLimits,
    fusion::{Call, Operand, Restore, Results},
};

use super::RbfOps;
use crate::types::{Aim, Rows, Shape};

impl<B: FusionBackend + RbfOps> Operand<B> for Rows<Fusion<B>> {
    type Restored = Rows<B>;

    fn queue(&self, call: &mut Call<B>) -> Restore<B, Rows<B>> {
        let (form, points, target) = (self.form, call.tensor(self.points.clone()), call.tensor(self.target.clone()));
        let coefficients = self.coefficients.clone().map(|coefficients| call.tensor(coefficients));
        Box::new(move |tensors| Rows {
            points: tensors.float(points),
            form,
            coefficients: coefficients.map(|coefficients| tensors.float(coefficients)),
            target: tensors.float(target),
        })
    }
}

impl<B: FusionBackend + RbfOps> Operand<B> for Shape<Fusion<B>> {
    type Restored = Shape<B>;

    fn queue(&self, call: &mut Call<B>) -> Restore<B, Shape<B>> {
        let [centres, widths] = [&self.centres, &self.widths].map(|tensor| call.tensor(tensor.clone()));
        Box::new(move |tensors| Shape { centres: tensors.float(centres), widths: tensors.float(widths) })
    }
}

impl<B: FusionBackend + RbfOps> Operand<B> for Aim<Fusion<B>> {
    type Restored = Aim<B>;

    fn queue(&self, call: &mut Call<B>) -> Restore<B, Aim<B>> {
        let (interior, boundary, penalty) = (self.interior.queue(call), self.boundary.queue(call), self.penalty);
        Box::new(move |tensors| Aim { interior: interior(tensors), boundary: boundary(tensors), penalty, whole: None })
    }
}

impl<B: DeviceLimits> Results<B> for Shape<B> {
    fn split(self) -> Vec<FloatTensor<B>> {
        vec![self.centres, self.widths]
    }

    fn join(next: &mut dyn FnMut() -> FloatTensor<B>) -> Self {
        Self { centres: next(), widths: next() }
    }
}
