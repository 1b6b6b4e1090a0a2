//! The paper's four variants: point-major or dimension-major; all pairs of a point summed by one unit, or each pair
//! computed once and added to both of its points by atomics.
//!
//! The upper triangle is folded into a rectangle (see [`firebox_backends::kernel::tiles`]): index k is cell (k div W, k
//! mod W) of rows of W = N or N − 1 pairs, so that (i, j) follows in integer arithmetic, exact for any 32-bit N.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::{
    launch, supports_atomic_add,
    tiles::{self, column_at, row_at},
};

use super::{
    pair::{Terms, add_pair},
    tile::inverse_of,
};
use crate::types::Metric;

/// Compile-time parameters of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct KernelConfig {
    terms: Terms,
    metric: Metric,
    /// `source` is stored 1/δ in rows of n, not features.
    stored: bool,
    /// Source, embedding and sums are point-major.
    rows: bool,
    /// Units per cube.
    units: u32,
    /// The device has atomic addition of these floats.
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
    #[comptime] config: KernelConfig,
) -> F {
    if comptime!(config.stored) {
        source[(i - first) as usize * n as usize + j as usize]
    } else {
        inverse_of::<F>(sum_between::<F>(source, i, j, d, n, config), config.metric)
    }
}

/// The sum over dimensions that δ is computed from.
#[cube]
fn sum_between<F: Float>(source: &Array<F>, i: u32, j: u32, d: u32, n: u32, #[comptime] config: KernelConfig) -> F {
    let mut sum = F::new(0.0);
    for k in 0..d {
        let a = source[at(i, k, d, n, config.rows)];
        let b = source[at(j, k, d, n, config.rows)];
        sum += if comptime!(config.metric == Metric::Manhattan) { (a - b).abs() } else { (a - b) * (a - b) };
    }
    sum
}

/// Index of coordinate k of point i among n points of `count` coordinates.
#[cube]
fn at(i: u32, k: u32, count: u32, n: u32, #[comptime] rows: bool) -> usize {
    if comptime!(rows) { i as usize * count as usize + k as usize } else { k as usize * n as usize + i as usize }
}

/// δ from 1/δ.
#[cube]
fn delta_from<F: Float>(inverse: F) -> F {
    select(inverse > F::new(0.0), F::new(1.0) / inverse, F::new(0.0))
}

/// Adds the terms of pair (i, j) to the sums of point i.
#[cube]
fn add_to<F: Float>(
    sums: &mut Array<F>,
    inverse: F,
    multiplicity: F,
    embedding: &Array<F>,
    i: u32,
    j: u32,
    n: u32,
    power: F,
    #[comptime] config: KernelConfig,
) {
    let m = comptime!(config.terms.m);
    let mut difference = Array::<F>::new(comptime!(m as usize));
    #[unroll]
    for k in 0..m {
        difference[k as usize] = embedding[at(i, k, m, n, config.rows)] - embedding[at(j, k, m, n, config.rows)];
    }
    add_pair::<F>(sums, 0u32, inverse, delta_from::<F>(inverse), multiplicity, &difference, power, config.terms);
}

/// One unit per point sums all its pairs. With stored distances, for the points `first`..`first` + `r`.
#[cube(launch_unchecked, address_type = "dynamic", fast_math = FastMath::all() - FastMath::NotNaN)]
fn full<F: Float + CubeElement>(
    source: &Array<F>,
    multiplicity: &Array<F>,
    embedding: &Array<F>,
    sums: &mut Array<F>,
    first: u32,
    r: u32,
    d: u32,
    n: u32,
    power: F,
    #[comptime] config: KernelConfig,
) {
    let count = comptime!(config.terms.count());
    let unit = CUBE_POS as u32 * comptime!(config.units) + UNIT_POS_X;
    if unit < r {
        let i = first + unit;
        let mut own = Array::<F>::new(comptime!(count as usize));
        #[unroll]
        for s in 0..count {
            own[s as usize] = F::new(0.0);
        }
        for j in 0..n {
            if i != j {
                let inverse = inverse_between::<F>(source, i, j, first, d, n, config);
                add_to::<F>(&mut own, inverse, multiplicity[j as usize], embedding, i, j, n, power, config);
            }
        }
        #[unroll]
        for s in 0..count {
            sums[at(i, s, count, n, config.rows)] = own[comptime!(s as usize)];
        }
    }
}

/// Points i < j of cell (`row`, `column`) of the folded upper triangle of n points, which is that of n − 1 tiles with
/// its diagonal; i = n if the cell is empty.
#[cube]
fn unfold(row: u32, column: u32, n: u32) -> (u32, u32) {
    let side = n - 1;
    let j = column_at(column, row, side);
    (select(j < side, row_at(column, row, side), n), j + 1)
}

/// Adds to a float by an atomic addition.
#[cube]
fn add_atomically<F: Float>(sums: &Array<Atomic<F>>, at: usize, value: F) {
    sums[at].fetch_add(value);
}

/// Adds to a float by compare-and-swap of its bits, for devices without atomic addition of floats.
#[cube]
fn add_by_swapping(sums: &Array<Atomic<u32>>, at: usize, value: f32) {
    let mut seen = sums[at].load();
    let mut done = false;
    while !done {
        let expected = u32::reinterpret(f32::reinterpret(seen) + value);
        let found = sums[at].compare_exchange_weak(seen, expected);
        done = found == seen;
        seen = found;
    }
}

/// One unit per pair: cell (`first_row` + y, `first_column` + x) of the folded triangle. With stored distances, only
/// pairs whose smaller point is in `first`..`first` + `r`.
#[cube(launch_unchecked, address_type = "dynamic", fast_math = FastMath::all() - FastMath::NotNaN)]
fn triangle<F: Float + CubeElement>(
    source: &Array<F>,
    multiplicity: &Array<F>,
    embedding: &Array<F>,
    sums: &Array<Atomic<F>>,
    bits: &Array<Atomic<u32>>,
    first_row: u32,
    first_column: u32,
    first: u32,
    r: u32,
    d: u32,
    n: u32,
    power: F,
    #[comptime] config: KernelConfig,
) {
    let m = comptime!(config.terms.m);
    let column = first_column + CUBE_POS_X * comptime!(config.units) + UNIT_POS_X;
    let row = first_row + CUBE_POS_Y;
    let side = n - 1;
    let even = side + side % 2;
    if column <= even && row < even / 2 {
        let (i, j) = unfold(row, column, n);
        if i < n && i >= first && i - first < r {
            let inverse = inverse_between::<F>(source, i, j, first, d, n, config);
            let mut own = Array::<F>::new(comptime!((m + 1) as usize));
            #[unroll]
            for s in 0..comptime!(m + 1) {
                own[s as usize] = F::new(0.0);
            }
            add_to::<F>(&mut own, inverse, F::new(1.0), embedding, i, j, n, power, config);
            let mu_i = multiplicity[i as usize];
            let mu_j = multiplicity[j as usize];
            #[unroll]
            for s in 0..comptime!(m + 1) {
                let value = own[comptime!(s as usize)];
                // Forces are antisymmetric, stress is symmetric.
                let other = if comptime!(s < m) { F::new(0.0) - value } else { value };
                let at_i = at(i, s, m + 1, n, config.rows);
                let at_j = at(j, s, m + 1, n, config.rows);
                if comptime!(config.atomics) {
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

/// Source distances in the layout of the variants.
#[allow(clippy::large_enum_variant)] // Only one exists at a time.
pub(super) enum VariantSource<R: CubeRuntime> {
    /// Features in the variant's layout, `[n, d]` or `[d, n]`.
    Features { points: CubeTensor<R>, d: usize, metric: Metric },
    /// Blocks of rows of 1/δ.
    Stored(Vec<CubeTensor<R>>),
}

/// Returns true if the device supports the triangle variants: by atomic addition, or by compare-and-swap, which exists
/// for 32 bits only.
pub(super) fn can_add<R: CubeRuntime, F: FloatElement>(device: &R::Device) -> bool {
    supports_atomic_add::<R, F>(device) || size_of::<F>() == 4
}

/// Layout and launch parameters of a variant.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// Each pair is computed once.
    pub(super) triangle: bool,
    /// The layout is point-major.
    pub(super) rows: bool,
    /// Units per cube.
    pub(super) units: u32,
}

/// Converts `[count, n]` to point-major layout, or keeps it dimension-major.
pub(super) fn to_layout<R: CubeRuntime>(tensor: CubeTensor<R>, rows: bool) -> CubeTensor<R> {
    if rows { launch::dense(burn_cubecl::ops::permute(tensor, &[1, 0])) } else { launch::dense(tensor) }
}

/// Sums over all pairs, point-major `[n, terms]` or dimension-major `[1, terms, n]`, for `embedding` in the same
/// layout.
pub(super) fn sums<R: CubeRuntime, F: FloatElement>(
    source: &VariantSource<R>,
    multiplicity: &CubeTensor<R>,
    embedding: &CubeTensor<R>,
    n: usize,
    power: f64,
    terms: Terms,
    layout: Layout,
) -> CubeTensor<R> {
    let client = embedding.client.clone();
    let count = terms.count() as usize;
    let shape = if layout.rows { vec![n, count] } else { vec![1, count, n] };
    let sums = launch::output(embedding, shape, embedding.dtype);
    let units = launch::units_within(&client, layout.units);
    let atomics = layout.triangle && supports_atomic_add::<R, F>(&embedding.device);
    if layout.triangle {
        let len = n * count;
        let units = launch::units_within(&client, 256);
        // SAFETY: elements are guarded against the length.
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
        let config = KernelConfig { terms, metric, stored, rows: layout.rows, units, atomics };
        let address = launch::address(&[source, &sums]);
        // SAFETY: points are guarded against n, rows of stored distances against r.
        unsafe {
            if !layout.triangle {
                full::launch_unchecked::<F, R>(
                    &client,
                    launch::cubes_for(&client, r, units),
                    CubeDim::new_1d(units),
                    address,
                    source.clone().into_array_arg(),
                    multiplicity.clone().into_array_arg(),
                    embedding.clone().into_array_arg(),
                    sums.clone().into_array_arg(),
                    first as u32,
                    r as u32,
                    d as u32,
                    n as u32,
                    F::from_elem(power),
                    config,
                );
                return;
            }
            let (width, height) = tiles::triangle(n as u32 - 1);
            // Every device supports this many cubes along an axis.
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
                    embedding.clone().into_array_arg(),
                    sums.clone().into_array_arg(),
                    sums.clone().into_array_arg(),
                    row,
                    cube * units,
                    first as u32,
                    r as u32,
                    d as u32,
                    n as u32,
                    F::from_elem(power),
                    config,
                );
            }
        }
    };
    match source {
        VariantSource::Features { points, d, metric } => run(points, 0, n, *d, *metric, false),
        VariantSource::Stored(blocks) => {
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
    fn each_pair_occurs_once() {
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

    /// Compares the corners and both sides of the fold with 64-bit integer arithmetic at the largest sizes.
    #[test]
    fn unfolding_is_exact_at_four_million_points() {
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
                    let expected = (j < u64::from(n)).then_some((i as u32, j as u32));
                    assert_eq!(found, expected, "{n}: {row} {column}");
                    assert!(found.is_none_or(|(i, j)| i < j && j < n));
                }
            }
            // All cells hold pairs, except those of a row that was added to make the number of rows even.
            let cells = u64::from(rows) * u64::from(columns);
            let pairs = u64::from(n) * u64::from(n - 1) / 2;
            assert_eq!(cells - pairs, if (n - 1) % 2 == 0 { 0 } else { u64::from(n) });
        }
    }
}
