//! The operations on CubeCL backends: choice and sequence of kernels.

use burn::tensor::ops::FloatTensor;
use burn_cubecl::{BoolElement, CubeBackend, CubeRuntime, FloatElement, IntElement, tensor::CubeTensor};
use firebox_backends::{DeviceLimits, kernel::launch};
use firebox_core::{Error, Result, Share};

use super::{
    block_sampling,
    combine::{self, Target, Update, update},
    feature_distances::Features,
    gather::gather,
    inverse,
    pair::{Power, Sums, Terms},
    paper_variants::{self, Layout, VariantSource, to_layout},
    stored_distances,
};
use crate::{
    ops::SammonOps,
    types::{Epoch, Forces, MEASURES, Metric, Problem, Source, Steps, Variant, rows},
};

/// Source distances in the form that the chosen kernel reads.
#[allow(clippy::large_enum_variant)] // Only one exists at a time.
enum Pairs<R: CubeRuntime> {
    Features(Features<R>),
    Stored(Vec<CubeTensor<R>>),
    Variant(VariantSource<R>, Layout),
}

/// A problem prepared for repeated launches.
struct PreparedProblem<R: CubeRuntime> {
    pairs: Pairs<R>,
    multiplicity: CubeTensor<R>,
    power: f64,
    share: Share,
}

impl<R: CubeRuntime> PreparedProblem<R> {
    fn new<B, F>(problem: &Problem<B>, variant: Variant) -> Self
    where
        B: DeviceLimits<FloatTensorPrimitive = CubeTensor<R>>,
        F: FloatElement,
    {
        let variant = if problem.share.is_whole() { variant } else { Variant::Auto };
        let dense = |blocks: &[CubeTensor<R>]| blocks.iter().cloned().map(launch::dense).collect::<Vec<_>>();
        let layout = Layout { triangle: variant.triangle(), rows: variant.rows(), units: problem.units };
        let pairs = match (&problem.source, variant) {
            (Source::Features { points, metric, gram }, Variant::Auto) => {
                Pairs::Features(Features::new::<F>(points.clone(), *metric, *gram))
            }
            (Source::Inverse(blocks), Variant::Auto) => Pairs::Stored(dense(blocks)),
            (Source::Features { points, metric, .. }, _) => {
                let d = points.meta.shape()[0];
                let points = to_layout(points.clone(), layout.rows);
                Pairs::Variant(VariantSource::Features { points, d, metric: *metric }, layout)
            }
            // The paper's kernels read the backend's float type only.
            (Source::Inverse(blocks), _) => {
                let own = |block: CubeTensor<R>| launch::dense(launch::cast(block, F::dtype()));
                Pairs::Variant(VariantSource::Stored(blocks.iter().cloned().map(own).collect()), layout)
            }
        };
        Self {
            pairs,
            multiplicity: launch::dense(problem.multiplicity.clone()),
            power: problem.power,
            share: problem.share,
        }
    }

    /// Sums over the pairs of a dense embedding `[m, n]`, and whether they are point-major.
    fn sums<F: FloatElement>(&self, embedding: &CubeTensor<R>, terms: Terms) -> (CubeTensor<R>, bool) {
        let (mu, power) = (&self.multiplicity, self.power);
        match &self.pairs {
            Pairs::Features(features) => (features.sums::<F>(mu, embedding, power, terms, self.share), false),
            Pairs::Stored(blocks) => {
                let first = rows(self.share, embedding.meta.shape()[1]).start;
                (stored_distances::sums::<R, F>(blocks, first, mu, embedding, embedding, power, terms), false)
            }
            Pairs::Variant(source, layout) => {
                let n = embedding.meta.shape()[1];
                let embedding = to_layout(embedding.clone(), layout.rows);
                (paper_variants::sums::<R, F>(source, mu, &embedding, n, power, terms, *layout), layout.rows)
            }
        }
    }
}

fn terms(sums: Sums, power: f64, m: usize) -> Terms {
    Terms { sums, power: Power::of(power), m: m as u32 }
}

/// Returns true if the embedding has no elements.
fn is_empty<R: CubeRuntime>(embedding: &CubeTensor<R>) -> bool {
    embedding.meta.shape().num_elements() == 0
}

impl<R, F, I, BT> SammonOps for CubeBackend<R, F, I, BT>
where
    R: CubeRuntime,
    F: FloatElement,
    I: IntElement,
    BT: BoolElement,
{
    fn sammon_strategy(device: &Self::Device, variant: Variant) -> Result<&'static str> {
        if variant.triangle() && !paper_variants::can_add::<R, F>(device) {
            let reason = format!(
                "{} has no atomic addition of 64-bit floats; use a full variant, or `precision = f32`",
                Self::limits(device).device
            );
            return Err(Error::Config { field: "variant", value: variant.to_string(), reason });
        }
        Ok(match variant {
            Variant::Auto => "tiles of pairs",
            Variant::RowsFull => "rows-full",
            Variant::RowsTriangle => "rows-triangle",
            Variant::ColumnsFull => "columns-full",
            Variant::ColumnsTriangle => "columns-triangle",
        })
    }

    fn sammon_inverse(
        rows: FloatTensor<Self>,
        points: FloatTensor<Self>,
        first: Option<usize>,
        metric: Metric,
    ) -> FloatTensor<Self> {
        inverse::inverse::<R, F>(rows, points, first, metric)
    }

    fn sammon_forces(problem: &Problem<Self>, embedding: FloatTensor<Self>, variant: Variant) -> Forces<Self> {
        let embedding = launch::dense(embedding);
        let [m, n] = embedding.meta.shape().dims();
        let force = launch::output(&embedding, [m, n], embedding.dtype);
        let stress = launch::output(&embedding, [n], embedding.dtype);
        if !is_empty(&embedding) {
            let prepared = PreparedProblem::new::<Self, F>(problem, variant);
            let (sums, point_major) = prepared.sums::<F>(&embedding, terms(Sums::Forces, problem.power, m));
            let target = Target { next: &force, stresses: &stress, row: 0 };
            update::<R, F>(&sums, &embedding, &prepared.multiplicity, 0.0, &target, Update::Forces, point_major);
        }
        Forces { force, stress }
    }

    fn sammon_steps(
        problem: &Problem<Self>,
        embedding: FloatTensor<Self>,
        rates: FloatTensor<Self>,
        steps: usize,
        variant: Variant,
    ) -> Steps<Self> {
        let mut embedding = launch::dense(embedding);
        let rates = launch::dense(rates);
        let [m, n] = embedding.meta.shape().dims();
        let stresses = launch::output(&embedding, [steps, n], embedding.dtype);
        if !is_empty(&embedding) && steps > 0 {
            let prepared = PreparedProblem::new::<Self, F>(problem, variant);
            for row in 0..steps {
                let (sums, point_major) = prepared.sums::<F>(&embedding, terms(Sums::Forces, problem.power, m));
                let next = launch::output(&embedding, [m, n], embedding.dtype);
                let target = Target { next: &next, stresses: &stresses, row };
                update::<R, F>(&sums, &embedding, &rates, 0.0, &target, Update::Step, point_major);
                embedding = next;
            }
        }
        Steps { embedding, stresses }
    }

    fn sammon_measure(problem: &Problem<Self>, embedding: FloatTensor<Self>) -> FloatTensor<Self> {
        let embedding = launch::dense(embedding);
        let [m, n] = embedding.meta.shape().dims();
        if is_empty(&embedding) {
            return launch::output(&embedding, [MEASURES, n], embedding.dtype);
        }
        let prepared = PreparedProblem::new::<Self, F>(problem, Variant::Auto);
        let (sums, _) = prepared.sums::<F>(&embedding, terms(Sums::Measure, problem.power, m));
        let [parts, count, _] = sums.meta.shape().dims();
        if parts == 1 {
            return launch::reshape(sums, [count, n].into());
        }
        let out = launch::output(&embedding, [count, n], embedding.dtype);
        combine::add_parts::<R, F>(&sums, &out);
        out
    }

    fn sammon_sampled(
        points: FloatTensor<Self>,
        metric: Metric,
        multiplicity: FloatTensor<Self>,
        power: f64,
        embedding: FloatTensor<Self>,
        epochs: &[Epoch],
        block: usize,
    ) -> FloatTensor<Self> {
        let (points, multiplicity) = (launch::dense(points), launch::dense(multiplicity));
        let mut embedding = launch::dense(embedding);
        let [m, n] = embedding.meta.shape().dims();
        // A single block has no partner.
        if is_empty(&embedding) || n <= block {
            return embedding;
        }
        let like = |tensor: &CubeTensor<R>| launch::output(tensor, tensor.meta.shape().clone(), tensor.dtype);
        let (x, mu, y, next_y) = (like(&points), like(&multiplicity), like(&embedding), like(&embedding));
        let stress = like(&multiplicity);
        for epoch in epochs {
            let order = points.client.create_from_slice(bytemuck::cast_slice(&epoch.order));
            gather::<R, F>(&points, &order, &x, false);
            gather::<R, F>(&multiplicity, &order, &mu, false);
            gather::<R, F>(&embedding, &order, &y, false);
            let sums =
                block_sampling::sums::<R, F>(&x, metric, &mu, &y, power, terms(Sums::ForcesAndWeight, power, m), block);
            let target = Target { next: &next_y, stresses: &stress, row: 0 };
            update::<R, F>(&sums, &y, &mu, epoch.alpha, &target, Update::Jacobi, false);
            let next = like(&embedding);
            gather::<R, F>(&next_y, &order, &next, true);
            embedding = next;
        }
        embedding
    }

    fn sammon_place(
        inverse: FloatTensor<Self>,
        multiplicity: FloatTensor<Self>,
        power: f64,
        fixed: FloatTensor<Self>,
        embedding: FloatTensor<Self>,
        steps: usize,
    ) -> Steps<Self> {
        let (inverse, multiplicity) = (launch::dense(inverse), launch::dense(multiplicity));
        let (fixed, mut embedding) = (launch::dense(fixed), launch::dense(embedding));
        let [m, q] = embedding.meta.shape().dims();
        let stresses = launch::output(&embedding, [steps, q], embedding.dtype);
        if is_empty(&embedding) {
            return Steps { embedding, stresses };
        }
        let blocks = [inverse];
        for row in 0..steps {
            let terms = terms(Sums::ForcesAndWeight, power, m);
            let sums = stored_distances::sums::<R, F>(&blocks, 0, &multiplicity, &fixed, &embedding, power, terms);
            let next = launch::output(&embedding, [m, q], embedding.dtype);
            let target = Target { next: &next, stresses: &stresses, row };
            update::<R, F>(&sums, &embedding, &embedding, 1.0, &target, Update::Jacobi, false);
            embedding = next;
        }
        Steps { embedding, stresses }
    }
}
