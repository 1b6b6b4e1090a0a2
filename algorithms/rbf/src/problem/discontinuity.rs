//! Search for a jump of a coefficient within a region.

use firebox_core::random::Random;

use super::{definition::Problem, equation::Derivative};

/// Segments that are searched.
const SEGMENTS: usize = 512;
/// Halvings of a segment, after which only a jump is left.
const HALVINGS: usize = 45;
/// Smallest jump that counts, relative to the coefficient at the ends of the segment.
const LEAST: f64 = 1e-3;
/// Stream of [`Random`] of the segments.
const STREAM: u64 = u64::from_be_bytes(*b"rbf-jump");

impl Problem {
    /// Searches coefficients of second derivatives for a jump between points of the same region, row-major, and returns the
    /// name of the coefficient and the point. Small parts in which a coefficient differs may be missed.
    pub(crate) fn jumping_coefficient(&self, points: &[f64]) -> Option<(String, Vec<f64>)> {
        let dims = self.dims();
        let count = points.len() / dims;
        let mut random = Random::new(0, STREAM);
        let varies = |region: usize| {
            let terms = self.equation(region).terms.iter();
            terms.filter(|(of, function)| {
                matches!(of, Derivative::Second(..) | Derivative::Laplacian) && function.constant().is_none()
            })
        };
        if count == 0 || (0..self.regions().count()).all(|region| varies(region).next().is_none()) {
            return None;
        }
        for _ in 0..SEGMENTS {
            let mut point = || {
                let k = random.below(count);
                &points[k * dims..(k + 1) * dims]
            };
            let [from, to] = [point(), point()];
            let region = self.region_of(from);
            for (derivative, function) in varies(region).filter(|_| self.region_of(to) == region) {
                let (mut low, mut high) = (from.to_vec(), to.to_vec());
                let (mut start, mut end) = (function.at(&low), function.at(&high));
                let size = start.abs().max(end.abs());
                for _ in 0..HALVINGS {
                    let middle: Vec<f64> = low.iter().zip(&high).map(|(a, b)| 0.5 * (a + b)).collect();
                    let value = function.at(&middle);
                    if (value - start).abs() > (value - end).abs() {
                        (high, end) = (middle, value);
                    } else {
                        (low, start) = (middle, value);
                    }
                }
                let jump = (end - start).abs() > LEAST * size;
                if jump && self.domain().contains(&low) && self.region_of(&low) == region {
                    return Some((self.term_name(*derivative), low));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::solution_grid::Field;

    fn found(coefficient: &str, region: &str) -> Option<(String, Vec<f64>)> {
        let text = format!(
            "equation = {{ terms = {{ u_xx = '{coefficient}', u_yy = 2 }} }}\n\
             boundary = [{{ condition = 'dirichlet', value = 0 }}]\n\
             domain = {{ type = 'box', low = [0, 0], high = [1, 1] }}\n{region}"
        );
        let problem = Problem::parse(&text).unwrap();
        problem.jumping_coefficient(&Field::new(&problem, 101).unwrap().points)
    }

    #[test]
    fn jumps_within_a_region_are_found_and_others_are_not() {
        let (name, at) = found("if(x + y < 0.7, 1, 10)", "").unwrap();
        assert_eq!(name, "the coefficient of ∂²u/∂x∂x");
        assert!((at[0] + at[1] - 0.7).abs() < 1e-9, "{at:?}");
        for smooth in ["1 + x^2", "x*y", "1 + tanh(1000*(x - 0.5))/2", "2 + abs(x - 0.5)", "3"] {
            assert_eq!(found(smooth, ""), None, "{smooth}");
        }
        let region =
            "region = [{ shape = { type = 'box', low = [0, 0], high = [0.5, 1] }, equation = { laplacian = 1 } }]";
        assert_eq!(found("if(x < 0.5, 1, 10)", region), None);
    }
}
