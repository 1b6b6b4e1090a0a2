//! The network of all pairs, synchronisation and components, in plain loops.

/// Couplings J, n × n: eq. (1) times m_j for i ≠ j, and J_ii = m_i − 1, plus 1 with `self_coupling`.
///
/// `a` is in the unit of the points. Weights below `smallest`, the smallest normal number of the precision under test,
/// count as 0.
pub fn couplings(points: &[f64], multiplicity: &[f64], a: f64, self_coupling: bool, smallest: f64) -> Vec<f64> {
    let n = multiplicity.len();
    let mut j_matrix = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..n {
            let mut square = 0.0;
            for row in points.chunks(n) {
                square += (row[i] - row[j]) * (row[i] - row[j]);
            }
            let weight = (-square / (2.0 * a * a)).exp();
            j_matrix[i * n + j] = if i == j {
                multiplicity[i] - 1.0 + f64::from(u8::from(self_coupling))
            } else if weight < smallest {
                0.0
            } else {
                multiplicity[j] * weight
            };
        }
    }
    j_matrix
}

/// Strengths C, eq. (4), from n × n couplings.
pub fn strengths(j_matrix: &[f64], n: usize) -> Vec<f64> {
    j_matrix.chunks(n.max(1)).map(|row| row.iter().sum()).collect()
}

/// f(x), eq. (3).
pub fn map(x: f64) -> f64 {
    1.0 - 2.0 * x * x
}

/// One step, eq. (2). A neuron with C_i below `smallest` is isolated and follows its own map.
pub fn step(j_matrix: &[f64], strengths: &[f64], x: &[f64], smallest: f64) -> Vec<f64> {
    let n = x.len();
    let mut next = vec![0.0; n];
    for i in 0..n {
        if strengths[i] < smallest {
            next[i] = map(x[i]);
        } else {
            let mut sum = 0.0;
            for j in 0..n {
                sum += j_matrix[i * n + j] * map(x[j]);
            }
            next[i] = sum / strengths[i];
        }
    }
    next
}

/// Signs of increase of a (P+1) × n trajectory as ⌈P/32⌉ × n words: bit t % 32 of word t / 32 is x_i(t+1) > x_i(t).
pub fn increase_bits(trajectory: &[f64], n: usize) -> Vec<u32> {
    let steps = trajectory.len().checked_div(n).unwrap_or(0).saturating_sub(1);
    let mut words = vec![0; steps.div_ceil(32) * n];
    for t in 0..steps {
        for i in 0..n {
            if trajectory[(t + 1) * n + i] > trajectory[t * n + i] {
                words[t / 32 * n + i] |= 1 << (t % 32);
            }
        }
    }
    words
}

/// Phase counts, n × n: the number of steps of a (P+1) × n trajectory at which i and j both increase or both do not.
pub fn phase_counts(trajectory: &[f64], n: usize) -> Vec<u32> {
    let mut counts = vec![0; n * n];
    for pair in trajectory.windows(2 * n.max(1)).step_by(n.max(1)) {
        for i in 0..n {
            for j in 0..n {
                let (i_increased, j_increased) = (pair[n + i] > pair[i], pair[n + j] > pair[j]);
                counts[i * n + j] += u32::from(i_increased == j_increased);
            }
        }
    }
    counts
}

/// Fragmentary counts, n × n: the number of steps of P × n outputs with |x_i − x_j| < ε.
pub fn fragmentary_counts(outputs: &[f64], n: usize, eps: f64) -> Vec<u32> {
    let mut counts = vec![0; n * n];
    for x in outputs.chunks(n.max(1)) {
        for i in 0..n {
            for j in 0..n {
                counts[i * n + j] += u32::from((x[i] - x[j]).abs() < eps);
            }
        }
    }
    counts
}

/// The smallest index in each neuron's component of the graph of pairs with S_ij > `limit`, by flood fill.
pub fn components(s_matrix: &[u32], n: usize, limit: u32) -> Vec<u32> {
    let mut labels = vec![u32::MAX; n];
    for start in 0..n {
        let mut stack = if labels[start] == u32::MAX { vec![start] } else { vec![] };
        while let Some(i) = stack.pop() {
            labels[i] = start as u32;
            for j in 0..n {
                if s_matrix[i * n + j] > limit && labels[j] == u32::MAX {
                    stack.push(j);
                }
            }
        }
    }
    labels
}
