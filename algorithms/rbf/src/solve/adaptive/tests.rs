//! Errors, estimates and bits of grown networks.

use firebox_core::Result;

use super::*;
use crate::{
    io::solution_grid::Field,
    problem::{
        definition::{BoundaryRule, Condition, Equation, Problem},
        domain::Domain,
        function::Function,
    },
    solve::{accuracy::accuracy, network::RbfNetwork},
};

/// Grows a network with these limits and returns it with its error.
fn grow(problem: &Problem, limits: Adaptive) -> Result<(Adapted, f64)> {
    let field = Field::new(problem, 101)?;
    let points: Vec<[f64; 2]> = field.points.chunks(2).map(|x| [x[0], x[1]]).collect();
    let mut grown = None;
    limits.grow(problem, &points, &|_| Ok(()), &mut grown)?;
    let grown = grown.unwrap();
    let (centres, widths) = (grown.centres.concat(), grown.widths.concat());
    let network = RbfNetwork::new(2, centres, widths, grown.weights.clone())?;
    let error = accuracy(&network.evaluate(&field.points), field.exact.as_ref().unwrap());
    Ok((grown, error.relative_l2))
}

fn limits(target_error: f64, work: f64, seed: u64) -> Adaptive {
    Adaptive { target_error, max_neurons: 4096, work, seed }
}

#[test]
fn smooth_peaked_layered_and_oscillating_solutions_are_resolved() {
    for name in ["poisson-sine", "poisson-disc", "peak", "boundary-layer", "helmholtz"] {
        let (grown, error) = grow(&Problem::named(name).unwrap(), limits(1e-6, 1e12, 0)).unwrap();
        let last = grown.levels.last().unwrap();
        println!("{name}: {error:.1e}, {:.1e}, {} neurons", last.estimate, last.neurons);
        assert_eq!(grown.end, End::Resolved, "{name}");
        assert!(error <= 1e-6 && error <= 2.0 * last.estimate && last.estimate <= 1e-6, "{name}: {error} {last:?}");
    }
}

#[test]
fn corners_within_the_budget_are_estimated() {
    let (grown, error) = grow(&Problem::named("l-shape").unwrap(), limits(1e-6, 1e10, 0)).unwrap();
    let last = grown.levels.last().unwrap();
    println!("{error:.1e}, {:.1e}, {} neurons", last.estimate, last.neurons);
    assert_eq!(grown.end, End::Budget);
    assert!(error < 3e-3 && error <= 2.0 * last.estimate && last.estimate < 1e-1, "{error} {last:?}");
    let neurons: Vec<usize> = grown.levels.iter().map(|level| level.neurons).collect();
    assert!(neurons.is_sorted(), "{neurons:?}");
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| grow(&Problem::named("peak").unwrap(), limits(1e-3, 1e12, 0)).unwrap().0)
    };
    let (one, three) = (with(1), with(3));
    assert_eq!((one.weights, one.levels), (three.weights, three.levels));
}

/// u = c·x in a domain of any size, place and thickness.
#[test]
fn domains_of_any_size_place_and_thickness_are_solved() {
    let cases = [
        ([0.0, 0.0], [1e-6, 1e-6], 1e9),
        ([1e3, -2e3], [1e3 + 5.0, -2e3 + 0.02], 1.0),
        ([0.0, 0.0], [1e8, 1e7], 1e-12),
    ];
    for (low, high, size) in cases {
        let domain = Domain::cuboid(low.to_vec(), high.to_vec()).unwrap();
        let middle = 0.5 * (low[0] + high[0]);
        let line = move |x: &[f64]| size * (x[0] - middle) / (high[0] - low[0]);
        let rule = BoundaryRule::everywhere(Condition::Dirichlet { value: Function::given(line) });
        let equation = Equation::poisson(Function::Constant(0.0), 2);
        let problem = Problem::new("line", domain, equation, vec![rule], Some(Function::given(line))).unwrap();
        let (grown, error) = grow(&problem, limits(1e-4, 1e11, 0)).unwrap();
        assert!(grown.end == End::Resolved && error < 1e-4, "{low:?} {error} {:?}", grown.levels);
    }
}

#[test]
fn a_solution_of_zero_is_resolved() {
    let domain = Domain::ball(vec![0.0, 0.0], 1.0).unwrap();
    let zero = || Function::Constant(0.0);
    let rule = BoundaryRule::everywhere(Condition::Dirichlet { value: zero() });
    let problem = Problem::new("zero", domain, Equation::poisson(zero(), 2), vec![rule], Some(zero())).unwrap();
    let (grown, error) = grow(&problem, limits(1e-6, 1e11, 0)).unwrap();
    assert!(grown.end == End::Resolved && error == 0.0, "{error} {:?}", grown.levels);
}
