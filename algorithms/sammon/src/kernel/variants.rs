//! The paper's four variants: points or coordinates in rows; all pairs of a point summed by one unit, or each pair once,
//! added to both of its points by atomics.
//!
//! The upper triangle's linear index is folded into a rectangle (see [`firebox_backends::kernel::tiles`]): index k is
//! cell (k div W, k mod W) of rows of W = N or N − 1 pairs, so that finding (i, j) takes whole numbers only, exact for
//! any N that 32 bits can count.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn_cubecl::{CubeRuntime, FloatElement, kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::{
    adds_atomically, launch,
    tiles::{self, column_at, row_at},
};

use super::{
    pair::{Terms, add_pair},
    tile::inverse_of,
};
use crate::ops::Metric;

/// What a launch computes; known when the kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Plan {
    terms: Terms,
    metric: Metric,
    /// Source distances are stored: `source` is 1/δ, rows of n.
    stored: bool,
    /// A point's coordinates lie together, in sources, places and sums.
    rows: bool,
    /// Units of a cube.
    units: u32,
    /// The device adds these floats atomically.
    atomics: bool,
}

/// 1/δ of points i and j.
#[cube]
fn inverse_between<F: Float>(
    source: &Array<F>,
    i: u32,
    j: u32,
    first: u32,
    d: u32,
    n: u32,
    #[comptime] plan: Plan,
) -> F {
    if comptime!(plan.stored) {
        source[(i - first) as usize * n as usize + j as usize]
    } else {
        inverse_of::<F>(sum_between::<F>(source, i, j, d, n, plan), plan.metric)
    }
}

/// The sum over dimensions that δ is made from.
#[cube]
fn sum_between<F: Float>(source: &Array<F>, i: u32, j: u32, d: u32, n: u32, #[comptime] plan: Plan) -> F {
    let mut sum = F::new(0.0);
    for k in 0..d {
        let a = source[at(i, k, d, n, plan.rows)];
        let b = source[at(j, k, d, n, plan.rows)];
        sum += if comptime!(plan.metric == Metric::Manhattan) { (a - b).abs() } else { (a - b) * (a - b) };
    }
    sum
}

/// Where coordinate k of point i is among n points of `count` coordinates.
#[cube]
fn at(i: u32, k: u32, count: u32, n: u32, #[comptime] rows: bool) -> usize {
    if comptime!(rows) { i as usize * count as usize + k as usize } else { k as usize * n as usize + i as usize }
}

/// δ from 1/δ.
#[cube]
fn delta_from<F: Float>(inverse: F) -> F {
    select(inverse > F::new(0.0), F::new(1.0) / inverse, F::new(0.0))
}

/// Adds pair (i, j) to point i's sums.
#[cube]
fn add_to<F: Float>(
    sums: &mut Array<F>,
    inverse: F,
    multiplicity: F,
    places: &Array<F>,
    i: u32,
    j: u32,
    n: u32,
    power: F,
    #[comptime] plan: Plan,
) {
    let m = comptime!(plan.terms.m);
    let mut across = Array::<F>::new(comptime!(m as usize));
    #[unroll]
    for k in 0..m {
        across[k as usize] = places[at(i, k, m, n, plan.rows)] - places[at(j, k, m, n, plan.rows)];
    }
    add_pair::<F>(sums, 0u32, inverse, delta_from::<F>(inverse), multiplicity, &across, power, plan.terms);
}

/// One unit a point, all its pairs. With stored distances, the points `first`..`first` + `r`.
#[cube(launch_unchecked, address_type = "dynamic", fast_math = FastMath::all() - FastMath::NotNaN)]
fn full<F: Float + CubeElement>(
    source: &Array<F>,
    multiplicity: &Array<F>,
    places: &Array<F>,
    sums: &mut Array<F>,
    first: u32,
    r: u32,
    d: u32,
    n: u32,
    power: F,
    #[comptime] plan: Plan,
) {
    let count = comptime!(plan.terms.count());
    let unit = CUBE_POS as u32 * comptime!(plan.units) + UNIT_POS_X;
    if unit < r {
        let i = first + unit;
        let mut own = Array::<F>::new(comptime!(count as usize));
        #[unroll]
        for s in 0..count {
            own[s as usize] = F::new(0.0);
        }
        for j in 0..n {
            if i != j {
                let inverse = inverse_between::<F>(source, i, j, first, d, n, plan);
                add_to::<F>(&mut own, inverse, multiplicity[j as usize], places, i, j, n, power, plan);
            }
        }
        #[unroll]
        for s in 0..count {
            sums[at(i, s, count, n, plan.rows)] = own[comptime!(s as usize)];
        }
    }
}

/// Points i < j of the cell (`row`, `column`) of the folded upper triangle of n points, which is that of n − 1 tiles
/// with its diagonal; n for i where there is none.
#[cube]
fn unfold(row: u32, column: u32, n: u32) -> (u32, u32) {
    let side = n - 1;
    let j = column_at(column, row, side);
    (select(j < side, row_at(column, row, side), n), j + 1)
}

/// Adds to a float in memory as one step that nobody comes between.
#[cube]
fn add_atomically<F: Float>(sums: &Array<Atomic<F>>, at: usize, value: F) {
    sums[at].fetch_add(value);
}

/// The same where a device adds no floats atomically: compare and swap their bits until nobody came between.
#[cube]
fn add_by_swapping(sums: &Array<Atomic<u32>>, at: usize, value: f32) {
    let mut seen = sums[at].load();
    let mut done = false;
    while !done {
        let wanted = u32::reinterpret(f32::reinterpret(seen) + value);
        let found = sums[at].compare_exchange_weak(seen, wanted);
        done = found == seen;
        seen = found;
    }
}

/// One unit a pair: cell (`first_row` + y, `first_column` + x) of the folded triangle. With stored distances, pairs whose smaller point
/// is among `first`..`first` + `r` only.
#[cube(launch_unchecked, address_type = "dynamic", fast_math = FastMath::all() - FastMath::NotNaN)]
fn triangle<F: Float + CubeElement>(
    source: &Array<F>,
    multiplicity: &Array<F>,
    places: &Array<F>,
    sums: &Array<Atomic<F>>,
    bits: &Array<Atomic<u32>>,
    first_row: u32,
    first_column: u32,
    first: u32,
    r: u32,
    d: u32,
    n: u32,
    power: F,
    #[comptime] plan: Plan,
) {
    let m = comptime!(plan.terms.m);
    let column = first_column + CUBE_POS_X * comptime!(plan.units) + UNIT_POS_X;
    let row = first_row + CUBE_POS_Y;
    let side = n - 1;
    let even = side + side % 2;
    if column <= even && row < even / 2 {
        let (i, j) = unfold(row, column, n);
        if i < n && i >= first && i - first < r {
            let inverse = inverse_between::<F>(source, i, j, first, d, n, plan);
            let mut own = Array::<F>::new(comptime!((m + 1) as usize));
            #[unroll]
            for s in 0..comptime!(m + 1) {
                own[s as usize] = F::new(0.0);
            }
            add_to::<F>(&mut own, inverse, F::new(1.0), places, i, j, n, power, plan);
            let mu_i = multiplicity[i as usize];
            let mu_j = multiplicity[j as usize];
            #[unroll]
            for s in 0..comptime!(m + 1) {
                let value = own[comptime!(s as usize)];
                // The force on the other is the opposite; the stress is the same.
                let other = if comptime!(s < m) { F::new(0.0) - value } else { value };
                let at_i = at(i, s, m + 1, n, plan.rows);
                let at_j = at(j, s, m + 1, n, plan.rows);
                if comptime!(plan.atomics) {
                    add_atomically::<F>(sums, at_i, value * mu_j);
                    add_atomically::<F>(sums, at_j, other * mu_i);
                } else {
                    add_by_swapping(bits, at_i, f32::cast_from(value * mu_j));
                    add_by_swapping(bits, at_j, f32::cast_from(other * mu_i));
                }
            }
        }
    }
}

#[cube(launch_unchecked)]
fn clear<F: Float + CubeElement>(sums: &mut Array<F>, len: u32) {
    let i = CUBE_POS as u32 * CUBE_DIM_X + UNIT_POS_X;
    if i < len {
        sums[i as usize] = F::new(0.0);
    }
}

/// Source distances as the variants read them.
#[allow(clippy::large_enum_variant)] // There is one at a time.
pub(super) enum Origin<R: CubeRuntime> {
    /// Features in the variant's layout, `[n, d]` or `[d, n]`.
    Features { points: CubeTensor<R>, d: usize, metric: Metric },
    /// Blocks of rows of 1/δ.
    Stored(Vec<CubeTensor<R>>),
}

/// Whether the device can add the floats of triangle variants: by itself, or by swapping bits, which 64-bit floats
/// have no atomics for.
pub(super) fn can_add<R: CubeRuntime, F: FloatElement>(device: &R::Device) -> bool {
    adds_atomically::<R, F>(device) || size_of::<F>() == 4
}

/// How a variant is launched.
#[derive(Clone, Copy)]
pub(super) struct Style {
    /// Each pair once.
    pub(super) triangle: bool,
    /// A point's coordinates lie together.
    pub(super) rows: bool,
    /// Units of a cube.
    pub(super) units: u32,
}

/// Points first, or coordinates first, as the style has it, from `[count, n]`.
pub(super) fn laid_out<R: CubeRuntime>(tensor: CubeTensor<R>, rows: bool) -> CubeTensor<R> {
    if rows { into_contiguous(burn_cubecl::ops::permute(tensor, &[1, 0])) } else { launch::dense(tensor) }
}

/// Sums over all pairs, `[n, terms]` with points first and `[1, terms, n]` else, for `places` in the style's layout.
pub(super) fn sums<R: CubeRuntime, F: FloatElement>(
    origin: &Origin<R>,
    multiplicity: &CubeTensor<R>,
    places: &CubeTensor<R>,
    n: usize,
    power: f64,
    terms: Terms,
    style: Style,
) -> CubeTensor<R> {
    let client = places.client.clone();
    let count = terms.count() as usize;
    let shape = if style.rows { vec![n, count] } else { vec![1, count, n] };
    let sums = launch::output(places, shape, places.dtype);
    let units = launch::units_within(&client, style.units);
    let atomics = style.triangle && adds_atomically::<R, F>(&places.device);
    if style.triangle {
        let len = n * count;
        let units = launch::units_within(&client, 256);
        // SAFETY: guarded against the length.
        unsafe {
            clear::launch_unchecked::<F, R>(
                &client,
                launch::cubes_for(&client, len, units),
                CubeDim::new_1d(units),
                sums.clone().into_array_arg(),
                len as u32,
            );
        }
    }
    let run = |source: &CubeTensor<R>, first: usize, r: usize, d: usize, metric: Metric, stored: bool| {
        let plan = Plan { terms, metric, stored, rows: style.rows, units, atomics };
        let address = launch::address(&[source, &sums]);
        // SAFETY: points are guarded against n, rows of stored distances against r.
        unsafe {
            if !style.triangle {
                full::launch_unchecked::<F, R>(
                    &client,
                    launch::cubes_for(&client, r, units),
                    CubeDim::new_1d(units),
                    address,
                    source.clone().into_array_arg(),
                    multiplicity.clone().into_array_arg(),
                    places.clone().into_array_arg(),
                    sums.clone().into_array_arg(),
                    first as u32,
                    r as u32,
                    d as u32,
                    n as u32,
                    F::from_elem(power),
                    plan,
                );
                return;
            }
            let (width, height) = tiles::triangle(n as u32 - 1);
            // No device has fewer cubes along an axis.
            let most = u32::from(u16::MAX);
            let columns = width.div_ceil(units);
            let parts = (0..height).step_by(most as usize);
            let parts = parts.flat_map(|row| (0..columns).step_by(most as usize).map(move |cube| (row, cube)));
            for (row, cube) in parts {
                triangle::launch_unchecked::<F, R>(
                    &client,
                    CubeCount::Static(most.min(columns - cube), most.min(height - row), 1),
                    CubeDim::new_1d(units),
                    address,
                    source.clone().into_array_arg(),
                    multiplicity.clone().into_array_arg(),
                    places.clone().into_array_arg(),
                    sums.clone().into_array_arg(),
                    sums.clone().into_array_arg(),
                    row,
                    cube * units,
                    first as u32,
                    r as u32,
                    d as u32,
                    n as u32,
                    F::from_elem(power),
                    plan,
                );
            }
        }
    };
    match origin {
        Origin::Features { points, d, metric } => run(points, 0, n, *d, *metric, false),
        Origin::Stored(blocks) => {
            let mut first = 0;
            for block in blocks {
                let [r, _] = block.meta.shape().dims();
                run(block, first, r, 0, Metric::Euclidean, true);
                first += r;
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(row: u32, column: u32, n: u32) -> Option<(u32, u32)> {
        Some(unfold(row, column, n)).filter(|(i, _)| *i < n)
    }

    #[test]
    fn every_pair_comes_up_once() {
        for n in 2..60 {
            let (columns, rows) = tiles::triangle(n - 1);
            let mut seen = std::collections::HashSet::new();
            for row in 0..rows {
                for column in 0..columns {
                    if let Some((i, j)) = pair(row, column, n) {
                        assert!(i < j && j < n, "{n}: {i} {j}");
                        assert!(seen.insert((i, j)), "{n}: {i} {j} twice");
                    }
                }
            }
            assert_eq!(seen.len() as u32, n * (n - 1) / 2);
        }
    }

    /// At the largest sizes: the corners, and what stands on both sides of the fold, are what whole numbers say.
    #[test]
    fn corners_are_exact_at_four_million() {
        for n in [4_000_000u32, 3_999_999] {
            let (columns, rows) = tiles::triangle(n - 1);
            let even = columns - 1;
            for row in [0, 1, 2047, 2048, rows / 2, rows - 2, rows - 1] {
                for column in [0, 1, row.max(1) - 1, row, row + 1, row + 2, columns / 2, columns - 2, columns - 1] {
                    let found = pair(row, column, n);
                    let (i, j) = if column > row {
                        (u64::from(row), u64::from(column))
                    } else {
                        (u64::from(even - 1 - row), u64::from(even - column))
                    };
                    let wanted = (j < u64::from(n)).then_some((i as u32, j as u32));
                    assert_eq!(found, wanted, "{n}: {row} {column}");
                    assert!(found.is_none_or(|(i, j)| i < j && j < n));
                }
            }
            // All cells hold pairs but, where a row was added to make the number of rows even, that row's.
            let cells = u64::from(rows) * u64::from(columns);
            let pairs = u64::from(n) * u64::from(n - 1) / 2;
            assert_eq!(cells - pairs, if (n - 1) % 2 == 0 { 0 } else { u64::from(n) });
        }
    }
}
