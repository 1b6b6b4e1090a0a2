//! Structs of tensors as arguments and results of operations on `Fusion<B>`.

use burn::tensor::ops::FloatTensor;
use burn_fusion::{Fusion, FusionBackend};
use firebox_backends::{
    DeviceLimits,
    fusion::{Call, Operand, Restore, Results},
};

use super::RbfOps;
use crate::types::{Aim, Ellipsoids, OperatorRows, RowSums, Rows, Shape};

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

impl<B: FusionBackend + RbfOps> Operand<B> for OperatorRows<Fusion<B>> {
    type Restored = OperatorRows<B>;

    fn queue(&self, call: &mut Call<B>) -> Restore<B, OperatorRows<B>> {
        let (mixed, has_derivatives) = (self.mixed, self.has_derivatives);
        let [points, coefficients] = [&self.points, &self.coefficients].map(|tensor| call.tensor(tensor.clone()));
        let sums = self.sums.as_ref().map(|sums| sums.queue(call));
        Box::new(move |tensors| OperatorRows {
            points: tensors.float(points),
            coefficients: tensors.float(coefficients),
            mixed,
            has_derivatives,
            sums: sums.as_ref().map(|sums| sums(tensors)),
        })
    }
}

impl<B: FusionBackend + RbfOps> Operand<B> for RowSums<Fusion<B>> {
    type Restored = RowSums<B>;

    fn queue(&self, call: &mut Call<B>) -> Restore<B, RowSums<B>> {
        let [starts, owners, rows] = [&self.starts, &self.owners, &self.rows].map(|tensor| call.tensor(tensor.clone()));
        let (factors, count) = (call.tensor(self.factors.clone()), self.count);
        Box::new(move |tensors| RowSums {
            starts: tensors.int(starts),
            owners: tensors.int(owners),
            rows: tensors.int(rows),
            factors: tensors.float(factors),
            count,
        })
    }
}

impl<B: FusionBackend + RbfOps> Operand<B> for Ellipsoids<Fusion<B>> {
    type Restored = Ellipsoids<B>;

    fn queue(&self, call: &mut Call<B>) -> Restore<B, Ellipsoids<B>> {
        let [centres, widths] = [&self.centres, &self.widths].map(|tensor| call.tensor(tensor.clone()));
        Box::new(move |tensors| Ellipsoids { centres: tensors.float(centres), widths: tensors.float(widths) })
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
