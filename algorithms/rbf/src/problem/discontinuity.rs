//! Search for a jump of a coefficient within a region.

use firebox_core::{Result, random::Random};

use super::{definition::Problem, equation::Derivative, function::Function};

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
    ///
    /// # Errors
    ///
    /// Those of [`Function::values`].
    pub(crate) fn jumping_coefficient(&self, points: &[f64]) -> Result<Option<(String, Vec<f64>)>> {
        let dims = self.dims();
        let count = points.len() / dims;
        let mut random = Random::new(0, STREAM);
        let varies = |region: usize| {
            let terms = self.equations(region).iter().flat_map(|equation| &equation.terms);
            terms.filter(|(of, function)| {
                matches!(of.derivative, Derivative::Second(..) | Derivative::Laplacian) && function.constant().is_none()
            })
        };
        if count == 0 || (0..self.regions().count()).all(|region| varies(region).next().is_none()) {
            return Ok(None);
        }
        let mut segments = Vec::new();
        for _ in 0..SEGMENTS {
            let mut point = || {
                let k = random.below(count);
                &points[k * dims..(k + 1) * dims]
            };
            let ends = [point(), point()];
            let [from, to] = ends.map(|end| self.region_of(end));
            if from == to {
                segments.push((from, ends));
            }
        }
        for region in 0..self.regions().count() {
            let own: Vec<_> = segments.iter().filter(|segment| segment.0 == region).map(|segment| segment.1).collect();
            for (argument, function) in varies(region).filter(|_| !own.is_empty()) {
                let inside = |at: &[f64]| self.domain().contains(at) && self.region_of(at) == region;
                if let Some(at) = jumps(function, &own, dims, inside)?.into_iter().flatten().next() {
                    return Ok(Some((self.term_name(*argument), at)));
                }
            }
        }
        Ok(None)
    }
}

/// For each segment the point where bisection locates a jump of a function, if there is one. Segments in which the bisection
/// meets a point that is not `inside` have none: a function in code may be undefined there.
fn jumps(
    function: &Function,
    segments: &[[&[f64]; 2]],
    dims: usize,
    inside: impl Fn(&[f64]) -> bool,
) -> Result<Vec<Option<Vec<f64>>>> {
    let [mut low, mut high] = [0, 1].map(|end| segments.iter().flat_map(|ends| ends[end]).copied().collect::<Vec<_>>());
    let (mut start, mut end) = (function.values(&low, dims)?, function.values(&high, dims)?);
    let sizes: Vec<f64> = start.iter().zip(&end).map(|(a, b)| a.abs().max(b.abs())).collect();
    for _ in 0..HALVINGS {
        let middle: Vec<f64> = low.iter().zip(&high).map(|(a, b)| 0.5 * (a + b)).collect();
        let within: Vec<bool> = middle.chunks_exact(dims).map(&inside).collect();
        let points = middle.chunks_exact(dims).zip(&within).filter(|(_, within)| **within);
        let points: Vec<f64> = points.flat_map(|(point, _)| point).copied().collect();
        let mut values = function.values(&points, dims)?.into_iter();
        for (i, within) in within.into_iter().enumerate() {
            // NaN is no jump, whichever end it becomes.
            let value = if within { values.next().unwrap_or(f64::NAN) } else { f64::NAN };
            let own = i * dims..(i + 1) * dims;
            let (at, of) = if (value - start[i]).abs() > (value - end[i]).abs() {
                (&mut high, &mut end)
            } else {
                (&mut low, &mut start)
            };
            at[own.clone()].copy_from_slice(&middle[own]);
            of[i] = value;
        }
    }
    let at = |i: usize| low[i * dims..(i + 1) * dims].to_vec();
    Ok((0..sizes.len()).map(|i| ((end[i] - start[i]).abs() > LEAST * sizes[i]).then(|| at(i))).collect())
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
        problem.jumping_coefficient(&Field::new(&problem, 101).unwrap().points).unwrap()
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
