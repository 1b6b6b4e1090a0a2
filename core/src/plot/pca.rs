//! Projection on the first three principal components.

use crate::data::points::Points;
use crate::random::Random;

/// Maximum size of the random sample that determines the axes.
const MAX_SAMPLE: usize = 4000;
/// Stream of [`Random`].
const STREAM: u64 = u64::from_be_bytes(*b"plot-pca");

/// Projects all points: see [`project`].
pub(crate) fn principal_components(points: &Points) -> (Vec<[f64; 3]>, [f64; 3]) {
    project(points, &(0..points.rows).collect::<Vec<_>>())
}

/// Projects the points of `rows`, which are finite, on three components. Returns their coordinates and each component's
/// share of the variance.
///
/// Orthogonal iteration on the centred, unscaled coordinates.
pub(super) fn project(points: &Points, rows: &[usize]) -> (Vec<[f64; 3]>, [f64; 3]) {
    let d = points.columns;
    let mut random = Random::new(0, STREAM);
    let sample: Vec<usize> = if rows.len() > MAX_SAMPLE {
        (0..MAX_SAMPLE).map(|_| rows[random.below(rows.len())]).collect()
    } else {
        rows.to_vec()
    };
    // A common scale avoids overflow of the squares.
    let largest = sample.iter().flat_map(|&row| points.row(row)).fold(f64::MIN_POSITIVE, |most, v| most.max(v.abs()));
    let n = sample.len().max(1) as f64;
    let mut mean = vec![0.0; d];
    for &row in &sample {
        mean.iter_mut().zip(points.row(row)).for_each(|(m, v)| *m += v / largest / n);
    }
    let centred = |row: usize| points.row(row).iter().zip(&mean).map(|(v, m)| v / largest - m);
    let mut axes: [Vec<f64>; 3] = std::array::from_fn(|_| (0..d).map(|_| random.normal()).collect());
    let mut variances = [0.0; 3];
    let mut total = 0.0;
    for _ in 0..100 {
        orthonormalise(&mut axes);
        let mut next = [vec![0.0; d], vec![0.0; d], vec![0.0; d]];
        total = 0.0;
        for &row in &sample {
            let x: Vec<f64> = centred(row).collect();
            total += dot(&x, &x) / n;
            for (axis, next) in axes.iter().zip(&mut next) {
                let along = dot(&x, axis) / n;
                next.iter_mut().zip(&x).for_each(|(next, x)| *next += along * x);
            }
        }
        let found: [f64; 3] = std::array::from_fn(|at| dot(&axes[at], &next[at]));
        let change = found.iter().zip(variances).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        variances = found;
        if change <= 1e-7 * total {
            break;
        }
        axes = next;
    }
    orthonormalise(&mut axes);
    // The sign of a component is arbitrary: the largest loading is made positive.
    for axis in &mut axes {
        let strongest = axis.iter().fold(0.0f64, |most, &v| if v.abs() > most.abs() { v } else { most });
        if strongest < 0.0 {
            axis.iter_mut().for_each(|v| *v = -*v);
        }
    }
    let along = |row: &usize| {
        let x: Vec<f64> = centred(*row).collect();
        std::array::from_fn(|at| largest * dot(&x, &axes[at]))
    };
    let shares = variances.map(|variance| if total > 0.0 { variance / total } else { 0.0 });
    (rows.iter().map(along).collect(), shares)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Gram-Schmidt orthonormalisation, twice for stability. A vanishing axis is replaced by a unit vector orthogonal to the
/// previous ones.
fn orthonormalise(axes: &mut [Vec<f64>; 3]) {
    for at in 0..3 {
        for unit in 0.. {
            let (before, rest) = axes.split_at_mut(at);
            let Some(axis) = rest.first_mut() else { return };
            for _ in 0..2 {
                for other in before.iter() {
                    let along = dot(axis, other);
                    axis.iter_mut().zip(other).for_each(|(a, o)| *a -= along * o);
                }
            }
            let length = dot(axis, axis).sqrt();
            if length > 1e-150 || unit >= axis.len() {
                axis.iter_mut().for_each(|a| *a /= length.max(f64::MIN_POSITIVE));
                break;
            }
            axis.iter_mut().enumerate().for_each(|(i, a)| *a = f64::from(u8::from(i == unit)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_have_the_variances_of_the_sample() {
        let mut random = Random::new(3, 1);
        let mut values = Vec::new();
        for _ in 0..3000 {
            let [a, b, c] = [10.0, 5.0, 2.0].map(|wide| wide * random.normal());
            // Directions (1, 1, 0, 0, 0)/√2, (1, −1, 0, 0, 0)/√2 and the fourth axis.
            let half = 0.5f64.sqrt();
            values.extend([half * (a + b) + 100.0, half * (a - b), 0.1 * random.normal(), c, 7.0]);
        }
        let points = Points::new(values, 5).unwrap();
        let rows: Vec<usize> = (0..points.rows).collect();
        let (found, shares) = project(&points, &rows);
        for (at, deviation) in [10.0, 5.0, 2.0].into_iter().enumerate() {
            let variance = found.iter().map(|p| p[at] * p[at]).sum::<f64>() / 3000.0;
            assert!((variance.sqrt() / deviation - 1.0).abs() < 0.06, "{at}: {variance}");
            assert!((shares[at] - deviation * deviation / 129.0).abs() < 0.02, "{at}: {shares:?}");
        }
    }

    #[test]
    fn degenerate_and_extreme_points_are_projected() {
        let points = Points::new(vec![3.0; 40], 4).unwrap();
        let (found, shares) = project(&points, &[0, 1, 2]);
        assert!(found.iter().flatten().all(|v| v.abs() < 1e-9));
        assert!(shares.iter().all(|v| *v < 1e-9), "{shares:?}");
        let points = Points::new(vec![1e300, -1e300, 0.0, 1e300, 0.0, 0.0, 0.0, 1e300], 4).unwrap();
        assert!(project(&points, &[0, 1]).0.iter().flatten().all(|v| v.is_finite()));
    }
}
