//! What a training asks of the control points of a cycle: of all of them, or of every rank's part, summed over the ranks.
//!
//! Every rank has all neurons. A part is as many rows of A as this rank has; 1/N and λ/K are those of the whole, so that
//! I, its slopes and the products of conjugate gradients are sums over the ranks. Where devices tell each other by
//! themselves these are of the operations of one process, on its [`Whole`]; else hosts add them up in f64, and compute what
//! follows from them on every rank alike. The neurons stay the same on all.

use burn::tensor::{Element, ElementConversion, Tensor, TensorMetadata, ops::FloatTensor};
use firebox_backends::exchange::{peers, read_sum};
use firebox_core::{
    Context, Error, Result,
    tensor::{primitive, tensor, widened},
};

use crate::{
    Conditions, RbfOps, System,
    conditions::root_mean,
    device,
    limit::Limit,
    ops::{Aim, Rows, Shape, Whole},
    run::Ended,
    strategy::{Extent, Way},
    subset::part,
};

/// Squares that a device adds up in its own floats, a power of two: a sum of so many by halves is off by 10 roundings.
const RUN: usize = 1 << 10;
/// From so many such runs on it does.
const RUNS: usize = 16;

/// Control points on the device.
pub(crate) enum Goal<B: RbfOps> {
    /// All of them.
    Whole(Aim<B>),
    /// This rank's.
    Part(Part<B>),
}

impl<B: RbfOps> Goal<B> {
    /// Of all control points, or of this rank's `own` of so many.
    pub(crate) fn new(system: &System, own: Option<[usize; 2]>, context: &Context<B>) -> Result<Self> {
        let share = context.communicator.share();
        Ok(match own {
            Some(counts) => Self::Part(Part::new(system, counts, context)?),
            None if share.is_whole() => Self::Whole(device::aim(system, &context.device)),
            None => {
                let System { interior, boundary, penalty } = system;
                let counts = [interior.len(), boundary.len()];
                let own =
                    System { interior: part(interior, share), boundary: part(boundary, share), penalty: *penalty };
                Self::Part(Part::new(&own, counts, context)?)
            }
        })
    }

    /// Gradient steps on the shape; I before the first of them and after the last.
    pub(crate) fn descend(
        &self,
        shape: &Shape<B>,
        weights: &FloatTensor<B>,
        rates: [f64; 2],
        steps: usize,
        context: &Context<B>,
    ) -> Result<(Shape<B>, [f64; 2])> {
        let aim = match self {
            Self::Whole(aim) | Self::Part(Part { joint: Some(aim), .. }) => aim,
            Self::Part(part) => return part.descend(shape, weights, rates, steps, context),
        };
        let descend = |shape: &Shape<B>, steps| B::rbf_descend(aim, shape.clone(), weights.clone(), rates, steps);
        let (shape, before) = descend(shape, steps);
        // For I after the last step, by the sums that it was found with before.
        let (_, after) = descend(&shape, 1);
        let read = device::fetch(vec![before, after], Vec::new(), context)?;
        Ok((shape, [read[0][0], read[1][0]]))
    }

    /// The weights after `iterations` of conjugate gradients, or those that the time `limit` leaves time for. These are
    /// only taken if `partial` says so and there is an iteration to show for them.
    ///
    /// # Errors
    ///
    /// [`Error::Cancelled`] for a stop request, and for the end of the time if there are no weights to take.
    pub(crate) fn conjugate(
        &self,
        shape: &Shape<B>,
        weights: FloatTensor<B>,
        iterations: usize,
        (limit, partial): (&Limit, bool),
        context: &Context<B>,
    ) -> Result<(FloatTensor<B>, Ended)> {
        let aim = match self {
            Self::Whole(aim) | Self::Part(Part { joint: Some(aim), .. }) => aim,
            Self::Part(part) => return part.conjugate(shape, weights, iterations, (limit, partial), context),
        };
        let mut found = None;
        let whole = limit.watched(context, || {
            found = Some(B::rbf_conjugate(aim, shape, weights, iterations));
            Ok(())
        });
        match (whole, found) {
            (Ok(()), Some((weights, _))) => Ok((weights, Ended::Complete)),
            (Err(Error::Cancelled), Some((weights, norms))) if partial && !context.observer.cancelled() => {
                // NaN from the first iteration on that is not complete.
                let norms = device::fetch(vec![norms], Vec::new(), context)?;
                match norms.first().and_then(|norms| norms.get(1)) {
                    Some(norm) if norm.is_finite() => Ok((weights, Ended::CutShort)),
                    _ => Err(Error::Cancelled),
                }
            }
            (whole, _) => Err(whole.err().unwrap_or(Error::Cancelled)),
        }
    }

    /// √(Σr1²/N) and √(Σr2²/K).
    pub(crate) fn root_means(
        &self,
        shape: &Shape<B>,
        weights: &FloatTensor<B>,
        context: &Context<B>,
    ) -> Result<[f64; 2]> {
        let aim = match self {
            Self::Whole(aim) => aim,
            Self::Part(part) => return part.root_means(shape, weights, context),
        };
        let residual = |rows| B::rbf_residual(rows, shape, weights.clone());
        let read = device::fetch([&aim.interior, &aim.boundary].map(residual).into(), Vec::new(), context)?;
        Ok([root_mean(&read[0]), root_mean(&read[1])])
    }
}

/// The conditions of one kind that a rank has some of.
struct Kind<B: RbfOps> {
    /// 0 inside, 1 on the boundary.
    place: usize,
    rows: Rows<B>,
    /// 1/N or λ/K.
    share: f64,
}

/// A rank's part of the control points. Kinds that it has none of are left out: some devices have no empty tensors.
pub(crate) struct Part<B: RbfOps> {
    kinds: Vec<Kind<B>>,
    /// N and K.
    counts: [usize; 2],
    own: [usize; 2],
    /// The same conditions, where the devices of all ranks, each of which has some of both kinds, add up by themselves.
    joint: Option<Aim<B>>,
}

impl<B: RbfOps> Part<B> {
    fn new(system: &System, counts: [usize; 2], context: &Context<B>) -> Result<Self> {
        let own = [system.interior.len(), system.boundary.len()];
        let kind = |(place, conditions, factor): (usize, &Conditions, f64)| {
            let rows = || device::rows(conditions, &context.device);
            (own[place] > 0).then(|| Kind { place, rows: rows(), share: factor / counts[place] as f64 })
        };
        let kinds = [(0, &system.interior, 1.0), (1, &system.boundary, system.penalty)];
        let kinds: Vec<_> = kinds.into_iter().filter_map(kind).collect();
        let both = || context.communicator.all_gather(&[kinds.len() as u64]).iter().all(|&count| count == 2);
        let joint = match (peers(context)?.filter(|_| both()), &kinds[..]) {
            (Some(peers), [interior, boundary]) => Some(Aim {
                interior: interior.rows.clone(),
                boundary: boundary.rows.clone(),
                penalty: system.penalty,
                whole: Some(Whole { counts, peers: peers.into() }),
            }),
            _ => None,
        };
        Ok(Self { kinds, counts, own, joint })
    }

    fn residuals(&self, shape: &Shape<B>, weights: &FloatTensor<B>) -> Vec<FloatTensor<B>> {
        self.kinds.iter().map(|kind| B::rbf_residual(&kind.rows, shape, weights.clone())).collect()
    }

    /// What residuals add to I, by the sums of their squares, read.
    fn objective(&self, sums: &[Vec<f64>]) -> f64 {
        self.kinds.iter().zip(sums).map(|(kind, sums)| 0.5 * kind.share * sums.iter().sum::<f64>()).sum()
    }

    /// Sums of the squares of the residuals.
    fn squared(&self, shape: &Shape<B>, weights: &FloatTensor<B>, context: &Context<B>) -> Result<Vec<Vec<f64>>> {
        let squares = self.residuals(shape, weights).into_iter().map(squared::<B>).collect();
        device::fetch(squares, Vec::new(), context)
    }

    fn root_means(&self, shape: &Shape<B>, weights: &FloatTensor<B>, context: &Context<B>) -> Result<[f64; 2]> {
        let read = self.squared(shape, weights, context)?;
        let mut sums = [0.0; 2];
        self.kinds.iter().zip(&read).for_each(|(kind, squares)| sums[kind.place] = squares.iter().sum());
        context.communicator.all_sum(&mut sums);
        Ok([0, 1].map(|place| (sums[place] / self.counts[place].max(1) as f64).sqrt()))
    }

    /// ∂I/∂(c, a), row-major (d + 1) × m; and I if it is wanted, which takes more calls of the device. What failed comes out
    /// at the next `fetch`.
    fn slopes(
        &self,
        shape: &Shape<B>,
        weights: &FloatTensor<B>,
        objective: bool,
        context: &Context<B>,
    ) -> Result<(Vec<f64>, Option<f64>)> {
        let residuals = self.residuals(shape, weights);
        let gradient = |(kind, residual): (&Kind<B>, &FloatTensor<B>)| {
            B::rbf_gradient(&kind.rows, shape, weights.clone(), residual.clone())
        };
        let gradients = self.kinds.iter().zip(&residuals).map(gradient).collect();
        let count = shape.centres.shape().num_elements() + shape.widths.shape().num_elements();
        let slopes = self.total(gradients, count, context)?;
        if !objective {
            return Ok((slopes, None));
        }
        let squares = residuals.into_iter().map(squared::<B>).collect();
        let mut objective = [self.objective(&device::peek(squares, Vec::new(), context)?)];
        context.communicator.all_sum(&mut objective);
        Ok((slopes, Some(objective[0])))
    }

    fn descend(
        &self,
        shape: &Shape<B>,
        weights: &FloatTensor<B>,
        [of_centres, of_widths]: [f64; 2],
        steps: usize,
        context: &Context<B>,
    ) -> Result<(Shape<B>, [f64; 2])> {
        let mut read = device::fetch(vec![shape.widths.clone()], vec![shape.centres.clone()], context)?.into_iter();
        let (mut widths, mut centres) = (read.next().unwrap_or_default(), read.next().unwrap_or_default());
        let (m, d) = (widths.len(), centres.len() / widths.len().max(1));
        let (mut shape, mut before) = (shape.clone(), None);
        for _ in 0..steps {
            context.go_on()?;
            let (slopes, objective) = self.slopes(&shape, weights, before.is_none(), context)?;
            before = before.or(objective);
            // In the floats of the device, as one process has them.
            for (c, slope) in centres.iter_mut().zip(&slopes) {
                *c = rounded::<B::FloatElem>(*c - of_centres * slope);
            }
            for (a, slope) in widths.iter_mut().zip(&slopes[d * m..]) {
                *a = rounded::<B::FloatElem>(*a * (-of_widths * *a * slope).exp());
            }
            shape = Shape {
                centres: primitive::<B, 2>(centres.clone(), [d, m], &context.device),
                widths: primitive::<B, 1>(widths.clone(), [m], &context.device),
            };
        }
        let mut after = [self.objective(&self.squared(&shape, weights, context)?)];
        context.communicator.all_sum(&mut after);
        let before = before.unwrap_or(after[0]);
        Ok((shape, [before, after[0]].map(rounded::<B::FloatElem>)))
    }

    fn conjugate(
        &self,
        shape: &Shape<B>,
        weights: FloatTensor<B>,
        iterations: usize,
        (limit, partial): (&Limit, bool),
        context: &Context<B>,
    ) -> Result<(FloatTensor<B>, Ended)> {
        let [dims, neurons] = shape.centres.shape().dims();
        let extent = Extent { conditions: self.own, neurons, dims, steps: 0 };
        let keep = B::rbf_strategy(&extent, &context.device).conjugate == Way::Kept;
        let (mut matrices, mut first) = (Vec::new(), Vec::new());
        for kind in &self.kinds {
            let (matrix, residual) = if keep {
                let (matrix, residual) = B::rbf_matrix(&kind.rows, shape, weights.clone());
                (Some(matrix), residual)
            } else {
                (None, B::rbf_residual(&kind.rows, shape, weights.clone()))
            };
            matrices.push(matrix);
            first.push(B::rbf_transposed(&kind.rows, shape, residual));
        }
        let read = device::fetch(vec![weights], Vec::new(), context)?;
        let mut weights = read.into_iter().next().unwrap_or_default();
        let mut left = self.total(first, neurons, context)?;
        left.iter_mut().for_each(|left| *left = -*left);
        // Rounded, so that the product is that of the direction itself.
        let mut direction: Vec<f64> = left.iter().map(|&it| rounded::<B::FloatElem>(it)).collect();
        let mut norm = dot(&left, &left);
        let mut ended = Ended::Complete;
        for iteration in 0..iterations {
            // Rank 0 decides for all.
            let said = [context.observer.cancelled(), limit.is_over()].map(u8::from);
            let [stop, late] = context.communicator.first(said).map(|word| word == 1);
            if stop || (late && (!partial || iteration == 0)) {
                return Err(Error::Cancelled);
            }
            if late {
                ended = Ended::CutShort;
                break;
            }
            let along = device::vector::<B>(&direction, &context.device);
            let product = |(kind, matrix): (&Kind<B>, &Option<FloatTensor<B>>)| {
                B::rbf_normal(&kind.rows, shape, matrix.clone(), along.clone())
            };
            let products = self.kinds.iter().zip(&matrices).map(product).collect();
            let product = self.total(products, neurons, context)?;
            let curvature = dot(&direction, &product);
            if norm > 0.0 && curvature > 0.0 {
                let length = norm / curvature;
                weights.iter_mut().zip(&direction).for_each(|(w, p)| *w += length * p);
                left.iter_mut().zip(&product).for_each(|(left, product)| *left -= length * product);
                let next = dot(&left, &left);
                let turn = next / norm;
                direction.iter_mut().zip(&left).for_each(|(p, left)| *p = rounded::<B::FloatElem>(left + turn * *p));
                norm = next;
            }
        }
        B::finish(&context.device, device::PHASE)?;
        Ok((device::vector::<B>(&weights, &context.device), ended))
    }

    /// Σ share·sums, so many numbers: over the kinds, and over the ranks. What failed comes out at the next `fetch` or
    /// `finish`.
    fn total(&self, sums: Vec<FloatTensor<B>>, count: usize, context: &Context<B>) -> Result<Vec<f64>> {
        let parts = self.kinds.iter().zip(sums);
        let parts = parts.map(|(kind, sums)| row::<B>(sums, count).mul_scalar(kind.share));
        let none = || Tensor::zeros([count], (&context.device, B::FloatElem::dtype()));
        let total = parts.reduce(|sum, part| sum + part).unwrap_or_else(none);
        Ok(widened(&read_sum(total, context, device::PHASE)?))
    }
}

/// A vector or a matrix of `count` numbers as one row.
fn row<B: RbfOps>(of: FloatTensor<B>, count: usize) -> Tensor<B, 1> {
    if of.shape().num_dims() == 1 { tensor::<B, 1>(of) } else { tensor::<B, 2>(of).reshape([count]) }
}

fn rounded<E: Element>(value: f64) -> f64 {
    value.elem::<E>().elem()
}

/// The squares of a residual, which the host adds up; of many numbers the sums of [`RUN`] each, to be read sooner.
fn squared<B: RbfOps>(residual: FloatTensor<B>) -> FloatTensor<B> {
    let squares = tensor::<B, 1>(residual).square();
    let [n] = squares.dims();
    let runs = n / RUN;
    if runs < RUNS {
        return squares.into_primitive().tensor();
    }
    // By halves: the same order on every rank, where a reduction may be tuned to each device, and few roundings.
    let mut sums = squares.clone().narrow(0, 0, runs * RUN).reshape([RUN, runs]);
    let mut left = RUN;
    while left > 1 {
        left /= 2;
        sums = sums.clone().narrow(0, 0, left) + sums.narrow(0, left, left);
    }
    let sums = sums.reshape([runs]);
    // Some devices have no empty tensors.
    let all =
        if runs * RUN < n { Tensor::cat(vec![sums, squares.narrow(0, runs * RUN, n - runs * RUN)], 0) } else { sums };
    all.into_primitive().tensor()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests;
