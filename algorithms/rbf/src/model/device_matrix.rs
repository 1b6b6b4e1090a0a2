//! The weighted collocation matrix A as products on devices, its rows distributed over ranks.

use std::ops::Range;

use firebox_core::{Context, Result};

use super::time_limit::TimeLimit;
use crate::{
    ops::{
        RbfOps,
        transfer::{fetch_all, rows, shape, vector},
    },
    solve::{lsqr::Operator, trust_region::norm},
    types::{Conditions, Rows, Shape, System},
};

/// Rows of A of one kind of conditions.
struct Kind<B: RbfOps> {
    /// 0 inside, 1 on the boundary.
    index: usize,
    /// Targets are 0, so that the residual is the product A·w.
    rows: Rows<B>,
    /// Range of these rows among all, the interior ones first.
    range: Range<usize>,
    /// Factor of each row: 1/√N or √(λ/K).
    share: f64,
}

/// This rank's rows of A as an [`Operator`]. Vectors over rows hold this rank's part; vectors over neurons are the same
/// on all ranks.
pub(crate) struct DeviceMatrix<'a, B: RbfOps> {
    kinds: Vec<Kind<B>>,
    shape: Shape<B>,
    neurons: usize,
    /// Applies until it has expired and the solver has been informed.
    limit: Option<TimeLimit>,
    context: &'a Context<B>,
}

impl<'a, B: RbfOps> DeviceMatrix<'a, B> {
    pub(crate) fn new(
        system: &System,
        centres: &[f64],
        widths: &[f64],
        limit: TimeLimit,
        context: &'a Context<B>,
    ) -> Self {
        let share = context.communicator.share();
        let kind = |(index, conditions, first, factor): (usize, &Conditions, usize, f64)| {
            let (n, own) = (conditions.len(), share.of(conditions.len()));
            let rows = || {
                let plain = Conditions { target: vec![0.0; own.len()], ..conditions.part(share) };
                rows::<B>(&plain, &context.device)
            };
            let range = first + own.start..first + own.end;
            // Some devices have no empty tensors.
            (!own.is_empty()).then(|| Kind { index, rows: rows(), range, share: (factor / n as f64).sqrt() })
        };
        let System { interior, boundary, penalty } = system;
        let kinds = [(0, interior, 0, 1.0), (1, boundary, interior.len(), *penalty)];
        Self {
            kinds: kinds.into_iter().filter_map(kind).collect(),
            shape: shape(centres, widths, interior.dims, &context.device),
            neurons: widths.len(),
            limit: Some(limit),
            context,
        }
    }

    /// Removes the time limit from all further products.
    pub(crate) fn lift_limit(&mut self) {
        self.limit = None;
    }

    fn watched<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        match &self.limit {
            Some(limit) => limit.watched(self.context, work),
            None => self.context.watched(work)?,
        }
    }

    /// This rank's part of a vector over all rows.
    pub(crate) fn own(&self, all: &[f64]) -> Vec<f64> {
        self.kinds.iter().flat_map(|kind| &all[kind.range.clone()]).copied().collect()
    }

    /// Sums of squares of a vector over rows, over all ranks: interior and boundary.
    pub(crate) fn squares(&self, mut own: &[f64]) -> [f64; 2] {
        let mut sums = [0.0; 2];
        for kind in &self.kinds {
            let (these, rest) = own.split_at(kind.range.len());
            (sums[kind.index], own) = (these.iter().map(|it| it * it).sum(), rest);
        }
        self.context.communicator.all_sum(&mut sums);
        sums
    }
}

impl<B: RbfOps> Operator for DeviceMatrix<'_, B> {
    fn apply(&mut self, x: &[f64]) -> Result<Vec<f64>> {
        self.context.go_on()?;
        let product = |kind: &Kind<B>| B::rbf_residual(&kind.rows, &self.shape, vector::<B>(x, &self.context.device));
        let products = self.watched(|| fetch_all(self.kinds.iter().map(product).collect(), self.context))?;
        let scaled = products.into_iter().zip(&self.kinds);
        Ok(scaled.flat_map(|(product, kind)| product.into_iter().map(move |it| kind.share * it)).collect())
    }

    fn transposed(&mut self, mut y: &[f64]) -> Result<Vec<f64>> {
        let products = self.watched(|| {
            let mut products = Vec::new();
            for kind in &self.kinds {
                let (values, rest) = y.split_at(kind.range.len());
                let values: Vec<f64> = values.iter().map(|it| kind.share * it).collect();
                let values = vector::<B>(&values, &self.context.device);
                products.push(B::rbf_transposed(&kind.rows, &self.shape, values));
                y = rest;
            }
            fetch_all(products, self.context)
        });
        let mut products = products?.into_iter();
        let mut sum = products.next().unwrap_or_else(|| vec![0.0; self.neurons]);
        products.for_each(|product| sum.iter_mut().zip(product).for_each(|(sum, it)| *sum += it));
        self.context.communicator.all_sum(&mut sum);
        Ok(sum)
    }

    fn length(&self, y: &[f64]) -> f64 {
        let (own, ranks) = (norm(y.iter().copied()), &*self.context.communicator);
        if ranks.size() == 1 { own } else { norm(ranks.all_gather(&[own]).into_iter()) }
    }

    fn out_of_time(&mut self) -> bool {
        let over = self.limit.is_some_and(|limit| limit.has_expired());
        let over = self.agreed(over || self.limit.is_none()) && !self.context.cancelled();
        if over {
            self.limit = None;
        }
        over
    }

    fn agreed(&self, done: bool) -> bool {
        self.context.communicator.broadcast_value(u8::from(done)) == 1
    }
}
