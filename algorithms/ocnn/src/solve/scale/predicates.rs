//! Exact signs of the two determinants of a Delaunay triangulation, in 2 to 5 dimensions.
//!
//! Points lie on an integer grid ([`Grid`](super::grid::Grid)): coordinates are whole numbers below 2⁵² held in f64, so
//! their differences are exact. A determinant is first computed in f64 with a bound on its rounding error (the filter
//! of Shewchuk, "Adaptive precision floating-point arithmetic and fast robust geometric predicates", 1997); when the
//! bound does not decide the sign, in 384-bit integers. Both expand by minors over subsets of columns, which needs
//! m·2^(m−1) products and, unlike elimination, no division.

use std::cmp::Ordering;

/// Subsets of at most 6 columns.
const SUBSETS: usize = 1 << 6;

/// A square matrix of order up to N, row by row; each entry an exact whole number up to 2⁵², but for the last row of
/// [`in_sphere`].
type Matrix<const N: usize> = [[f64; N]; N];

/// The sign of the volume of the simplex: det[p₁ − p₀, …, p_d − p₀], d = N − 1.
/// A point's first N − 1 coordinates count.
pub(super) fn orientation<const N: usize>(simplex: &[[f64; N]; N]) -> Ordering {
    let mut matrix = [[0.0; N]; N];
    for (axis, row) in matrix.iter_mut().enumerate().take(N - 1) {
        for (column, entry) in row.iter_mut().enumerate().take(N - 1) {
            *entry = simplex[column + 1][axis] - simplex[0][axis];
        }
    }
    if let Some(sign) = filtered_sign::<N>(&matrix, N - 1) {
        return sign;
    }
    exact_sign::<N>(&matrix, N - 1, None)
}

/// `Greater` if `point` lies strictly inside the sphere through the vertices of a positively oriented simplex, `Equal`
/// if on it.
///
/// The sign of det[pₖ − p, |pₖ − p|²], k = 0…d, times (−1)^d.
pub(super) fn in_sphere<const N: usize>(simplex: &[[f64; N]; N], point: &[f64; N]) -> Ordering {
    let mut matrix = [[0.0; N]; N];
    for (column, vertex) in simplex.iter().enumerate() {
        let mut square = 0.0;
        for axis in 0..N - 1 {
            let difference = vertex[axis] - point[axis];
            matrix[axis][column] = difference;
            square += difference * difference;
        }
        matrix[N - 1][column] = square;
    }
    let sign = filtered_sign::<N>(&matrix, N).unwrap_or_else(|| {
        let mut squares = [0_i128; N];
        for (column, square) in squares.iter_mut().enumerate() {
            *square = (0..N - 1).map(|axis| matrix[axis][column] as i128).map(|x| x * x).sum();
        }
        exact_sign::<N>(&matrix, N, Some(&squares))
    });
    if (N - 1).is_multiple_of(2) { sign } else { sign.reverse() }
}

/// The sign of the leading determinant of order m, if f64 decides it.
#[inline]
fn filtered_sign<const N: usize>(matrix: &Matrix<N>, m: usize) -> Option<Ordering> {
    let mut minor = [0.0_f64; SUBSETS];
    let mut bound = [0.0_f64; SUBSETS];
    minor[0] = 1.0;
    bound[0] = 1.0;
    for set in 1..1_usize << m {
        let row = &matrix[set.count_ones() as usize - 1];
        let (mut sum, mut sum_bound) = (0.0, 0.0);
        // From the highest column down: the sign of a term is (−1)^(columns of the set above it).
        let mut sign = 1.0;
        for column in (0..m).rev() {
            if set & (1 << column) != 0 {
                let rest = set ^ (1 << column);
                sum += sign * row[column] * minor[rest];
                sum_bound += row[column].abs() * bound[rest];
                sign = -sign;
            }
        }
        minor[set] = sum;
        bound[set] = sum_bound;
    }
    let full = (1 << m) - 1;
    // Each of the m levels rounds one product and at most m sums, and a squared length rounds at most m + 1 times:
    // together under m² + 2m + 1 roundings of ε/2 each. The factor 2 allows for the rounding of the bound itself.
    let error = ((m + 1) * (m + 1)) as f64 * f64::EPSILON * bound[full];
    (minor[full].abs() > error).then(|| minor[full].total_cmp(&0.0))
}

/// The sign of the leading determinant of order m in integers; `squares` replaces the last row, which is rounded.
#[cold]
fn exact_sign<const N: usize>(matrix: &Matrix<N>, m: usize, squares: Option<&[i128; N]>) -> Ordering {
    let mut minor = [Wide::ZERO; SUBSETS];
    minor[0] = Wide::ONE;
    for set in 1..1_usize << m {
        let level = set.count_ones() as usize - 1;
        let mut sum = Wide::ZERO;
        let mut negative = false;
        for column in (0..m).rev() {
            if set & (1 << column) != 0 {
                let rest = minor[set ^ (1 << column)];
                let term = match squares {
                    Some(squares) if level == m - 1 => {
                        // A squared length is below 5·2¹⁰⁴: two factors of at most 54 bits.
                        let high = (squares[column] >> 54) as i64;
                        let low = (squares[column] & ((1 << 54) - 1)) as i64;
                        rest.times(high).times(1 << 54).plus(rest.times(low))
                    }
                    _ => rest.times(matrix[level][column] as i64),
                };
                sum = sum.plus(if negative { term.negated() } else { term });
                negative = !negative;
            }
        }
        minor[set] = sum;
    }
    minor[(1 << m) - 1].sign()
}

/// A 384-bit integer in two's complement, lowest word first.
///
/// Sufficient for the largest case, [`in_sphere`] in 5 dimensions: at most 6! products of five differences below 2⁵²
/// and one squared length below 5·2¹⁰⁴, so below 2³⁷⁶.
#[derive(Clone, Copy)]
struct Wide([u64; 6]);

impl Wide {
    const ZERO: Self = Self([0; 6]);
    const ONE: Self = Self([1, 0, 0, 0, 0, 0]);

    fn plus(self, other: Self) -> Self {
        let mut sum = [0; 6];
        let mut carry = 0_u128;
        for ((word, a), b) in sum.iter_mut().zip(self.0).zip(other.0) {
            carry += u128::from(a) + u128::from(b);
            *word = carry as u64;
            carry >>= 64;
        }
        Self(sum)
    }

    fn negated(self) -> Self {
        Self(self.0.map(|word| !word)).plus(Self::ONE)
    }

    /// The product modulo 2³⁸⁴, correct in two's complement for either sign of `self`.
    fn times(self, factor: i64) -> Self {
        let magnitude = u128::from(factor.unsigned_abs());
        let mut product = [0; 6];
        let mut carry = 0_u128;
        for (word, a) in product.iter_mut().zip(self.0) {
            carry += u128::from(a) * magnitude;
            *word = carry as u64;
            carry >>= 64;
        }
        let product = Self(product);
        if factor < 0 { product.negated() } else { product }
    }

    fn sign(self) -> Ordering {
        if self.0 == [0; 6] {
            Ordering::Equal
        } else if self.0[5] >> 63 == 1 {
            Ordering::Less
        } else {
            Ordering::Greater
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_simplex_is_positive_and_contains_its_centre() {
        fn check<const N: usize>() {
            let mut simplex = [[0.0; N]; N];
            for axis in 0..N - 1 {
                simplex[axis + 1][axis] = 8.0;
            }
            assert_eq!(orientation(&simplex), Ordering::Greater, "N = {N}");
            assert_eq!(in_sphere(&simplex, &[1.0; N]), Ordering::Greater, "N = {N}");
            assert_eq!(in_sphere(&simplex, &[8.0; N]), Ordering::Equal, "N = {N}: the opposite corner of the cube");
            assert_eq!(in_sphere(&simplex, &[9.0; N]), Ordering::Less, "N = {N}");
            simplex.swap(0, 1);
            assert_eq!(orientation(&simplex), Ordering::Less, "N = {N}");
        }
        check::<3>();
        check::<4>();
        check::<5>();
        check::<6>();
    }

    /// One grid step off a sphere or plane as wide as the grid is below the resolution of f64, so integers must decide.
    #[test]
    fn one_step_decides_on_the_widest_grid() {
        fn check<const N: usize>() {
            let wide = (1_u64 << 52) as f64 - 2.0;
            let mut simplex = [[0.0; N]; N];
            for axis in 0..N - 1 {
                simplex[axis + 1][axis] = wide;
            }
            let mut point = [wide; N];
            assert_eq!(in_sphere(&simplex, &point), Ordering::Equal, "N = {N}");
            point[0] = wide - 1.0;
            assert_eq!(in_sphere(&simplex, &point), Ordering::Greater, "N = {N}");
            point[0] = wide + 1.0;
            assert_eq!(in_sphere(&simplex, &point), Ordering::Less, "N = {N}");
            // The plane through the origin and N − 2 axes' ends, and a point one step off it.
            let mut flat = simplex;
            flat[N - 1] = [wide / 2.0; N];
            flat[N - 1][N - 2] = 0.0;
            assert_eq!(orientation(&flat), Ordering::Equal, "N = {N}");
            flat[N - 1][N - 2] = 1.0;
            assert_eq!(orientation(&flat), Ordering::Greater, "N = {N}");
        }
        check::<3>();
        check::<4>();
        check::<5>();
        check::<6>();
    }

    #[test]
    fn wide_numbers_agree_with_i128() {
        let values = [0_i64, 1, -1, 3, -7, (1 << 52) - 1, -(1 << 52), i64::MAX, i64::MIN];
        for a in values {
            for b in values {
                let product = Wide::ONE.times(a).times(b);
                let exact = i128::from(a) * i128::from(b);
                assert_eq!(product.sign(), exact.cmp(&0), "{a} × {b}");
                let low = u128::from(product.0[0]) | (u128::from(product.0[1]) << 64);
                assert_eq!(low as i128, exact, "{a} × {b}");
                let back = product.plus(Wide::ONE.times(a).times(b).negated());
                assert_eq!(back.sign(), Ordering::Equal, "{a} × {b}");
            }
        }
    }
}
