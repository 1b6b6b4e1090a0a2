//! Plots of a solution: u, its error, the neurons.

use firebox_core::{
    Result,
    plot::{Animated, Circles, Heat, Lines, Plot, Series},
    random::Random,
};

use crate::{
    io::solution_grid::{Field, Solutions, Values},
    problem::{definition::Problem, domain::Domain},
    solve::{accuracy::Accuracy, piecewise::PiecewiseNetwork},
    types::Sampling,
};

/// Number of points on the outline of a domain.
const OUTLINE_POINTS: usize = 2000;
/// Maximum number of points per axis.
const MAX_RESOLUTION: usize = 561;
/// Maximum number of neurons.
const MAX_NEURONS: usize = 20_000;

/// Values at the points of a field: a line in one dimension, else a heat map, in more than two dimensions of the plane
/// through the middle.
fn values_plot(
    names: &[String],
    field: &Field,
    domain: Option<&Domain>,
    title: String,
    label: &str,
    values: &[f64],
    signed: bool,
) -> Plot {
    if field.dims == 1 {
        let points = (0..field.nodes()).filter_map(|node| Some((field.node(node)[0], values[field.row(node)?])));
        let series = vec![Series::new(label, points)];
        return Plot::Lines(Lines {
            title,
            x_label: names[0].clone(),
            y_label: label.into(),
            series,
            ..Lines::default()
        });
    }
    let first: usize = (2..field.dims).map(|axis| field.side / 2 * field.side.pow(axis as u32)).sum();
    let middle = field.node(first);
    let places = middle.iter().enumerate().skip(2);
    let title = places.fold(title, |title, (axis, at)| format!("{title}, {} = {at:.3}", names[axis]));
    let shown = field.side.min(MAX_RESOLUTION);
    let at = |k: usize| k * (field.side - 1) / (shown - 1);
    let nodes = || (0..shown * shown).map(|k| first + at(k / shown) * field.side + at(k % shown));
    let distance = |domain: &Domain| nodes().map(|node| domain.signed_distance(&field.node(node))).collect();
    Plot::Heat(Heat {
        title,
        x_label: names[0].clone(),
        y_label: names[1].clone(),
        value_label: label.into(),
        x: (field.low[0], field.high[0]),
        y: (field.low[1], field.high[1]),
        columns: shown,
        values: nodes().map(|node| field.row(node).map_or(f64::NAN, |row| values[row])).collect(),
        distance: domain.map(distance),
        // Lines of an error are those of its sign changes, which are many.
        plain: signed,
        signed,
        range: None,
    })
}

/// The solution u, of several unknowns the first, over time if the problem has it.
pub(crate) fn solution(problem: &Problem, field: &Field, values: &Solutions, accuracy: Option<Accuracy>) -> Plot {
    let error = accuracy.map_or_else(String::new, |it| format!(", relative L2 error {:.1e}", it.relative_l2));
    let (values, name) = (values.first(), &values.names[0]);
    let still = values_plot(
        problem.coordinates(),
        field,
        Some(problem.domain()),
        format!("{}{error}", problem.name()),
        name,
        &values.u,
        false,
    );
    match problem.time_axis().filter(|_| field.dims > 1) {
        None => still,
        Some(axis) => {
            let frames = frames(problem, field, (name, values), axis);
            Plot::Animated(Animated { still: Box::new(still), frames })
        }
    }
}

/// u at times of the grid, with the exact solution beside it in one dimension of space.
fn frames(problem: &Problem, field: &Field, (u, values): (&str, &Values), axis: usize) -> Vec<(String, Plot)> {
    let mut names = problem.coordinates().to_vec();
    let time = names.remove(axis);
    let exact = values.exact.iter().filter(|_| field.dims == 2).flat_map(|(exact, _)| exact);
    let all = || values.u.iter().chain(exact.clone()).copied();
    let range = Some((all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max)));
    let times = field.times();
    let step = (field.high[axis] - field.low[axis]) / (times.len() - 1) as f64;
    let digits = (-step.log10()).ceil().clamp(0.0, 15.0) as usize;
    let frame = |&at: &usize| {
        let (section, rows) = field.section(axis, at);
        let values = values.rows(&rows);
        let time = format!("{time} = {:.digits$}", field.coordinate(axis, at));
        let title = format!("{}, {time}", problem.name());
        let draw = |label, values| values_plot(&names, &section, None, title.clone(), label, values, false);
        let mut plot = draw(u, &values.u);
        if let (Plot::Lines(lines), Some((exact, _))) = (&mut plot, &values.exact)
            && let Plot::Lines(exact) = draw("exact", exact)
        {
            lines.series.extend(exact.series);
        }
        let plot = match plot {
            Plot::Heat(heat) => Plot::Heat(Heat { range, ..heat }),
            Plot::Lines(lines) => Plot::Lines(Lines { y_range: range, ..lines }),
            other => other,
        };
        (time, plot)
    };
    times.iter().map(frame).collect()
}

/// u, of several unknowns the first, minus the exact solution, if that is known.
pub(crate) fn error(problem: &Problem, field: &Field, values: &Solutions) -> Option<Plot> {
    let (_, errors) = values.first().exact.as_ref()?;
    let largest = errors.iter().fold(0.0f64, |most, error| most.max(error.abs()));
    Some(values_plot(
        problem.coordinates(),
        field,
        Some(problem.domain()),
        format!("{}: error, at most {largest:.1e}", problem.name()),
        &format!("{} − exact", values.names[0]),
        errors,
        true,
    ))
}

/// The centres with circles of their widths, projected to the first two coordinates; of a width per axis, the geometric
/// mean.
pub(crate) fn neurons(problem: &Problem, networks: &[PiecewiseNetwork]) -> Result<Plot> {
    let (dims, count) = (problem.dims(), networks.iter().map(PiecewiseNetwork::len).sum::<usize>());
    let mean = |widths: &[f64]| (widths.iter().map(|a| a.ln()).sum::<f64>() / widths.len() as f64).exp();
    let stride = count.div_ceil(MAX_NEURONS);
    let neurons = networks.iter().flat_map(PiecewiseNetwork::networks).flat_map(|network| {
        let each = network.widths().len() / network.len();
        network.centres().chunks(dims).zip(network.widths().chunks(each))
    });
    let neurons = neurons.step_by(stride);
    let circles: Vec<_> = neurons.map(|(c, widths)| [c[0], c.get(1).copied().unwrap_or(0.0), mean(widths)]).collect();
    let outline = if dims == 2 {
        let points = problem.boundary_points(OUTLINE_POINTS, Sampling::Sobol, &mut Random::new(0, 0))?.points;
        points.chunks(dims).map(|point| (point[0], point[1])).collect()
    } else {
        Vec::new()
    };
    let of = if stride > 1 { format!(" of {count}") } else { String::new() };
    let title = format!("{}: {}{of} centres and their widths", problem.name(), circles.len());
    let label = |axis: usize| problem.coordinates().get(axis).cloned().unwrap_or_default();
    Ok(Plot::Circles(Circles { title, x_label: label(0), y_label: label(1), circles, outline }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_solutions_have_lines_of_equal_values() {
        let problem = Problem::named("l-shape").unwrap();
        let field = Field::new(&problem, 5).unwrap();
        let u = vec![1.0; field.points.len() / 2];
        let values = Values { exact: Some((u.clone(), vec![0.0; u.len()])), u };
        let values = Solutions { names: vec!["u".into()], all: vec![values] };
        let is_plain = |plot: Plot| match plot {
            Plot::Heat(heat) => heat.plain,
            other => panic!("{other:?}"),
        };
        assert!(!is_plain(solution(&problem, &field, &values, None)));
        assert!(is_plain(error(&problem, &field, &values).unwrap()));
    }
}
