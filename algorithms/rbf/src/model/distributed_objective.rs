//! The objective I at the control points of a cycle, on one device or distributed over ranks.
//!
//! Neurons are replicated, rows of A distributed. With the factors 1/N and λ/K of the whole, I, its gradient and the
//! products of conjugate gradients are sums over ranks. Devices with peer-to-peer access reduce them inside the
//! operations (see [`Whole`]); otherwise hosts reduce them in f64 and repeat the remaining arithmetic on every rank,
//! which keeps the neurons identical.

use burn::tensor::{Element, ElementConversion, TensorMetadata, ops::FloatTensor};
use firebox_backends::collectives::{all_sum_to_host, peers};
use firebox_core::{
    Context, Error, Result,
    tensor::{add, concatenate, multiply, primitive, reshape, scale, slice, widened, zeros},
};

use super::time_limit::{Completion, TimeLimit};
use crate::{
    ops::{RbfOps, transfer},
    types::{Aim, Conditions, Extent, Rows, Shape, System, Way, Whole, root_mean},
};

/// Squares per partial sum on the device, a power of two: pairwise summation of 2¹⁰ numbers has 10 roundings.
const RUN: usize = 1 << 10;
/// Minimum number of runs for reducing on the device.
const MIN_RUNS: usize = 16;

/// The network on the device.
#[derive(Clone)]
pub(crate) struct DeviceNetwork<B: RbfOps> {
    pub(crate) shape: Shape<B>,
    pub(crate) weights: FloatTensor<B>,
}

/// Conditions at the control points on the device.
pub(crate) enum Objective<B: RbfOps> {
    /// All conditions.
    Whole(Aim<B>),
    /// This rank's conditions.
    Part(Part<B>),
}

impl<B: RbfOps> Objective<B> {
    /// Uploads `system`: all conditions, or this rank's part if `own` gives N and K of the whole. Without `own`,
    /// several ranks divide `system` among them.
    pub(crate) fn new(system: &System, own: Option<[usize; 2]>, context: &Context<B>) -> Result<Self> {
        let share = context.communicator.share();
        Ok(match own {
            Some(counts) => Self::Part(Part::new(system, counts, context)?),
            None if share.is_whole() => Self::Whole(transfer::aim(system, &context.device)),
            None => {
                let System { interior, boundary, penalty } = system;
                let counts = [interior.len(), boundary.len()];
                let (interior, boundary) = (interior.part(share), boundary.part(share));
                let own = System { interior, boundary, penalty: *penalty };
                Self::Part(Part::new(&own, counts, context)?)
            }
        })
    }

    /// Gradient steps on centres and widths. Returns the new shape, and I before the first step and after the last.
    pub(crate) fn descend(
        &self,
        network: &DeviceNetwork<B>,
        rates: [f64; 2],
        steps: usize,
        context: &Context<B>,
    ) -> Result<(Shape<B>, [f64; 2])> {
        let aim = match self {
            Self::Whole(aim) | Self::Part(Part { joint: Some(aim), .. }) => aim,
            Self::Part(part) => return part.descend(network, rates, steps, context),
        };
        let weights = || network.weights.clone();
        let descend = |shape: &Shape<B>, steps| B::rbf_descend(aim, shape.clone(), weights(), rates, steps);
        let (shape, before) = descend(&network.shape, steps);
        // I after the last step comes from the same sums as I before the first: one more step, whose shape is dropped.
        let (_, after) = descend(&shape, 1);
        let [before, after] = transfer::fetch([before, after], context)?;
        Ok((shape, [before[0], after[0]]))
    }

    /// The weights after `iterations` of conjugate gradients or, if `partial` allows it, after the iterations completed
    /// within `limit`, at least one.
    ///
    /// # Errors
    ///
    /// [`Error::Cancelled`] for a stop request, and for an expired limit without usable weights.
    pub(crate) fn conjugate(
        &self,
        network: &DeviceNetwork<B>,
        iterations: usize,
        (limit, partial): (&TimeLimit, bool),
        context: &Context<B>,
    ) -> Result<(FloatTensor<B>, Completion)> {
        let aim = match self {
            Self::Whole(aim) | Self::Part(Part { joint: Some(aim), .. }) => aim,
            Self::Part(part) => return part.conjugate(network, iterations, (limit, partial), context),
        };
        let mut found = None;
        let whole = limit.watched(context, || {
            found = Some(B::rbf_conjugate(aim, &network.shape, network.weights.clone(), iterations));
            Ok(())
        });
        match (whole, found) {
            (Ok(()), Some((weights, _))) => Ok((weights, Completion::Complete)),
            (Err(Error::Cancelled), Some((weights, norms))) if partial && !context.observer.cancelled() => {
                // NaN marks the first incomplete iteration.
                let [norms] = transfer::fetch([norms], context)?;
                match norms.get(1) {
                    Some(norm) if norm.is_finite() => Ok((weights, Completion::CutShort)),
                    _ => Err(Error::Cancelled),
                }
            }
            (whole, _) => Err(whole.err().unwrap_or(Error::Cancelled)),
        }
    }

    /// Root mean square residuals √(Σr1²/N) and √(Σr2²/K).
    pub(crate) fn root_means(&self, network: &DeviceNetwork<B>, context: &Context<B>) -> Result<[f64; 2]> {
        let aim = match self {
            Self::Whole(aim) => aim,
            Self::Part(part) => return part.root_means(network, context),
        };
        let residual = |rows| network.residual(rows);
        let residuals = transfer::fetch([&aim.interior, &aim.boundary].map(residual), context)?;
        Ok(residuals.map(|residual| root_mean(&residual)))
    }
}

impl<B: RbfOps> DeviceNetwork<B> {
    fn residual(&self, rows: &Rows<B>) -> FloatTensor<B> {
        B::rbf_residual(rows, &self.shape, self.weights.clone())
    }
}

/// A rank's conditions of one kind, at least one.
struct Kind<B: RbfOps> {
    /// 0 inside, 1 on the boundary.
    index: usize,
    rows: Rows<B>,
    /// 1/N or λ/K.
    share: f64,
}

/// A rank's part of the conditions. Empty kinds are omitted: some devices have no empty tensors.
pub(crate) struct Part<B: RbfOps> {
    kinds: Vec<Kind<B>>,
    /// N and K.
    counts: [usize; 2],
    own: [usize; 2],
    /// Operand of operations that reduce over ranks: with peer-to-peer access and both kinds of conditions on every
    /// rank.
    joint: Option<Aim<B>>,
}

impl<B: RbfOps> Part<B> {
    fn new(system: &System, counts: [usize; 2], context: &Context<B>) -> Result<Self> {
        let own = [system.interior.len(), system.boundary.len()];
        let kind = |(index, conditions, factor): (usize, &Conditions, f64)| {
            let rows = || transfer::rows(conditions, &context.device);
            (own[index] > 0).then(|| Kind { index, rows: rows(), share: factor / counts[index] as f64 })
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

    fn residuals(&self, network: &DeviceNetwork<B>) -> Vec<FloatTensor<B>> {
        self.kinds.iter().map(|kind| network.residual(&kind.rows)).collect()
    }

    /// This rank's share of I, from partial sums of squared residuals.
    fn objective(&self, sums: &[Vec<f64>]) -> f64 {
        self.kinds.iter().zip(sums).map(|(kind, sums)| 0.5 * kind.share * sums.iter().sum::<f64>()).sum()
    }

    /// Partial sums of squared residuals, per kind.
    fn squared(&self, network: &DeviceNetwork<B>, context: &Context<B>) -> Result<Vec<Vec<f64>>> {
        let squares = self.residuals(network).into_iter().map(squared::<B>).collect();
        transfer::fetch_all(squares, context)
    }

    fn root_means(&self, network: &DeviceNetwork<B>, context: &Context<B>) -> Result<[f64; 2]> {
        let read = self.squared(network, context)?;
        let mut sums = [0.0; 2];
        self.kinds.iter().zip(&read).for_each(|(kind, squares)| sums[kind.index] = squares.iter().sum());
        context.communicator.all_sum(&mut sums);
        Ok([0, 1].map(|index| (sums[index] / self.counts[index].max(1) as f64).sqrt()))
    }

    /// ∂I/∂(c, a), row-major (d + 1) × m; and I if `objective`, which takes more device calls. Device errors surface at
    /// the next `fetch`.
    fn slopes(
        &self,
        network: &DeviceNetwork<B>,
        objective: bool,
        context: &Context<B>,
    ) -> Result<(Vec<f64>, Option<f64>)> {
        let (residuals, DeviceNetwork { shape, weights }) = (self.residuals(network), network);
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
        let mut objective = [self.objective(&transfer::peek(squares, context)?)];
        context.communicator.all_sum(&mut objective);
        Ok((slopes, Some(objective[0])))
    }

    fn descend(
        &self,
        network: &DeviceNetwork<B>,
        [of_centres, of_widths]: [f64; 2],
        steps: usize,
        context: &Context<B>,
    ) -> Result<(Shape<B>, [f64; 2])> {
        let (mut network, mut before) = (network.clone(), None);
        let Shape { centres, widths } = network.shape.clone();
        let [mut widths, mut centres] = transfer::fetch([widths, centres], context)?;
        let (m, d) = (widths.len(), centres.len() / widths.len().max(1));
        for _ in 0..steps {
            context.go_on()?;
            let (slopes, objective) = self.slopes(&network, before.is_none(), context)?;
            before = before.or(objective);
            // Rounded to the device's floats, as on a single rank.
            for (c, slope) in centres.iter_mut().zip(&slopes) {
                *c = rounded::<B::FloatElem>(*c - of_centres * slope);
            }
            for (a, slope) in widths.iter_mut().zip(&slopes[d * m..]) {
                *a = rounded::<B::FloatElem>(*a * (-of_widths * *a * slope).exp());
            }
            network.shape = Shape {
                centres: primitive::<B, 2>(centres.clone(), [d, m], &context.device),
                widths: primitive::<B, 1>(widths.clone(), [m], &context.device),
            };
        }
        let mut after = [self.objective(&self.squared(&network, context)?)];
        context.communicator.all_sum(&mut after);
        let before = before.unwrap_or(after[0]);
        Ok((network.shape, [before, after[0]].map(rounded::<B::FloatElem>)))
    }

    fn conjugate(
        &self,
        network: &DeviceNetwork<B>,
        iterations: usize,
        (limit, partial): (&TimeLimit, bool),
        context: &Context<B>,
    ) -> Result<(FloatTensor<B>, Completion)> {
        let DeviceNetwork { shape, weights } = network;
        let [dims, neurons] = shape.centres.shape().dims();
        let extent = Extent { conditions: self.own, neurons, dims, steps: 0 };
        let keep = B::rbf_strategy(&extent, &context.device).conjugate == Way::Kept;
        let (mut matrices, mut first) = (Vec::new(), Vec::new());
        for kind in &self.kinds {
            let (matrix, residual) = if keep {
                let (matrix, residual) = B::rbf_matrix(&kind.rows, shape, weights.clone());
                (Some(matrix), residual)
            } else {
                (None, network.residual(&kind.rows))
            };
            matrices.push(matrix);
            first.push(B::rbf_transposed(&kind.rows, shape, residual));
        }
        let [mut weights] = transfer::fetch([weights.clone()], context)?;
        let mut normal_residual = self.total(first, neurons, context)?;
        normal_residual.iter_mut().for_each(|rho| *rho = -*rho);
        // Rounded as the device rounds it, so that products and direction agree.
        let mut direction: Vec<f64> = normal_residual.iter().map(|&it| rounded::<B::FloatElem>(it)).collect();
        let mut norm = dot(&normal_residual, &normal_residual);
        let mut ended = Completion::Complete;
        for iteration in 0..iterations {
            // Clocks differ between ranks: rank 0 decides.
            let flags = [context.observer.cancelled(), limit.has_expired()].map(u8::from);
            let [stop, late] = context.communicator.broadcast_value(flags).map(|word| word == 1);
            if stop || (late && (!partial || iteration == 0)) {
                return Err(Error::Cancelled);
            }
            if late {
                ended = Completion::CutShort;
                break;
            }
            let along = transfer::vector::<B>(&direction, &context.device);
            let product = |(kind, matrix): (&Kind<B>, &Option<FloatTensor<B>>)| {
                B::rbf_normal(&kind.rows, shape, matrix.clone(), along.clone())
            };
            let products = self.kinds.iter().zip(&matrices).map(product).collect();
            let product = self.total(products, neurons, context)?;
            let curvature = dot(&direction, &product);
            if norm > 0.0 && curvature > 0.0 {
                let length = norm / curvature;
                weights.iter_mut().zip(&direction).for_each(|(w, p)| *w += length * p);
                normal_residual.iter_mut().zip(&product).for_each(|(rho, product)| *rho -= length * product);
                let next = dot(&normal_residual, &normal_residual);
                let ratio = next / norm;
                let turned = direction.iter_mut().zip(&normal_residual);
                turned.for_each(|(p, rho)| *p = rounded::<B::FloatElem>(rho + ratio * *p));
                norm = next;
            }
        }
        B::finish(&context.device, transfer::PHASE)?;
        Ok((transfer::vector::<B>(&weights, &context.device), ended))
    }

    /// Σ share·sums over kinds and ranks, `count` numbers. Device errors surface at the next `fetch` or `finish`.
    fn total(&self, sums: Vec<FloatTensor<B>>, count: usize, context: &Context<B>) -> Result<Vec<f64>> {
        let parts = self.kinds.iter().zip(sums);
        let parts = parts.map(|(kind, sums)| scale::<B>(row::<B>(sums, count), kind.share));
        let none = || zeros::<B>([count].into(), &context.device);
        let total = parts.reduce(add::<B>).unwrap_or_else(none);
        Ok(widened(&all_sum_to_host(total, context, transfer::PHASE)?))
    }
}

/// A vector or matrix of `count` numbers as a vector.
fn row<B: RbfOps>(of: FloatTensor<B>, count: usize) -> FloatTensor<B> {
    if of.shape().num_dims() == 1 { of } else { reshape::<B>(of, [count].into()) }
}

/// `value` rounded to `E`.
fn rounded<E: Element>(value: f64) -> f64 {
    value.elem::<E>().elem()
}

/// Squares of a residual for the host to sum; long ones as partial sums of [`RUN`] squares, to shorten the transfer.
fn squared<B: RbfOps>(residual: FloatTensor<B>) -> FloatTensor<B> {
    let n = residual.shape()[0];
    let squares = multiply::<B>(residual.clone(), residual);
    let runs = n / RUN;
    if runs < MIN_RUNS {
        return squares;
    }
    // Pairwise: the same order on every rank, where Burn may autotune a reduction per device, and few roundings.
    let (whole, rest) = (0..runs * RUN, runs * RUN..n);
    let mut sums = reshape::<B>(slice::<B, 1>(squares.clone(), [whole]), [RUN, runs].into());
    let mut width = RUN;
    while width > 1 {
        width /= 2;
        let upper = slice::<B, 2>(sums.clone(), [width..2 * width, 0..runs]);
        sums = add::<B>(slice::<B, 2>(sums, [0..width, 0..runs]), upper);
    }
    let sums = reshape::<B>(sums, [runs].into());
    // Some devices have no empty tensors.
    if rest.is_empty() { sums } else { concatenate::<B>(vec![sums, slice::<B, 1>(squares, [rest])], 0) }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests;
