//! The interactive report of a solution.

use firebox_core::{
    Error, Result,
    html::{Column, Kind, Page, RowTable, encode},
    plot::Plot,
};
use serde_json::{Map, Value, json};

use super::{
    adaptive::AdaptiveSolution,
    convergence::{growth, residuals as residuals_by_cycle},
    solution::Solution,
};
use crate::{
    config::AdaptiveConfig,
    io::solution_grid::{Field, Values},
    problem::{definition::Problem, domain::Domain},
    solve::{
        accuracy::Accuracy,
        adaptive::{End, Level, residuals},
        control_points::control_points,
        piecewise::PiecewiseNetwork,
    },
    types::{MAX_DIMS, Redraw, Weights},
};

/// Points along each axis, by the number of dimensions: less than 1 MB of page.
const SIDES: [usize; MAX_DIMS] = [1001, 161, 33, 13, 7];
/// Maximum number of centres, and of control points inside and on the boundary.
const MAX_MARKS: usize = 4000;
/// Maximum number of slabs of time with their convergence.
const MAX_SLABS: usize = 200;
/// Maximum number of regions that a page distinguishes.
const MAX_REGIONS: usize = 256;
/// Distance up to which u is shown outside the domain, in diagonals of a cell, so that plots reach its boundary.
const RING: f64 = 1.0;
/// Distance up to which points outside count as boundary, in diameters of the domain.
const EDGE: f64 = 1e-9;

impl AdaptiveSolution {
    /// The interactive report of this solution of `problem`, with the configuration that it was computed with. Its title has no
    /// name of the problem.
    ///
    /// # Errors
    ///
    /// [`Error::Run`] if the solution is not finite, [`Error::Input`] for several unknowns, and [`Error::Cancelled`].
    pub fn page(&self, problem: &Problem, config: &AdaptiveConfig) -> Result<Page> {
        if problem.unknowns().len() > 1 {
            let names = problem.unknowns().join(", ");
            let what = format!("a page shows one unknown, and this solution has {names}");
            return Err(Error::input(what, "write the unknowns to a table, or evaluate their networks"));
        }
        let background = Background::auto(problem, self, config);
        page(problem, self.network(), self.accuracy, Some(&growth(problem, &self.levels)), &background)
    }
}

impl Solution {
    /// The interactive report of this solution of `problem`, whose control points are drawn by `seed`. Its title has no name of
    /// the problem.
    ///
    /// # Errors
    ///
    /// [`Error::Run`] if the solution is not finite, and [`Error::Cancelled`].
    pub fn page(&self, problem: &Problem, seed: u64) -> Result<Page> {
        let background = Background::paper(problem, self, seed)?;
        let network = self.network.clone().into();
        page(problem, &network, self.accuracy, residuals_by_cycle(problem, self).as_ref(), &background)
    }
}

/// The facts of a run that a page shows besides its solution.
struct Background {
    /// Estimate of the relative L2 error, and the target.
    estimate: Option<[f64; 2]>,
    /// The choices of the method, by name.
    chosen: Vec<(&'static str, String)>,
    /// Control points, row-major: inside and on the boundary.
    control_points: [Vec<f64>; 2],
    /// The slabs of time with their convergence.
    slabs: Option<Value>,
}

impl Background {
    fn auto(problem: &Problem, solution: &AdaptiveSolution, config: &AdaptiveConfig) -> Self {
        let mut chosen = vec![("neurons", solution.neurons().to_string())];
        let regions = problem.regions().count();
        if regions > 1 {
            chosen.push(("regions, with a network each", regions.to_string()));
        }
        if !solution.slabs.is_empty() {
            chosen.push(("slabs of time", solution.slabs.len().to_string()));
        }
        // Each slab has figures of its own.
        if solution.slabs.is_empty() {
            chosen.extend(growth_facts(&solution.levels));
        }
        let device = solution.device.as_deref().unwrap_or("the host");
        chosen.push(("least squares", format!("QR decomposition in f64 on {device}")));
        let end = match solution.end {
            End::Resolved => "the estimate is within the target",
            End::Noise => "the noise of the data leaves a larger error than all else",
            End::Budget => "the limit of neurons, memory or work was reached",
            End::Time => "the time limit was reached",
            End::Unbalanced => "the problem has no solution",
            End::Diverged => "the Gauss-Newton iteration did not converge",
        };
        chosen.push(("end of the growth", end.into()));
        Self {
            estimate: Some([solution.estimate(), config.target_error]),
            chosen,
            control_points: solution.control_points.clone(),
            slabs: slabs(problem, solution, config.target_error),
        }
    }

    fn paper(problem: &Problem, solution: &Solution, seed: u64) -> Result<Self> {
        let (points, boundary_points) = solution.points;
        let mut chosen = vec![
            ("neurons", solution.network.len().to_string()),
            ("width of the neurons", format!("{:.2} spacings", solution.ratio)),
            ("control points inside", points.to_string()),
            ("control points on the boundary", boundary_points.to_string()),
            ("residual inside, root mean square", scientific(solution.residual_interior)),
            ("residual on the boundary, root mean square", scientific(solution.residual_boundary)),
            ("weights", format!("{} in {}", solution.weights, solution.precision)),
            ("cycles", solution.cycles.to_string()),
            ("end of the training", solution.stop.to_string()),
        ];
        chosen.extend(solution.condition.map(|condition| ("condition number", scientific(condition))));
        chosen.extend(solution.rank.map(|rank| ("rank", rank.to_string())));
        let redraws = match solution.config.redraw {
            Redraw::Auto => solution.weights == Weights::Cg,
            Redraw::Cycle => true,
            Redraw::Never => false,
        };
        let cycle = if redraws { solution.cycles.saturating_sub(1) } else { 0 };
        let drawn = control_points(problem, &solution.config, [points, boundary_points], (seed, cycle))?;
        Ok(Self { estimate: None, chosen, control_points: drawn, slabs: None })
    }
}

/// Figures of a growth: those of its last level.
fn growth_facts(levels: &[Level]) -> Vec<(&'static str, String)> {
    let mut facts = vec![("levels of the growth", levels.len().to_string())];
    if let Some(level) = levels.last() {
        facts.push(("width of the neurons", format!("{:.2} sides of a cell", level.ratio)));
        if level.trained {
            facts.push(("centres and widths", "trained".into()));
        }
        facts.push(("control points", level.conditions.to_string()));
        facts.push(("held-out residual, relative to u", scientific(level.held_out)));
        facts.push(("stability constant", scientific(level.stability)));
        facts.push(("condition number", scientific(level.condition)));
    }
    facts
}

/// The convergence of slabs of time, at most [`MAX_SLABS`] with the largest estimates; `None` without slabs. The error of each
/// is to be an equal share of the target.
fn slabs(problem: &Problem, solution: &AdaptiveSolution, target: f64) -> Option<Value> {
    let (slabs, axis) = (&solution.slabs, problem.time_slabs()?.axis);
    let mut shown: Vec<usize> = (0..slabs.len()).collect();
    shown.sort_by(|&a, &b| slabs[b].estimate.total_cmp(&slabs[a].estimate));
    shown.truncate(MAX_SLABS);
    shown.sort_unstable();
    let shown = shown.into_iter().map(|k| {
        let (slab, levels) = (&slabs[k], &solution.slab_levels[k]);
        let mut chosen = vec![("neurons", slab.neurons.to_string())];
        chosen.extend(growth_facts(levels));
        json!({
            "from": slab.from,
            "to": slab.to,
            "estimate": [slab.estimate, target / slabs.len() as f64],
            "convergence": convergence(&growth(problem, levels)),
            "chosen": chosen,
        })
    });
    Some(json!({ "axis": axis, "count": slabs.len(), "shown": shown.collect::<Vec<_>>() }))
}

/// A number with three digits or, if it is small or large, two.
fn scientific(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        value if value.is_nan() => "unknown".into(),
        value if value.is_infinite() => "infinite".into(),
        value if (0.01..1000.0).contains(&value.abs()) => {
            let decimals = 2 - value.abs().log10().floor() as i32;
            format!("{value:.*}", decimals.max(0) as usize)
        }
        value => format!("{value:.1e}"),
    }
}

fn page(
    problem: &Problem,
    network: &PiecewiseNetwork,
    accuracy: Option<Accuracy>,
    curves: Option<&Plot>,
    background: &Background,
) -> Result<Page> {
    let dims = problem.dims();
    let grid = match Field::new(problem, SIDES[dims - 1]) {
        Ok(grid) => grid,
        Err(error @ (Error::Cancelled | Error::Function { .. })) => return Err(error),
        // The exact solution may be infinite at its points, or the domain be missed by all of them.
        Err(_) => Field::new(problem, Field::default_side(dims))?,
    };
    let grid = &grid;
    let values = Values::new(network, &grid.points, grid.exact_of(0))?;
    let slopes = |points: &[f64]| -> Vec<f64> {
        network
            .gradient(points)
            .chunks_exact(dims)
            .map(|slope| slope.iter().map(|x| x * x).sum::<f64>().sqrt())
            .collect()
    };
    let outside = Outside::new(problem, grid);
    let field = |name: &str, inside: &[f64], around: &[f64]| {
        let mut all: Vec<f64> =
            (0..grid.nodes()).map(|node| grid.row(node).map_or(f64::NAN, |row| inside[row])).collect();
        outside.ring.iter().zip(around).for_each(|(&node, value)| all[node] = *value);
        Column::new(name.into(), all.iter().copied())
    };
    let (u_around, slopes_around) = (network.evaluate(&outside.points), slopes(&outside.points));
    let marks = |points: &[f64]| json!({ "count": points.len() / dims, "places": floats(&thinned(points, dims)) });
    let solution = json!({
        "name": problem.name(),
        "axes": problem.coordinates(),
        "time": problem.time_axis().filter(|_| dims > 1),
        "low": grid.low,
        "high": grid.high,
        "side": grid.side,
        "u": field("u", &values.u, &u_around),
        "error": values.exact.as_ref().map(|(_, error)| field("error", error, &[])),
        "gradient": field("gradient", &slopes(&grid.points), &slopes_around),
        "residual": residual(problem, network, grid)?.map(|residual| field("residual", &residual, &[])),
        "distance": outside.distance,
        "regions": regions(problem, grid),
        "centres": centres(network),
        "inside": marks(&background.control_points[0]),
        "boundary": marks(&background.control_points[1]),
        "convergence": curves.and_then(convergence),
        "slabs": background.slabs,
        "accuracy": accuracy.map(|it| json!({ "relative_l2": it.relative_l2, "max_error": it.max_error })),
        "estimate": background.estimate,
        "chosen": background.chosen,
    });
    let error = match (accuracy, background.estimate) {
        (Some(accuracy), _) => format!(", relative L2 error {:.1e}", accuracy.relative_l2),
        (None, Some([estimate, _])) if estimate < 1.0 => format!(", relative L2 error about {estimate:.1e}"),
        _ => String::new(),
    };
    Ok(Page {
        kind: Kind::Rbf,
        title: format!("{} neurons{error}", network.len()),
        table: RowTable::default(),
        content: Map::from_iter([("solution".into(), solution)]),
    })
}

fn floats(values: &[f64]) -> String {
    encode::floats(values.iter().copied())
}

/// At most [`MAX_MARKS`] of some points, evenly.
fn thinned(points: &[f64], dims: usize) -> Vec<f64> {
    let stride = (points.len() / dims).div_ceil(MAX_MARKS).max(1);
    points.chunks_exact(dims).step_by(stride).flatten().copied().collect()
}

/// Centres and widths per axis.
fn centres(network: &PiecewiseNetwork) -> Value {
    let dims = network.dims();
    let centres: Vec<f64> = network.networks().iter().flat_map(|it| it.centres()).copied().collect();
    let widths = network.networks().iter().flat_map(|it| {
        let each = it.widths().len() / it.len();
        it.widths().chunks_exact(each).flat_map(move |widths| (0..dims).map(move |axis| widths[axis % each]))
    });
    let widths = widths.collect::<Vec<f64>>();
    json!({
        "count": network.len(),
        "places": floats(&thinned(&centres, dims)),
        "widths": floats(&thinned(&widths, dims)),
    })
}

/// The residual of the equation at the points of a grid: NaN where a coefficient is undefined, `None` if it is everywhere.
fn residual(problem: &Problem, network: &PiecewiseNetwork, grid: &Field) -> Result<Option<Vec<f64>>> {
    let of = |points: &[f64]| match residuals(problem, network, points) {
        Err(error @ (Error::Cancelled | Error::Function { .. })) => Err(error),
        found => Ok(found.ok()),
    };
    if let Some(found) = of(&grid.points)? {
        return Ok(Some(found));
    }
    let mut all = Vec::with_capacity(grid.points.len() / grid.dims);
    for line in grid.points.chunks(grid.dims * grid.side) {
        if let Some(found) = of(line)? {
            all.extend(found);
            continue;
        }
        for point in line.chunks(grid.dims) {
            all.extend(of(point)?.unwrap_or_else(|| vec![f64::NAN]));
        }
    }
    Ok(all.iter().any(|residual| !residual.is_nan()).then_some(all))
}

/// The region of each grid point, and its distance beyond that of the nearest other region as a share of 2 diagonals of a cell:
/// 0 at interfaces, and where regions that overlap end at the same place. `None` for a single region.
fn regions(problem: &Problem, grid: &Field) -> Option<Value> {
    let domains: Vec<&Domain> = problem.regions().collect();
    if domains.len() < 2 {
        return None;
    }
    let most = 2.0 * diagonal(grid);
    let (of, depths): (Vec<u8>, Vec<f64>) = (0..grid.nodes())
        .map(|node| {
            let at = grid.node(node);
            let (mut own, mut least, mut next) = (0, f64::INFINITY, f64::INFINITY);
            for (region, domain) in domains.iter().enumerate() {
                let distance = domain.signed_distance(&at);
                if distance < least {
                    (own, least, next) = (region, distance, least);
                } else {
                    next = next.min(distance);
                }
            }
            (own.min(MAX_REGIONS - 1) as u8, (next - least) / most)
        })
        .unzip();
    Some(json!({ "of": encode::bytes(of.into_iter()), "depth": encode::fractions(depths.into_iter()) }))
}

/// The diagonal of a cell of a grid.
fn diagonal(grid: &Field) -> f64 {
    let sides = grid.low.iter().zip(&grid.high).map(|(low, high)| (high - low) / (grid.side - 1) as f64);
    sides.map(|side| side * side).sum::<f64>().sqrt()
}

/// The grid points near the domain but outside it.
struct Outside {
    /// The distance to the domain at every grid point, negative inside, as a share of 3 diagonals of a cell plus ½; `None` if
    /// all points are inside.
    distance: Option<String>,
    ring: Vec<usize>,
    /// Row-major.
    points: Vec<f64>,
}

impl Outside {
    fn new(problem: &Problem, grid: &Field) -> Self {
        let mut outside = Self { distance: None, ring: Vec::new(), points: Vec::new() };
        let edge = EDGE * problem.domain().diameter();
        let diagonal = diagonal(grid);
        let mut distances = Vec::with_capacity(grid.nodes());
        for node in 0..grid.nodes() {
            let at = grid.node(node);
            let distance = problem.domain().signed_distance(&at);
            if distance > edge && distance <= RING * diagonal {
                outside.ring.push(node);
                outside.points.extend(at);
            }
            distances.push(distance);
        }
        if distances.iter().any(|distance| *distance > edge) {
            let share = |distance: &f64| distance / (3.0 * diagonal) + 0.5;
            outside.distance = Some(encode::fractions(distances.iter().map(share)));
        }
        outside
    }
}

/// The curves of the growth or of the cycles.
fn convergence(plot: &Plot) -> Option<Value> {
    let Plot::Lines(lines) = plot else { return None };
    let series = lines.series.iter().map(|it| json!({ "name": it.name, "points": it.points }));
    Some(json!({ "x": lines.x_label, "y": lines.y_label, "series": series.collect::<Vec<_>>() }))
}
