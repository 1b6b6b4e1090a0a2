//! Stress of an embedding in f64 on the host.

use firebox_core::{Result, Session, watch::Watch};
use rayon::prelude::*;

use super::nondimensional::{Prepared, PreparedSource};

/// Maximum multiply–adds.
const BUDGET: f64 = 2e10;

/// Stress of an embedding, and its parts.
pub(crate) struct ExactStress {
    /// E, eq. (1).
    pub(crate) total: f64,
    /// Kruskal's stress-1.
    pub(crate) stress_1: f64,
    /// Contribution of each point to E.
    pub(crate) points: Vec<f64>,
}

/// Stress of the embedding `x` `[m, n]` with weights δ^(−power); `None` if it takes too many operations.
pub(crate) fn exact_stress(
    prepared: &Prepared,
    x: &[f64],
    power: f64,
    session: &Session,
) -> Result<Option<ExactStress>> {
    let n = prepared.len();
    let m = x.len() / n;
    let width = match &prepared.source {
        PreparedSource::Features { d, .. } => *d,
        PreparedSource::Distances(_) => 1,
    };
    if (n as f64).powi(2) * (width + m) as f64 > BUDGET {
        return Ok(None);
    }
    let sums = session.watched(|| {
        let watch = Watch::current();
        // Σ_j μ_j·(w·(δ − d)², w·δ², (δ − d)², d²) of point i.
        let row = |i: usize| {
            let mut sums = [0.0; 4];
            for j in (0..n).filter(|&j| j != i && !watch.stopped()) {
                let delta = prepared.delta(i, j);
                if delta > 0.0 {
                    let squares = (0..m).map(|k| (x[k * n + i] - x[k * n + j]).powi(2)).sum::<f64>();
                    let residual = (delta - squares.sqrt()).powi(2);
                    let weight = if power == 1.0 { delta.recip() } else { delta.powf(-power) };
                    let terms = [weight * residual, weight * delta * delta, residual, squares];
                    sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += prepared.counts[j] * term);
                }
            }
            sums
        };
        (0..n).into_par_iter().map(row).collect::<Vec<[f64; 4]>>()
    })?;
    let total = |k: usize| sums.iter().zip(&prepared.counts).map(|(sums, count)| count * sums[k]).sum::<f64>();
    let scale = total(1);
    Ok(Some(ExactStress {
        total: total(0) / scale,
        stress_1: (total(2) / total(3)).sqrt(),
        points: sums.iter().map(|sums| sums[0] / scale).collect(),
    }))
}
