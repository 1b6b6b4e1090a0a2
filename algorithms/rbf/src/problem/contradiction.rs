//! Comparison of the exact solution that a problem states with its equation and its values on the boundary.

use firebox_core::{Error, Result, random::Random};

use super::{
    definition::Problem,
    equation::{Argument, Derivative, Terms},
    function::format_point,
};
use crate::types::{Coefficient, Sampling};

/// Points that are compared inside, and on the boundary.
const COMPARED: [usize; 2] = [300, 500];
/// Step of the finite differences, in sides of the domain's box.
const STEP: f64 = 1e-3;
/// Least difference that counts, relative to the sum of the absolute terms.
const LEAST: f64 = 1e-2;
/// Share of the points above which differences count; few may be due to a singular point.
const SHARE: f64 = 0.02;

impl Problem {
    /// Describes where the exact solution does not fulfil the equation at some of the points of the domain, row-major, or
    /// a value that is given on the boundary. Derivatives are finite differences; where they are inaccurate, as in thin
    /// layers, and for conditions on derivatives there is no comparison.
    ///
    /// # Errors
    ///
    /// Those of [`terms`](Self::terms) and [`boundary`](Self::boundary).
    pub(crate) fn contradiction(&self, points: &[f64]) -> Result<Option<String>> {
        let dims = self.dims();
        let stride = points.len() / (dims * COMPARED[0]) + 1;
        let mut inside = Vec::new();
        let about = match self.exact_functions() {
            [] => self,
            _ if self.is_linear() => self,
            exact => &self.clone().with_initial(exact.to_vec()),
        };
        for point in points.chunks_exact(dims).step_by(stride) {
            for equation in 0..self.solutions() {
                inside.extend(about.imbalance(equation, point)?.map(|found| (point, found)));
            }
        }
        let mean = inside.iter().map(|(_, found)| found.scale).sum::<f64>() / inside.len().max(1) as f64;
        let wrong = |found: &Imbalance| found.residual > LEAST * (found.scale + LEAST * mean) + 3.0 * found.uncertainty;
        if let Some((point, found)) = first_of_many(&inside, |(_, found)| wrong(found)) {
            return Ok(Some(format!(
                "the equation at {}: there its terms add up to {:.4e}, and the right-hand side is {:.4e}",
                format_point(point),
                found.left,
                found.right
            )));
        }
        let at = self.boundary_points(COMPARED[1], Sampling::Sobol, &mut Random::new(0, 0))?;
        let (rows, owners) = self.boundary_rows(&at)?;
        let Some(all) = self.all_exact(&rows.points)? else { return Ok(None) };
        let exact: Vec<f64> = owners.iter().enumerate().map(|(i, owner)| all[owner.unknown][i]).collect();
        let is_value =
            |i: usize| rows.gradient.as_ref().is_none_or(|all| all[i * dims..(i + 1) * dims].iter().all(|&b| b == 0.0));
        let pairs: Vec<(usize, f64, f64)> = (0..rows.len())
            .filter(|&i| is_value(i) && exact[i].is_finite())
            .map(|i| (i, exact[i], rows.target[i] / rows.value.at(i)))
            .collect();
        // The size includes values inside, since an exact solution may be 0 on the boundary up to rounding.
        let all = self.all_exact(points)?.unwrap_or_default().into_iter().flatten();
        let all = all.chain(pairs.iter().map(|pair| pair.1));
        let size = all.filter(|exact| exact.is_finite()).fold(0.0f64, |most, exact| most.max(exact.abs()));
        let wrong = first_of_many(&pairs, |(_, exact, target)| (exact - target).abs() > LEAST * size);
        Ok(wrong.map(|&(i, exact, target)| {
            let point = format_point(&rows.points[i * dims..(i + 1) * dims]);
            let name = &self.unknowns()[owners[i].unknown];
            format!(
                "the boundary condition at {point}: there it is {exact:.4e}, and the condition gives {name} = {target:.4e}"
            )
        }))
    }

    /// An equation with the exact solution at a point; `None` if that is unknown or not finite around it, or if another
    /// region or the boundary is too near.
    fn imbalance(&self, equation: usize, point: &[f64]) -> Result<Option<Imbalance>> {
        let (low, high) = self.domain().bounds();
        let region = self.region_of(point);
        let mut steps: Vec<f64> = low.iter().zip(high).map(|(a, b)| STEP * (b - a)).collect();
        let inside = |x: &[f64]| self.domain().contains(x) && self.region_of(x) == region;
        let corner = |sign: f64| -> Vec<f64> { point.iter().zip(&steps).map(|(x, h)| x + sign * h).collect() };
        if ![1.0, -1.0].iter().all(|&sign| inside(&corner(sign))) {
            return Ok(None);
        }
        let (terms, right) = match self.terms(self.block(region, equation), point) {
            // Where the equation is not finite for the exact solution, as beside a kink, nothing is compared.
            Err(Error::Input { .. }) if !self.is_linear() => return Ok(None),
            found => found?,
        };
        let right = right[0];
        let mut sums = [(0.0, 0.0); 2];
        for sum in &mut sums {
            let all = self.differences(point, &steps, &terms, &inside)?;
            if all.iter().any(|term| !term.is_finite()) {
                return Ok(None);
            }
            *sum = (all.iter().sum(), all.iter().map(|term| term.abs()).sum());
            steps.iter_mut().for_each(|step| *step *= 0.5);
        }
        let [(coarse, _), (fine, scale)] = sums;
        let left = (4.0 * fine - coarse) / 3.0;
        let scale = scale + right.abs();
        Ok(Some(Imbalance { left, right, residual: (left - right).abs(), scale, uncertainty: (fine - coarse).abs() }))
    }

    /// The terms with central differences of the exact solution, NaN where it is unknown or outside.
    fn differences(
        &self,
        point: &[f64],
        steps: &[f64],
        terms: &Terms,
        inside: &dyn Fn(&[f64]) -> bool,
    ) -> Result<Vec<f64>> {
        let exact = self.exact_functions();
        let of = |Argument { unknown, derivative }: Argument| -> Result<f64> {
            let at = |moves: &[(usize, f64)]| -> Result<f64> {
                let mut x = point.to_vec();
                moves.iter().for_each(|&(axis, by)| x[axis] += by * steps[axis]);
                let Some(exact) = exact.get(unknown).filter(|_| inside(&x)) else { return Ok(f64::NAN) };
                Ok(exact.values(&x, x.len())?[0])
            };
            let second = |i: usize| -> Result<f64> {
                Ok((at(&[(i, 1.0)])? - 2.0 * at(&[])? + at(&[(i, -1.0)])?) / (steps[i] * steps[i]))
            };
            Ok(match derivative {
                Derivative::Value => at(&[])?,
                Derivative::First(i) => (at(&[(i, 1.0)])? - at(&[(i, -1.0)])?) / (2.0 * steps[i]),
                Derivative::Laplacian => (0..steps.len()).map(second).sum::<Result<f64>>()?,
                Derivative::Second(i, j) if i == j => second(i)?,
                Derivative::Second(i, j) => {
                    let corner = |a, b| at(&[(i, a), (j, b)]);
                    let sum = corner(1.0, 1.0)? - corner(1.0, -1.0)? - corner(-1.0, 1.0)? + corner(-1.0, -1.0)?;
                    sum / (4.0 * steps[i] * steps[j])
                }
            })
        };
        let nonzero = terms.iter().filter(|(_, coefficient)| *coefficient != Coefficient::Zero);
        nonzero.map(|(argument, coefficient)| Ok(coefficient.at(0) * of(*argument)?)).collect()
    }
}

/// Both sides of an equation at a point.
struct Imbalance {
    left: f64,
    right: f64,
    residual: f64,
    /// Sum of all absolute terms.
    scale: f64,
    /// Change of the left side with the step.
    uncertainty: f64,
}

/// The first item that is wrong, if the share of those exceeds [`SHARE`].
fn first_of_many<T>(all: &[T], is_wrong: impl Fn(&T) -> bool) -> Option<&T> {
    let wrong = all.iter().filter(|item| is_wrong(item)).count();
    all.iter().find(|item| is_wrong(item)).filter(|_| wrong as f64 > SHARE * all.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::solution_grid::Field;

    fn found(problem: &Problem) -> Option<String> {
        problem.contradiction(&Field::new(problem, Field::default_side(problem.dims())).unwrap().points).unwrap()
    }

    #[test]
    fn exact_solutions_that_fulfil_their_problem_do_not_contradict_it() {
        for name in Problem::NAMES {
            assert_eq!(found(&Problem::named(name).unwrap()), None, "{name}");
        }
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for folder in [
            "docs/rbf-problems",
            "docs/rbf-problems/bars",
            "docs/rbf-problems/regions",
            "docs/rbf-problems/periodic",
            "docs/rbf-problems/slabs",
            "examples/problems",
        ] {
            for entry in std::fs::read_dir(root.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_some_and(|it| it == "toml") {
                    assert_eq!(found(&Problem::read(&path).unwrap()), None, "{}", path.display());
                }
            }
        }
    }

    #[test]
    fn contradictions_are_located() {
        let with = |exact: &str, rhs: &str, value: &str| {
            let text = format!(
                "exact = '{exact}'\nequation = {{ terms = {{ u_xx = 1, u_xy = 1, u_y = 2 }}, rhs = '{rhs}' }}\n\
                 boundary = [{{ condition = 'dirichlet', value = '{value}' }}]\n\
                 domain = {{ type = 'box', low = [0, 0], high = [1, 2] }}"
            );
            found(&Problem::parse(&text).unwrap())
        };
        let (exact, rhs) = ("x^2*y", "2*y + 2*x + 2*x^2");
        assert_eq!(with(exact, rhs, exact), None);
        let wrong = with(exact, "2*y + 2*x", exact).unwrap();
        assert!(wrong.starts_with("the equation at (") && wrong.contains("the right-hand side is"), "{wrong}");
        let wrong = with(exact, rhs, "x^2*y + max(x - 0.9, 0)").unwrap();
        assert!(wrong.starts_with("the boundary condition at (") && wrong.contains("gives u = "), "{wrong}");
    }
}
