//! Sparse directions, and their nearest neighbours by an inverted index.

use std::{
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use firebox_core::{Context, Result, data::SparseRows, memory, watch::Watch};
use rayon::prelude::*;

use super::{
    metric_space::{no_resolution, other_columns},
    neighbour_lists::{Neighbour, NeighbourLists},
};
use crate::{
    ops::OcnnOps,
    solve::{batching, neurons::all_equal},
};

/// Number of products above which a search is announced.
const MANY_PRODUCTS: u128 = 100_000_000_000;
/// Tasks per thread into which a batch of rows is divided.
const TASKS: usize = 16;

/// Distinct sparse rows of unit length, searched by the cosine distance ½|a − b|².
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SparseSpace {
    pub(crate) rows: SparseRows,
}

impl SparseSpace {
    /// The distinct directions of `rows`, their multiplicities, and the direction of each row. Directions are in
    /// lexicographic order of their columns and values, so that results do not depend on the order of the rows.
    ///
    /// # Errors
    /// If a row is zero, all directions are equal, or there is not enough memory.
    pub(super) fn new(rows: SparseRows) -> Result<(Self, Vec<u32>, Vec<u32>)> {
        let rows = rows.into_directions()?;
        let n = rows.rows();
        let key = |i: u32| {
            let (columns, values) = rows.row(i as usize);
            // Directions have no zeros, so equal numbers have equal bits.
            (columns, values.iter().map(|value| value.to_bits()))
        };
        let compare = |&i: &u32, &j: &u32| {
            let ((columns, values), (other_columns, other_values)) = (key(i), key(j));
            columns.cmp(other_columns).then_with(|| values.cmp(other_values))
        };
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.par_sort_unstable_by(|i, j| compare(i, j).then(i.cmp(j)));
        let (mut first, mut counts, mut of_row) = (Vec::new(), Vec::new(), vec![0; n]);
        for equal in order.chunk_by(|i, j| compare(i, j).is_eq()) {
            equal.iter().for_each(|&i| of_row[i as usize] = counts.len() as u32);
            first.push(equal[0]);
            counts.push(equal.len() as u32);
        }
        if n > 1 && first.len() == 1 {
            return Err(all_equal(n));
        }
        Ok((Self { rows: rows.select(&first)? }, counts, of_row))
    }

    /// The exactly k nearest of each row among those with a common column, fewer if there are not as many; nearest first,
    /// by index among equals. Ranks share the rows.
    ///
    /// # Errors
    /// If there is not enough memory, different rows have distance 0 in f64, or the observer cancels.
    pub(super) fn nearest<B: OcnnOps>(&self, k: usize, context: &Context<B>) -> Result<NeighbourLists> {
        self.search(Queries { rows: &self.rows, own: true }, k, context)
    }

    /// The k nearest of new rows, as [`SparseSpace::nearest`] but for equal rows, which have distance 0.
    ///
    /// # Errors
    /// If the columns differ, a row is zero, there is not enough memory, or the observer cancels.
    pub(super) fn nearest_to<B: OcnnOps>(
        &self,
        new: SparseRows,
        k: usize,
        context: &Context<B>,
    ) -> Result<NeighbourLists> {
        let rows = new_directions(new, self.rows.columns())?;
        self.search(Queries { rows: &rows, own: false }, k, context)
    }

    /// Sums the products of all pairs by columns: Σ f·g of them for columns with f nonzero values in the rows and g in the
    /// queries, in memory linear in the nonzero values. A column of nearly all rows costs N².
    fn search<B: OcnnOps>(&self, queries: Queries, k: usize, context: &Context<B>) -> Result<NeighbourLists> {
        let (n, ranks) = (queries.rows.rows(), &*context.communicator);
        let search = Search::new(&self.rows, queries, k)?;
        let products = search.products();
        if products > MANY_PRODUCTS {
            context.observer.notice(&format!(
                "comparing the rows takes {:.1e} products: leave out columns that are nonzero in most rows, such as the \
                 commonest words",
                products as f64
            ));
        }
        let part = ranks.share().of(n);
        let session = context.rank_local();
        let (mut lengths, mut indices, mut distances) = (Vec::new(), Vec::new(), Vec::new());
        let few = TASKS * rayon::current_num_threads();
        let (mut first, mut batch) = (part.start, few);
        while first < part.end {
            let start = Instant::now();
            let end = part.end.min(first + batch);
            for row in search.run(first..end)? {
                if queries.own && row.first().is_some_and(|&(_, distance)| distance == 0.0) {
                    return Err(no_resolution());
                }
                lengths.push(row.len() as u32);
                indices.extend(row.iter().map(|&(j, _)| j));
                distances.extend(row.iter().map(|&(_, distance)| distance));
            }
            session.checkpoint("neighbours", (end - part.start) as u64, part.len() as u64)?;
            batch = batching::next_batch(batch, end - first, start).max(few);
            first = end;
        }
        let mut starts = vec![0];
        starts.extend(ranks.all_gather(&lengths).into_iter().scan(0, |end, length| {
            *end += length as usize;
            Some(*end)
        }));
        if ranks.size() > 1 {
            (indices, distances) = (ranks.all_gather(&indices), ranks.all_gather(&distances));
        }
        Ok(NeighbourLists { starts, indices, distances })
    }
}

/// The directions of new rows, to be compared with rows of `columns` columns.
///
/// # Errors
/// If the columns differ or a row is zero.
pub(crate) fn new_directions(new: SparseRows, columns: usize) -> Result<SparseRows> {
    if new.columns() != columns {
        return Err(other_columns(new.columns(), columns));
    }
    new.into_directions()
}

/// The rows with a nonzero value in each column: the `p`-th column that any row has is at `starts[p]..starts[p + 1]`.
struct InvertedIndex {
    /// Columns that any row has, ascending.
    columns: Vec<u32>,
    starts: Vec<usize>,
    rows: Vec<u32>,
    values: Vec<f64>,
}

impl InvertedIndex {
    fn new(rows: &SparseRows) -> Result<Self> {
        const PURPOSE: &str = "the inverted index of the sparse rows";
        let count = rows.nonzeros();
        let mut all = memory::with_capacity::<(u32, u32, f64)>(count, PURPOSE)?;
        for i in 0..rows.rows() {
            let (columns, values) = rows.row(i);
            all.extend(columns.iter().zip(values).map(|(&column, &value)| (column, i as u32, value)));
        }
        // Each pair of column and row occurs once.
        all.par_sort_unstable_by_key(|&(column, row, _)| (column, row));
        let mut index = Self {
            columns: Vec::new(),
            starts: vec![0],
            rows: memory::with_capacity(count, PURPOSE)?,
            values: memory::with_capacity(count, PURPOSE)?,
        };
        for same in all.chunk_by(|a, b| a.0 == b.0) {
            index.columns.push(same[0].0);
            index.rows.extend(same.iter().map(|&(_, row, _)| row));
            index.values.extend(same.iter().map(|&(.., value)| value));
            index.starts.push(index.rows.len());
        }
        Ok(index)
    }

    /// The place of a column's values; empty if no row has one.
    fn place(&self, column: u32) -> Range<usize> {
        let found = self.columns.binary_search(&column);
        found.map_or(0..0, |at| self.starts[at]..self.starts[at + 1])
    }

    /// The rows with a nonzero value in a column, and the values.
    fn column(&self, column: u32) -> impl Iterator<Item = (&u32, &f64)> {
        let place = self.place(column);
        self.rows[place.clone()].iter().zip(&self.values[place])
    }
}

/// Sum of no products. Another sum is never −0, if its products are not.
const UNTOUCHED: f64 = -0.0;

/// Sums of one row's products with all others, which are untouched between uses.
struct Products {
    sums: Vec<f64>,
    touched: Vec<u32>,
}

/// The rows whose neighbours are searched.
#[derive(Clone, Copy)]
struct Queries<'a> {
    rows: &'a SparseRows,
    /// True if they are the indexed rows, which are no neighbours of themselves.
    own: bool,
}

/// A search of the nearest neighbours.
struct Search<'a> {
    rows: &'a SparseRows,
    queries: Queries<'a>,
    index: InvertedIndex,
    k: usize,
    /// Bound of the rounding error by which the order of cosines may differ from that of distances.
    rounding: f64,
    /// Those that no thread uses.
    idle: Mutex<Vec<Products>>,
}

impl<'a> Search<'a> {
    fn new(rows: &'a SparseRows, queries: Queries<'a>, k: usize) -> Result<Self> {
        let longest = |rows: &SparseRows| (0..rows.rows()).map(|i| rows.row(i).0.len()).max().unwrap_or(0);
        let longest = longest(rows).max(longest(queries.rows));
        // Norms, cosines and distances are sums of up to 2·longest terms.
        let rounding = 8.0 * (longest + 8) as f64 * f64::EPSILON;
        // A sum per row in each thread, and the row's number.
        memory::admit(12 * (rows.rows() * rayon::current_num_threads()) as u128, "the sums of products")?;
        Ok(Self { rows, queries, index: InvertedIndex::new(rows)?, k, rounding, idle: Mutex::default() })
    }

    /// Number of products that the search sums.
    fn products(&self) -> u128 {
        let rows = self.queries.rows;
        let of = |i: usize| rows.row(i).0.iter().map(|&column| self.index.place(column).len() as u128).sum::<u128>();
        (0..rows.rows()).into_par_iter().map(of).sum()
    }

    /// The neighbours of consecutive rows.
    fn run(&self, rows: Range<usize>) -> Result<Vec<Vec<Neighbour>>> {
        let watch = Watch::current();
        let length = rows.len().div_ceil(TASKS * rayon::current_num_threads()).max(1);
        let some = |from: usize| {
            let new = || Products { sums: vec![UNTOUCHED; self.rows.rows()], touched: Vec::new() };
            let mut products = self.idle().pop().unwrap_or_else(new);
            let some = from..rows.end.min(from + length);
            let found = some.map_while(|i| (!watch.stopped()).then(|| self.nearest(i, &mut products))).collect();
            self.idle().push(products);
            found
        };
        let firsts: Vec<usize> = rows.clone().step_by(length).collect();
        let found: Vec<Vec<Vec<Neighbour>>> = firsts.into_par_iter().map(some).collect();
        watch.go_on()?;
        Ok(found.into_iter().flatten().collect())
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Products>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The k nearest of the rows that have a column of query i, nearest first.
    fn nearest(&self, i: usize, Products { sums, touched }: &mut Products) -> Vec<Neighbour> {
        let (columns, values) = self.queries.rows.row(i);
        for (&column, value) in columns.iter().zip(values) {
            for (&j, other) in self.index.column(column) {
                let sum = &mut sums[j as usize];
                if sum.to_bits() == UNTOUCHED.to_bits() {
                    touched.push(j);
                }
                // Adding 0 turns −0, from underflow, into 0.
                *sum += value * other + 0.0;
            }
        }
        let mut nearest = Vec::new();
        let (mut least, mut most) = (f64::NEG_INFINITY, 4 * self.k);
        for j in touched.drain(..) {
            let cosine = std::mem::replace(&mut sums[j as usize], UNTOUCHED);
            if cosine >= least && !(self.queries.own && j as usize == i) {
                nearest.push((j, cosine));
                if nearest.len() > most {
                    least = self.drop_distant(&mut nearest);
                    most = most.max(2 * nearest.len());
                }
            }
        }
        self.drop_distant(&mut nearest);
        // 1 − cos is imprecise for nearly equal rows.
        nearest.iter_mut().for_each(|(j, length)| *length = self.distance(i, *j as usize));
        nearest.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        nearest.truncate(self.k);
        nearest
    }

    /// Drops rows whose cosine is so small that k others are nearer, and returns the bound.
    fn drop_distant(&self, cosines: &mut Vec<(u32, f64)>) -> f64 {
        if self.k == 0 || cosines.len() <= self.k {
            return f64::NEG_INFINITY;
        }
        let (_, &mut (_, last), _) = cosines.select_nth_unstable_by(self.k - 1, |a, b| b.1.total_cmp(&a.1));
        let least = last - self.rounding;
        cosines.retain(|&(_, cosine)| cosine >= least);
        least
    }

    /// ½|a − b|² of query i and row j, to the bits of the dense rows' distance.
    fn distance(&self, i: usize, j: usize) -> f64 {
        let ((mut a, mut x), (mut b, mut y)) = (self.queries.rows.row(i), self.rows.row(j));
        let mut sum = 0.0;
        loop {
            let (column, other) = (a.first().copied(), b.first().copied());
            let Some(next) = column.into_iter().chain(other).min() else { break };
            let mut difference = 0.0;
            if column == Some(next) {
                difference = x[0];
                (a, x) = (&a[1..], &x[1..]);
            }
            if other == Some(next) {
                difference -= y[0];
                (b, y) = (&b[1..], &y[1..]);
            }
            sum += difference * difference;
        }
        let length = f64::sqrt(sum);
        0.5 * length * length
    }
}

#[cfg(test)]
pub(crate) mod tests;
