//! Problems for parity tests: every operation against [`crate::reference`], with derived tolerances.
//!
//! A new operation is one entry in [`cases`]. Inputs are exact in the backend's floats, so the reference computes
//! from the same numbers; u is the backend's unit roundoff.

mod compare;
mod graph;
mod steps;
mod suite;

use std::fmt;

use burn::tensor::{
    DType, Int, Tensor, TensorData, TensorPrimitive,
    backend::Backend,
    ops::{FloatTensor, IntTensor},
};
use firebox_core::{
    Share,
    random::Random,
    tensor::{floats, read_floats, read_ints},
};

use compare::{links, same, same_shape, some_rows, sum, turned};
pub use suite::Suite;

use crate::{Matvec, OcnnOps, components::Forest, reference};

/// A problem's size.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Neurons.
    pub n: usize,
    /// Dimensions.
    pub d: usize,
    /// Steps recorded.
    pub steps: usize,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n={} d={} T={}", self.n, self.d, self.steps)
    }
}

/// Sizes round the kernels' tiles (16, 32, 64, 128, 256), each one less and one more, with 0, 1 and what divides nothing.
pub fn shapes() -> Vec<Shape> {
    let n = [0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 301];
    let d = [2, 3, 1, 5, 8, 9, 2, 3, 12];
    let steps = [64, 1, 31, 32, 33, 65, 2, 70];
    // More words of steps than a kernel works on at once.
    let long = Shape { n: 140, d: 2, steps: 1000 };
    let shape = |(k, &n): (usize, &usize)| Shape { n, d: d[k % d.len()], steps: steps[k % steps.len()] };
    n.iter().enumerate().map(shape).chain([long]).collect()
}

/// What is run on a problem.
pub type Check<B> = Box<dyn Fn(&Problem<B>) -> Result<(), String> + Send>;

/// Numbers of ranks that share what is checked: one, and so many that some have a part, and with few neurons none.
const RANKS: [usize; 2] = [1, 3];

/// A check of one operation.
pub struct Case<B: OcnnOps> {
    /// The operation, and how it is asked for.
    pub name: String,
    /// Fails with what differed, and where.
    pub check: Check<B>,
}

/// All checks: one entry an operation.
pub fn cases<B: OcnnOps>(device: &B::Device) -> Vec<Case<B>> {
    let mut cases = Vec::new();
    let mut add = |name: String, check: Check<B>| {
        cases.push(Case { name, check });
    };
    add("strengths".into(), Box::new(Problem::check_strengths));
    add("weights".into(), Box::new(Problem::check_weights));
    let ways = [Matvec::Auto, Matvec::ThreadPerNeuron, Matvec::YThreads, Matvec::XThreads];
    for matvec in ways.into_iter().filter(|&way| B::ocnn_strategy(device, way, 0, 2).is_ok()) {
        for stored in [true, false] {
            let weights = if stored { "stored" } else { "on the fly" };
            add(format!("steps, {matvec}, {weights}"), Box::new(move |p| p.check_steps(matvec, stored)));
            // Sizes up to which rows of units share neurons are beyond what the reference can follow.
            for rows in [1, 2, 4].into_iter().filter(|_| matvec == Matvec::XThreads) {
                let name = format!("steps, {matvec}, {weights}, {rows} neurons a row");
                add(name, Box::new(move |p| p.check_shared(rows, stored)));
            }
        }
    }
    for (rows, span) in [(1, 32), (4, 64)] {
        // Only CubeCL's backends have such tiles; elsewhere this is one more check of steps.
        let name = format!("steps, tiles of {span} within reach, {rows} neurons a row");
        add(name, Box::new(move |p| p.check_reach(rows, span)));
    }
    add("increase bits".into(), Box::new(Problem::check_bits));
    add("phase sync".into(), Box::new(Problem::check_phase_sync));
    add("fragmentary sync".into(), Box::new(Problem::check_fragmentary_sync));
    add("phase components".into(), Box::new(Problem::check_phase_components));
    add("fragmentary components".into(), Box::new(Problem::check_fragmentary_components));
    add("phase links".into(), Box::new(Problem::check_phase_links));
    add("fragmentary links".into(), Box::new(Problem::check_fragmentary_links));
    cases.extend(graph::cases());
    cases
}

/// Random inputs of one size on one backend.
#[derive(Clone)]
pub struct Problem<B: OcnnOps> {
    suite: Suite<B>,
    device: B::Device,
    shape: Shape,
    seed: u64,
    self_coupling: bool,
    /// `[d, n]`
    points: Vec<f64>,
    multiplicity: Vec<f64>,
    state: Vec<f64>,
    /// `[steps + 1, n]`, multiples of 1/16: differences and ties are exact.
    trajectory: Vec<f64>,
    epsilon: f64,
    counts: Vec<u32>,
    limits: [usize; 3],
}

/// The roots of n neurons in forests that lie one after the other, joined.
fn joined(n: usize, roots: Vec<u32>) -> Vec<u32> {
    let forest = Forest::joined(n, roots.into_iter().map(|root| root as usize));
    forest.roots().into_iter().map(|root| root as u32).collect()
}

/// The value as the backend's float has it.
fn exact<B: Backend>(value: f64) -> f64 {
    if size_of::<B::FloatElem>() == 8 { value } else { f64::from(value as f32) }
}

impl<B: OcnnOps> Problem<B> {
    /// The problem that `seed` names.
    pub fn new(suite: Suite<B>, device: &B::Device, shape: Shape, seed: u64) -> Self {
        let Shape { n, d, steps } = shape;
        let mut random = Random::new(seed, 77);
        // Some neurons lie so far out that nothing reaches them; distances cover weights from 1 down to 0.
        let spread = 1.0 + 2.0 * random.unit();
        let points = (0..n * d)
            .map(|k| {
                let far = if k % n.max(1) == 5 { 100.0 } else { 0.0 };
                exact::<B>(random.uniform(-spread, spread) + far)
            })
            .collect();
        let of = |eighths: usize| steps * eighths / 8;
        Self {
            suite,
            device: device.clone(),
            shape,
            seed,
            self_coupling: random.below(2) == 1,
            points,
            multiplicity: (0..n)
                .map(|_| if random.below(4) == 0 { 1.0 + random.below(5) as f64 } else { 1.0 })
                .collect(),
            state: (0..n).map(|_| exact::<B>(random.uniform(-1.0, 1.0))).collect(),
            trajectory: (0..n * (steps + 1)).map(|_| random.below(33) as f64 / 16.0 - 1.0).collect(),
            epsilon: (1 + random.below(8)) as f64 / 16.0,
            counts: (0..n * n).map(|_| random.below(1000) as u32).collect(),
            limits: [of(4), of(5), of(3 + random.below(5))],
        }
    }

    /// Leaves nonsense in freed memory, so that a kernel that does not write is found out.
    fn poison(&self) {
        self.poison_for((self.shape.n * self.shape.n).max(self.shape.n * (self.shape.steps + 1)));
    }

    /// The same for a result of so many numbers.
    fn poison_for(&self, count: usize) {
        let count = count.max(1);
        for _ in 0..2 {
            let nonsense = TensorData::new(vec![-559_038_737_i32; count], [count]);
            let _ = Tensor::<B, 1, Int>::from_data(nonsense, (&self.device, DType::I32)).into_data();
        }
    }

    fn float1(&self, values: &[f64]) -> FloatTensor<B> {
        floats::<B, 1>(values.to_vec(), [values.len()], &self.device).into_primitive().tensor()
    }

    /// A matrix as a view that does not lie in memory the way it reads.
    fn float2(&self, values: &[f64], [rows, columns]: [usize; 2]) -> FloatTensor<B> {
        floats::<B, 2>(turned(values, columns), [columns, rows], &self.device).transpose().into_primitive().tensor()
    }

    fn int2(&self, values: &[u32], [rows, columns]: [usize; 2]) -> IntTensor<B> {
        let values: Vec<i32> = turned(values, columns).into_iter().map(|value| value as i32).collect();
        let data = TensorData::new(values, [columns, rows]);
        Tensor::<B, 2, Int>::from_data(data, (&self.device, DType::I32)).transpose().into_primitive()
    }

    fn floats<const D: usize>(&self, tensor: FloatTensor<B>, shape: [usize; D]) -> Result<Vec<f64>, String> {
        let tensor = Tensor::<B, D>::from_primitive(TensorPrimitive::Float(tensor));
        same_shape(tensor.dims(), shape)?;
        if shape.contains(&0) {
            // CUDA has nothing to read it from.
            return Ok(Vec::new());
        }
        read_floats(tensor, "parity").map_err(|error| error.to_string())
    }

    fn ints<const D: usize>(&self, tensor: IntTensor<B>, shape: [usize; D]) -> Result<Vec<u32>, String> {
        let tensor = Tensor::<B, D, Int>::from_primitive(tensor);
        same_shape(tensor.dims(), shape)?;
        if tensor.dtype() != DType::I32 {
            return Err(format!("integers of type {:?}", tensor.dtype()));
        }
        if shape.contains(&0) {
            return Ok(Vec::new());
        }
        let values = read_ints(tensor, "parity").map_err(|error| error.to_string())?;
        Ok(values.into_iter().map(|value| value as u32).collect())
    }

    fn unit(&self) -> f64 {
        if size_of::<B::FloatElem>() == 8 { f64::EPSILON / 2.0 } else { f64::from(f32::EPSILON) / 2.0 }
    }

    fn words(&self) -> (Vec<u32>, usize) {
        (reference::increase_bits(&self.trajectory, self.shape.n), self.shape.steps.div_ceil(32))
    }

    fn outputs(&self) -> (&[f64], FloatTensor<B>) {
        let Shape { n, steps, .. } = self.shape;
        let outputs = &self.trajectory[n..];
        (outputs, self.float2(outputs, [steps, n]))
    }

    fn check_bits(&self) -> Result<(), String> {
        let Shape { n, steps, .. } = self.shape;
        self.poison();
        let trajectory = self.float2(&self.trajectory, [steps + 1, n]);
        let (wanted, height) = self.words();
        same(&self.ints((self.suite.increase_bits)(trajectory), [height, n])?, &wanted)
    }

    fn check_phase_sync(&self) -> Result<(), String> {
        let Shape { n, steps, .. } = self.shape;
        let (words, height) = self.words();
        let before = self.int2(&self.counts, [n, n]);
        let more = reference::phase_counts(&self.trajectory, n);
        self.poison();
        let fresh = (self.suite.phase_sync)(self.int2(&words, [height, n]), steps, None);
        same(&self.ints(fresh, [n, n])?, &more).map_err(|what| format!("without an old S: {what}"))?;
        let after = (self.suite.phase_sync)(self.int2(&words, [height, n]), steps, Some(before));
        same(&self.ints(after, [n, n])?, &sum(&self.counts, &more))
    }

    fn check_fragmentary_sync(&self) -> Result<(), String> {
        let n = self.shape.n;
        let (outputs, tensor) = self.outputs();
        let before = self.int2(&self.counts, [n, n]);
        // Somebody else holds the old sum too: it must not change under their hands.
        let held = before.clone();
        let after = (self.suite.fragmentary_sync)(tensor, self.epsilon, Some(before));
        let more = reference::fragmentary_counts(outputs, n, self.epsilon);
        same(&self.ints(after, [n, n])?, &sum(&self.counts, &more))?;
        same(&self.ints(held, [n, n])?, &self.counts).map_err(|what| format!("the old S: {what}"))
    }

    fn check_phase_components(&self) -> Result<(), String> {
        let Shape { n, steps, .. } = self.shape;
        let (words, height) = self.words();
        let counts = reference::phase_counts(&self.trajectory, n);
        self.check_components(&counts, |limit, share| {
            (self.suite.phase_components)(self.int2(&words, [height, n]), steps, limit, share)
        })
    }

    fn check_fragmentary_components(&self) -> Result<(), String> {
        let (outputs, _) = self.outputs();
        let counts = reference::fragmentary_counts(outputs, self.shape.n, self.epsilon);
        self.check_components(&counts, |limit, share| {
            (self.suite.fragmentary_components)(self.outputs().1, self.epsilon, limit, share)
        })
    }

    /// Components of links above each limit, by ranks whose forests are joined.
    fn check_components(
        &self,
        counts: &[u32],
        components: impl Fn(usize, Share) -> IntTensor<B>,
    ) -> Result<(), String> {
        let n = self.shape.n;
        for (limit, size) in self.limits.into_iter().flat_map(|limit| RANKS.map(|size| (limit, size))) {
            let wanted = reference::components(counts, n, limit as u32);
            let mut found = Vec::new();
            for rank in 0..size {
                self.poison();
                let roots = self.ints(components(limit, Share { rank, size }), [n])?;
                let sound = |(i, &root): (usize, &u32)| root as usize <= i && roots[root as usize] == root;
                if !roots.iter().enumerate().all(sound) {
                    return Err(format!("limit {limit}, rank {rank} of {size}: {roots:?} are no roots"));
                }
                found.push(roots);
            }
            let found = if size == 1 { found.remove(0) } else { joined(n, found.concat()) };
            same(&found, &wanted).map_err(|what| format!("limit {limit}, {size} ranks: {what}"))?;
        }
        Ok(())
    }

    fn check_phase_links(&self) -> Result<(), String> {
        let Shape { n, steps, .. } = self.shape;
        let (words, height) = self.words();
        let counts = reference::phase_counts(&self.trajectory, n);
        let rows = some_rows(n);
        for limit in self.limits {
            self.poison();
            let found = (self.suite.phase_links)(self.int2(&words, [height, n]), steps, limit, &rows);
            let found = self.ints(found, [rows.len(), n.div_ceil(32)])?;
            same(&found, &links(&counts, n, limit, &rows)).map_err(|what| format!("limit {limit}: {what}"))?;
        }
        Ok(())
    }

    fn check_fragmentary_links(&self) -> Result<(), String> {
        let n = self.shape.n;
        let (outputs, tensor) = self.outputs();
        let counts = reference::fragmentary_counts(outputs, n, self.epsilon);
        let rows = some_rows(n);
        let limit = self.limits[0];
        let found = (self.suite.fragmentary_links)(tensor, self.epsilon, limit, &rows);
        same(&self.ints(found, [rows.len(), n.div_ceil(32)])?, &links(&counts, n, limit, &rows))
    }
}

#[cfg(test)]
mod tests;
