//! Subsets of conditions.

use firebox_core::Share;

use crate::types::{Coefficient, Conditions};

/// A rank's contiguous part of the conditions.
pub(crate) fn part(conditions: &Conditions, share: Share) -> Conditions {
    if share.is_whole() {
        return conditions.clone();
    }
    subset(conditions, &share.of(conditions.len()).collect::<Vec<_>>())
}

/// The conditions at `indices`, in that order.
pub(crate) fn subset(conditions: &Conditions, indices: &[usize]) -> Conditions {
    let dims = conditions.dims;
    let each = |values: &[f64]| indices.iter().map(|&i| values[i]).collect();
    let rows = |values: &[f64]| indices.iter().flat_map(|&i| &values[i * dims..(i + 1) * dims]).copied().collect();
    let coefficient = |coefficient: &Coefficient| match coefficient {
        Coefficient::Each(values) => Coefficient::Each(each(values)),
        constant => constant.clone(),
    };
    Conditions {
        dims,
        points: rows(&conditions.points),
        laplacian: coefficient(&conditions.laplacian),
        gradient: conditions.gradient.as_deref().map(rows),
        value: coefficient(&conditions.value),
        target: each(&conditions.target),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::samples;

    #[test]
    fn a_subset_keeps_points_coefficients_and_targets() {
        let (system, _) = samples::mixed(3, 1, 6);
        let all = &system.interior;
        let some = subset(all, &[4, 0]);
        assert_eq!((some.len(), some.point(0), some.point(1)), (2, all.point(4), all.point(0)));
        assert_eq!((some.laplacian.at(0), some.value.at(1)), (all.laplacian.at(4), 1.0));
        assert_eq!(some.gradient.unwrap()[..3], all.gradient.as_ref().unwrap()[12..15]);
    }
}
