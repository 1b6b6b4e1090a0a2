//! Comparison with expected results, and their conversion.

/// Every third neuron, in descending order.
pub(super) fn some_rows(n: usize) -> Vec<u32> {
    (0..n as u32).rev().step_by(3).collect()
}

/// Bit rows of the links, counts above `limit`.
pub(super) fn links(counts: &[u32], n: usize, limit: usize, rows: &[u32]) -> Vec<u32> {
    let width = n.div_ceil(32);
    let mut words = vec![0; rows.len() * width];
    for (r, &i) in rows.iter().enumerate() {
        for j in (0..n).filter(|&j| j != i as usize && counts[i as usize * n + j] as usize > limit) {
            words[r * width + j / 32] |= 1 << (j % 32);
        }
    }
    words
}

pub(super) fn sum(a: &[u32], b: &[u32]) -> Vec<u32> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// The transpose of a row-major matrix with `columns` columns.
pub(super) fn transposed<T: Copy>(values: &[T], columns: usize) -> Vec<T> {
    (0..columns).flat_map(|column| values.iter().skip(column).step_by(columns).copied()).collect()
}

pub(super) fn check_shape<const D: usize>(found: [usize; D], wanted: [usize; D]) -> Result<(), String> {
    if found == wanted { Ok(()) } else { Err(format!("shape {found:?}, not {wanted:?}")) }
}

/// Checks equality.
pub(super) fn check_equal(found: &[u32], wanted: &[u32]) -> Result<(), String> {
    let differ = found.iter().zip(wanted).filter(|(a, b)| a != b).count();
    match found.iter().zip(wanted).position(|(a, b)| a != b) {
        _ if found.len() != wanted.len() => Err(format!("{} values, not {}", found.len(), wanted.len())),
        Some(k) => {
            Err(format!("{differ} of {} differ, first [{k}]: {:#x}, not {:#x}", found.len(), found[k], wanted[k]))
        }
        None => Ok(()),
    }
}

/// Checks |found − wanted| ≤ allowed, element by element.
pub(super) fn check_close(found: &[f64], wanted: &[f64], allowed: impl Fn(usize) -> f64) -> Result<(), String> {
    if found.len() != wanted.len() {
        return Err(format!("{} values, not {}", found.len(), wanted.len()));
    }
    for (k, (&a, &b)) in found.iter().zip(wanted).enumerate() {
        let off = (a - b).abs();
        if off.is_nan() || off > allowed(k) {
            return Err(format!(
                "[{k}]: {a:e}, not {b:e}, off by {:e} where {:e} is allowed",
                (a - b).abs(),
                allowed(k)
            ));
        }
    }
    Ok(())
}
