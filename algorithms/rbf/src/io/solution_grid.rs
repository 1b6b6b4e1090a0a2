//! The grid on which a solution is evaluated: grid points of the domain's box inside the domain or on its boundary.

use firebox_backends::limits::Buffer;
use firebox_core::{Error, Result, data::Table, watch::Watch};

use crate::{
    ops::ndarray::host_limits, problem::definition::Problem, solve::piecewise::PiecewiseNetwork, types::MAX_DIMS,
};

/// Distance up to which points outside count as boundary, in diagonals of the box.
const EDGE: f64 = 1e-9;
/// Maximum number of grid points.
const MAX_POINTS: usize = 1 << 27;

/// Maximum number of times of animations and series.
const MAX_TIMES: usize = 101;
/// Row of a grid point outside the domain, or where u has two values.
const OUTSIDE: u32 = u32::MAX;

/// A grid over the bounding box of a domain, and its points in the domain or on its boundary, without those where u jumps.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub(crate) dims: usize,
    /// Points along each axis.
    pub(crate) side: usize,
    pub(crate) low: Vec<f64>,
    pub(crate) high: Vec<f64>,
    /// Per grid point, x running fastest: its row in `points`, or [`OUTSIDE`].
    rows: Vec<u32>,
    /// Points inside, row-major.
    pub(crate) points: Vec<f64>,
    /// The exact solution of each unknown at `points`, if known.
    pub(crate) exact: Option<Vec<Vec<f64>>>,
}

impl Field {
    /// The exact solution of an unknown, if known.
    pub(crate) fn exact_of(&self, unknown: usize) -> Option<&Vec<f64>> {
        self.exact.as_ref().and_then(|all| all.get(unknown))
    }

    /// Default number of points per axis.
    pub(crate) fn default_side(dims: usize) -> usize {
        const SIDES: [usize; MAX_DIMS] = [1001, 101, 31, 13, 9];
        SIDES[dims.clamp(1, SIDES.len()) - 1]
    }

    /// A grid of `side` points per axis.
    ///
    /// # Errors
    ///
    /// If no point is inside, if there are too many, or if the exact solution is not finite at one of them.
    pub(crate) fn new(problem: &Problem, side: usize) -> Result<Self> {
        let dims = problem.dims();
        let wrong = |reason: String| Error::Config { field: "grid", value: side.to_string(), reason };
        let total = (0..dims).try_fold(1usize, |total, _| total.checked_mul(side).filter(|&total| total <= MAX_POINTS));
        let Some(total) = total.filter(|_| side >= 2) else {
            return Err(wrong(format!(
                "must lie between 2 and {}",
                (MAX_POINTS as f64).powf(1.0 / dims as f64) as usize
            )));
        };
        admit(total, dims)?;
        let domain = problem.domain();
        let (low, high) = domain.bounds();
        let diagonal = low.iter().zip(high).map(|(a, b)| (b - a).powi(2)).sum::<f64>().sqrt();
        let (mut rows, mut points) = (Vec::with_capacity(total), Vec::new());
        let (mut at, watch) = (vec![0.0; dims], Watch::current());
        for node in 0..total {
            watch.go_on_at(node)?;
            let mut rest = node;
            for (axis, x) in at.iter_mut().enumerate() {
                let share = (rest % side) as f64 / (side - 1) as f64;
                *x = low[axis] + share * (high[axis] - low[axis]);
                rest /= side;
            }
            let inside = domain.signed_distance(&at) <= EDGE * diagonal && !problem.is_double(&at);
            rows.push(if inside { (points.len() / dims) as u32 } else { OUTSIDE });
            if inside {
                points.extend_from_slice(&at);
            }
        }
        if points.is_empty() {
            return Err(wrong("no point of the grid is in the domain; take more".into()));
        }
        let exact = problem.finite_exact(&points)?;
        Ok(Self { dims, side, low: low.to_vec(), high: high.to_vec(), rows, points, exact })
    }

    /// The grid points with index `at` along `axis`, as a grid of the other dimensions without exact solution, and the row of
    /// each of its points in `points`. There is at least one other dimension.
    pub(crate) fn section(&self, axis: usize, at: usize) -> (Self, Vec<usize>) {
        let stride = self.side.pow(axis as u32);
        let other = |values: &[f64]| -> Vec<f64> {
            values.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, value)| *value).collect()
        };
        let nodes = self.nodes() / self.side;
        let node = |k: usize| k % stride + (k / stride * self.side + at) * stride;
        let (mut rows, mut from) = (Vec::with_capacity(nodes), Vec::new());
        for row in (0..nodes).map(|k| self.row(node(k))) {
            rows.push(row.map_or(OUTSIDE, |_| from.len() as u32));
            from.extend(row);
        }
        let points = from.iter().flat_map(|row| other(&self.points[row * self.dims..][..self.dims])).collect();
        let (low, high) = (other(&self.low), other(&self.high));
        (Self { dims: self.dims - 1, side: self.side, low, high, rows, points, exact: None }, from)
    }

    /// Indices along an axis that is time at which the solution is shown.
    pub(crate) fn times(&self) -> Vec<usize> {
        let count = self.side.min(MAX_TIMES);
        (0..count).map(|k| k * (self.side - 1) / (count - 1)).collect()
    }

    /// Coordinate `axis` of the grid points with index `at` along it.
    pub(crate) fn coordinate(&self, axis: usize, at: usize) -> f64 {
        self.low[axis] + at as f64 * (self.high[axis] - self.low[axis]) / (self.side - 1) as f64
    }

    /// Number of grid points.
    pub(crate) fn nodes(&self) -> usize {
        self.rows.len()
    }

    /// The row of a grid point in `points`, if inside.
    pub(crate) fn row(&self, node: usize) -> Option<usize> {
        self.rows.get(node).filter(|row| **row != OUTSIDE).map(|row| *row as usize)
    }

    /// Coordinates of a grid point, x running fastest.
    pub(crate) fn node(&self, node: usize) -> Vec<f64> {
        let index = |axis: usize| node / self.side.pow(axis as u32) % self.side;
        (0..self.dims).map(|axis| self.coordinate(axis, index(axis))).collect()
    }
}

/// Admits the host memory of a grid with its values.
fn admit(nodes: usize, dims: usize) -> Result<()> {
    // The points; u, the exact solution and the error, each twice, since they are copied to a table; and packed points
    // during evaluation.
    let bytes = size_of::<u32>() + (3 * dims + 7) * size_of::<f64>();
    host_limits()
        .admit(&[Buffer::new("the solution on a grid", nodes as u128, bytes)], None, "take a smaller `grid`")
        .map(drop)
}

/// The exact solution of each unknown at points, NaN where it is undefined outside the domain.
///
/// # Errors
///
/// [`Error::Input`] with the first point of the domain or its boundary where it is not finite.
pub(crate) fn exact_at(problem: &Problem, points: &[f64]) -> Result<Option<Vec<Vec<f64>>>> {
    let Some(mut all) = problem.all_exact(points)? else { return Ok(None) };
    let edge = EDGE * problem.domain().diameter();
    for exact in &mut all {
        let both = exact.iter_mut().zip(points.chunks(problem.dims()));
        for (value, point) in both.filter(|(value, _)| !value.is_finite()) {
            if problem.domain().signed_distance(point) <= edge {
                problem.finite_exact(point)?;
            }
            *value = f64::NAN;
        }
    }
    Ok(Some(all))
}

/// The solution of one unknown at points.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Values {
    pub(crate) u: Vec<f64>,
    /// The exact solution, and u minus it; NaN where it is undefined outside the domain.
    pub(crate) exact: Option<(Vec<f64>, Vec<f64>)>,
}

impl Values {
    /// Fails if u is not finite everywhere.
    pub(crate) fn new(network: &PiecewiseNetwork, points: &[f64], exact: Option<&Vec<f64>>) -> Result<Self> {
        let u = network.evaluate(points);
        if u.iter().any(|u| !u.is_finite()) {
            let what = "the solution is not finite everywhere".into();
            return Err(Error::Run { device: "the network".into(), phase: "evaluation".into(), what });
        }
        let errors = |exact: &Vec<f64>| u.iter().zip(exact).map(|(u, exact)| u - exact).collect();
        let exact = exact.map(|exact| (exact.clone(), errors(exact)));
        Ok(Self { u, exact })
    }

    /// Makes u and its error NaN at those of the points that are outside the domain or where u jumps, and returns their
    /// number.
    pub(crate) fn blank_outside(&mut self, problem: &Problem, points: &[f64]) -> usize {
        let edge = EDGE * problem.domain().diameter();
        let mut count = 0;
        for (i, point) in points.chunks_exact(problem.dims()).enumerate() {
            if problem.domain().signed_distance(point) > edge || problem.is_double(point) {
                self.u[i] = f64::NAN;
                if let Some((_, errors)) = &mut self.exact {
                    errors[i] = f64::NAN;
                }
                count += 1;
            }
        }
        count
    }

    /// The values at some rows.
    pub(crate) fn rows(&self, rows: &[usize]) -> Self {
        let some = |all: &[f64]| -> Vec<f64> { rows.iter().map(|&row| all[row]).collect() };
        let exact = self.exact.as_ref().map(|(exact, errors)| (some(exact), some(errors)));
        Self { u: some(&self.u), exact }
    }
}

/// The solutions of all unknowns at the same points; at least one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Solutions {
    /// Names of the unknowns.
    pub(crate) names: Vec<String>,
    pub(crate) all: Vec<Values>,
}

impl Solutions {
    /// Those of the first networks, which have `names`. Fails if an unknown is not finite everywhere.
    pub(crate) fn new(
        names: &[String],
        networks: &[PiecewiseNetwork],
        points: &[f64],
        exact: Option<&Vec<Vec<f64>>>,
    ) -> Result<Self> {
        let of = |(k, (_, network))| Values::new(network, points, exact.and_then(|all| all.get(k)));
        let all = names.iter().zip(networks).enumerate().map(of).collect::<Result<_>>()?;
        Ok(Self { names: names.to_vec(), all })
    }

    /// The solution of the first unknown.
    pub(crate) fn first(&self) -> &Values {
        &self.all[0]
    }

    /// Number of points.
    pub(crate) fn points(&self) -> usize {
        self.first().u.len()
    }

    /// [`Values::blank_outside`] of all unknowns.
    pub(crate) fn blank_outside(&mut self, problem: &Problem, points: &[f64]) -> usize {
        self.all.iter_mut().map(|values| values.blank_outside(problem, points)).max().unwrap_or(0)
    }

    /// The values at some rows.
    pub(crate) fn rows(&self, rows: &[usize]) -> Self {
        Self { names: self.names.clone(), all: self.all.iter().map(|values| values.rows(rows)).collect() }
    }

    /// Named columns: `u` and, if the exact solution is known, `exact` and `error`; of several unknowns the name of each, and
    /// with it `_exact` and `_error`.
    pub(crate) fn columns(&self) -> Vec<(String, &[f64])> {
        let is_one = self.all.len() == 1;
        let mut columns = Vec::new();
        for (name, values) in self.names.iter().zip(&self.all) {
            let own = |what: &str| if is_one { what.into() } else { format!("{name}_{what}") };
            columns.push((if is_one { "u".into() } else { name.clone() }, &values.u[..]));
            if let Some((exact, errors)) = &values.exact {
                columns.extend([(own("exact"), &exact[..]), (own("error"), &errors[..])]);
            }
        }
        columns
    }

    /// Columns of the coordinates and [`columns`](Self::columns).
    pub(crate) fn table(&self, points: &[f64], coordinates: &[String]) -> Result<Table> {
        let mut table = Table::float_matrix(coordinates.to_vec(), points.to_vec())?;
        for (name, values) in self.columns() {
            table = table.beside(Table::floats(&name, values.to_vec()))?;
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_leave_out_points_outside() {
        let square = Field::new(&Problem::named("poisson-sine").unwrap(), 101).unwrap();
        assert_eq!((square.points.len(), square.nodes()), (2 * 101 * 101, 101 * 101));
        assert_eq!(square.node(101), [0.0, std::f64::consts::PI / 100.0]);
        let corner = Field::new(&Problem::named("l-shape").unwrap(), 5).unwrap();
        let inside: Vec<bool> = (0..corner.nodes()).map(|node| corner.row(node).is_some()).collect();
        // The quarter right below is missing, its edges are not.
        assert_eq!(inside.iter().filter(|it| !**it).count(), 4);
        assert!(!inside[3] && !inside[4] && !inside[8] && inside[13] && inside[2]);
        assert!(Field::new(&Problem::named("l-shape").unwrap(), 1).is_err());
    }

    #[test]
    fn sections_hold_the_points_of_one_index() {
        let field = Field::new(&Problem::named("poisson-cube").unwrap(), 4).unwrap();
        let values =
            Values { u: field.points.chunks(3).map(|x| x[0] + 10.0 * x[1] + 100.0 * x[2]).collect(), exact: None };
        for axis in 0..3 {
            for at in 0..4 {
                let (section, rows) = field.section(axis, at);
                assert_eq!((section.dims, section.nodes(), rows.len()), (2, 16, 16));
                for (point, u) in section.points.chunks(2).zip(values.rows(&rows).u) {
                    let mut all = point.to_vec();
                    all.insert(axis, field.coordinate(axis, at));
                    assert_eq!(u, all[0] + 10.0 * all[1] + 100.0 * all[2]);
                }
            }
        }
        let corner = Field::new(&Problem::named("l-shape").unwrap(), 5).unwrap();
        let inside: Vec<usize> = (0..5).map(|at| corner.section(1, at).1.len()).collect();
        assert_eq!(inside, [3, 3, 5, 5, 5]);
        let (first, _) = corner.section(1, 0);
        assert!(first.row(2) == Some(2) && first.row(3).is_none() && first.points == [-1.0, -0.5, 0.0]);
    }

    #[test]
    fn exact_solutions_must_be_finite_inside_the_domain() {
        let with = |exact: &str| {
            let text = format!(
                "exact = '{exact}'\nequation = {{ laplacian = 1, rhs = 0 }}\n\
                 boundary = [{{ condition = 'dirichlet', value = 0 }}]\n\
                 domain = {{ type = 'box', low = [0, 0], high = [1, 1] }}"
            );
            Problem::parse(&text).unwrap()
        };
        let said = |error: Error| (error.exit_code(), error.to_string());
        let pole = "line 1, column 9: the exact solution, '1/(x-0.5)', is infinite (inf) at (0.5, 0)";
        assert_eq!(said(Field::new(&with("1/(x-0.5)"), 3).unwrap_err()), (2, pole.into()));
        let root = "line 1, column 9: the exact solution, 'sqrt(0.25-y)', is not a number (NaN) at (0, 0.5)";
        assert_eq!(said(Field::new(&with("sqrt(0.25-y)"), 3).unwrap_err()), (2, root.into()));
        // A grid that misses the pole.
        assert!(Field::new(&with("1/(x-0.5)"), 4).unwrap().exact.is_some());
        let outside = exact_at(&with("sqrt(x)"), &[-2.0, 0.5, 0.25, 0.5]).unwrap().unwrap();
        assert!(outside[0][0].is_nan() && outside[0][1] == 0.5);
        assert!(exact_at(&with("1/x"), &[2.0, 0.5, 0.0, 0.5]).is_err());
    }
}
