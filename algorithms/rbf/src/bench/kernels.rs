//! The hot loops of RBF networks, each by itself.

use burn::tensor::ops::FloatTensor;
use firebox_backends::limits::{Buffer, admit};
use firebox_core::{
    Context, Result,
    kernels::{Kernel, Least, Prepared},
    random::Random,
};

use crate::{
    Grid, Problem, RbfOps, Sampling, System,
    device::{self, aim, vector},
    ops::{Aim, Shape},
};

/// What `firebox bench kernels` measures of RBF networks.
pub(crate) fn kernels<B: RbfOps>() -> Vec<Kernel<B>> {
    type Call<B> = fn(&[usize], &Context<B>) -> Result<Prepared>;
    let case = |name, call: Call<B>| {
        Kernel::new(name, &[[524, 64], [100_000, 256]], move |size, context| call(size, context).map(Some))
            .large(&[[100_000, 1024], [1_000_000, 1024]])
    };
    vec![
        case("rbf M and r1", matrix),
        case("rbf gradient", |size, context| descend(size, 1, context)),
        case("rbf gradient", |size, context| descend(size, 64, context)).variant("of 64 steps in a call"),
        case("rbf gradient", gradient).variant("r1 given"),
        case("rbf cg iteration", conjugate),
        case("rbf cg iteration", |size, context| product(size, true, context)).variant("a product, M stored"),
        case("rbf cg iteration", |size, context| product(size, false, context)).variant("a product, M computed again"),
    ]
}

/// A problem's control points and neurons on the device.
pub(super) struct Work<B: RbfOps> {
    pub(super) aim: Aim<B>,
    pub(super) shape: Shape<B>,
    pub(super) weights: FloatTensor<B>,
}

impl<B: RbfOps> Work<B> {
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
        admit(context, &plan, "take --max-points, or a device with more memory")?;
        let problem = Problem::named("poisson-sine")?;
        let random = &mut Random::new(context.seed, 1);
        let interior = problem.interior(problem.interior_points(inside, Sampling::Uniform, random)?)?;
        let boundary = problem.boundary(&problem.boundary_points(around, Sampling::Uniform, random)?)?;
        let grid = Grid::new(problem.domain(), neurons, 0.0)?;
        let widths = vec![3.0 * grid.spacing; grid.len()];
        let weights: Vec<f64> = (0..grid.len()).map(|_| random.uniform(-1.0, 1.0)).collect();
        let device = &context.device;
        Ok(Self {
            aim: aim(&System { interior, boundary, penalty: 100.0 }, device),
            shape: device::shape(&grid.centres, &widths, 2, device),
            weights: vector::<B>(&weights, device),
        })
    }
}

/// n points, one of them on the boundary where the case has one, and m neurons.
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

    /// An exponential a pair of a point and a neuron, and `flops`; `bytes` besides the points'.
    fn least(&self, flops: f64, bytes: f64) -> Least {
        let bytes = self.resident() + bytes;
        Least { bytes, flops: flops * self.pairs, exps: self.pairs, ..Least::default() }
    }

    /// Bytes of M.
    fn matrix(&self) -> f64 {
        self.pairs * self.float
    }
}

fn matrix<B: RbfOps>(size: &[usize], context: &Context<B>) -> Result<Prepared> {
    let of = Size::new::<B>(size);
    let Work { aim, shape, weights } = Work::<B>::new(size[0], 1, size[1], true, context)?;
    // In the same memory every time, as a loop that needs M again and again would have it.
    let mut spare = None;
    // The distance, (|x − c|² − a²)·4/a⁴, the weight and the sum.
    Ok(Prepared::new(of.resident() + of.matrix(), of.least(11.0, of.matrix()), move || {
        let (rows, weights) = (&aim.interior, weights.clone());
        let (matrix, _) = match spare.take() {
            Some(spare) => B::rbf_matrix_into(rows, &shape, weights, spare),
            None => B::rbf_matrix(rows, &shape, weights),
        };
        spare = Some(matrix);
    }))
}

/// A step of `steps` in one call: residuals, the gradient by c and a, and what becomes of them.
fn descend<B: RbfOps>(size: &[usize], steps: usize, context: &Context<B>) -> Result<Prepared> {
    let of = Size::new::<B>(size);
    // As few as a call does not show in, where each takes long.
    let steps = if of.pairs > 1e7 { steps.min(8) } else { steps };
    let Work { aim, shape, weights } = Work::<B>::new(size[0], 1, size[1], false, context)?;
    let call = move || drop(B::rbf_descend(&aim, shape.clone(), weights.clone(), [1e-6; 2], steps));
    // As above, then three derivatives and their sums.
    Ok(Prepared::new(of.resident(), of.least(23.0, 0.0), call).units(steps).detail("steps", steps))
}

/// The gradient alone.
fn gradient<B: RbfOps>(size: &[usize], context: &Context<B>) -> Result<Prepared> {
    let of = Size::new::<B>(size);
    let Work { aim, shape, weights } = Work::<B>::new(size[0], 1, size[1], false, context)?;
    let values = B::rbf_residual(&aim.interior, &shape, weights.clone());
    let call = move || drop(B::rbf_gradient(&aim.interior, &shape, weights.clone(), values.clone()));
    Ok(Prepared::new(of.resident(), of.least(21.0, 0.0), call))
}

/// An iteration: what some of them in one call take more than none.
fn conjugate<B: RbfOps>(size: &[usize], context: &Context<B>) -> Result<Prepared> {
    let of = Size::new::<B>(size);
    let iterations = if of.pairs > 1e8 { 4 } else { 30 };
    let Work { aim, shape, weights } = Work::<B>::new(size[0], 1, size[1], false, context)?;
    let call = {
        let (aim, shape, weights) = (aim.clone(), shape.clone(), weights.clone());
        move || drop(B::rbf_conjugate(&aim, &shape, weights.clone(), iterations))
    };
    // M may be kept instead.
    let kept = Least { bytes: of.matrix(), flops: 4.0 * of.pairs, ..Least::default() };
    let prepared = Prepared::new(of.resident(), of.least(12.0, 0.0), call).units(iterations).otherwise(kept);
    Ok(prepared.besides(move || drop(B::rbf_conjugate(&aim, &shape, weights.clone(), 0))))
}

/// MᵀM·p, the pass of an iteration.
fn product<B: RbfOps>(size: &[usize], stored: bool, context: &Context<B>) -> Result<Prepared> {
    let of = Size::new::<B>(size);
    let Work { aim, shape, weights } = Work::<B>::new(size[0], 1, size[1], stored, context)?;
    let matrix = stored.then(|| B::rbf_matrix(&aim.interior, &shape, weights.clone()).0);
    let call = move || drop(B::rbf_normal(&aim.interior, &shape, matrix.clone(), weights.clone()));
    if stored {
        let least = Least { bytes: of.matrix(), flops: 4.0 * of.pairs, ..Least::default() };
        return Ok(Prepared::new(of.matrix(), least, call));
    }
    Ok(Prepared::new(of.resident(), of.least(12.0, 0.0), call))
}
