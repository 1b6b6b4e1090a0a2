//! CubeCL kernels for the hot loops, a file each with its launch. They run on CUDA, Vulkan, Metal and ROCm.

mod cached;
mod combine;
mod features;
mod gather;
mod inverse;
mod pair;
mod sampled;
mod tile;
mod variants;

use burn::tensor::ops::FloatTensor;
use burn_cubecl::{BoolElement, CubeBackend, CubeRuntime, FloatElement, IntElement, tensor::CubeTensor};
use firebox_backends::{Limited, kernel::launch};
use firebox_core::{Error, Result, Share};

pub(crate) use self::features::blocks;
use self::{
    combine::{Target, Turn, turn_sums},
    features::Features,
    pair::{Power, Sums, Terms},
    variants::{Origin, Style, laid_out},
};
use crate::ops::{Epoch, Forces, MEASURES, Metric, Problem, SammonOps, Source, Variant, rows};

/// A problem as kernels read it.
#[allow(clippy::large_enum_variant)] // There is one at a time.
enum Pairs<R: CubeRuntime> {
    Features(Features<R>),
    Stored(Vec<CubeTensor<R>>),
    Variant(Origin<R>, Style),
}

/// A problem on its device, ready for any number of embeddings.
struct Ready<R: CubeRuntime> {
    pairs: Pairs<R>,
    multiplicity: CubeTensor<R>,
    power: f64,
    share: Share,
}

impl<R: CubeRuntime> Ready<R> {
    fn new<B, F>(problem: &Problem<B>, variant: Variant) -> Self
    where
        B: Limited<FloatTensorPrimitive = CubeTensor<R>>,
        F: FloatElement,
    {
        let variant = if problem.share.is_whole() { variant } else { Variant::Auto };
        let dense = |blocks: &[CubeTensor<R>]| blocks.iter().cloned().map(launch::dense).collect::<Vec<_>>();
        let style = Style { triangle: variant.triangle(), rows: variant.rows(), units: problem.units };
        let pairs = match (&problem.source, variant) {
            (Source::Features { points, metric, gram }, Variant::Auto) => {
                Pairs::Features(Features::new::<F>(points.clone(), *metric, *gram))
            }
            (Source::Inverse(blocks), Variant::Auto) => Pairs::Stored(dense(blocks)),
            (Source::Features { points, metric, .. }, _) => {
                let d = points.meta.shape()[0];
                let points = laid_out(points.clone(), style.rows);
                Pairs::Variant(Origin::Features { points, d, metric: *metric }, style)
            }
            // The paper's kernels read the backend's own floats.
            (Source::Inverse(blocks), _) => {
                let own = |block: CubeTensor<R>| launch::dense(burn_cubecl::kernel::cast(block, F::dtype()));
                Pairs::Variant(Origin::Stored(blocks.iter().cloned().map(own).collect()), style)
            }
        };
        Self {
            pairs,
            multiplicity: launch::dense(problem.multiplicity.clone()),
            power: problem.power,
            share: problem.share,
        }
    }

    /// Sums over the pairs of dense `places` `[m, n]`, and whether points come first in them.
    fn sums<F: FloatElement>(&self, places: &CubeTensor<R>, terms: Terms) -> (CubeTensor<R>, bool) {
        let (mu, power) = (&self.multiplicity, self.power);
        match &self.pairs {
            Pairs::Features(features) => (features.sums::<F>(mu, places, power, terms, self.share), false),
            Pairs::Stored(blocks) => {
                let first = rows(self.share, places.meta.shape()[1]).start;
                (cached::sums::<R, F>(blocks, first, mu, places, places, power, terms), false)
            }
            Pairs::Variant(origin, style) => {
                let n = places.meta.shape()[1];
                let places = laid_out(places.clone(), style.rows);
                (variants::sums::<R, F>(origin, mu, &places, n, power, terms, *style), style.rows)
            }
        }
    }
}

fn terms(sums: Sums, power: f64, m: usize) -> Terms {
    Terms { sums, power: Power::of(power), m: m as u32 }
}

/// Whether there is nothing to compute on.
fn nothing<R: CubeRuntime>(embedding: &CubeTensor<R>) -> bool {
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
        if variant.triangle() && !variants::can_add::<R, F>(device) {
            let reason = format!(
                "{} adds no 64-bit floats atomically; use a full variant, or --precision f32",
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
        let places = launch::dense(embedding);
        let [m, n] = places.meta.shape().dims();
        let force = launch::output(&places, [m, n], places.dtype);
        let stress = launch::output(&places, [n], places.dtype);
        if !nothing(&places) {
            let ready = Ready::new::<Self, F>(problem, variant);
            let (sums, points_first) = ready.sums::<F>(&places, terms(Sums::Forces, problem.power, m));
            let target = Target { next: &force, history: &stress, row: 0 };
            turn_sums::<R, F>(&sums, &places, &ready.multiplicity, 0.0, &target, Turn::Forces, points_first);
        }
        Forces { force, stress }
    }

    fn sammon_steps(
        problem: &Problem<Self>,
        embedding: FloatTensor<Self>,
        rates: FloatTensor<Self>,
        steps: usize,
        variant: Variant,
    ) -> Forces<Self> {
        let mut places = launch::dense(embedding);
        let rates = launch::dense(rates);
        let [m, n] = places.meta.shape().dims();
        let history = launch::output(&places, [steps, n], places.dtype);
        if !nothing(&places) && steps > 0 {
            let ready = Ready::new::<Self, F>(problem, variant);
            for row in 0..steps {
                let (sums, points_first) = ready.sums::<F>(&places, terms(Sums::Forces, problem.power, m));
                let next = launch::output(&places, [m, n], places.dtype);
                let target = Target { next: &next, history: &history, row };
                turn_sums::<R, F>(&sums, &places, &rates, 0.0, &target, Turn::Step, points_first);
                places = next;
            }
        }
        Forces { force: places, stress: history }
    }

    fn sammon_measure(problem: &Problem<Self>, embedding: FloatTensor<Self>) -> FloatTensor<Self> {
        let places = launch::dense(embedding);
        let [m, n] = places.meta.shape().dims();
        if nothing(&places) {
            return launch::output(&places, [MEASURES, n], places.dtype);
        }
        let ready = Ready::new::<Self, F>(problem, Variant::Auto);
        let (sums, _) = ready.sums::<F>(&places, terms(Sums::Measure, problem.power, m));
        // Parts are few: Burn adds them up.
        let [parts, count, _] = sums.meta.shape().dims();
        if parts == 1 {
            return burn_cubecl::ops::reshape(sums, [count, n].into());
        }
        let out = launch::output(&places, [count, n], places.dtype);
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
        let mut places = launch::dense(embedding);
        let [m, n] = places.meta.shape().dims();
        // A single block meets nobody.
        if nothing(&places) || n <= block {
            return places;
        }
        let like = |tensor: &CubeTensor<R>| launch::output(tensor, tensor.meta.shape().clone(), tensor.dtype);
        let (x, mu, y, moved) = (like(&points), like(&multiplicity), like(&places), like(&places));
        let stress = like(&multiplicity);
        for epoch in epochs {
            let order = points.client.create_from_slice(bytemuck::cast_slice(&epoch.order));
            gather::gather::<R, F>(&points, &order, &x, false);
            gather::gather::<R, F>(&multiplicity, &order, &mu, false);
            gather::gather::<R, F>(&places, &order, &y, false);
            let sums = sampled::sums::<R, F>(&x, metric, &mu, &y, power, terms(Sums::Placed, power, m), block);
            let target = Target { next: &moved, history: &stress, row: 0 };
            turn_sums::<R, F>(&sums, &y, &mu, epoch.alpha, &target, Turn::Placed, false);
            let next = like(&places);
            gather::gather::<R, F>(&moved, &order, &next, true);
            places = next;
        }
        places
    }

    fn sammon_place(
        inverse: FloatTensor<Self>,
        multiplicity: FloatTensor<Self>,
        power: f64,
        fixed: FloatTensor<Self>,
        embedding: FloatTensor<Self>,
        steps: usize,
    ) -> Forces<Self> {
        let (inverse, multiplicity) = (launch::dense(inverse), launch::dense(multiplicity));
        let (fixed, mut places) = (launch::dense(fixed), launch::dense(embedding));
        let [m, q] = places.meta.shape().dims();
        let history = launch::output(&places, [steps, q], places.dtype);
        if nothing(&places) {
            return Forces { force: places, stress: history };
        }
        let blocks = [inverse];
        for row in 0..steps {
            let terms = terms(Sums::Placed, power, m);
            let sums = cached::sums::<R, F>(&blocks, 0, &multiplicity, &fixed, &places, power, terms);
            let next = launch::output(&places, [m, q], places.dtype);
            let target = Target { next: &next, history: &history, row };
            turn_sums::<R, F>(&sums, &places, &places, 1.0, &target, Turn::Placed, false);
            places = next;
        }
        Forces { force: places, stress: history }
    }
}
