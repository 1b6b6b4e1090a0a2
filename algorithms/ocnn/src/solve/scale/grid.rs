//! Points scaled to a common range, so that later steps neither overflow nor underflow, nor lose digits to an offset.

/// Grid steps in one unit of a [`Frame`]: the extent of the points is 2⁵¹ to 2⁵² steps.
const STEPS: f64 = (1_u64 << 51) as f64;

/// Bits per coordinate of the Morton code that orders points; 5 × 24 fit a u128.
const CURVE_BITS: u32 = 24;

/// x · 2^exponent, in two factors, since 2^exponent may be out of range.
fn scaled(x: f64, exponent: i32) -> f64 {
    let half = exponent / 2;
    x * 2.0_f64.powi(half) * 2.0_f64.powi(exponent - half)
}

/// Translation by the lowest corner and scaling by a power of two to an extent below 2.
pub(super) struct Frame {
    low: Vec<f64>,
    exponent: i32,
    /// ½ where the extent itself would overflow, else 1.
    shrink: f64,
    /// The largest magnitude of an input coordinate, in units of the frame; its rounding error is that of differences.
    reach: f64,
    /// Relative rounding error of input coordinates.
    rounding: f64,
}

impl Frame {
    /// The frame of `points`, row-major with d columns, finite, and rounded with relative error `rounding`; `None` if all
    /// are equal.
    pub(super) fn around(points: &[f64], d: usize, rounding: f64) -> Option<Self> {
        let mut low = vec![f64::INFINITY; d];
        let mut high = vec![f64::NEG_INFINITY; d];
        let mut reach = 0.0_f64;
        for row in points.chunks_exact(d) {
            for ((x, low), high) in row.iter().zip(&mut low).zip(&mut high) {
                *low = low.min(*x);
                *high = high.max(*x);
                reach = reach.max(x.abs());
            }
        }
        let shrink = if reach > f64::MAX / 4.0 { 0.5 } else { 1.0 };
        let extent = low.iter().zip(&high).map(|(low, high)| high * shrink - low * shrink).fold(0.0, f64::max);
        (extent > 0.0).then(|| {
            let exponent = extent.log2().floor() as i32;
            Self { low, exponent, shrink, reach: scaled(reach * shrink, -exponent), rounding }
        })
    }

    /// The points in units of the frame, each coordinate in [0, 2].
    pub(super) fn units<'a>(&'a self, points: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        let low = self.low.iter().cycle();
        points.iter().zip(low).map(|(x, low)| scaled(x * self.shrink - low * self.shrink, -self.exponent))
    }

    /// A length in units of the frame, in the unit of the points.
    pub(super) fn length(&self, units: f64) -> f64 {
        scaled(units, self.exponent) / self.shrink
    }
}

/// Points rounded to whole steps of 2⁻⁵¹ units, equal ones merged, sorted independently of the input's order.
///
/// Rounding moves a point by at most 2⁻⁵² of the extent, the last bit of an f64 of that size. The scale is a *mean*
/// length over a connected graph that spans the extent, hence at least about extent/n, so its relative error is a few
/// n·2⁻⁵² at most.
pub(super) struct Grid<const N: usize> {
    /// N − 1 coordinates per row, whole numbers in [0, 2⁵²]; the last entry is 0.
    pub(super) points: Vec<[f64; N]>,
    /// Number of points merged with another.
    pub(super) merged: usize,
    /// Thickness in steps up to which points count as lying on a flat.
    thickness: f64,
}

impl<const N: usize> Grid<N> {
    pub(super) fn new(points: &[f64], frame: &Frame) -> Self {
        let units: Vec<f64> = frame.units(points).collect();
        let mut keyed: Vec<_> = units
            .chunks_exact(N - 1)
            .map(|row| {
                let mut point = [0.0; N];
                for (step, unit) in point.iter_mut().zip(row) {
                    *step = (unit * STEPS).round();
                }
                (insertion_key(&point), point)
            })
            .collect();
        keyed.sort_unstable_by(|(a, p), (b, q)| {
            a.cmp(b).then_with(|| p.iter().map(|x| x.to_bits()).cmp(q.iter().map(|x| x.to_bits())))
        });
        keyed.dedup_by(|(_, p), (_, q)| p == q);
        let merged = units.len() / (N - 1) - keyed.len();
        // 10⁻¹⁰ of the extent, plus the resolution of the input at its offset.
        let thickness = STEPS * (1e-10 + 16.0 * frame.rounding * frame.reach);
        Self { points: keyed.into_iter().map(|(_, point)| point).collect(), merged, thickness }
    }

    /// A length in steps, in units of the frame.
    pub(super) fn units(steps: f64) -> f64 {
        steps / STEPS
    }

    /// N points that span a volume, each the farthest from the flat through the previous ones; `Err` with the dimension
    /// of the flat that contains all points.
    pub(super) fn corners(&self) -> Result<[u32; N], usize> {
        let mut corners = [0; N];
        let Some(&start) = self.points.first() else {
            return Err(0);
        };
        let mut origin = start;
        let mut basis: Vec<[f64; N]> = Vec::with_capacity(N);
        for (rank, corner) in corners.iter_mut().enumerate() {
            let mut farthest = (0, 0.0, [0.0; N]);
            for (index, point) in self.points.iter().enumerate() {
                let mut rest: [f64; N] = std::array::from_fn(|axis| point[axis] - origin[axis]);
                for direction in &basis {
                    let along = dot(&rest, direction);
                    for axis in 0..N {
                        rest[axis] -= along * direction[axis];
                    }
                }
                let square = dot(&rest, &rest);
                if square > farthest.1 {
                    farthest = (index, square, rest);
                }
            }
            let (index, square, rest) = farthest;
            *corner = index as u32;
            if rank == 0 {
                origin = self.points[index];
                continue;
            }
            let length = square.sqrt();
            if length <= self.thickness {
                return Err(rank - 1);
            }
            basis.push(rest.map(|x| x / length));
        }
        Ok(corners)
    }
}

fn dot<const N: usize>(a: &[f64; N], b: &[f64; N]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Sort key of the insertion order: random rounds of fourfold size, which keep the number of temporary simplices low
/// (Amenta, Choi and Rote, "Incremental constructions con BRIO", 2003), in Morton order within a round, so that
/// consecutive points are near. The round is drawn by a hash of the coordinates: the same points give the same
/// triangulation in any order.
fn insertion_key<const N: usize>(point: &[f64; N]) -> (u32, u128) {
    let mut hash = 0_u64;
    let mut curve = 0;
    for x in point {
        // The finaliser of MurmurHash3, after each coordinate.
        hash = (hash ^ x.to_bits()).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^= hash >> 33;
    }
    for bit in (0..CURVE_BITS).rev() {
        for x in &point[..N - 1] {
            // The highest bit is 2⁵¹; a coordinate of 2⁵² is clamped below it.
            let step = (*x as u64).min((1 << 52) - 1);
            curve = curve << 1 | u128::from(step >> (52 - CURVE_BITS + bit) & 1);
        }
    }
    (u32::MAX - hash.trailing_zeros() / 2, curve)
}
