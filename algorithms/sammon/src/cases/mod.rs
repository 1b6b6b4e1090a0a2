//! Problems for parity tests: every operation against [`crate::reference`], with derived tolerances.
//!
//! A new operation is one entry in [`cases`]. Inputs are exact in the backend's floats, so the reference computes
//! from the same numbers; `bounds` has what a right implementation may be off by.

mod bounds;
mod inputs;
mod many;
mod parts;
mod tensors;
#[cfg(test)]
mod tests;

use std::fmt;

use burn::tensor::{DType, ops::FloatTensor};
use firebox_core::Share;

use crate::{
    ops::{self, Epoch, Forces, MEASURES, Metric, SammonOps, Source, Variant},
    reference, tensor_ops,
};
use bounds::{Known, Places, Rate, Wanted};
use inputs::Inputs;

/// A problem's size.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Points.
    pub n: usize,
    /// Source dimensions.
    pub d: usize,
    /// Target dimensions.
    pub m: usize,
    /// p.
    pub power: f64,
    /// Shapes of one number have the same kernels.
    pub kernels: usize,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n={} d={} m={} p={}", self.n, self.d, self.m, self.power)
    }
}

/// Sizes round the kernels' tiles (16, 32, 64, 128, 256), each one less and one more, with 0, 1 and what divides
/// nothing.
pub fn shapes() -> Vec<Shape> {
    let n = [0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 301, 5, 48, 100, 200];
    let d = [2, 1, 3, 5, 8, 15, 16, 17, 33, 64, 100, 200];
    // Each pair is some forty kernels to compile, which on a software driver is what takes the time.
    let terms = [(2, 1.0), (3, 1.0), (5, 1.5), (1, 2.0), (2, 0.0)];
    // Periods that share no factor with one another come together in every way in the end; 24 shapes see each value.
    let at = |k: usize, period: usize| (k + k / period) % period;
    (0..n.len())
        .map(|k| {
            let kernels = at(k, terms.len());
            let (m, power) = terms[kernels];
            Shape { n: n[k], d: d[at(k, d.len())], m, power, kernels }
        })
        .collect()
}

/// The implementations under test on one backend.
#[allow(clippy::type_complexity)] // The operations' own signatures.
pub struct Suite<B: SammonOps> {
    /// For test names.
    pub name: &'static str,
    inverse: fn(FloatTensor<B>, FloatTensor<B>, Option<usize>, Metric) -> FloatTensor<B>,
    forces: fn(&ops::Problem<B>, FloatTensor<B>, Variant) -> Forces<B>,
    steps: fn(&ops::Problem<B>, FloatTensor<B>, FloatTensor<B>, usize, Variant) -> Forces<B>,
    measure: fn(&ops::Problem<B>, FloatTensor<B>) -> FloatTensor<B>,
    sampled: fn(FloatTensor<B>, Metric, FloatTensor<B>, f64, FloatTensor<B>, &[Epoch], usize) -> FloatTensor<B>,
    place: fn(FloatTensor<B>, FloatTensor<B>, f64, FloatTensor<B>, FloatTensor<B>, usize) -> Forces<B>,
}

impl<B: SammonOps> Suite<B> {
    /// What the backend runs.
    pub fn backend() -> Self {
        Self {
            name: "kernels",
            inverse: B::sammon_inverse,
            forces: B::sammon_forces,
            steps: B::sammon_steps,
            measure: B::sammon_measure,
            sampled: B::sammon_sampled,
            place: B::sammon_place,
        }
    }

    /// The default bodies, on this backend.
    pub fn tensor_operations() -> Self {
        Self {
            name: "tensor operations",
            inverse: tensor_ops::inverse::<B>,
            forces: |problem, embedding, _| tensor_ops::forces::<B>(problem, embedding),
            steps: |problem, embedding, rates, steps, _| tensor_ops::steps::<B>(problem, embedding, rates, steps),
            measure: tensor_ops::measure::<B>,
            sampled: tensor_ops::sampled::<B>,
            place: tensor_ops::place::<B>,
        }
    }
}

/// Where a case has its source distances from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Origin {
    Features { metric: Metric, gram: bool },
    Stored { blocks: bool, half: bool },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Features { metric, gram } => {
                write!(f, "{} of {}", name(*metric), if *gram { "dot products" } else { "differences" })
            }
            Self::Stored { blocks, half } => {
                write!(f, "{}{}", if *blocks { "blocks" } else { "one block" }, if *half { " of f16" } else { "" })
            }
        }
    }
}

fn name(metric: Metric) -> &'static str {
    match metric {
        Metric::Euclidean => "euclidean",
        Metric::Manhattan => "manhattan",
        Metric::Cosine => "cosine",
    }
}

const METRICS: [Metric; 3] = [Metric::Euclidean, Metric::Manhattan, Metric::Cosine];

/// All that the device has.
fn origins<B: SammonOps>(device: &B::Device) -> Vec<Origin> {
    let mut origins = vec![Origin::Stored { blocks: false, half: false }, Origin::Stored { blocks: true, half: false }];
    if B::supports_dtype(device, DType::F16) {
        origins.extend([false, true].map(|blocks| Origin::Stored { blocks, half: true }));
    }
    for metric in METRICS {
        origins.push(Origin::Features { metric, gram: false });
        if metric != Metric::Manhattan {
            origins.push(Origin::Features { metric, gram: true });
        }
    }
    origins
}

/// What is run on a problem.
pub type Check<B> = Box<dyn Fn(&Problem<B>) -> Result<(), String> + Send>;

/// A check of one operation.
pub struct Case<B: SammonOps> {
    /// The operation, and how it is asked for.
    pub name: String,
    /// Fails with what differed, and where.
    pub check: Check<B>,
}

/// All checks: one entry an operation.
pub fn cases<B: SammonOps>(device: &B::Device) -> Vec<Case<B>> {
    let mut cases = Vec::new();
    let mut add = |name: String, check: Check<B>| {
        cases.push(Case { name, check });
    };
    let variants =
        [Variant::Auto, Variant::RowsFull, Variant::RowsTriangle, Variant::ColumnsFull, Variant::ColumnsTriangle];
    let variants = variants.into_iter().filter(|&variant| B::sammon_strategy(device, variant).is_ok());
    for metric in METRICS {
        add(format!("inverse, {}", name(metric)), Box::new(move |p| p.check_inverse(metric)));
        add(format!("sampled, {}", name(metric)), Box::new(move |p| p.check_sampled(metric)));
    }
    for origin in origins::<B>(device) {
        for variant in variants.clone() {
            add(format!("forces, {variant}, {origin}"), Box::new(move |p| p.check_forces(variant, origin)));
            // A variant's steps are its forces, taken; where distances come from matters to the forces only.
            let plain = matches!(origin, Origin::Stored { blocks: false, half: false });
            if variant == Variant::Auto || plain {
                add(format!("steps, {variant}, {origin}"), Box::new(move |p| p.check_steps(variant, origin)));
            }
        }
        add(format!("measure, {origin}"), Box::new(move |p| p.check_measure(origin)));
        add(format!("parts, {origin}"), Box::new(move |p| p.check_parts(origin)));
    }
    add("forces, many points".into(), Box::new(Problem::check_many));
    add("place".into(), Box::new(Problem::check_place));
    cases
}

/// Random inputs of one size on one backend.
pub struct Problem<B: SammonOps> {
    suite: Suite<B>,
    device: B::Device,
    inputs: Inputs,
}

impl<B: SammonOps> Problem<B> {
    /// The problem that `seed` names.
    pub fn new(suite: Suite<B>, device: &B::Device, shape: Shape, seed: u64) -> Self {
        let inputs = Inputs::new(shape, seed, size_of::<B::FloatElem>() == 8);
        Self { suite, device: device.clone(), inputs }
    }

    /// A share of the problem on the device, and the whole for the reference.
    fn both(&self, origin: Origin, share: Share) -> (ops::Problem<B>, Known) {
        let Shape { n, d, power, .. } = self.inputs.shape;
        let (mu, u) = (&self.inputs.multiplicity, self.inputs.unit());
        let (source, known) = match origin {
            Origin::Features { metric, gram } => {
                let features = self.inputs.features(metric);
                let known = Known::features(&features, &features, Some(0), (metric, gram), mu, power, u);
                (Source::Features { points: self.float2(&features, [d, n]), metric, gram }, known)
            }
            Origin::Stored { blocks, half } => {
                let values = self.inputs.inverses(half);
                let own = ops::rows(share, n);
                let mut rest = &values[own.start * n..];
                let mut parts = Vec::new();
                for height in heights(own.len(), blocks).into_iter().filter(|&height| height > 0 || n == 0) {
                    let (part, after) = rest.split_at(height * n);
                    rest = after;
                    let shape = [height, n];
                    parts.push(if half { self.half2(part, shape) } else { self.float2(part, shape) });
                }
                (Source::Inverse(parts), Known::stored(&values, mu, power, u))
            }
        };
        (ops::Problem { source, multiplicity: self.float1(mu), power, units: 64, share }, known)
    }

    fn embedding(&self) -> (FloatTensor<B>, Places) {
        let Shape { n, m, .. } = self.inputs.shape;
        (self.float2(&self.inputs.embedding, [m, n]), Places::exact(&self.inputs.embedding, n))
    }

    /// Rates `[n]`, each a share of the Jacobi step.
    fn rates(&self, known: &Known) -> Vec<f64> {
        let share = |i: usize| match known.pairs.weight_of(i) {
            0.0 => 1.0,
            weight => self.inputs.exact(self.inputs.shares[i] / weight),
        };
        (0..self.inputs.shape.n).map(share).collect()
    }

    fn check_inverse(&self, metric: Metric) -> Result<(), String> {
        let Shape { n, d, .. } = self.inputs.shape;
        let (mu, u) = (&self.inputs.multiplicity, self.inputs.unit());
        let points = self.inputs.features(metric);
        // A block of the points against all of them, and the same as strangers.
        for (from, to) in [(0, n), (n / 3, n - n / 4)] {
            let which: Vec<usize> = (from..to).collect();
            let rows = reference::gather(&points, n, &which);
            for first in [Some(from), None] {
                let wanted = Known::features(&rows, &points, first, (metric, false), mu, 1.0, u).inverse();
                let (rows, points) = (self.float2(&rows, [d, to - from]), self.float2(&points, [d, n]));
                self.poison();
                let found = (self.suite.inverse)(rows, points, first, metric);
                self.compare(&format!("{from}..{to}, first {first:?}: "), found, [to - from, n], &wanted)?;
            }
        }
        Ok(())
    }

    fn check_forces(&self, variant: Variant, origin: Origin) -> Result<(), String> {
        let Shape { n, m, .. } = self.inputs.shape;
        let (problem, known) = self.both(origin, Share::WHOLE);
        let (embedding, places) = self.embedding();
        self.poison();
        let run = |embedding| (self.suite.forces)(&problem, embedding, variant);
        let found = self.held(&self.inputs.embedding, embedding.clone(), [m, n], run)?;
        let (force, stress) = known.forces(&places, &places);
        self.compare("force", found.force.clone(), [m, n], &force)?;
        self.compare("stress", found.stress.clone(), [n], &stress)?;
        if variant.triangle() {
            return Ok(());
        }
        self.poison();
        let again = run(embedding);
        let bits = |forces: Forces<B>| -> Result<_, String> {
            Ok((self.floats(forces.force, [m, n])?, self.floats(forces.stress, [n])?))
        };
        if bits(found)? != bits(again)? {
            return Err("not the same bits a second time".into());
        }
        Ok(())
    }

    fn check_steps(&self, variant: Variant, origin: Origin) -> Result<(), String> {
        let Shape { n, m, .. } = self.inputs.shape;
        let (problem, known) = self.both(origin, Share::WHOLE);
        let (embedding, mut places) = self.embedding();
        let rates = self.rates(&known);
        let mut history = Wanted::default();
        for steps in 0..4 {
            self.poison();
            let run = |embedding| (self.suite.steps)(&problem, embedding, self.float1(&rates), steps, variant);
            let found = self.held(&self.inputs.embedding, embedding.clone(), [m, n], run)?;
            self.compare(&format!("{steps} steps"), found.force, [m, n], &places.wanted())?;
            self.compare(&format!("{steps} steps, stress"), found.stress, [steps, n], &history)?;
            let (next, stress) = known.step(&places, &places, Rate::Given(&rates));
            places = next;
            history.values.extend(stress.values);
            history.errors.extend(stress.errors);
        }
        Ok(())
    }

    fn check_measure(&self, origin: Origin) -> Result<(), String> {
        let n = self.inputs.shape.n;
        let (problem, known) = self.both(origin, Share::WHOLE);
        let (embedding, places) = self.embedding();
        self.poison();
        self.compare("", (self.suite.measure)(&problem, embedding), [MEASURES, n], &known.measure(&places))
    }

    fn check_sampled(&self, metric: Metric) -> Result<(), String> {
        let Inputs { shape: Shape { n, d, m, power, .. }, multiplicity, epochs, block, .. } = &self.inputs;
        let (n, d, m, power, block) = (*n, *d, *m, *power, *block);
        let points = self.inputs.features(metric);
        let (embedding, mut places) = self.embedding();
        for done in 0..=epochs.len() {
            let (there, mu) = (self.float2(&points, [d, n]), self.float1(multiplicity));
            self.poison();
            let run = |embedding| (self.suite.sampled)(there, metric, mu, power, embedding, &epochs[..done], block);
            let found = self.held(&self.inputs.embedding, embedding.clone(), [m, n], run)?;
            self.compare(&format!("{done} epochs of blocks of {block}"), found, [m, n], &places.wanted())?;
            if let Some(epoch) = epochs.get(done) {
                places = self.epoch(&points, metric, epoch, &places);
            }
        }
        Ok(())
    }

    /// Where an epoch moves the points.
    fn epoch(&self, points: &[f64], metric: Metric, epoch: &Epoch, before: &Places) -> Places {
        let Inputs { shape: Shape { n, power, .. }, multiplicity, block, .. } = &self.inputs;
        let mut after = before.clone();
        for (own, met) in reference::meeting(epoch, *n, *block).into_iter().filter(|(_, met)| !met.is_empty()) {
            let mu: Vec<f64> = met.iter().map(|&j| multiplicity[j]).collect();
            let (rows, columns) = (reference::gather(points, *n, &own), reference::gather(points, *n, &met));
            let known = Known::features(&rows, &columns, None, (metric, false), &mu, *power, self.inputs.unit());
            let (to, _) = known.step(&before.of(&own), &before.of(&met), Rate::Share(epoch.alpha));
            for (at, &i) in own.iter().enumerate() {
                after.off[i] = to.off[at];
                for k in 0..after.y.len() / n {
                    after.y[k * n + i] = to.y[k * own.len() + at];
                }
            }
        }
        after
    }

    fn check_place(&self) -> Result<(), String> {
        let Inputs { shape: Shape { n, m, power, .. }, multiplicity, q, inverse_to, starts, .. } = &self.inputs;
        let (n, m, power, q) = (*n, *m, *power, *q);
        let known = Known::stored(inverse_to, multiplicity, power, self.inputs.unit());
        let (_, fixed) = self.embedding();
        let start = self.float2(starts, [m, q]);
        let mut places = Places::exact(starts, q);
        let mut history = Wanted::default();
        for steps in 0..4 {
            let (inverse, mu) = (self.float2(inverse_to, [q, n]), self.float1(multiplicity));
            self.poison();
            let run = |start| (self.suite.place)(inverse, mu, power, self.embedding().0, start, steps);
            let found = self.held(starts, start.clone(), [m, q], run)?;
            self.compare(&format!("{steps} steps"), found.force, [m, q], &places.wanted())?;
            self.compare(&format!("{steps} steps, stress"), found.stress, [steps, q], &history)?;
            let (next, stress) = known.step(&places, &fixed, Rate::Share(1.0));
            places = next;
            history.values.extend(stress.values);
            history.errors.extend(stress.errors);
        }
        Ok(())
    }
}

/// Heights of the blocks of n rows: of none, one without rows.
fn heights(n: usize, blocks: bool) -> Vec<usize> {
    if !blocks || n < 2 {
        return vec![n];
    }
    [1, n / 3, n - 1 - n / 3].into_iter().filter(|&height| height > 0).collect()
}
