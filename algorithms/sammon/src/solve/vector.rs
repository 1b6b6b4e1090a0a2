//! Parallel operations on long vectors in f64, with the same bits on any number of threads.

use rayon::prelude::*;

/// Numbers per task; partial sums are added in the order of these chunks.
pub(crate) const CHUNK: usize = 1 << 14;

/// Dot product Σ aᵢ·bᵢ.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    products(a, b).iter().sum()
}

/// Length of [`products`] of two vectors of `count` numbers.
pub(crate) fn chunks(count: usize) -> usize {
    count.div_ceil(CHUNK).max(1)
}

/// Partial dot products, one per chunk.
pub(crate) fn products(a: &[f64], b: &[f64]) -> Vec<f64> {
    let part = |(a, b): (&[f64], &[f64])| -> f64 {
        // Eight partial sums vectorize: the compiler may not reorder a single one.
        let (a8, a1) = a.as_chunks::<8>();
        let (b8, b1) = b.as_chunks::<8>();
        let mut sums = [0.0; 8];
        for (a, b) in a8.iter().zip(b8) {
            for l in 0..8 {
                sums[l] += a[l] * b[l];
            }
        }
        sums.iter().sum::<f64>() + a1.iter().zip(b1).map(|(a, b)| a * b).sum::<f64>()
    };
    if a.len() <= CHUNK {
        return vec![part((a, b))];
    }
    a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK)).map(part).collect()
}

/// a ← a + s·b.
pub(crate) fn add(a: &mut [f64], s: f64, b: &[f64]) {
    a.par_chunks_mut(CHUNK).zip(b.par_chunks(CHUNK)).for_each(|(a, b)| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += s * b);
    });
}

/// a − b.
pub(crate) fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.par_iter().with_min_len(CHUNK).zip(b).map(|(a, b)| a - b).collect()
}

/// a ← s·b·a, elementwise.
pub(crate) fn scale_by(a: &mut [f64], s: f64, b: &[f64]) {
    a.par_chunks_mut(CHUNK).zip(b.par_chunks(CHUNK)).for_each(|(a, b)| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a *= s * b);
    });
}

/// Transposes row-major n × `d` to d × n, eight columns at a time, which are one cache line of a row.
pub(crate) fn transposed(values: &[f64], d: usize) -> Vec<f64> {
    const COLUMNS: usize = 8;
    let n = values.len() / d.max(1);
    let mut out = vec![0.0; n * d];
    out.par_chunks_mut((COLUMNS * n).max(1)).enumerate().for_each(|(group, columns)| {
        let first = group * COLUMNS;
        for (i, row) in values.chunks_exact(d).enumerate() {
            for (column, value) in columns.chunks_exact_mut(n).zip(&row[first..]) {
                column[i] = *value;
            }
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_transposed() {
        for (n, d) in [(1, 1), (3, 8), (5, 9), (2, 17), (4, 3), (0, 2)] {
            let values: Vec<f64> = (0..n * d).map(|at| at as f64).collect();
            let found = transposed(&values, d);
            assert!((0..n * d).all(|at| found[at % d * n + at / d] == values[at]), "{n} × {d}");
        }
    }

    #[test]
    fn products_have_the_same_bits_on_any_number_of_threads() {
        let a: Vec<f64> = (0..100_003).map(|i| (f64::from(i) * 0.37).sin()).collect();
        let b: Vec<f64> = (0..100_003).map(|i| (f64::from(i) * 0.11).cos()).collect();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| dot(&a, &b)).to_bits()
        };
        assert_eq!(on(1), on(3));
        let plain: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
        assert!((dot(&a, &b) - plain).abs() < 1e-9);
        assert_eq!(dot(&[], &[]), 0.0);
        for count in [0, 1, CHUNK, CHUNK + 1, 100_003] {
            assert_eq!(products(&a[..count], &b[..count]).len(), chunks(count));
        }
    }
}
