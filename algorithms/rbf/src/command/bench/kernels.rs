//! Benchmark cases of the hot loops of RBF networks.

use burn::tensor::ops::FloatTensor;
use firebox_backends::{
    bench::{Kernel, LowerBound, Prepared},
    limits::{Buffer, admit},
};
use firebox_core::{Context, Result, Solo, random::Random, tensor::primitive};

use crate::{
    ops::{
        RbfOps,
        transfer::{self, aim, vector},
    },
    problem::{definition::Problem, grid::Grid},
    types::{Aim, Ellipsoids, Mixed, OperatorRows, Sampling, Shape, System},
};

/// The cases of `firebox bench kernels`.
pub(crate) fn kernels<B: RbfOps>(context: &Context<B>) -> Vec<Kernel> {
    type Call<B> = fn(&[usize], &Context<B>) -> Result<Prepared>;
    let kernel = |name, call: Call<B>| {
        Kernel::new(name, &[[524, 64], [100_000, 256]], context, move |size, context| call(size, context).map(Some))
            .large(&[[100_000, 1024], [1_000_000, 1024]])
    };
    vec![
        kernel("rbf M and r1", matrix),
        kernel("rbf gradient", |size, context| descend(size, 1, context)),
        kernel("rbf gradient", |size, context| descend(size, 64, context)).variant("of 64 steps in a call"),
        kernel("rbf gradient", gradient).variant("r1 given"),
        kernel("rbf cg iteration", conjugate),
        kernel("rbf cg iteration", |size, context| product(size, true, context)).variant("a product, M stored"),
        kernel("rbf cg iteration", |size, context| product(size, false, context))
            .variant("a product, M computed again"),
        kernel("rbf operators", operators),
        kernel("rbf operators", operator_values).variant("times w, not stored"),
    ]
}

/// The paper's problem, its system at `inside` and `around` control points, and the random numbers after them.
pub(super) fn system(inside: usize, around: usize, seed: u64) -> Result<(Problem, System, Random)> {
    let (problem, mut random) = (Problem::named("poisson-sine")?, Random::new(seed, 1));
    let system = problem.system([inside, around], Sampling::Uniform, 100.0, &mut random, &Solo)?;
    Ok((problem, system, random))
}

/// Operands of a case: a problem's control points and neurons on the device.
pub(super) struct Operands<B: RbfOps> {
    pub(super) aim: Aim<B>,
    pub(super) shape: Shape<B>,
    pub(super) weights: FloatTensor<B>,
}

impl<B: RbfOps> Operands<B> {
    /// The paper's problem with `inside` and `around` control points and `neurons` on a grid, its memory admitted.
    pub(super) fn new(
        inside: usize,
        around: usize,
        neurons: usize,
        matrix: bool,
        context: &Context<B>,
    ) -> Result<Self> {
        let (float, n) = (size_of::<B::FloatElem>(), inside as u128 + around as u128);
        let mut plan = vec![Buffer::new("control points and residuals", 6 * n, float)];
        plan.push(Buffer::new("neurons", 16 * neurons as u128, float));
        if matrix {
            plan.push(Buffer::new("M", n * neurons as u128, float));
        }
        admit(context, &plan, "take a smaller `max_points`, or a device with more memory")?;
        let (problem, system, mut random) = system(inside, around, context.seed)?;
        let grid = Grid::new(problem.domain(), neurons, 0.0)?;
        let widths = vec![3.0 * grid.spacing; grid.len()];
        let weights: Vec<f64> = (0..grid.len()).map(|_| random.uniform(-1.0, 1.0)).collect();
        let device = &context.device;
        Ok(Self {
            aim: aim(&system, device),
            shape: transfer::shape(&grid.centres, &widths, 2, device),
            weights: vector::<B>(&weights, device),
        })
    }
}

/// Size of a case: control points, their pairs with neurons, and the bytes of a float.
struct Size {
    points: f64,
    pairs: f64,
    float: f64,
}

impl Size {
    fn new<B: RbfOps>(size: &[usize]) -> Self {
        let (points, float) = (size[0] as f64, size_of::<B::FloatElem>() as f64);
        Self { points, pairs: points * size[1] as f64, float }
    }

    /// Bytes of points, right-hand sides and residuals; those of neurons do not count.
    fn resident(&self) -> f64 {
        4.0 * self.points * self.float
    }

    /// Lower bound with one exponential and `flops` operations per pair, and `bytes` besides those of the points.
    fn least(&self, flops: f64, bytes: f64) -> LowerBound {
        let bytes = self.resident() + bytes;
        LowerBound { bytes, flops: flops * self.pairs, exps: self.pairs, ..LowerBound::default() }
    }

    /// Bytes of M.
    fn matrix(&self) -> f64 {
        self.pairs * self.float
    }

    /// Lower bound of a product with a stored M.
    fn stored(&self) -> LowerBound {
        LowerBound { bytes: self.matrix(), flops: 4.0 * self.pairs, ..LowerBound::default() }
    }
}

/// The size of a case, and its operands: all control points but one are inside.
fn case<B: RbfOps>(size: &[usize], matrix: bool, context: &Context<B>) -> Result<(Size, Operands<B>)> {
    Ok((Size::new::<B>(size), Operands::new(size[0], 1, size[1], matrix, context)?))
}

fn matrix<B: RbfOps>(size: &[usize], context: &Context<B>) -> Result<Prepared> {
    let (extent, Operands { aim, shape, weights }) = case::<B>(size, true, context)?;
    // M is recomputed in the same memory, as in a loop.
    let mut spare = None;
    // Operations of the distance, (|x − c|² − a²)·4/a⁴, the weight and the sum.
    Ok(Prepared::new(extent.resident() + extent.matrix(), extent.least(11.0, extent.matrix()), move || {
        let (rows, weights) = (&aim.interior, weights.clone());
        let (matrix, _) = match spare.take() {
            Some(spare) => B::rbf_matrix_into(rows, &shape, weights, spare),
            None => B::rbf_matrix(rows, &shape, weights),
        };
        spare = Some(matrix);
    }))
}

/// A gradient step, timed as one of `steps` in a call: residuals, the gradient by c and a, and the update.
fn descend<B: RbfOps>(size: &[usize], steps: usize, context: &Context<B>) -> Result<Prepared> {
    let (extent, Operands { aim, shape, weights }) = case::<B>(size, false, context)?;
    // Where a step takes long, few suffice to hide the overhead of a call.
    let steps = if extent.pairs > 1e7 { steps.min(8) } else { steps };
    let call = move || drop(B::rbf_descend(&aim, shape.clone(), weights.clone(), [1e-6; 2], steps));
    // The operations of M, then three derivatives and their sums.
    Ok(Prepared::new(extent.resident(), extent.least(23.0, 0.0), call).units(steps).detail("steps", steps))
}

/// The gradient, from given residuals.
fn gradient<B: RbfOps>(size: &[usize], context: &Context<B>) -> Result<Prepared> {
    let (extent, Operands { aim, shape, weights }) = case::<B>(size, false, context)?;
    let values = B::rbf_residual(&aim.interior, &shape, weights.clone());
    let call = move || drop(B::rbf_gradient(&aim.interior, &shape, weights.clone(), values.clone()));
    Ok(Prepared::new(extent.resident(), extent.least(21.0, 0.0), call))
}

/// An iteration of conjugate gradients; a call without iterations is subtracted.
fn conjugate<B: RbfOps>(size: &[usize], context: &Context<B>) -> Result<Prepared> {
    let (extent, Operands { aim, shape, weights }) = case::<B>(size, false, context)?;
    let iterations = if extent.pairs > 1e8 { 4 } else { 30 };
    let call = {
        let (aim, shape, weights) = (aim.clone(), shape.clone(), weights.clone());
        move || drop(B::rbf_conjugate(&aim, &shape, weights.clone(), iterations))
    };
    let prepared = Prepared::new(extent.resident(), extent.least(12.0, 0.0), call).units(iterations);
    let prepared = prepared.alternative(extent.stored());
    Ok(prepared.overhead(move || drop(B::rbf_conjugate(&aim, &shape, weights.clone(), 0))))
}

/// MᵀM·p, the pass of an iteration.
fn product<B: RbfOps>(size: &[usize], stored: bool, context: &Context<B>) -> Result<Prepared> {
    let (extent, Operands { aim, shape, weights }) = case::<B>(size, stored, context)?;
    let matrix = stored.then(|| B::rbf_matrix(&aim.interior, &shape, weights.clone()).0);
    let call = move || drop(B::rbf_normal(&aim.interior, &shape, matrix.clone(), weights.clone()));
    let (bytes, least) =
        if stored { (extent.matrix(), extent.stored()) } else { (extent.resident(), extent.least(12.0, 0.0)) };
    Ok(Prepared::new(bytes, least, call))
}

/// Operands of general rows.
struct General<B: RbfOps> {
    rows: OperatorRows<B>,
    neurons: Ellipsoids<B>,
    weights: FloatTensor<B>,
}

/// The size of a case: general rows with all derivatives in two dimensions, and neurons with widths per axis.
fn general<B: RbfOps>(size: &[usize], matrix: bool, context: &Context<B>) -> Result<(Size, General<B>)> {
    let (n, m, float) = (size[0], size[1], size_of::<B::FloatElem>());
    let mut plan = vec![Buffer::new("rows", 9 * n as u128, float), Buffer::new("neurons", 5 * m as u128, float)];
    if matrix {
        plan.push(Buffer::new("A", n as u128 * m as u128, float));
    }
    admit(context, &plan, "take a smaller `max_points`, or a device with more memory")?;
    let (mut random, mut mixed) = (Random::new(context.seed, 1), Mixed::default());
    mixed.insert(0, 1);
    let spacing = (m as f64).sqrt().recip();
    let mut draw = |rows: usize, columns: usize, [low, high]: [f64; 2]| {
        let values: Vec<f64> = (0..rows * columns).map(|_| random.uniform(low, high)).collect();
        primitive::<B, 2>(values, [rows, columns], &context.device)
    };
    let rows = OperatorRows {
        points: draw(2, n, [0.0, 1.0]),
        coefficients: draw(mixed.coefficients(2), n, [-1.0, 1.0]),
        mixed,
        has_derivatives: true,
        sums: None,
    };
    let (centres, widths) = (draw(2, m, [0.0, 1.0]), draw(2, m, [2.0 * spacing, 5.0 * spacing]));
    let weights = vector::<B>(&vec![1.0; m], &context.device);
    Ok((Size::new::<B>(size), General { rows, neurons: Ellipsoids { centres, widths }, weights }))
}

/// Operations per pair of a row and a neuron: distances, their squares, six terms.
const GENERAL_FLOPS: f64 = 30.0;

fn operators<B: RbfOps>(size: &[usize], context: &Context<B>) -> Result<Prepared> {
    let (extent, General { rows, neurons, .. }) = general::<B>(size, true, context)?;
    let least = extent.least(GENERAL_FLOPS, extent.matrix());
    Ok(Prepared::new(extent.resident() + extent.matrix(), least, move || drop(B::rbf_operators(&rows, &neurons))))
}

fn operator_values<B: RbfOps>(size: &[usize], context: &Context<B>) -> Result<Prepared> {
    let (extent, General { rows, neurons, weights }) = general::<B>(size, false, context)?;
    let call = move || drop(B::rbf_operator_values(&rows, &neurons, weights.clone()));
    Ok(Prepared::new(extent.resident(), extent.least(GENERAL_FLOPS + 2.0, 0.0), call))
}
