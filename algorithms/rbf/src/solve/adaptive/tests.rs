//! Errors, estimates and bits of grown networks.

use firebox_core::{Result, random::Random};

use super::{
    cells::{Cells, Place},
    *,
};
use crate::{
    io::solution_grid::Field,
    problem::{
        condition::{BoundaryRule, Condition},
        definition::Problem,
        domain::Domain,
        equation::Equation,
        function::Function,
    },
    solve::{accuracy::accuracy, piecewise::PiecewiseNetwork},
};

/// Returns the text of a problem of the examples.
fn example(name: &str) -> String {
    std::fs::read_to_string(format!("../../examples/problems/{name}.toml")).unwrap()
}

/// Grows a network with these limits and returns it with its error.
fn grow(problem: &Problem, limits: Adaptive) -> Result<(Adapted<2>, f64)> {
    grow_in(problem, limits, false)
}

pub(super) fn grow_in<const D: usize>(problem: &Problem, limits: Adaptive, open: bool) -> Result<(Adapted<D>, f64)> {
    let field = Field::new(problem, Field::default_side(D))?;
    let (places, exact) = (places::<D>(problem, &field.points), field.exact.as_ref().map(|all| all.concat()));
    let mut grown = None;
    let measured = Measured { places: &places, exact: exact.as_deref(), open };
    limits.grow(problem, &Host, &measured, &|_| Ok(()), &mut grown)?;
    let grown = grown.unwrap();
    let Neurons { centres, widths, starts } = &grown.neurons;
    let neurons = [centres.concat(), widths.concat(), grown.weights.clone()];
    let regions: Vec<_> = problem.regions().cloned().collect();
    let networks = PiecewiseNetwork::of_unknowns(&regions, problem.unknowns().len(), starts, neurons)?;
    let values: Vec<f64> = networks.iter().flat_map(|network| network.evaluate(&field.points)).collect();
    let error = accuracy(&values, &exact.unwrap());
    for level in &grown.levels {
        let error = level.error.unwrap();
        assert!(error <= 2.0 * level.estimate, "an error of {error} at {level:?}");
    }
    Ok((grown, error.relative_l2))
}

fn limits(target_error: f64, work: f64, seed: u64) -> Adaptive {
    Adaptive { target_error, max_neurons: 4096, work, least_size: 0.0, grows_on: false, ratio: None, seed }
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
        let equation = Equation::poisson(Function::Constant(0.0));
        let problem = Problem::new("line", domain, equation, vec![rule], Some(Function::given(line))).unwrap();
        let (grown, error) = grow(&problem, limits(1e-4, 1e11, 0)).unwrap();
        assert!(grown.end == End::Resolved && error < 1e-4, "{low:?} {error} {:?}", grown.levels);
    }
}

/// The number of neurons is fixed, and the width; the target was reached before.
#[test]
fn the_growth_goes_on_to_a_given_number_of_neurons() {
    let given = Adaptive { max_neurons: 500, grows_on: true, ratio: Some(3.0), ..limits(1e-3, f64::INFINITY, 0) };
    let (grown, _) = grow(&Problem::named("poisson-sine").unwrap(), given).unwrap();
    let last = grown.levels.last().unwrap();
    assert!(grown.end == End::Resolved && (300..=500).contains(&last.neurons), "{:?}", grown.levels);
    assert!(grown.levels.iter().all(|level| level.ratio == 3.0) && grown.spent.is_finite());
    assert!(grown.levels[grown.levels.len() - 2].estimate <= 1e-3);
}

/// At least 2.5 conditions per neuron, and fewer than in smaller levels.
#[test]
fn large_levels_have_fewer_conditions() {
    let problem = Problem::named("l-shape").unwrap();
    let per_neuron = |spacing: f64| {
        let cells = Cells::<2>::new(problem.blocks(), &[spacing; 2], None);
        let conditions = {
            let weighting = weighting::Weighting::first::<2>(&problem, &[]).unwrap();
            level::Conditions::new(&problem, &cells, level::Use::Weights, &weighting, &mut Random::new(0, 0)).unwrap()
        };
        (cells.len(), conditions.points() as f64 / cells.len() as f64)
    };
    let [(few, usual), (many, less)] = [0.03, 0.025].map(per_neuron);
    assert!(few < level::LARGE && many > level::LARGE, "{few} {many}");
    assert!(usual > 5.0 && (2.5..4.0).contains(&less), "{usual} {less}");
}

#[test]
fn a_solution_of_zero_is_resolved() {
    let domain = Domain::ball(vec![0.0, 0.0], 1.0).unwrap();
    let zero = || Function::Constant(0.0);
    let rule = BoundaryRule::everywhere(Condition::Dirichlet { value: zero() });
    let problem = Problem::new("zero", domain, Equation::poisson(zero()), vec![rule], Some(zero())).unwrap();
    let (grown, error) = grow(&problem, limits(1e-6, 1e11, 0)).unwrap();
    assert!(grown.end == End::Resolved && error == 0.0, "{error} {:?}", grown.levels);
}

fn parsed(text: &str) -> Problem {
    Problem::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

pub(super) fn resolved<const D: usize>(name: &str, text: &str, open: bool) {
    let (grown, error) = grow_in::<D>(&parsed(text), limits(1e-6, 1e12, 0), open).unwrap();
    let last = grown.levels.last().unwrap();
    println!("{name}: {error:.1e}, {:.1e}, {} neurons", last.estimate, last.neurons);
    assert_eq!(grown.end, End::Resolved, "{name}: {last:?}");
    assert!(error <= 1e-6 && error <= 2.0 * last.estimate, "{name}: {error} {last:?}");
}

const DIRICHLET: &str = "boundary = [{ condition = 'dirichlet' }]\n";
const UNIT: &str = "domain = { type = 'box', low = [0, 0], high = [1, 1] }\n";

#[test]
fn mixed_derivatives_time_and_any_dimension_up_to_three_are_resolved() {
    let anisotropic = "exact = 'sin(3*x + y)*exp(y)'\nequation = { terms = { u_xx = 1, u_xy = 0.4, u_yy = 0.1 }, \
        rhs = '(-10.2*sin(3*x + y) + 1.4*cos(3*x + y))*exp(y)' }\n";
    resolved::<2>("anisotropic", &format!("{DIRICHLET}{UNIT}{anisotropic}"), false);
    let heat = "coordinates = ['x', 't']\nequation = { terms = { u_t = 1, u_xx = -0.1 } }\n\
        exact = 'exp(-0.1*pi^2*t)*sin(pi*x) + exp(-1.6*pi^2*t)*sin(4*pi*x)/2'\n\
        boundary = [{ on = 't=high', condition = 'none' }, { condition = 'dirichlet' }]\n";
    resolved::<2>("heat", &format!("{heat}{UNIT}"), false);
    let layer = "dims = 1\nexact = '(exp(x/0.01) - 1)/(exp(1/0.01) - 1)'\n\
        domain = { type = 'box', low = [0], high = [1] }\nequation = { terms = { u_xx = -0.01, u_x = 1 } }\n";
    resolved::<1>("layer", &format!("{DIRICHLET}{layer}"), false);
    let ball = "dims = 3\nexact = 'sin(2*x)*cos(y)*exp(z)'\n\
        domain = { type = 'ball', centre = [0, 0, 0], radius = 1 }\n\
        equation = { laplacian = 1, rhs = '-4*sin(2*x)*cos(y)*exp(z)' }\n";
    resolved::<3>("ball", &format!("{DIRICHLET}{ball}"), false);
}

#[test]
fn the_vibrating_string_of_the_examples_is_resolved() {
    resolved::<2>("string", &example("vibrating-string"), false);
}

#[test]
fn regions_that_meet_at_curves_points_and_jumps_are_resolved() {
    resolved::<2>("inclusion", &example("inclusion"), false);
    let rod = "dims = 1\nexact = 'if(x < 0.4, sin(x), sin(0.4) + cos(0.4)/5*(x - 0.4) + (x - 0.4)^2)'\n\
        domain = { type = 'box', low = [0], high = [1] }\nequation = { terms = { u_xx = 5 }, rhs = 10 }\n\
        [[region]]\nshape = { type = 'box', low = [0], high = [0.4] }\n\
        equation = { terms = { u_xx = 1 }, rhs = '-sin(x)' }\n";
    resolved::<1>("rod", &format!("{DIRICHLET}{rod}"), false);
    let jumps = "exact = 'if(x < 0.5, exp(x)*cos(y), 2 + x*y)'\nequation = { laplacian = 3 }\n[[region]]\n\
        shape = { type = 'box', low = [-1, -1], high = [0.5, 2] }\nequation = { laplacian = 1 }\n\
        jump = 'exp(0.5)*cos(y) - 2 - 0.5*y'\nflux_jump = 'exp(0.5)*cos(y) - 3*y'";
    resolved::<2>("jumps", &format!("{DIRICHLET}{UNIT}{jumps}"), false);
}

#[test]
fn periodic_boundaries_in_space_beside_time_and_all_around_are_resolved() {
    for (name, open) in [("channel", false), ("torus-open", true)] {
        let path = format!("{}/../../docs/rbf-problems/periodic/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        resolved::<2>(name, &std::fs::read_to_string(path).unwrap(), open);
    }
    let ring = "coordinates = ['x', 't']\nequation = { terms = { u_t = 1, u_xx = -0.05 } }\n\
        exact = 'exp(-0.05*t)*sin(2*pi*x) + 1'\nconstants = { k = '0.05/(4*pi^2)' }\n\
        boundary = [{ condition = 'periodic', on = 'x' }, { on = 't=high', condition = 'none' }, \
        { condition = 'dirichlet' }]\n";
    resolved::<2>("ring", &format!("{ring}{UNIT}").replace("u_xx = -0.05", "u_xx = '-k'"), false);
    let circle = "dims = 1\nexact = 'exp(cos(x))'\nequation = { terms = { u_xx = 1, u = -4 }, \
        rhs = 'exp(cos(x))*(sin(x)^2 - cos(x) - 4)' }\nboundary = [{ condition = 'periodic', on = 'x' }]\n\
        domain = { type = 'box', low = [0], high = ['2*pi'] }\n";
    resolved::<1>("circle", circle, false);
}

#[test]
fn derivatives_all_around_leave_a_constant_or_do_not_balance() {
    let neumann = "boundary = [{ condition = 'neumann', value = 0 }]\n";
    let cosines = "exact = '3 + cos(pi*x)*cos(2*pi*y)'\n\
        equation = { laplacian = 1, rhs = '-5*pi^2*cos(pi*x)*cos(2*pi*y)' }\n";
    resolved::<2>("neumann", &format!("{neumann}{UNIT}{cosines}"), true);
    let unbalanced = format!("{neumann}{UNIT}exact = '0'\nequation = {{ laplacian = 1, rhs = '0.01 + cos(pi*x)' }}");
    let (grown, _) = grow_in::<2>(&parsed(&unbalanced), limits(1e-6, 1e12, 0), true).unwrap();
    assert_eq!((grown.end, grown.levels.len() < 4), (End::Unbalanced, true), "{:?}", grown.levels);
}

#[test]
fn five_dimensions_are_solved_to_a_percent_and_estimated() {
    let heat = "coordinates = ['x', 'y', 'z', 'w', 't']\n\
        exact = 'exp(-t)*sin(pi*x)*sin(pi*y)*sin(pi*z)*sin(pi*w)'\n\
        domain = { type = 'box', low = [0, 0, 0, 0, 0], high = [1, 1, 1, 1, 1] }\n\
        constants = { a = '-1/(4*pi^2)' }\n\
        equation = { terms = { u_t = 1, u_xx = 'a', u_yy = 'a', u_zz = 'a', u_ww = 'a' } }\n\
        boundary = [{ on = 't=high', condition = 'none' }, { condition = 'dirichlet' }]\n";
    let (grown, error) = grow_in::<5>(&parsed(heat), limits(1e-1, 3e11, 0), false).unwrap();
    let last = grown.levels.last().unwrap();
    println!("{error:.1e}, {:.1e}, {} neurons", last.estimate, last.neurons);
    assert_eq!(grown.end, End::Resolved, "{last:?}");
    assert!(error < 2e-2 && error <= 2.0 * last.estimate, "{error} {last:?}");
}

#[test]
fn equations_that_are_not_linear_are_resolved() {
    let scherk = "exact = 'ln(cos(x)/cos(y))'\n\
        equation = { residual = '(1 + u_y^2)*u_xx - 2*u_x*u_y*u_xy + (1 + u_x^2)*u_yy' }\n";
    resolved::<2>("minimal surface", &format!("{DIRICHLET}{UNIT}{scherk}"), false);
    let monge = "exact = 'exp((x^2 + y^2)/2)'\ninitial = 'x^2 + y^2'\n\
        equation = { residual = 'u_xx*u_yy - u_xy^2 - (1 + x^2 + y^2)*exp(x^2 + y^2)' }\n";
    resolved::<2>("Monge-Ampère", &format!("{DIRICHLET}{UNIT}{monge}"), false);
    let fisher = "coordinates = ['x', 't']\nexact = '1/(1 + exp(x - 5*t))^2'\n\
        equation = { residual = 'u_t - u_xx - 6*u*(1 - u)' }\n\
        domain = { type = 'box', low = [-3, 0], high = [5, 1] }\n\
        boundary = [{ on = 't=high', condition = 'none' }, { condition = 'dirichlet' }]\n";
    resolved::<2>("Fisher", fisher, false);
    let regions = "dims = 1\nexact = 'x^3'\ndomain = { type = 'box', low = [0], high = [1] }\n\
        equation = { residual = 'u_xx - 6*x + u^2 - x^6' }\n[[region]]\n\
        shape = { type = 'box', low = [0], high = [0.5] }\nequation = { residual = 'u_xx - 6*x' }\n";
    resolved::<1>("regions", &format!("{DIRICHLET}{regions}"), false);
}

/// Whole steps of Newton's method for the arctangent diverge from a start that is far away.
#[test]
fn parts_of_steps_lead_to_the_solution_from_far_away() {
    let text = "dims = 1\nexact = 'sin(3*x)'\ninitial = '4'\ndomain = { type = 'box', low = [0], high = [1] }\n\
        equation = { residual = 'atan(9*(u - sin(3*x))) - 0.01*u_xx - 0.09*sin(3*x)' }\n";
    resolved::<1>("arctangent", &format!("{DIRICHLET}{text}"), false);
}

#[test]
fn an_iteration_without_a_solution_diverges() {
    // Δu + λ·eᵘ = 0 has solutions up to λ = 6.808.
    let text =
        "equation = { residual = 'u_xx + u_yy + 8*exp(u)' }\nboundary = [{ condition = 'dirichlet', value = 0 }]\n";
    let problem = parsed(&format!("{UNIT}{text}"));
    let field = Field::new(&problem, 21).unwrap();
    let place = |x: &[f64]| Place { point: [x[0], x[1]], block: 0 };
    let places: Vec<Place<2>> = field.points.chunks(2).map(place).collect();
    let (mut grown, measured) = (None, Measured { places: &places, exact: None, open: false });
    limits(1e-6, 1e12, 0).grow(&problem, &Host, &measured, &|_| Ok(()), &mut grown).unwrap();
    let grown = grown.unwrap();
    let last = grown.levels.last().unwrap();
    assert!(grown.end == End::Diverged && !last.settled && last.estimate > 0.3, "{:?}", grown.levels);
}

#[test]
fn a_start_at_which_the_equation_is_not_finite_is_an_error_with_advice() {
    let text = "exact = 'exp(x)'\nequation = { residual = 'u_xx + u_yy - u - ln(u) + x' }\n";
    let error = grow(&parsed(&format!("{DIRICHLET}{UNIT}{text}")), limits(1e-6, 1e12, 0)).err().unwrap();
    let shown = format!("{error}; {}", error.help().unwrap());
    assert!(shown.contains("is not finite at (") && shown.contains("give initial = "), "{shown}");
    resolved::<2>("logarithm", &format!("{DIRICHLET}{UNIT}initial = '2'\n{text}"), false);
}

/// The first step of the first level leads to negative u.
#[test]
fn parts_of_steps_keep_the_equation_finite() {
    let text = "dims = 1\nexact = '1.02 + cos(3*x)'\ninitial = '3'\ndomain = { type = 'box', low = [0], high = [3] }\n\
        equation = { residual = '-u_xx + 20*ln(u) - 9*cos(3*x) - 20*ln(1.02 + cos(3*x))' }\n";
    resolved::<1>("logarithm", &format!("{DIRICHLET}{text}"), false);
}

#[test]
fn equations_without_u_at_the_start_and_fluxes_that_are_not_known_are_refused() {
    let text = "dims = 1\nexact = 'x'\ndomain = { type = 'box', low = [0], high = [1] }\nequation = { residual = 'u*u_xx + u_x^2 - 1' }\n";
    let error = grow_in::<1>(&parsed(&format!("{DIRICHLET}{text}")), limits(1e-6, 1e12, 0), false).err().unwrap();
    assert!(error.to_string().contains("contains neither u"), "{error}");
    for (residual, expected) in [("(1 + 3*u_x^2)*u_xx", "is unknown"), ("u^3 - u_xx", "opposite sign")] {
        let text = format!(
            "dims = 1\ndomain = {{ type = 'box', low = [0], high = [1] }}\nequation = {{ residual = 'u_xx - u' }}\n\
             boundary = [{{ condition = 'dirichlet', value = 0 }}]\n[[region]]\n\
             shape = {{ type = 'box', low = [0], high = [0.5] }}\nequation = {{ residual = '{residual}' }}\n"
        );
        let problem = Problem::parse(&text);
        let solved = problem.and_then(|problem| {
            let measured = Measured { places: &[Place { point: [0.5], block: 0 }], exact: None, open: false };
            limits(1e-6, 1e12, 0).grow::<1>(&problem, &Host, &measured, &|_| Ok(()), &mut None)
        });
        let error = solved.unwrap_err().to_string();
        assert!(error.contains(expected), "{residual}: {error}");
    }
}
